"""Relabelled: a stored memory with another access, more sensitivity or another end; its words stay.

What the memory took in when equal ones were merged gets the same. What was learned from a page ends with it; it is as
sensitive and as private as its pages anyway, because a read asks for their labels, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.about import about_of
from memoryos.caller import Action
from memoryos.cube import MemCube, ends_earlier, is_opened
from memoryos.errors import ChangedMeanwhile, InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import MADE_OF_MEMORIES, Kind, Origin
from memoryos.operation.calls.permission import check_end, check_new, check_opened, check_stored
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.kept_versions import unexpired
from memoryos.operation.correction.merging import taken_in
from memoryos.operation.correction.new_labels import NewLabels, Pair, Relabelled
from memoryos.operation.correction.protectors import refuse_protected
from memoryos.operation.correction.revised import check_version, next_version, refuse_absorbed
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, Step, take, take_all
from memoryos.scope import Scope

_LEARNED = (Origin.INFERENCE, Origin.FINETUNING)  # of facts, traits and fields that nobody stated


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
        self.corrector.refuse_frozen([self.cube_id] if cube.kind is Kind.PAGE else [], [self.cube_id])
        with self._vault.read(home, Action.WRITE) as reader:
            self._refuse_shared_end(home, self._present(reader))
            changed = self._changed(reader)
            self._check_rights(home, reader, [changed.memory, *changed.absorbed])

    def write(self, are_copies_done: Callable[[], bool] = lambda: True) -> MemCube:
        """Store the labels, and return the memory.

        What it took in, and what was learned from it, changes in the same step if that is little. Of more, some at a
        time of what it took in gets what is stricter before, and the rest changes after it: a crash leaves nothing
        more open than the memory, and what was learned ends with its pages only once they do.
        Raises ChangedMeanwhile unless the copies in branches have got what is stricter, and what `check` raises.
        """
        home = self.corrector.find(self.cube_id, Action.WRITE)[1]
        checked = set[str]()  # a caller who restricts a memory may have no right to it after that
        take_all(self._vault, home, lambda reader: self._before(home, reader, checked))
        take(self._vault, home, lambda reader: self._planned(home, reader, checked, are_copies_done))
        take_all(self._vault, home, lambda reader: self._after(home, reader, checked))
        with self._vault.read(home, Action.WRITE) as reader:  # whoever changed it may not read it any more
            if (cube := reader.one(self.cube_id)) is None:
                raise self._missing
            return cube

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    @property
    def _now(self) -> datetime:
        return self.corrector.promoter.clock()

    @property
    def _missing(self) -> NotFound:
        return NotFound(f"there is no memory {self.cube_id!r} of this user and agent")

    def _changed(self, reader: Reader) -> Relabelled:
        before = self._present(reader)
        after = next_version(before, self.labels.of(before), self._now)
        return Relabelled.of(reader, (before, after), self.labels, self._now)

    def _before(self, home: Scope, reader: Reader, checked: set[str]) -> Step:
        """Some of what gets stricter before the memory does, if more changes than one step takes."""
        changed = self._changed(reader)
        is_much = len(changed.others) >= CUBES_AT_ONCE
        return self._part(home, reader, changed, changed.stricter if is_much else [], checked)

    def _after(self, home: Scope, reader: Reader, checked: set[str]) -> Step:
        """Some of what is left to change, as the memory is now."""
        stored = reader.one(self.cube_id)
        if stored is None or stored.has_expired(self._now):
            return Step(lambda _: None, [self.cube_id])
        changed = Relabelled.of(reader, (stored, stored), self.labels, self._now)
        return self._part(home, reader, changed, changed.others, checked)

    def _part(self, home: Scope, reader: Reader, changed: Relabelled, left: Sequence[Pair], checked: set[str]) -> Step:
        step = self._step(home, reader, changed, left[:CUBES_AT_ONCE], checked)
        return replace(step, is_last=len(left) <= CUBES_AT_ONCE)

    def _planned(self, home: Scope, reader: Reader, checked: set[str], are_copies_done: Callable[[], bool]) -> Step:
        """The memory itself, with the rest if that is little, or else what others have merged into it meanwhile."""
        changed = self._changed(reader)
        rest = changed.others if len(changed.others) < CUBES_AT_ONCE else changed.stricter
        step = self._step(home, reader, changed, [changed.memory, *rest], checked)

        def write(writer: Writer) -> None:
            if (rest or changed.memory[0] != changed.memory[1]) and not are_copies_done():
                raise ChangedMeanwhile
            step.write(writer)

        return replace(step, write=write)

    def _step(self, home: Scope, reader: Reader, changed: Relabelled, pairs: Sequence[Pair], checked: set[str]) -> Step:
        """The step that stores some of it."""
        ids, pages = changed.ids, changed.ids if changed.memory[0].kind is Kind.PAGE else []
        segments = [link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)]
        reached = refuse_protected(reader, pages, segments, ids)
        held, told = reader.retention.held(reached), self._gather(reader, pairs, ids)

        def write(writer: Writer) -> None:
            if told.touched:
                ours = [(before, after) for before, after in pairs if before.id in ids and before.id not in checked]
                self._check_rights(home, writer, ours)  # policies may be others since
                told.flush(writer)
                checked.update(before.id for before, _ in ours)

        def holds(writer: Writer) -> bool:
            return [ids[0], *taken_in(writer, ids[:1])] == list(ids) and writer.retention.held(reached) == held

        return Step(write, {*ids, *changed.read, *told.touched}, holds=holds)

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
