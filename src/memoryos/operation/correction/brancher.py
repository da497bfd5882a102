"""Brancher: the branches of one owner, which are compared, discarded, and follow what is removed from the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from memoryos.caller import SYSTEM, Action, acting, doing
from memoryos.cube import MemCube
from memoryos.errors import CubeProtected, NotFound, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Job, JobKind, Operation
from memoryos.kinds import Kind, State
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.branch import (
    Branch,
    BranchPlace,
    branches,
    drop_branch,
    is_alike,
    made_until,
    places_in,
    write_branch,
)
from memoryos.operation.correction.branch_maker import LEFT_AFTER, BranchMaker
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.forget import Forgetter, Forgotten
from memoryos.operation.correction.new_labels import NewLabels
from memoryos.operation.correction.relabelled import Relabelling
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.plain import Plain, PlainContent
from memoryos.scope import Scope
from memoryos.version_diff import FieldChange, version_diff

LOOK_AGAIN = timedelta(hours=1)  # after which a branch that could not go is looked at again
_COMPARED = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE)


@dataclass(frozen=True, slots=True)
class BranchChange(Plain):
    """A memory that says something else, or holds no more, in a branch."""

    id: str  #: id of the owner's memory
    branch_id: str  #: id of its copy
    before: State  #: state of the owner's memory
    after: State  #: state of its copy
    changes: tuple[FieldChange, ...]  #: the fields that differ, from the owner's memory to the copy


@dataclass(frozen=True, slots=True)
class BranchDiff(PlainContent):
    """What a branch has that the owner's memory does not have now, and the other way round."""

    name: str  #: name of the branch
    added: tuple[MemCube, ...]  #: memories that were stored in the branch
    changed: tuple[BranchChange, ...]  #: memories that differ
    removed: tuple[MemCube, ...]  #: the owner's memories that were deleted in the branch
    newer: tuple[MemCube, ...]  #: the owner's memories that were stored after the branch was made


@dataclass(frozen=True, slots=True)
class KeptCopy:
    """A copy of a memory that is gone; it is frozen or on hold in its branch."""

    id: str
    branch: str  #: its name
    kind: Kind


