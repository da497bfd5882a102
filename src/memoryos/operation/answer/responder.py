"""Responder: answers of the chat model, with memory; each exchange is stored after its answer was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from memoryos.about import About
from memoryos.caller import Caller, acting, acting_caller, current
from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.errors import MemoryOSError, StorageError
from memoryos.models.chat import Answer, ChatModel, Usage
from memoryos.models.flow import Flow
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.respond import Bounds, Prompt, prompt
from memoryos.operation.answer.streams import Streams
from memoryos.operation.answer.untold_refusals import UntoldRefusals
from memoryos.operation.recall.hit import Hit, Recall
from memoryos.operation.recall.replaced import Replaced
from memoryos.operation.scheduler.background import Background
from memoryos.operation.scheduler.spending import ModelAccount, Purpose
from memoryos.scope import Scope

ReplacedIn = Callable[[Scope, Recall], Mapping[str, tuple[Replaced, ...]]]
Inherit = Callable[[Prompt, Scope], About]  # raises PermissionDenied for what the caller may not store
Store = Callable[[Answer], None]  # what is to be stored with an answer
Adapt = Callable[[Scope], "Adapted | None"]  # raises ModelError
Check = Callable[[Caller, Scope], None]  # raises PermissionDenied once the caller's key opens nothing any more
Marker = Callable[[Iterable[MemCube], Scope], Callable[[Answer], Answer]]  # the memories that the model was shown


class Adapted(ChatModel, Protocol):
    """A model with adapters of an owner."""

    @property
    def cubes(self) -> tuple[MemCube, ...]:
        """The adapters that take part."""
        ...

    def told(self, answer: Answer) -> Answer:
        """The answer with what took part in it."""
        ...


class Augmented(NamedTuple):
    """A prompt, what the exchange has of the memories in it, and those that were found for the question."""

    prompt: Prompt
    about: About
    recalled: tuple[Hit, ...]
    adapted: Adapted | None  #: answers in the place of the model, if adapters are used


@dataclass(frozen=True, slots=True)
class Responder:
    """Answers questions with one memory; `augment` and `generate` are steps of pipelines, too."""

    model: Callable[[], ChatModel]  #: asked for at the first answer; raises ModelNotConfigured
    account: ModelAccount
    streams: Streams
    replaced: ReplacedIn  #: what the pages that were found tell that no longer holds
    inherit: Inherit
    bounds: Bounds
    clock: Clock
    marker: Marker  #: what signs an answer
    adapt: Adapt  #: the model with the adapters that answers to that owner use; None: without
    check: Check
    _refusals: UntoldRefusals = field(default_factory=UntoldRefusals)
    _turns: Background = field(default_factory=lambda: Background("turns"))

    def answer(self, asked: Augmented, owner: Scope, store: Store) -> Answer:
        """Return the whole answer, which is stored after that.

        Raises ModelError if the model fails; then nothing is stored.
        """
        answer = self.generate(asked, owner)
        self._store_later(current(), answer, store)
        return answer

    def augment(self, recalled: Recall, role: str, owner: Scope) -> Augmented:
        """Tell what was found as the messages for the model. Raises PermissionDenied, as `answer` does."""
        replaced = self.replaced(owner, recalled)
        asked = prompt(recalled, self.bounds, count_tokens, role=role, now=self.clock(), replaced=replaced)
        if (adapted := self.adapt(owner)) is not None:
            asked = replace(asked, shown=(*asked.shown, *adapted.cubes))  # an answer may repeat what they learned
        shown = {cube.id for cube in asked.shown}
        found = (*recalled.hits, *recalled.user_facts, *recalled.agent_facts)
        return Augmented(asked, self.inherit(asked, owner), tuple(hit for hit in found if hit.id in shown), adapted)

    def generate(self, asked: Augmented, owner: Scope) -> Answer:
        """Return the answer of the model, with its mark; nothing is stored. Raises ModelError."""
        chat = asked.adapted or self.model()
        answer = self.account.answer(chat, asked.prompt.messages, owner, Purpose.RESPOND)
        return self.marker(asked.prompt.shown, owner)(_told(asked, answer))

    def stream(self, asked: Augmented, owner: Scope, store: Store) -> AnswerStream:
        """Return the answer in pieces; it is stored after the last piece."""
        caller, model = current(), asked.adapted or self.model()
        marked, messages = self.marker(asked.prompt.shown, owner), asked.prompt.messages
        taken: list[Usage] = []

        def pour(flow: Flow[str]) -> None:
            taken.append(acting(caller, lambda: self.account.pour(flow, model, messages, owner, Purpose.RESPOND)))

        def whole(text: str) -> Answer:
            answer = marked(_told(asked, Answer(text, taken[0], self.account.model_name)))
            self._store_later(caller, answer, store)
            return answer

        begin = lambda: self.streams.begin(pour)  # noqa: E731
        return AnswerStream(begin, whole, asked.recalled, lambda: self.check(caller, owner))

    def wait(self, until: float = math.inf) -> bool:
        """Wait until that time for the answers to be stored; return whether they are.

        Raises the first error of the store, and what was wrong with an exchange only for its caller.
        """
        is_done = self._turns.wait(until)
        if refusal := self._refusals.take(acting_caller()):
            raise refusal
        return is_done

    @property
    def unfinished(self) -> int:
        """The number of answers that are not stored yet."""
        return self._turns.unfinished

    def close(self) -> None:
        """End the streams and store the waiting answers. Raises like `wait`."""
        self.streams.close()
        self._turns.close()

    def _store_later(self, caller: Caller, answer: Answer, store: Store) -> None:
        def task() -> None:
            try:
                acting(caller, lambda: store(answer))
            except StorageError:
                raise
            except MemoryOSError as error:  # of what the caller said: nobody else hears of it
                self._refusals.add(caller, error)

        self._turns.submit(task)


def _told(asked: Augmented, answer: Answer) -> Answer:
    return answer if asked.adapted is None else asked.adapted.told(answer)
