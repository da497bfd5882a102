"""Carried: facts that exclude each other, in their order, as one part of an operation leaves them to the next.

A long succession would be read and put in order anew for each part. It is carried as long as nobody else changes a
fact meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import Kind
from memoryos.operation.knowledge.rivals import Chain
from memoryos.scope import Scope

_EVENTS = 1_000  # of others since; if there are more, reading all again is simpler


@dataclass
class CarriedChains:
    """The chains of one operation, by scope."""

    _kept: dict[Scope, tuple[int, list[Chain]]] = field(default_factory=dict)

    def of(self, reader: Reader, scope: Scope) -> list[Chain]:
        """What the part before left, if it still holds."""
        sequence, chains = self._kept.get(scope, (0, []))
        return chains if chains and _is_unchanged(reader, sequence) else []

    def take(self, reader: Reader, scope: Scope) -> list[Chain]:
        """The same, only once: a plan changes it, and may be dropped."""
        chains = self.of(reader, scope)
        self._kept.pop(scope, None)
        return chains

    def leave(self, reader: Reader, scope: Scope, chains: list[Chain]) -> None:
        """Keep what a part has written; to be called at its end, under the lock."""
        self._kept[scope] = reader.sequence(), chains


def _is_unchanged(reader: Reader, sequence: int) -> bool:
    """Whether nothing happened to a fact since that event."""
    events = reader.events(after=sequence, limit=_EVENTS + 1)
    return len(events) <= _EVENTS and all(event.kind is not Kind.FACT for event in events)