@dataclass(frozen=True, slots=True)
class Brancher:
    """The branches of one owner."""

    corrector: Corrector
    forgetter: Forgetter

    @classmethod
    def of(cls, promoter: Promoter, forgetter: Forgetter, owner: Scope) -> Brancher:
        """The branches of an owner."""
        return cls(Corrector(promoter, owner), forgetter)

    @property
    def owner(self) -> Scope:
        """The owner of the branches."""
        return self.corrector.scope.owner

    def all(self) -> list[Branch]:
        """All branches, also those that have ended or are not whole."""
        with self._vault.read(self.owner) as reader:
            return branches(reader)

    def create(self, branch: Branch) -> Branch:
        """Copy the owner's memory. A crash leaves a branch that is not whole, which a job discards a little later.

        Raises NotFound if the branch is discarded, or something is erased, meanwhile.
        """
        try:
            return BranchMaker(self.corrector, branch).make()
        except NotFound:  # who discarded it may have come before something was copied, and no list has that
            acting(SYSTEM, lambda: doing(Action.DELETE, lambda: self.discard(branch)))
            raise

    def discard(self, branch: BranchPlace) -> Forgotten:
        """Remove a branch with everything in it. Raises CubeProtected if something in it is frozen or on hold."""
        gone = Forgotten()
        for home in self.corrector.homes:
            scope = branch.scope(home)
            gone += self.forgetter.owner(scope, self._corrector(branch))
        with self._vault.write(self.owner) as writer, suppress(StoreCorrupt):  # a damaged list goes with its owner
            drop_branch(writer, branch)
        return gone

    def forget(self, forget: Callable[[], Forgotten]) -> Forgotten:
        """Remove all branches, and everything else of the owner by `forget`; a branch that is being made, too."""
        first = {one.id: self.discard(one) for one in self._places()}
        gone = forget()
        again = {one.id: self.discard(one) for one in self._found()}  # made meanwhile, or not empty yet
        told = [replace(done, left={}) if place in again else done for place, done in first.items()]
        return sum([*told, *again.values()], gone)  # what is left is told once, as the last check found it

    def delete_all(self, ids: Sequence[str]) -> None:
        """Remove the copies of memories from all branches that are whole. Raises CubeProtected.

        A memory that is frozen or on hold does not go, and neither do its copies. Who makes a branch removes from it
        what went meanwhile; one that nobody makes any more is discarded.
        """
        places = self._places()
        acting(SYSTEM, lambda: doing(Action.DELETE, lambda: self._discard_left(places)))
        known = [one for one in places if _is_whole(one)]
        going = [cube_id for cube_id in ids if not self._stays(cube_id)] if known else []
        for branch in known:
            for cube_id in going:
                with suppress(NotFound):
                    self._corrector(branch).delete(branch.id_of(cube_id))

    def ids(self) -> set[str]:
        """The ids of all branches, also of those that have ended or are not whole."""
        return {one.id for one in self._places()}

    def restrict(self, cube_id: str, labels: NewLabels, changed: set[str]) -> set[str]:
        """Give copies of a memory what is stricter; returns the branches that are done.

        `changed` gets those in which the copy changed, also if a later one raises CubeProtected. Branches that are
        being made are discarded: they may have copied the memory as it was.
        """
        done, places = set[str](), self._places()
        for branch in places:
            if _is_whole(branch):
                with suppress(NotFound), _naming(branch, cube_id):
                    if self._is_restricted(self._restricting(branch, cube_id, labels)):
                        changed.add(branch.id)
                done.add(branch.id)
            else:
                doing(Action.DELETE, partial(self._discard_unfinished, branch.id))
        return done

    def check_restricted(self, cube_id: str, labels: NewLabels) -> None:
        """Raise CubeProtected if a copy of the memory may not get what is stricter in these labels."""
        for branch in self._whole():
            with suppress(NotFound), _naming(branch, cube_id):
                self._restricting(branch, cube_id, labels).check()

    def _is_restricted(self, change: Relabelling) -> bool:
        """Write the change of a copy; whether it had other labels before."""
        before, _ = change.corrector.find(change.cube_id)
        return change.write().number != before.number

    def _restricting(self, branch: BranchPlace, cube_id: str, labels: NewLabels) -> Relabelling:
        return Relabelling(self._corrector(branch), branch.id_of(cube_id), labels.for_copy)

    def discard_unfinished(self) -> Forgotten:
        """Discard the branches that are not whole, also those that somebody makes: they may hold what was erased."""
        unfinished = [one.id for one in self._places() if isinstance(one, Branch) and not one.is_whole]
        return sum(map(self._discard_unfinished, unfinished), Forgotten())

    def _discard_unfinished(self, branch_id: str) -> Forgotten:
        """Discard a branch unless it became whole meanwhile: then its copies go with what they were made of.

        It ends in the transaction that finds it unfinished, so nobody finishes it; after a crash, a job discards it.
        """
        with self._vault.write(self.owner) as writer:
            known = [one for one in branches(writer) if one.id == branch_id and not one.is_whole]
            for one in known:
                write_branch(writer, replace(one, expires_at=self.corrector.promoter.clock()))
        return sum(map(self.discard, known), Forgotten())

    def follow(self, gone: Sequence[str]) -> list[KeptCopy]:
        """Remove the copies of memories that are gone; returns those that are frozen or on hold.

        A copy whose documents cannot be removed from the object store yet is removed by a job of the branch.
        """
        return [kept for branch in self._whole() for cube_id in gone for kept in self._followed(branch, cube_id)]

    def _followed(self, branch: BranchPlace, cube_id: str) -> Iterator[KeptCopy]:
        corrector, copy = self._corrector(branch), branch.id_of(cube_id)
        try:
            corrector.delete(copy)
        except NotFound:
            return
        except ObjectsUnreachable:
            corrector.postpone(copy)
        except CubeProtected:
            yield KeptCopy(copy, branch.name, corrector.removable(copy)[0])

    def discard_drafts(self) -> Forgotten:
        """Remove the packs of the branches that are being written; what is left are those that may still come."""
        scopes = {branch.scope(home) for branch in self._whole() for home in self.corrector.homes}
        return sum(map(self.forgetter.drafts, scopes), Forgotten())

    def forget_session(self, session: str) -> Forgotten:
        """Remove a session from all branches."""
        gone = Forgotten()
        for branch in self._whole():
            corrector = self._corrector(branch)
            gone += self.forgetter.session(replace(corrector.scope, session=session), corrector)
        return gone

    def forget_home(self, home: Scope) -> Forgotten:
        """Remove the copy of a home, such as a persona that agents share, from all branches; also from unfinished ones.

        Nobody finishes these then. Raises CubeProtected.
        """
        places = self._places()
        return sum((self.forgetter.owner(one.scope(home), self._corrector(one)) for one in places), Forgotten())

    def diff(self, branch: Branch) -> BranchDiff:
        """Compare a branch with the owner's memory as it is now; only pages, facts, traits and profile fields."""
        parts = [self._differences(home, branch) for home in self.corrector.homes]
        added, changed, removed, newer = (tuple(one for part in parts for one in part[index]) for index in range(4))
        return BranchDiff(branch.name, added, changed, removed, newer)  # type: ignore[arg-type]

    def is_left(self, branch: Branch) -> bool:
        """Whether whoever made the branch has ended before it was whole, or does not come on."""
        since = self.corrector.promoter.clock() - LEFT_AFTER
        return not branch.is_whole and max(branch.created_at, *self._signs(branch)) <= since

    def _signs(self, branch: Branch) -> Iterator[datetime]:
        for home in self.corrector.homes:
            with self._vault.read(branch.scope(home)) as reader:
                yield made_until(reader) or branch.created_at

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    def _places(self) -> Sequence[BranchPlace]:
        """Where the branches lie; if the list of them is damaged, as far as the store has memory in them."""
        try:
            return self.all()
        except StoreCorrupt:
            return self._found()

    def _found(self) -> Sequence[BranchPlace]:
        """The same without the list."""
        return places_in(self._vault.owners_of(self.owner.tenant, self.owner.user), self.corrector.homes)

    def _whole(self) -> list[BranchPlace]:
        """Those that nobody makes any more."""
        return [one for one in self._places() if _is_whole(one)]

    def _discard_left(self, places: Sequence[BranchPlace]) -> None:
        for one in places:
            if isinstance(one, Branch) and self.is_left(one):
                self._discard_unfinished(one.id)

    def _corrector(self, branch: BranchPlace) -> Corrector:
        return Corrector(self.corrector.promoter, branch.scope(self.owner))

    def _stays(self, cube_id: str) -> bool:
        return any(self._stays_in(home, cube_id) for home in self.corrector.homes)

    def _stays_in(self, home: Scope, cube_id: str) -> bool:
        """Whether a memory of the scope may not go; one that the caller may not read is as unknown as any other."""
        with self._vault.view(home) as reader:
            if not reader.permitted([cube_id]):
                return False
            whole = reader.whole
            return whole.states([cube_id]).get(cube_id) is State.FROZEN or bool(whole.retention.held([cube_id]))

    def _differences(self, home: Scope, branch: Branch) -> tuple[Sequence[Plain], ...]:
        with self._vault.view(home) as reader, self._vault.view(branch.scope(home)) as other:
            mine, yours = _compared(reader), _compared(other)
            new, fresh = _added(other, branch.own_sequence), _added(reader, branch.sequence)
        pairs = {one: branch.id_of(one) for one in mine}
        both = [(mine[one], yours[copy]) for one, copy in pairs.items() if copy in yours]
        changed = [_change(one, copy) for one, copy in both if not is_alike(one, copy)]
        added = [cube for cube in yours.values() if cube.id in new]
        lacking = [mine[one] for one, copy in pairs.items() if copy not in yours]
        removed = [cube for cube in lacking if cube.id not in fresh]
        return added, changed, removed, [cube for cube in lacking if cube.id in fresh]


