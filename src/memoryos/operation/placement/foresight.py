"""Foresight: how probable the next use of a block of KV is, by the questions of its owner and of others so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Protocol

from memoryos.operation.placement.use_history import UseHistory
from memoryos.scope import Scope

MOST_OWNERS = 1_024  # whose histories a process knows


class Foresight(Protocol):
    """Tells how probable the next use of a block is."""

    def chance(self, owner: Scope, block: str) -> float:
        """Of a block, for its owner's next question."""
        ...

    def idle(self, owner: Scope) -> int:
        """Questions of others since this owner asked."""
        ...

    def likely(self, owner: Scope) -> Iterable[str]:
        """The blocks that this owner's next question may use, the likeliest first."""
        ...

    def asked(self, owner: Scope, used: Mapping[str, float]) -> None:
        """Learn what a question used, each block with the milliseconds that KV would have saved it."""
        ...


class Learned:
    """Knows the questions so far."""

    def __init__(self) -> None:
        self._histories: dict[Scope, UseHistory] = {}  # that of the owner who asked last comes last
        self._last: dict[Scope, int] = {}
        self._number = 0
        self._lock = Lock()

    def knows(self, owner: Scope) -> bool:
        """Whether the history of this owner is known."""
        return owner in self._histories

    def know(self, owner: Scope, history: UseHistory) -> None:
        """Take over the history of an owner; that of who has not asked for longest may be forgotten for it."""
        with self._lock:
            self._histories.pop(owner, None)
            self._histories[owner] = history
            if len(self._histories) > MOST_OWNERS:
                oldest = next(iter(self._histories))
                del self._histories[oldest]
                self._last.pop(oldest, None)

    def asked(self, owner: Scope, used: Mapping[str, float]) -> None:
        """Add the question to the history of its owner."""
        self.know(owner, self._history(owner).after(used))
        self._last[owner] = self._number
        self._number += 1

    def forget(self) -> None:
        """Know no owner any more: something was erased."""
        with self._lock:
            self._histories.clear()
            self._last.clear()

    def chance(self, owner: Scope, block: str) -> float:
        """By the history of its owner."""
        return self._history(owner).chance(block)

    def idle(self, owner: Scope) -> int:
        """Questions since the owner asked."""
        return self._number - 1 - self._last.get(owner, -1)

    def likely(self, owner: Scope) -> Iterable[str]:
        """All blocks that the owner ever used."""
        return self._history(owner).likely()

    def _history(self, owner: Scope) -> UseHistory:
        return self._histories.get(owner, UseHistory())
