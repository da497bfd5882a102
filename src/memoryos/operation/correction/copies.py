"""Copies: what branches have of an owner's memories, which goes when these memories go.

The copies go first, because they may be protected there. Those of a branch that was made meanwhile go last. Where
agents share a persona, the branches of each of them have copies of it: there goes, too, what left it with a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from memoryos.caller import SYSTEM, Action, acting, doing
from memoryos.config import PersonaSharing
from memoryos.cube import MemCube
from memoryos.errors import ChangedMeanwhile, CubeProtected, NotFound, ObjectsUnreachable, PermissionDenied, Refused
from memoryos.infrastructure.vault.forgotten_list import Subject
from memoryos.infrastructure.vault.records import Operation
from memoryos.operation.correction.brancher import Brancher, KeptCopy
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.correction.relabelled import Relabelling, told_so_far
from memoryos.scope import Scope

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of one owner's memories in its branches, and in those of other agents who share its persona."""

    brancher: Brancher

    def delete(self, ids: Sequence[str]) -> None:
        """Remove the copies of memories from all branches that are whole. Raises CubeProtected.

        Those in the branches of other agents go only if the caller may remove the memories themselves.
        """
        self.brancher.delete_all(ids)
        others = self._others() if ids else []
        going = [one for one in ids if self._is_removable(one)] if others else []
        for other in others:
            _as_system(lambda other=other: other.delete_all(going))  # type: ignore[misc]

    def relabelled(self, change: Relabelling) -> MemCube:
        """Give a memory other labels, after its copies in branches got what is stricter in them; returns it.

        So no crash leaves a copy that shows more than the memory; what makes a memory more open does not reach them.
        Raises what `Relabelling.check` does, also about a copy.
        """
        change.check()
        if not change.labels.may_restrict:
            return change.write()
        acting(SYSTEM, lambda: self._check_restricted(change))
        restricted = set[str]()
        while True:
            with _telling(restricted):
                done = acting(SYSTEM, lambda: self._restricted(change, restricted))
            with suppress(ChangedMeanwhile), _telling(restricted):  # a branch made meanwhile may have it as it was
                changed = change.write(lambda done=done: acting(SYSTEM, self.brancher.ids) <= done)  # type: ignore[misc]
                break
        with _telling([change.cube_id], "the memory itself has its new labels"):
            while not acting(SYSTEM, self._ids) <= done:  # other agents' are not locked: one may be made until now
                done = acting(SYSTEM, lambda: self._restricted(change, restricted))
        return changed

    def _check_restricted(self, change: Relabelling) -> None:
        for one in self._all:  # all of them first: what is protected in one branch changes no copy in another
            for cube_id in self._with_absorbed(change):
                one.check_restricted(cube_id, change.labels)

    def _restricted(self, change: Relabelling, changed: set[str]) -> set[str]:
        """Returns the branches that are done, and notes those in which a copy changed, also before an error."""
        ids, labels = self._with_absorbed(change), change.labels
        parts = ([one.restrict(cube_id, labels, changed) for cube_id in ids] for one in self._all)
        return set[str]().union(*(set.intersection(*some) for some in parts))

    def _with_absorbed(self, change: Relabelling) -> list[str]:
        """The memory, and what it took in: in a branch that was made before, that is a memory beside it."""
        return [change.cube_id, *self.brancher.corrector.absorbed([change.cube_id])]

    def _ids(self) -> set[str]:
        return set[str]().union(*(one.ids() for one in self._all))

    @property
    def _all(self) -> list[Brancher]:
        return [self.brancher, *self._others()]

    def removed(self, ids: Sequence[str], remove: Callable[[], T]) -> T:
        """Remove memories by `remove`, and their copies; returns what `remove` does.

        Raises CubeProtected, also when the memories are gone, if a copy that was made meanwhile is frozen or on hold.
        """
        removed, kept = self._removed(ids, remove)
        if kept:
            one = kept[0]
            raise CubeProtected(
                f"the memory is removed, but its copy {one.id} in the branch {one.branch!r} is frozen or on hold there:"
                " thaw or release it, and delete it there",
                memory_id=one.id,
            )
        return removed

    def erased(self, memory_id: str, note: Callable[[Subject], object]) -> Forgotten:
        """Remove a memory with what it took in, and the copies of all that; `left` counts what is protected there.

        Branches that are not whole are discarded.
        `note` is called with each memory that went, in its home, which may be a persona that agents share.
        Raises NotFound, CubeProtected and ObjectsUnreachable.
        """
        corrector, forgetter = self.brancher.corrector, self.brancher.forgetter
        _, home = corrector.removable(memory_id)
        ids = [*corrector.absorbed([memory_id]), memory_id]
        corrector.refuse_frozen((), ids)
        gone = self._without_unfinished()

        def remove() -> Forgotten:
            done = forgetter.memory(corrector, memory_id)
            for one in ids:
                note({**home.owner.to_dict(), "memory": one})
            return done

        return gone + _told(*self._removed(ids, remove)) + self._without_later() + self._without_drafts()

    def forgotten(self, forget: Callable[[], Forgotten]) -> Forgotten:
        """Remove all branches, and everything else of the owner by `forget`, with what that takes from the persona.

        If the owner is the persona itself, it leaves the branches of all agents.
        """
        owner = self.brancher.owner
        others = self._others() if owner in self._shared else []
        gone = _as_system(lambda: sum((one.forget_home(owner) for one in others), Forgotten()))
        return gone + _told(*self._removed((), lambda: self.brancher.forget(forget)))

    def without_session(self, forget: Callable[[], Forgotten], session: str) -> Forgotten:
        """Remove a session by `forget`, and from all branches, with what that takes from the persona."""
        gone = self._without_unfinished()
        gone += _told(*self._removed((), lambda: forget() + self.brancher.forget_session(session)))
        return gone + self._without_later()

    def _without_unfinished(self) -> Forgotten:
        """Discard the branches that are being made, or were left half made: their copies are in no list yet."""
        known = self._all
        gone = _as_system(lambda: sum((one.discard_unfinished() for one in known), Forgotten()))
        return Forgotten(left=gone.left)  # the rest was not what the caller erases

    def _without_later(self) -> Forgotten:
        """The same with those that were begun meanwhile; what cannot go yet is told, for the memories are gone."""
        try:
            return self._without_unfinished()
        except ObjectsUnreachable:
            return Forgotten(left=Counter(branch=1))

    def _without_drafts(self) -> Forgotten:
        """Remove the packs of branches that are being written: copies of what went may be in them."""
        known = self._all
        return _as_system(lambda: sum((one.discard_drafts() for one in known), Forgotten()))

    def _removed(self, ids: Sequence[str], remove: Callable[[], T]) -> tuple[T, list[KeptCopy]]:
        self.delete(ids)
        homes = {home: self._sequence(home) for home in self._shared}
        kept: list[KeptCopy] = []
        try:
            removed = remove()
            kept += self._follow(ids)
        finally:  # what left the persona before an error is gone
            kept += self._follow([one for home, since in homes.items() for one in self._gone(home, since)])
        return removed, kept

    def _follow(self, gone: Sequence[str]) -> list[KeptCopy]:
        """Remove the copies of memories that are gone; returns those that are protected."""
        known = self._all if gone else []
        return _as_system(lambda: [kept for one in known for kept in one.follow(gone)])

    @property
    def _shared(self) -> tuple[Scope, ...]:
        """The persona, if other agents share it."""
        corrector = self.brancher.corrector
        is_shared = corrector.promoter.settings.persona_sharing is PersonaSharing.USER
        return (corrector.scope.across_agents,) if is_shared else ()

    def _others(self) -> list[Brancher]:
        """The branches of the other agents who share the persona."""
        corrector, owner = self.brancher.corrector, self.brancher.owner
        promoter, forgetter = corrector.promoter, self.brancher.forgetter
        found = promoter.vault.owners_of(owner.tenant, owner.user) if self._shared else []
        agents = [one for one in found if one != owner and one.across_agents in self._shared]
        return [Brancher.of(promoter, forgetter, one) for one in agents]

    def _is_removable(self, cube_id: str) -> bool:
        try:
            self.brancher.corrector.removable(cube_id)
        except (NotFound, PermissionDenied):
            return False
        return True

    def _sequence(self, home: Scope) -> int:
        with self.brancher.corrector.promoter.vault.read(home) as reader:
            return int(reader.sequence())

    def _gone(self, home: Scope, since: int) -> list[str]:
        """The memories that were deleted there after an event."""
        found = dict[str, None]()
        with self.brancher.corrector.promoter.vault.read(home) as reader:
            while events := reader.events(after=since):
                found.update((one.cube_id, None) for one in events if one.operation is Operation.DELETE)
                since = events[-1].sequence
        return list(found)


@contextmanager
def _telling(done: Collection[str], what: str = "its copies in branches got what is stricter") -> Iterator[None]:
    """Let what comes in the way tell what was done before, if anything was by then."""
    try:
        yield
    except Refused as error:
        raise (told_so_far(error, what) if done else error) from None


def _told(done: Forgotten, kept: Sequence[KeptCopy]) -> Forgotten:
    return done + Forgotten(left=Counter(one.kind.value for one in kept))


def _as_system(remove: Callable[[], T]) -> T:
    """Remove copies of what the caller may remove, wherever they lie."""
    return acting(SYSTEM, lambda: doing(Action.DELETE, remove))