@dataclass(frozen=True)
class BranchJob:
    """Runs jobs of the kind `BRANCH`: discards the branches of a scope that have ended, or were left half made."""

    brancher: Callable[[Scope], Brancher]
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Discard what has ended, and wait for what ends next."""
        brancher = self.brancher(scope)
        promoter = brancher.corrector.promoter
        for branch in brancher.all():
            if not goes_on():
                return jobs
            if branch.expires_at <= promoter.clock() or brancher.is_left(branch):
                with suppress(CubeProtected):  # it is frozen there, or on hold
                    brancher.discard(branch)
        with promoter.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if due := _due(writer, promoter.clock()):
                writer.enqueue(JobKind.BRANCH, not_before=due)
        return ()


@contextmanager
def _naming(branch: BranchPlace, cube_id: str) -> Iterator[None]:
    """Let what protects a copy name the branch, and say no more: whoever changes the memory need not administer it."""
    try:
        yield
    except CubeProtected:
        copy = branch.id_of(cube_id)
        raise CubeProtected(
            f"the copy {copy} of the memory in the branch {branch.name!r}, or what rests on it, is frozen or on hold"
            " there, and nothing was changed: thaw or release it there first",
            memory_id=copy,
        ) from None


def _is_whole(place: BranchPlace) -> bool:
    return not isinstance(place, Branch) or place.is_whole


def _due(reader: Reader, now: datetime) -> datetime | None:
    known = branches(reader)
    ends = [one.expires_at if one.expires_at > now else now + LOOK_AGAIN for one in known]
    return min([*ends, *(now + LEFT_AFTER for one in known if not one.is_whole)], default=None)


def _compared(reader: Reader) -> dict[str, MemCube]:
    found = (cube for kind in _COMPARED for cube in reader.cubes(kind))
    return {
        cube.id: cube
        for cube in found
        if cube.state is not State.EXPIRED and not (cube.is_proposal or cube.is_withdrawn)
    }


def _added(reader: Reader, after: int) -> set[str]:
    """The memories that were stored after an event."""
    found = set[str]()
    while events := reader.events(after=after):
        found.update(event.cube_id for event in events if event.operation is Operation.ADD)
        after = events[-1].sequence
    return found


def _change(one: MemCube, copy: MemCube) -> BranchChange:
    return BranchChange(one.id, copy.id, one.state, copy.state, version_diff(one, copy).changes)
