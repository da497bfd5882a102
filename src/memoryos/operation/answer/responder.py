"""Responder: answers of the chat model, with memory; each exchange is stored after its answer was given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from memoryos.caller import Caller, acting, current
from memoryos.clock import Clock
from memoryos.models.chat import Answer, ChatModel, Message
from memoryos.models.flow import Flow
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.respond import Bounds, prompt
from memoryos.operation.answer.streams import Streams
from memoryos.operation.recall.hit import Recall
from memoryos.operation.scheduler.background import Background
from memoryos.operation.scheduler.spending import ModelAccount, Purpose
from memoryos.scope import Scope

RecallFor = Callable[[str, int, Scope], Recall]  # a question, and the tokens that the answer is to fill
Remember = Callable[[str, str, Scope], None]
Mark = Callable[[Answer, Recall, Scope], Answer]


@dataclass(frozen=True, slots=True)
class Responder:
    """Answers questions with one memory."""

    model: Callable[[], ChatModel]  #: asked for at the first answer; raises ModelNotConfigured
    account: ModelAccount
    streams: Streams
    recall: RecallFor
    remember: Remember
    bounds: Bounds
    clock: Clock
    mark: Mark  #: signs an answer
    _turns: Background = field(default_factory=lambda: Background("turns"))

    def answer(self, query: str, role: str, owner: Scope) -> Answer:
        """Return the whole answer. Raises ModelError if the model fails; then nothing is stored."""
        model, (messages, recalled) = self.model(), self._prompt(query, role, owner)
        answer = self.account.answer(model, messages, owner, Purpose.RESPOND)
        self._remember_later(current(), query, answer.text, owner)
        return self.mark(answer, recalled, owner)

    def stream(self, query: str, role: str, owner: Scope) -> AnswerStream:
        """Return the answer in pieces; the exchange is stored after the last piece."""
        caller, model, (messages, _) = current(), self.model(), self._prompt(query, role, owner)

        def pour(flow: Flow[str]) -> None:
            acting(caller, lambda: self.account.pour(flow, model, messages, owner, Purpose.RESPOND))

        def remember(answer: str) -> None:
            self._remember_later(caller, query, answer, owner)

        return AnswerStream(lambda: self.streams.begin(pour), remember)

    def wait(self, until: float = math.inf) -> bool:
        """Wait until that time for the answers to be stored; return whether they are. Raises the first error."""
        return self._turns.wait(until)

    @property
    def unfinished(self) -> int:
        """The number of answers that are not stored yet."""
        return self._turns.unfinished

    def close(self) -> None:
        """End the streams and store the waiting answers. Raises like `wait`."""
        self.streams.close()
        self._turns.close()

    def _prompt(self, query: str, role: str, owner: Scope) -> tuple[list[Message], Recall]:
        recalled = self.recall(query, self.bounds.notes, owner)
        return prompt(recalled, self.bounds, count_tokens, role=role, now=self.clock()), recalled

    def _remember_later(self, caller: Caller, query: str, answer: str, owner: Scope) -> None:
        self._turns.submit(lambda: acting(caller, lambda: self.remember(query, answer, owner)))
