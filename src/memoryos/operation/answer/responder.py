"""Responder: answers of the chat model, with what the memory holds; each turn is stored once its answer is out."""

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
from memoryos.operation.scheduler.spending import Purpose, Purse
from memoryos.scope import Scope

RecallFor = Callable[[str, int, Scope], Recall]  # a question, and the tokens that the answer is to fill
Remember = Callable[[str, str, Scope], None]


@dataclass(frozen=True, slots=True)
class Responder:
    """Answers for one memory, which searches and remembers."""

    model: Callable[[], ChatModel]  #: asked for at the first answer; raises ModelNotConfigured
    purse: Purse
    streams: Streams
    recall: RecallFor
    remember: Remember
    bounds: Bounds
    clock: Clock
    _turns: Background = field(default_factory=lambda: Background("turns"))

    def answer(self, query: str, role: str, owner: Scope) -> Answer:
        """The answer, whole. Raises ModelError when the model fails; then nothing is stored."""
        answer = self.purse.answer(self.model(), self._prompt(query, role, owner), owner, Purpose.RESPOND)
        self._remember_later(current(), query, answer.text, owner)
        return answer

    def stream(self, query: str, role: str, owner: Scope) -> AnswerStream:
        """The answer in pieces; the turn is stored when the last one has been taken."""
        caller, model, messages = current(), self.model(), self._prompt(query, role, owner)

        def pour(flow: Flow[str]) -> None:
            acting(caller, lambda: self.purse.pour(flow, model, messages, owner, Purpose.RESPOND))

        def remember(answer: str) -> None:
            self._remember_later(caller, query, answer, owner)

        return AnswerStream(lambda: self.streams.begin(pour), remember)

    def wait(self, until: float = math.inf) -> bool:
        """Whether what was answered is part of the memory, until then. Raises the first error of storing it."""
        return self._turns.wait(until)

    @property
    def unfinished(self) -> int:
        """How many answers are still to be stored."""
        return self._turns.unfinished

    def close(self) -> None:
        """End the streams and store what waits. Raises like `wait`."""
        self.streams.close()
        self._turns.close()

    def _prompt(self, query: str, role: str, owner: Scope) -> list[Message]:
        recalled = self.recall(query, self.bounds.notes, owner)
        return prompt(recalled, self.bounds, count_tokens, role=role, now=self.clock())

    def _remember_later(self, caller: Caller, query: str, answer: str, owner: Scope) -> None:
        self._turns.submit(lambda: acting(caller, lambda: self.remember(query, answer, owner)))
