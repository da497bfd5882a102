"""BranchMaker: makes a branch by copying.

Each memory is copied with its versions, vectors, passages, links and attachments, some in each transaction, all from
one snapshot. So it takes time and room in proportion to the memory, and nothing is embedded anew.

Others work meanwhile. What they removed from the memory since the snapshot is removed from the branch before anybody
can use it; who erases something discards the branch. A note in the branch says that it is being made: whoever discards
the branch removes the note first, and nothing is copied without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from memoryos.caller import SYSTEM, Action, acting, doing
from memoryos.clock import from_micros
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import (
    Entry,
    JobKind,
    Link,
    LinkKind,
    Mark,
    Operation,
    Passage,
    StoredPassage,
)
from memoryos.infrastructure.vault.version_part import TRIMMED
from memoryos.kinds import MADE_OF_MEMORIES, Kind, State
from memoryos.operation.attachments.parcels import Parcel, all_bytes_of, with_parcels
from memoryos.operation.correction.branch import Branch, branches, made_until, note_making, stop_making, write_branch
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, chars_of
from memoryos.operation.scheduler.step import some_at_a_time, together
from memoryos.scope import Scope

READ_AT_ONCE = 64  # memories read at a time
LINKS_AT_ONCE = 1_000
LEFT_AFTER = timedelta(minutes=2)  # without a step, after which a branch that is not whole is discarded
_ENDS = (Operation.DELETE, Operation.TRANSITION)  # of memories, or what may be one


@dataclass(frozen=True, slots=True)
class _Home:
    """A home of the owner as it was copied."""

    scope: Scope
    kinds: Mapping[str, Kind]  #: of the memories
    sequence: int  #: of the last event that it shows
    seen: int  #: of the last event that was looked at for what ended since


@dataclass(frozen=True, slots=True)
class BranchMaker:
    """Makes one branch."""

    corrector: Corrector
    branch: Branch

    def make(self) -> Branch:
        """Copy the owner's memory. Raises NotFound if the branch is discarded, or something is erased, meanwhile."""
        now = self._clock()
        with self._vault.write(self._owner) as writer:
            write_branch(writer, self.branch)
            writer.enqueue(JobKind.BRANCH, not_before=min(self.branch.expires_at, now + LEFT_AFTER))
        for home in self.corrector.homes:  # before the snapshots: who forgets the owner after them finds the note
            with self._vault.write(self.branch.scope(home)) as writer:
                note_making(writer, now)
        copied: list[_Home] = []
        for home in self.corrector.homes:
            copied.append(self._copied(home, {one for other in copied for one in other.kinds}))
        whole = self._ended(copied)
        for home in self.corrector.homes:
            with self._vault.write(self.branch.scope(home)) as writer:
                stop_making(writer)
        return whole

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    @property
    def _clock(self) -> Callable[[], datetime]:
        return self.corrector.promoter.clock

    @property
    def _owner(self) -> Scope:
        return self.corrector.scope.owner

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[Writer]:
        """A transaction on the branch, as long as nobody discarded it."""
        with self._vault.write(scope) as writer:
            if made_until(writer) is None:
                raise self._gone()
            note_making(writer, self._clock())
            yield writer

    def _gone(self) -> NotFound:
        return NotFound(
            f"the branch {self.branch.name!r} was discarded while it was made, or something was erased or restricted"
        )

    # What others remove meanwhile

    def _ended(self, homes: Sequence[_Home]) -> Branch:
        """Let the branch be used, after what ended since the snapshots was removed from it.

        To write the branch keeps others from the owner's own memory, the first home, but not from a persona that agents
        share: what ended there until then is removed at once. Whoever removes more finds the branch.
        """
        whole = None
        while whole is None:
            homes = [self._without_ended(home) for home in homes]
            own = max(self._sequence(self.branch.scope(home.scope)) for home in homes)
            with self._vault.write(self._owner) as writer:
                if self.branch not in branches(writer):  # who discards it has it end first
                    raise self._gone()
                if not _ended_since(writer, homes[0])[1]:
                    shown = max(home.sequence for home in homes)
                    whole = replace(self.branch, is_whole=True, sequence=shown, own_sequence=own)
                    write_branch(writer, whole)
        for home in homes[1:]:
            self._without_ended(home)
        return whole

    def _without_ended(self, home: _Home) -> _Home:
        """Remove from the branch what ended; a segment ends with its pages, and is formed anew without them."""
        with self._vault.read(home.scope) as reader:
            seen, ended = _ended_since(reader, home)
        pages = [self.branch.id_of(one) for one in ended if home.kinds[one] is Kind.PAGE]
        others = [self.branch.id_of(one) for one in ended if home.kinds[one] not in (Kind.PAGE, Kind.SEGMENT)]
        acting(SYSTEM, lambda: doing(Action.DELETE, lambda: self._remove(pages, others)))
        return replace(home, seen=seen)

    def _remove(self, pages: Sequence[str], others: Sequence[str]) -> None:
        corrector = Corrector(self.corrector.promoter, self.branch.scope(self._owner))
        corrector.delete_pages(pages)
        for one in others:
            with suppress(NotFound):  # it went with a page
                corrector.delete(one)

    # Copying

    def _copied(self, home: Scope, elsewhere: Set[str]) -> _Home:
        """Copy a home, of which some memories rest on what was copied `elsewhere`: a persona on the pages of agents."""
        with self._vault.view(home) as reader:
            sequence, kinds = reader.sequence(), dict(self._kinds(reader))
            self._copy(reader, home, list(kinds), elsewhere | kinds.keys())
        return _Home(home, kinds, sequence, sequence)

    def _copy(self, reader: Reader, home: Scope, ordered: Sequence[str], known: Set[str]) -> None:
        branch, scope = self.branch, self.branch.scope(home)
        with self._writing(scope) as writer:
            for rule in reader.retention.own_rules():
                writer.retention.write_rule(rule)
            writer.write_note(TRIMMED, reader.note(TRIMMED))
        for some in some_at_a_time(ordered, READ_AT_ONCE):
            self._copy_some(reader, home, some, known)
        links = [
            Link(branch.id_of(link.source), link.kind, branch.id_of(link.target) if is_copied else link.target)
            for some in some_at_a_time(ordered, READ_AT_ONCE)
            for link in reader.whole.links_of(some)
            # What rests on a page of another agent is as restricted as that page, which is not copied.
            if (is_copied := link.target in known) or link.kind is LinkKind.DERIVED_FROM
        ]
        for part in some_at_a_time(links, LINKS_AT_ONCE):
            with self._writing(scope) as writer:
                writer.link(part)

    def _copy_some(self, reader: Reader, home: Scope, ids: Sequence[str], known: Set[str]) -> None:
        branch, scope, cubes = self.branch, self.branch.scope(home), reader.get(ids)
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
        read = all_bytes_of(self._vault, home, cubes.values())
        parcels = {one.id: Parcel(one.data, one.media_type) for one in read}
        waiting = list(together(entries, chars_of, CHARS_AT_ONCE))

        def store() -> list[str]:
            while waiting:
                with self._writing(scope) as writer:
                    writer.insert(waiting[0])
                del waiting[0]
            return []

        with_parcels(self._vault, scope, parcels, self._clock, store)
        for some in together(earlier, chars_of, CHARS_AT_ONCE):
            with self._writing(scope) as writer:
                writer.keep_versions(some)

    def _kinds(self, reader: Reader) -> Iterator[tuple[str, Kind]]:
        """What is copied: KV states and adapters can be built in the branch."""
        after = 0
        while places := reader.placed(after=after):
            yield from ((place.id, place.kind) for place in places if place.kind not in MADE_OF_MEMORIES)
            after = places[-1].position

    def _sequence(self, scope: Scope) -> int:
        with self._vault.read(scope) as reader:
            return int(reader.sequence())


def _ended_since(reader: Reader, home: _Home) -> tuple[int, list[str]]:
    """The memories that ended since the home was looked at, and the last event of now."""
    told, seen = dict[str, None](), home.seen
    while events := reader.events(after=seen):
        told.update((one.cube_id, None) for one in events if one.operation in _ENDS and one.cube_id in home.kinds)
        seen = events[-1].sequence
    states = reader.states(told)
    return seen, [one for one in told if states.get(one, State.EXPIRED) is State.EXPIRED]


def _passages(reader: Reader, pages: Sequence[str]) -> Mapping[str, Sequence[Passage]]:
    found: dict[str, list[Passage]] = {}
    for one in reader.passages(pages):
        if one.part:
            found.setdefault(one.page, []).append(_passage(one))
    return found


def _passage(one: StoredPassage) -> Passage:
    vector = np.frombuffer(one.vector, "<f2").astype(np.float32)
    return Passage(vector, one.words.split(), from_micros(one.said_at), one.speaker, Mark(one.marks), one.extent)
