"""Residency: which owners are in memory; the one used longest ago leaves when the budget is passed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock

from memoryos.infrastructure.vault.contract import Reader
from memoryos.operation.index.follower import Follower
from memoryos.operation.index.keeper import Keeper
from memoryos.operation.index.resident import Resident
from memoryos.scope import Scope


class Residency:
    """The residents of one memory, under a budget in bytes."""

    def __init__(
        self,
        budget_bytes: int,
        make: Callable[[], Resident],
        follower: Follower | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        """Turns of owners with an index of the follower are loaded only on request.

        With a keeper, the indexes of large owners are kept for the next process.
        """
        self.budget = budget_bytes
        self._make = make
        self._follower = follower
        self._keeper = keeper
        self._lock = Lock()
        self.on_use: Callable[[], None] = lambda: None  #: is called before an owner's memory is used
        self._residents: OrderedDict[Scope, Resident] = OrderedDict()  # the one used last is last
        self._sizes: dict[Scope, int] = {}

    def __len__(self) -> int:
        return len(self._residents)

    @property
    def nbytes(self) -> int:
        """The approximate size of all of them in bytes."""
        return sum(self._sizes.values())

    def following(self, scope: Scope, reader: Reader, *, whole: bool | None = None) -> Resident:
        """The resident of the scope's owner, in step with the reader; with all turns when it must be whole.

        Where that is left open, it is whole unless there is a candidate index. It is there even when it alone passes
        the budget; the others leave first.
        """
        owner = scope.owner
        self.on_use()
        with self._lock:
            resident = self._residents.get(owner) or self._make()
            self._residents[owner] = resident
            self._residents.move_to_end(owner)
        if whole is None:
            whole = self._follower is None or not self._follower.has(owner)
        keeper = self._keeper
        resident.follow(reader, turns=whole, find_kept=lambda: keeper.read(owner, reader) if keeper else None)
        with self._lock:
            self._residents[owner] = resident  # another owner may have pushed it out meanwhile
            self._sizes[owner] = resident.nbytes
            self._shrink(owner)
        return resident

    def is_worth_keeping(self, scope: Scope) -> bool:
        """Whether there is an index of the owner that should be kept for the next process."""
        resident = self._residents.get(scope.owner)
        return self._keeper is not None and resident is not None and resident.is_worth_keeping()

    def keep(self, scope: Scope) -> None:
        """Save the owner's current index for the next process, if that is worth it."""
        owner = scope.owner
        resident = self._residents.get(owner)
        if self._keeper is None or resident is None:
            return
        with self._keeper.vault.read(owner) as reader:
            if resident.is_worth_keeping(reader.sequence()):
                resident = self.following(owner, reader)
        if resident.is_worth_keeping():
            self._keeper.write(owner, resident.kept())

    @property
    def owners(self) -> list[Scope]:
        """Who is in memory."""
        with self._lock:
            return list(self._residents)

    def follow_erasure(self, owner: Scope, read: Callable[[Scope], AbstractContextManager[Reader]]) -> None:
        """Let go of what the owner's memory lost; the index leaves whole if it still has words of that."""
        resident = self._residents.get(owner)
        if resident is None:
            return
        with read(owner) as reader:
            resident.refresh(reader)
        if resident.is_worth_reading_again:
            self.forget(owner)

    def forget(self, scope: Scope) -> None:
        """Remove the scope's owner from memory."""
        with self._lock:
            self._residents.pop(scope.owner, None)
            self._sizes.pop(scope.owner, None)

    def _shrink(self, spared: Scope) -> None:
        for owner in list(self._residents):
            if self.nbytes <= self.budget:
                return
            if owner != spared:
                del self._residents[owner]
                self._sizes.pop(owner, None)
