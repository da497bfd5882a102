"""Load calls: what each of many clients asks, in turn: an add and a search, with texts that no other client has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from memoryos.bench.made_up_dialogue import Dialogue

ADD, SEARCH = "add", "search"
WARM_UP = 2  # calls of each client before the time begins

_TEXTS = 20  # of a client: then they come again, with another number


@dataclass(frozen=True, slots=True)
class LoadCall:
    """One call: its operation and its texts."""

    operation: str
    query: str
    response: str | None = None  #: of an add


@dataclass(slots=True)
class LoadDone:
    """What was done: the time of each call that returned, the pages that it stored, and the errors by type."""

    ms: dict[str, list[float]] = field(default_factory=lambda: {ADD: [], SEARCH: []})
    ids: dict[str, list[str]] = field(default_factory=dict)  #: by user
    errors: dict[str, int] = field(default_factory=dict)

    def note(self, user: str, operation: str, ms: float | None, answer: Any) -> None:
        """Note a call that returned; without a time, it was before the time began."""
        if operation == ADD:
            self.ids.setdefault(user, []).extend(answer)
        if ms is not None:
            self.ms[operation].append(ms)

    def fail(self, kind: str) -> None:
        """Note a call that failed."""
        self.errors[kind] = self.errors.get(kind, 0) + 1


def without_adds(calls: Iterator[LoadCall]) -> Iterator[LoadCall]:
    """These calls, as far as they change nothing."""
    return (call for call in calls if call.operation != ADD)


def user_of(number: int) -> str:
    """The user of a client."""
    return f"client-{number}"


def calls_of(number: int) -> Iterator[LoadCall]:
    """The endless calls of a client. All texts are made before the first one."""
    dialogue = Dialogue(number)
    exchanges, questions = dialogue.exchanges(_TEXTS), dialogue.questions(_TEXTS)

    def calls() -> Iterator[LoadCall]:
        for serial in count():
            query, response = exchanges[serial % _TEXTS]
            yield LoadCall(ADD, f"{serial}: {query}", response)
            yield LoadCall(SEARCH, questions[serial % _TEXTS])

    return calls()
