"""Relabelled: a stored memory with another access, more sensitivity or another end; its words stay.

What the memory took in when equal ones were merged gets the same. What was learned from a page ends with it; it is as
sensitive and as private as its pages anyway, because a read asks for their labels, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from memoryos.about import about_of
from memoryos.caller import Action
from memoryos.cube import MemCube, ends_earlier, is_opened
from memoryos.errors import ChangedMeanwhile, InvalidInput, NotFound, Refused
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import MADE_OF_MEMORIES, Kind, Origin
from memoryos.operation.calls.permission import check_end, check_new, check_opened, check_stored
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.kept_versions import unexpired
from memoryos.operation.correction.merging import still_taken_in, taken_in
from memoryos.operation.correction.new_labels import NewLabels, Pair, Relabelled
from memoryos.operation.correction.protectors import refuse_protected
from memoryos.operation.correction.revised import check_version, next_version, refuse_absorbed
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, Step, take, take_all
from memoryos.scope import Scope

_LEARNED = (Origin.INFERENCE, Origin.FINETUNING)  # of facts, traits and fields that nobody stated


@dataclass
class _StepsTaken:
    """What the steps of one change have done, and what they know of the rest: none reads all that changes again."""

    is_much: bool = False  # more than one step takes
    taken: Sequence[str] | None = None  # what the memory took in; None: nobody looked yet
    learned: Sequence[str] | None = None  # what was learned from its pages, in the same way
    restricted: set[str] = field(default_factory=set)  # of what it took in: these got what is stricter
    followed: set[str] = field(default_factory=set)  # of both: these are as the memory is
    checked: set[str] = field(default_factory=set)  # a caller who restricts a memory may have no right to it after that
    changed: set[str] = field(default_factory=set)  # what has other labels now
    is_done: bool = False  # the memory itself has its labels

    def told(self, error: Refused) -> Refused:
        """The error about what stands in the way of the rest, with what was done before."""
        if self.is_done:
            return told_so_far(error, "the memory itself has its new labels")
        if self.changed:
            return told_so_far(error, f"{len(self.changed)} memories that it took in got what is stricter")
        return error


class _StepParts(NamedTuple):
    """What one step is about."""

    ids: Sequence[str]  #: the memory, and those of what it took in that change
    pages: Sequence[str] = ()  #: those of them whose topics and facts may stand in the way
    beside: Sequence[str] = ()  #: what was learned that changes
    read: Collection[str] = ()  #: what decides how


def _noting(step: Step, some: Sequence[str], done: set[str], *, is_last: bool) -> Step:
    """The step, after which these are done."""

    def write(writer: Writer) -> None:
        step.write(writer)
        done.update(some)

    return replace(step, write=write, is_last=is_last)


def told_so_far(error: Refused, what: str) -> Refused:
    """The error, which now says what was done before in place of that nothing was changed."""
    text = str(error).replace("nothing was changed", "the rest was not changed")
    error.args = (f"{text}; {what} already",)
    return error


@dataclass(frozen=True, slots=True)
class Relabelling:
    """Other labels of one memory."""

    corrector: Corrector
    cube_id: str
    labels: NewLabels
    expected: int | None = None  #: the number that the stored version must have; None: any
    detail: str | None = None  #: of the event

    def check(self) -> None:
        """Raise what the change would.

        That is NotFound, InvalidInput, StaleVersion, PermissionDenied, CubeProtected, OnHold.
        """
        cube, home = self.corrector.find(self.cube_id, Action.WRITE)
        ids = [self.cube_id, *self.corrector.absorbed([self.cube_id])]
        self.corrector.refuse_frozen(ids if cube.kind is Kind.PAGE else [], ids)
        with self._vault.read(home, Action.WRITE) as reader:
            self._refuse_shared_end(home, self._present(reader))
            changed = self._changed(reader)
            self._check_rights(home, reader, [changed.memory, *changed.absorbed(reader, changed.taken)])

    def write(self, are_copies_done: Callable[[], bool] = lambda: True) -> MemCube:
        """Store the labels, and return the memory.

        What it took in, and what was learned from it, changes in the same step if that is little. Of more, some at a
        time of what it took in gets what is stricter before, and the rest changes after it: a crash leaves nothing
        more open than the memory, and what was learned ends with its pages only once they do.
        Raises ChangedMeanwhile unless the copies in branches have got what is stricter, and what `check` raises: what
        comes to protect something between two steps tells what was done by then.
        """
        home, progress = self.corrector.find(self.cube_id, Action.WRITE)[1], _StepsTaken()
        try:
            take_all(self._vault, home, lambda reader: self._before(home, reader, progress))
            take(self._vault, home, lambda reader: self._planned(home, reader, progress, are_copies_done))
            if progress.is_much:
                take_all(self._vault, home, lambda reader: self._after(home, reader, progress))
        except Refused as error:
            raise progress.told(error) from None
        with self._vault.read(home, Action.WRITE) as reader:  # whoever changed it may not read it any more
            if (cube := reader.one(self.cube_id)) is None:
                raise self._missing
        return self.corrector.told(cube)

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    @property
    def _now(self) -> datetime:
        return self.corrector.promoter.clock()

    @property
    def _missing(self) -> NotFound:
        return NotFound(f"there is no memory {self.cube_id!r} of this user and agent")

    def _changed(self, reader: Reader, taken: Sequence[str] | None = None) -> Relabelled:
        before = self._present(reader)
        pair = before, next_version(before, self.labels.of(before), self._now)
        known = taken_in(reader, [self.cube_id]) if taken is None else taken
        return Relabelled(pair, self.labels, known, self._now)

    def _before(self, home: Scope, reader: Reader, progress: _StepsTaken) -> Step:
        """Some of what gets stricter before the memory does, if more changes than one step takes."""
        if progress.taken is None:
            changed = self._changed(reader)
            progress.is_much = len(changed.taken) + len(changed.learned_from(reader)) >= CUBES_AT_ONCE
            progress.taken = changed.taken if progress.is_much else ()
        changed = self._changed(reader, progress.taken)
        left = [one for one in changed.taken if one not in progress.restricted]
        some = left[:CUBES_AT_ONCE]
        step = self._part(home, reader, changed, some, progress, strictly=True)
        return _noting(step, some, progress.restricted, is_last=len(left) <= CUBES_AT_ONCE)

    def _planned(self, home: Scope, reader: Reader, progress: _StepsTaken, are_copies_done: Callable[[], bool]) -> Step:
        """The memory itself, with the rest if that is little, or else what others have merged into it meanwhile."""
        changed = self._changed(reader)
        some = [one for one in changed.taken if one not in progress.restricted]
        pairs, read = [changed.memory, *changed.absorbed(reader, some, strictly=progress.is_much)], frozenset[str]()
        if not progress.is_much:
            learned, read = changed.learned(reader, changed.learned_from(reader), pairs)
            pairs += learned
        ids = [self.cube_id, *some]
        step = self._step(home, reader, pairs, _StepParts(ids, changed.pages_of(ids), read=read), progress)

        def write(writer: Writer) -> None:
            if any(before != after for before, after in pairs) and not are_copies_done():
                raise ChangedMeanwhile
            step.write(writer)
            progress.taken, progress.is_done = changed.taken, True

        def holds(writer: Writer) -> bool:
            return taken_in(writer, ids[:1]) == changed.taken and step.holds(writer)

        return replace(step, write=write, holds=holds)

    def _after(self, home: Scope, reader: Reader, progress: _StepsTaken) -> Step:
        """Some of what is left to change, as the memory is now: what it took in, and then what was learned."""
        stored = reader.one(self.cube_id)
        if stored is None or stored.has_expired(self._now):
            return Step(lambda _: None, [self.cube_id])
        changed = Relabelled((stored, stored), self.labels, progress.taken or (), self._now)
        left = [one for one in changed.taken if one not in progress.followed]
        if some := left[:CUBES_AT_ONCE]:
            step, is_last = self._part(home, reader, changed, some, progress), len(left) <= CUBES_AT_ONCE
            return _noting(step, some, progress.followed, is_last=is_last and not self.labels.changes_end)
        if progress.learned is None:
            progress.learned = changed.learned_from(reader)
        left = [one for one in progress.learned if one not in progress.followed]
        some = left[:CUBES_AT_ONCE]
        pairs, read = changed.learned(reader, some)
        step = self._step(home, reader, pairs, _StepParts([self.cube_id], beside=some, read=read), progress)
        return _noting(step, some, progress.followed, is_last=len(left) <= CUBES_AT_ONCE)

    def _part(
        self,
        home: Scope,
        reader: Reader,
        changed: Relabelled,
        some: Sequence[str],
        progress: _StepsTaken,
        *,
        strictly: bool = False,
    ) -> Step:
        """The step that changes some of what it took in, as far as nobody gave it back meanwhile."""
        taken, between = still_taken_in(reader, self.cube_id, some)
        pairs = changed.absorbed(reader, taken, strictly=strictly)
        reached = _StepParts([self.cube_id, *taken], changed.pages_of(taken), read=between)
        return self._step(home, reader, pairs, reached, progress)

    def _step(
        self, home: Scope, reader: Reader, pairs: Sequence[Pair], parts: _StepParts, progress: _StepsTaken
    ) -> Step:
        """The step that stores some of it."""
        segments = [link.target for link in reader.targets(parts.pages, LinkKind.MEMBER_OF)]
        reached = refuse_protected(reader, parts.pages, [*segments, *parts.beside], parts.ids)
        held, told = reader.retention.held(reached), self._gather(reader, pairs, parts.ids)

        def write(writer: Writer) -> None:
            if told.touched:
                ours = [pair for pair in pairs if pair[0].id in parts.ids and pair[0].id not in progress.checked]
                self._check_rights(home, writer, ours)  # policies may be others since
                told.flush(writer)
                progress.checked.update(before.id for before, _ in ours)
                progress.changed.update(before.id for before, after in pairs if before != after)

        def holds(writer: Writer) -> bool:
            return bool(writer.retention.held(reached) == held)

        return Step(write, {*parts.ids, *parts.beside, *parts.read, *told.touched}, holds=holds)

    def _gather(self, reader: Reader, pairs: Sequence[Pair], ids: Sequence[str]) -> Changes:
        """The changes that give these memories their labels, and others their ends."""
        changes = Changes(reader)
        for before, after in pairs:
            if before.id not in ids:
                changes.change(Entry(after), Operation.REFRESH)
            elif before != after:
                changes.revise(Entry(after), self.detail)
        changes.prepare()
        return changes

    def _present(self, reader: Reader) -> MemCube:
        """The memory, if its labels may be changed. Raises NotFound, InvalidInput, StaleVersion, CubeProtected."""
        cube = reader.one(self.cube_id)
        if cube is None:
            raise self._missing
        unexpired(cube, self._now)
        if not self.labels.is_strict:
            _refuse_derived(cube)
            refuse_absorbed(reader, cube)
            check_version(cube, self.expected)
        return cube

    def _refuse_shared_end(self, home: Scope, cube: MemCube) -> None:
        """Raise InvalidInput for another end of a page from which agents share what was learned.

        That lies in another scope, and in the branches of all agents: no step could let all of it end together.
        """
        if self.labels.changes_end and cube.kind is Kind.PAGE and home != self.corrector.persona:
            raise InvalidInput(
                "endless" if self.labels.is_endless else "expires_at",
                "is given for a page, and what is learned from pages is shared by all agents (persona_sharing): it"
                " would not end with the page",
                "Change its sensitivity or access alone; `governance.expire` and `delete` end it now, with what rests"
                " on it",
            )

    def _check_rights(self, home: Scope, reader: Reader, pairs: Sequence[Pair]) -> None:
        """Raise PermissionDenied unless the caller may change memories as they are, and store them as they will be."""
        ids = [before.id for before, _ in pairs]
        for action in (Action.READ, Action.WRITE) if ids else ():
            check_stored(self._vault, home, reader, ids, action)
        for kind, labels in {(after.kind, about_of(after).labels) for _, after in pairs}:
            check_new(self._vault, home, kind, labels)
        check_opened(self._vault, home, reader, [pair[0].id for pair in pairs if is_opened(*pair)])
        check_end(self._vault, home, reader, [pair[0].id for pair in pairs if ends_earlier(*pair)])


def _refuse_derived(cube: MemCube) -> None:
    """Raise InvalidInput for a memory that was derived from others: it has their labels, and ends with them."""
    is_built = cube.kind in (*MADE_OF_MEMORIES, Kind.SEGMENT)
    if is_built or (cube.kind is not Kind.PAGE and cube.descriptive.origin in _LEARNED):
        raise InvalidInput(
            "memory_id",
            f"names a {cube.kind.value} derived from other memories: its access, sensitivity and end follow theirs",
            "Relabel these; `governance.provenance` names them",
        )
