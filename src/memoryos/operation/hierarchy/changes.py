"""Changes: what one operation does to the vault, gathered in memory and written at its end.

Reading through it shows the vault as it will be. A cube that changes several times in one operation
is written once, and logged once. Gathering needs only a reader, so other writers wait only for the final write.
So is one that is revised several times: its versions in between go straight into its history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from functools import partial

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import (
    REVISIONS,
    Entry,
    JobKind,
    KeptVersion,
    Link,
    LinkKind,
    Operation,
    Vector,
    alone,
)
from memoryos.infrastructure.vault.version_packing import packed_versions
from memoryos.infrastructure.vault.withdrawal import can_be_withdrawn, withdrawn
from memoryos.kinds import Tier
from memoryos.operation.scheduler.step import together

CHARS_AT_ONCE = 500_000  # of documents of which only the support changes, written in one transaction


class Urgency(IntEnum):
    """How urgent an extraction is: the priority of its job."""

    SOME_DAY = 0  # the segment is cold; it waits for `extract_within_seconds`
    HOT = 1
    ASKED = 2  # the caller wants it now


@dataclass
class _Batch:
    """The rows that are written together."""

    new: dict[str, Entry] = field(default_factory=dict)
    changed: dict[str, tuple[Entry, Operation]] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)  # of the events of changed cubes

    def entry(self, cube_id: str) -> Entry | None:
        return self.new.get(cube_id) or self.changed.get(cube_id, (None,))[0]

    def prepare(self) -> None:
        self.new = {cube_id: entry.prepared for cube_id, entry in self.new.items()}
        self.changed = {cube_id: (entry.prepared, done) for cube_id, (entry, done) in self.changed.items()}

    def write(self, writer: Writer) -> None:
        if self.removed:
            writer.delete(list(self.removed))
        writer.insert(list(self.new.values()))
        plain = {cube_id: change for cube_id, change in self.changed.items() if cube_id not in self.details}
        for operation in Operation if plain else ():
            writer.update([entry for entry, done in plain.values() if done is operation], operation)
        told: dict[tuple[Operation, str], list[Entry]] = {}
        for cube_id, detail in self.details.items():
            if change := self.changed.get(cube_id):
                told.setdefault((change[1], detail), []).append(change[0])
        for (operation, detail), entries in told.items():
            writer.update(entries, operation, detail=detail)


@dataclass
class _Between:
    """The versions of one cube between the stored one, or its first one, and the last one."""

    first: Entry | None = None  # of a cube that is new
    later: deque[Entry] = field(default_factory=lambda: deque(maxlen=REVISIONS - 1))  # with the last one, REVISIONS

    @property
    def kept(self) -> list[Entry]:
        return [*filter(None, [self.first]), *self.later]

    def prepare(self) -> None:
        known = packed_versions(self.kept)
        self.first = known.pop(0) if self.first else None
        self.later = deque(known, self.later.maxlen)


@dataclass
class Changes:
    """The pending writes of one transaction, and of those before it that may come `ahead`."""

    reader: Reader
    _batches: list[_Batch] = field(default_factory=lambda: [_Batch()])  # in the order they are written
    _written: list[_Batch] = field(default_factory=list)  # kept: to free much memory takes time, too
    _links: list[Link] = field(default_factory=list)
    _unlinked: list[Link] = field(default_factory=list)
    _known: dict[str, Entry] = field(default_factory=dict)  # what is new or changed, as it will be in the end
    _between: dict[str, _Between] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  #: the stored cubes that are removed or withdrawn
    _jobs: dict[str, bool] | None = None  # cubes whose extraction is asked for; whether it is urgent
    _waiting: set[str] = field(default_factory=set)  # of these the urgent ones
    _others: set[str] = field(default_factory=set)  # of the other jobs that wait
    _repairs: list[str] = field(default_factory=list)
    _notes: dict[str, str] = field(default_factory=dict)
    _enqueued: dict[tuple[Urgency, datetime | None], list[str]] = field(default_factory=dict)
    _resting: dict[str, MemCube] = field(default_factory=dict)  # memories of which only the support changes
    _shed: list[str] = field(default_factory=list)  # memories of which earlier versions go first

    @property
    def _batch(self) -> _Batch:
        return self._batches[-1]

    @property
    def touched(self) -> set[str]:
        """The stored cubes that are changed or removed."""
        return self.gone.union(self._resting, *(batch.changed for batch in self._batches))

    @property
    def added(self) -> set[str]:
        """The new cubes."""
        return {cube_id for batch in self._batches for cube_id in batch.new}

    def altered(self) -> list[tuple[MemCube, MemCube]]:
        """The stored cubes that change, each as it is and as it will be."""
        later = {cube_id: entry.cube for batch in self._batches for cube_id, (entry, _) in batch.changed.items()}
        return [(cube, later[cube.id]) for cube in self.reader.get(later).values()]

    def add(self, entry: Entry) -> None:
        """Store a new cube."""
        self._batch.new[entry.cube.id] = self._known[entry.cube.id] = entry

    def change(self, entry: Entry, operation: Operation, detail: str | None = None) -> None:
        """Replace a stored cube; None for vector or passages keeps the stored ones. `detail` is for the event."""
        cube_id, batch = entry.cube.id, self._batch
        if detail is not None:
            batch.details[cube_id] = detail
        self._known[cube_id] = _merged(self._known[cube_id], entry) if cube_id in self._known else entry
        if cube_id in batch.new:
            batch.new[cube_id] = _merged(batch.new[cube_id], entry)
        elif cube_id in batch.changed:
            earlier, first = batch.changed[cube_id]
            batch.changed[cube_id] = (_merged(earlier, entry), first if first is Operation.REVISE else operation)
        else:
            batch.changed[cube_id] = (entry, operation)

    def revise(self, entry: Entry, detail: str | None = None) -> None:
        """Store a new version of a cube; the history keeps the previous one. `detail` is stored with the event."""
        cube_id, batch = entry.cube.id, self._batch
        earlier = batch.entry(cube_id)
        if earlier and (cube_id in batch.new or batch.changed[cube_id][1] is Operation.REVISE):
            self._keep(earlier, is_first=cube_id in batch.new)
        elif earlier:  # the stored version takes its other changes with it into the history
            self._batches.append(_Batch())
        self.change(entry, Operation.REVISE, detail)

    def renew(self, known: MemCube, entry: Entry) -> None:
        """Store a derived cube that is other than the known one: as a revision, if it has another version."""
        if entry.cube.version.number != known.version.number:
            self.revise(entry)
        else:
            self.change(entry, Operation.REFRESH)

    def _keep(self, earlier: Entry, *, is_first: bool) -> None:
        """Keep a version for the history: of very many in one operation the last ones."""
        if (cube := alone(earlier.cube)) is not earlier.cube:
            earlier = Entry(cube)
        between = self._between.setdefault(earlier.cube.id, _Between())
        if is_first and between.first is None:
            between.first = earlier
        else:
            between.later.append(earlier)

    def rest(self, cube: MemCube, gained: Iterable[str] = (), *, has_lost: bool = False) -> None:
        """Store a memory of which nothing but the support changes; one that `has_lost` some, without other links."""
        self.change(Entry(cube), Operation.REFRESH)
        if has_lost:
            support = frozenset(cube.descriptive.provenance)
            stored = self.reader.targets([cube.id], LinkKind.DERIVED_FROM)
            self.unlink(link for link in stored if link.target not in support)
        for page in gained:
            self.link(cube.id, LinkKind.DERIVED_FROM, page)
        if cube.version.supersedes is None and cube.version.superseded_by is None:
            self._resting[cube.id] = cube

    def remove(self, cube_id: str) -> None:
        """Remove a cube with its links, whether it is stored or only pending."""
        batch = self._batch
        self._known.pop(cube_id, None)
        is_stored = batch.new.pop(cube_id, None) is None
        batch.changed.pop(cube_id, None)
        self._between.pop(cube_id, None)
        self._links = [link for link in self._links if cube_id not in (link.source, link.target)]
        self._unlinked = [link for link in self._unlinked if cube_id not in (link.source, link.target)]
        if is_stored:
            batch.removed[cube_id] = None
            self.gone.add(cube_id)

    def shed(self, cube_id: str) -> None:
        """Let earlier versions of a memory that is removed go before it; nothing may be derived again from them."""
        self._shed.append(cube_id)

    def withdraw(self, cube: MemCube, at: datetime) -> None:
        """Leave a stored memory to snapshots, for its words were corrected; in the plan, it is gone."""
        if not can_be_withdrawn(cube):
            self.remove(cube.id)
            return
        neighbours = (self.reader.whole.targets, self.reader.whole.sources)
        self.unlink(link for links in neighbours for link in links([cube.id], LinkKind.SUPERSEDES))
        self.change(Entry(withdrawn(cube, at)), Operation.REFRESH)
        self._known.pop(cube.id)
        self.gone.add(cube.id)

    def link(self, source: str, kind: LinkKind, target: str) -> None:
        """Add a link."""
        self._links.append(Link(source, kind, target))

    def unlink(self, links: Iterable[Link]) -> None:
        """Remove links."""
        self._unlinked.extend(link for link in links if not self.gone.intersection((link.source, link.target)))

    def enqueue(self, cube_id: str, urgency: Urgency, not_before: datetime | None = None) -> None:
        """Ask for the extraction of a segment."""
        self.jobs[cube_id] = urgency > Urgency.SOME_DAY
        if urgency > Urgency.SOME_DAY:
            self._waiting.add(cube_id)
        self._enqueued.setdefault((urgency, not_before), []).append(cube_id)

    def note(self, key: str, value: str) -> None:
        """Write a note about the scope."""
        self._notes[key] = value

    def look_at(self, cube_id: str) -> None:
        """Add a job that checks whether the pages of a segment belong together."""
        self._repairs.append(cube_id)

    @property
    def jobs(self) -> dict[str, bool]:
        """The segments that wait for extraction, and whether it is urgent."""
        return self._asked_for(self.reader)

    def _asked_for(self, reader: Reader) -> dict[str, bool]:
        if self._jobs is None:
            asked = reader.asked()
            extractions = [job for job in asked if job.kind == JobKind.EXTRACT]
            self._others = {job.kind for job in asked} - {JobKind.EXTRACT}
            self._jobs = {job.known_cube_id: job.priority > Urgency.SOME_DAY for job in extractions}
            self._waiting |= {cube_id for cube_id, is_urgent in self._jobs.items() if is_urgent}
        return self._jobs

    def waits_for(self, kind: JobKind) -> bool:
        """Whether a job of a kind other than extraction waits."""
        self._asked_for(self.reader)
        return kind in self._others

    @property
    def waiting(self) -> set[str]:
        """The segments whose extraction is urgent."""
        self._asked_for(self.reader)
        return self._waiting

    def get(self, ids: Iterable[str]) -> list[MemCube]:
        """The cubes with the pending changes."""
        wanted = [cube_id for cube_id in ids if cube_id not in self.gone]
        stored = self.reader.get(cube_id for cube_id in wanted if self._pending(cube_id) is None)
        known = (self._pending(cube_id) or stored.get(cube_id) for cube_id in wanted)
        return [cube for cube in known if cube]

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        """The vectors of these cubes with the pending changes."""
        wanted = [cube_id for cube_id in ids if cube_id not in self.gone]
        pending = {cube_id: entry.vector for cube_id in wanted if (entry := self._known.get(cube_id))}
        stored = self.reader.vectors(cube_id for cube_id in wanted if pending.get(cube_id) is None)
        return stored | {cube_id: vector for cube_id, vector in pending.items() if vector is not None}

    def present(self, cube: MemCube) -> MemCube:
        """A stored cube with the pending changes."""
        return self._pending(cube.id) or cube

    def left(self, cubes: Iterable[MemCube]) -> list[MemCube]:
        """Stored cubes with the pending changes, without removed ones."""
        return [self.present(cube) for cube in cubes if cube.id not in self.gone]

    def members(self, segment_id: str) -> list[MemCube]:
        """The pages of a segment with the pending changes."""
        stored = [link.source for link in self.reader.sources([segment_id], LinkKind.MEMBER_OF)]
        pending = [link.source for link in self._links if link.kind is LinkKind.MEMBER_OF and link.target == segment_id]
        return self.get([*stored, *pending])

    def _pending(self, cube_id: str) -> MemCube | None:
        entry = self._known.get(cube_id)
        return entry.cube if entry else None

    def move(self, cubes: Iterable[MemCube], tier: Tier) -> None:
        """Move cubes to another tier."""
        for cube in cubes:
            self.change(Entry(cube.moved(tier)), Operation.MOVE)

    def prepare(self) -> None:
        """Make the documents, so that nothing but their writing is left. Call it last."""
        for batch in self._batches:
            batch.prepare()
        for between in self._between.values():
            between.prepare()

    def ahead(self) -> list[Callable[[Writer], None]]:
        """Make the documents, and take out what may be written before the rest, if that is much.

        These are versions of memories that go, and each memory of which only the support changes: it is right without
        the others. Call it last.
        """
        self.prepare()
        first = self._batches[0].changed.items()
        alone = [
            entry for one, (entry, done) in first if done is Operation.REFRESH and entry.cube is self._resting.get(one)
        ]
        shed = [part for cube_id in self._shed for part in version_removals(self.reader, cube_id)]
        if sum(map(chars_of, alone)) <= CHARS_AT_ONCE:
            return shed
        return [*shed, *(self._part(some) for some in together(alone, chars_of, CHARS_AT_ONCE))]

    def _part(self, entries: Sequence[Entry]) -> Callable[[Writer], None]:
        ids = {entry.cube.id for entry in entries}
        added = [link for link in self._links if link.source in ids]
        removed = [link for link in self._unlinked if link.source in ids]
        self._links = [link for link in self._links if link.source not in ids]
        self._unlinked = [link for link in self._unlinked if link.source not in ids]
        for cube_id in ids:
            del self._batches[0].changed[cube_id]

        def write(writer: Writer) -> None:
            writer.update(entries, Operation.REFRESH)
            writer.link(added)
            writer.unlink(removed)

        return write

    def flush(self, writer: Writer) -> None:
        """Write everything."""
        for batch in self._batches:
            batch.write(writer)
        writer.keep_versions([entry for between in self._between.values() for entry in between.kept])
        if self._unlinked:
            writer.unlink(self._unlinked)
        writer.link(self._links)
        self._written, self._batches = self._batches, [_Batch()]
        self._links.clear()
        self._unlinked.clear()
        self._known.clear()
        self._between.clear()
        for key, value in self._notes.items():
            writer.write_note(key, value)
        for (urgency, not_before), cube_ids in self._enqueued.items():
            writer.enqueue(JobKind.EXTRACT, cube_ids, priority=urgency, not_before=not_before)
        writer.enqueue(JobKind.REPAIR, self._repairs)

    def leave_jobs(self, writer: Writer) -> bool:
        """Whether a job waits, from this operation or an earlier one."""
        return bool(self._asked_for(writer) or self._repairs or self._others)


def version_removals(reader: Reader, cube_id: str) -> list[Callable[[Writer], None]]:
    """Parts that remove earlier versions of a memory, if it has many, before the memory itself is deleted.

    The first version and the last ones stay until then, so `verify` accepts the memory after a crash between the parts.
    Use it only for a memory that the caller deletes, or of which nobody stated a version: it is made again from that.
    """
    middle = reader.kept_versions([cube_id])[1:-REVISIONS]
    return [partial(_drop, some) for some in together(middle, lambda one: one.size, CHARS_AT_ONCE)]


def _drop(versions: Sequence[KeptVersion], writer: Writer) -> None:
    writer.drop_versions(versions)


def chars_of(entry: Entry) -> int:
    """The characters of a document that was made."""
    return len(entry.document or "")


def chars_to_write(cube: MemCube) -> int:
    """The characters of the text of a memory, of what was told about it and of the names of its attachments."""
    told = cube.descriptive
    labels = sum(map(len, (*told.tags, *cube.governance.sensitivity)))
    labels += sum(len(one.uri or "") for turn in getattr(cube.payload, "turns", ()) for one in turn.attachments)
    return len(cube.text) + len(told.metadata) + len(told.title or "") + len(told.source or "") + labels


def _merged(earlier: Entry, later: Entry) -> Entry:
    return Entry(
        later.cube,
        earlier.vector if later.vector is None else later.vector,
        earlier.passages if later.passages is None else later.passages,
    )
