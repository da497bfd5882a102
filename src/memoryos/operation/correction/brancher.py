"""Brancher: makes, compares and discards the branches of one owner.

A branch is made by copying: each memory with its versions, vectors, passages, links and attachments, some in each
transaction, all from one snapshot. So it takes time and room in proportion to the memory, and nothing is embedded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from memoryos.clock import from_micros
from memoryos.cube import MemCube
from memoryos.errors import CubeProtected, NotFound, StoreCorrupt
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, Link, Mark, Operation, Passage, StoredPassage
from memoryos.infrastructure.vault.version_part import TRIMMED
from memoryos.kinds import MADE_OF_MEMORIES, Kind, State
from memoryos.operation.attachments.attached_file import files_of
from memoryos.operation.attachments.parcels import Parcel, bytes_of, with_parcels
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.branch import (
    Branch,
    BranchPlace,
    branches,
    drop_branch,
    is_alike,
    places_in,
    write_branch,
)
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.forget import Forgetter, Forgotten
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, chars_of
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import some_at_a_time, together
from memoryos.plain import Plain, PlainContent
from memoryos.scope import Scope
from memoryos.version_diff import FieldChange, version_diff

READ_AT_ONCE = 64  # memories read at a time
LINKS_AT_ONCE = 1_000
LOOK_AGAIN = timedelta(hours=1)  # after which a branch that could not go is looked at again
_COMPARED = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE)


@dataclass(frozen=True, slots=True)
class BranchChange(Plain):
    """A memory that says something else, or holds no more, in a branch."""

    id: str  #: of the owner's memory
    branch_id: str  #: of its copy
    before: State  #: of the owner's memory
    after: State  #: of its copy
    changes: tuple[FieldChange, ...]  #: the fields that differ, from the owner's memory to the copy


@dataclass(frozen=True, slots=True)
class BranchDiff(PlainContent):
    """What a branch has that the owner's memory does not have now, and the other way round."""

    name: str  #: of the branch
    added: tuple[MemCube, ...]  #: memories that were stored in the branch
    changed: tuple[BranchChange, ...]  #: memories that differ
    removed: tuple[MemCube, ...]  #: the owner's memories that were deleted in the branch
    newer: tuple[MemCube, ...]  #: the owner's memories that were stored after the branch was made


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
        """Copy the owner's memory. A crash leaves a branch that is not whole, which is discarded when it ends."""
        with self._vault.write(self.owner) as writer:
            write_branch(writer, branch)
            writer.enqueue(JobKind.BRANCH, not_before=branch.expires_at)
        sequence = 0
        for home in self.corrector.homes:
            with self._vault.view(home) as reader:
                sequence = max(sequence, reader.sequence())
                self._copy(reader, home, branch)
        own = [self._sequence(branch.scope(home)) for home in self.corrector.homes]
        whole = replace(branch, is_whole=True, sequence=sequence, own_sequence=max(own))
        with self._vault.write(self.owner) as writer:
            write_branch(writer, whole)
        return whole

    def discard(self, branch: BranchPlace) -> Forgotten:
        """Remove a branch with everything in it. Raises CubeProtected if something in it is frozen or on hold."""
        gone = Forgotten()
        for home in self.corrector.homes:
            scope = branch.scope(home)
            gone += self.forgetter.owner(scope, self._corrector(branch))
        with self._vault.write(self.owner) as writer, suppress(StoreCorrupt):  # a damaged list goes with its owner
            drop_branch(writer, branch.name)
        return gone

    def discard_all(self) -> Forgotten:
        """Remove all branches."""
        return sum(map(self.discard, self._places()), Forgotten())

    def delete(self, cube_id: str) -> None:
        """Remove the copies of a memory from all branches, before it goes itself. Raises CubeProtected.

        A memory that is frozen or on hold does not go, and neither do its copies.
        """
        self.delete_all([cube_id])

    def delete_all(self, ids: Sequence[str]) -> None:
        """Remove the copies of memories like `delete`."""
        known = self._places()
        going = [cube_id for cube_id in ids if not self._stays(cube_id)] if known else []
        for branch in known:
            for cube_id in going:
                with suppress(NotFound):
                    self._corrector(branch).delete(branch.id_of(cube_id))

    def forget_session(self, session: str) -> Forgotten:
        """Remove a session from all branches."""
        gone = Forgotten()
        for branch in self._places():
            corrector = self._corrector(branch)
            gone += self.forgetter.session(replace(corrector.scope, session=session), corrector)
        return gone

    def diff(self, branch: Branch) -> BranchDiff:
        """Compare a branch with the owner's memory as it is now; only pages, facts, traits and profile fields."""
        parts = [self._differences(home, branch) for home in self.corrector.homes]
        added, changed, removed, newer = (tuple(one for part in parts for one in part[index]) for index in range(4))
        return BranchDiff(branch.name, added, changed, removed, newer)  # type: ignore[arg-type]

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    def _places(self) -> Sequence[BranchPlace]:
        """Where the branches lie; if the list of them is damaged, as far as the store has memory in them."""
        try:
            return self.all()
        except StoreCorrupt:
            scopes = self._vault.owners_of(self.owner.tenant, self.owner.user)
            return places_in(scopes, self.corrector.homes)

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

    def _sequence(self, scope: Scope) -> int:
        with self._vault.read(scope) as reader:
            return int(reader.sequence())

    def _copy(self, reader: Reader, home: Scope, branch: Branch) -> None:
        scope = branch.scope(home)
        with self._vault.write(scope) as writer:
            for rule in reader.retention.own_rules():
                writer.retention.write_rule(rule)
            writer.write_note(TRIMMED, reader.note(TRIMMED))
        ordered = list(self._ids(reader))
        known = set(ordered)
        for some in some_at_a_time(ordered, READ_AT_ONCE):
            self._copy_some(reader, home, scope, branch, some, known)
        links = [
            Link(branch.id_of(link.source), link.kind, branch.id_of(link.target))
            for some in some_at_a_time(ordered, READ_AT_ONCE)
            for link in reader.links_of(some)
            if link.target in known
        ]
        for part in some_at_a_time(links, LINKS_AT_ONCE):
            with self._vault.write(scope) as writer:
                writer.link(part)

    def _copy_some(
        self, reader: Reader, home: Scope, scope: Scope, branch: Branch, ids: Sequence[str], known: set[str]
    ) -> None:
        cubes = reader.get(ids)
        vectors, passages = (
            reader.vectors(ids),
            _passages(reader, [one for one in cubes if cubes[one].kind is Kind.PAGE]),
        )
        entries = (
            Entry(
                branch.copy_of(cubes[one], scope, known.__contains__),
                vectors.get(one) if one not in passages else None,
                passages.get(one),
            ).prepared
            for one in ids
            if one in cubes
        )
        earlier = (
            Entry(branch.copy_of(one, scope, known.__contains__)).prepared
            for cube in cubes.values()
            if cube.version.number > 1
            for one in reader.history(cube.id)
        )
        files = {one.id: cube for cube in cubes.values() for one in files_of(cube) if one.id}
        read = [bytes_of(self._vault, home, cube, sha) for sha, cube in files.items()]
        parcels = {one.id: Parcel(one.data, one.media_type) for one in read}
        waiting = list(together(entries, chars_of, CHARS_AT_ONCE))

        def store() -> list[str]:
            while waiting:
                with self._vault.write(scope) as writer:
                    writer.insert(waiting[0])
                del waiting[0]
            return []

        with_parcels(self._vault, scope, parcels, self.corrector.promoter.clock, store)
        for some in together(earlier, chars_of, CHARS_AT_ONCE):
            with self._vault.write(scope) as writer:
                writer.keep_versions(some)

    def _ids(self, reader: Reader) -> Iterator[str]:
        """What is copied: KV states and adapters can be built in the branch."""
        after = 0
        while places := reader.placed(after=after):
            yield from (place.id for place in places if place.kind not in MADE_OF_MEMORIES)
            after = places[-1].position

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
    """Runs jobs of the kind `BRANCH`: discards the branches of a scope that have ended."""

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
            if branch.expires_at <= promoter.clock():
                with suppress(CubeProtected):  # it is frozen there, or on hold
                    brancher.discard(branch)
        with promoter.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if due := _due(writer, promoter.clock()):
                writer.enqueue(JobKind.BRANCH, not_before=due)
        return ()


def _due(reader: Reader, now: datetime) -> datetime | None:
    ends = [one.expires_at if one.expires_at > now else now + LOOK_AGAIN for one in branches(reader)]
    return min(ends, default=None)


def _passages(reader: Reader, pages: Sequence[str]) -> Mapping[str, Sequence[Passage]]:
    found: dict[str, list[Passage]] = {}
    for one in reader.passages(pages):
        if one.part:
            found.setdefault(one.page, []).append(_passage(one))
    return found


def _passage(one: StoredPassage) -> Passage:
    vector = np.frombuffer(one.vector, "<f2").astype(np.float32)
    return Passage(vector, one.words.split(), from_micros(one.said_at), one.speaker, Mark(one.marks), one.extent)


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
