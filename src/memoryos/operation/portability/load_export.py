"""Load: read a file of `export` back into a store, with ids, versions and links.

The file is read three times: the first pass checks all of it, the second stores the memories, some per transaction,
with the links to what they rest on, and the third adds the other links. A memory with very many earlier versions gets
the first and the last of them, and then the others; one with large versions gets them all after it.
Existing memories stay as they are, but get versions that they lack if they are as in the file, so a second load after a
crash continues. The embedder of the store makes vectors and words.

What the store removed since the file was written is left out, and so is what has expired: a file that was forgotten,
too, must not bring back a person who asked to be. The ids of what was removed stay in the log for good, with the
numbers of the versions that were. A memory goes with the pages that it is made of, also under an id that is new here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from typing import Any

from memoryos.caller import Action, doing
from memoryos.clock import Clock
from memoryos.cube import MemCube, from_json
from memoryos.errors import InvalidInput, PrivacyRefused
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import RESTING, REVISIONS, Entry, Link, LinkKind, Operation, alone
from memoryos.infrastructure.vault.version_part import TRIMMED
from memoryos.kinds import MADE_OF_MEMORIES, Kind, Origin, State, Tier
from memoryos.models.embedder import Embedder
from memoryos.operation.attachments.data_url import from_base64
from memoryos.operation.attachments.parcels import Parcel, Parcels, with_parcels
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, chars_of
from memoryos.operation.hierarchy.mid_term import segment_of
from memoryos.operation.hierarchy.page_entries import page_entries, segment_vector
from memoryos.operation.hierarchy.protected import protected
from memoryos.operation.hierarchy.redescribe import described_chains, redescribe_segments
from memoryos.operation.knowledge.lesson import Learned
from memoryos.operation.knowledge.stated import unquoted
from memoryos.operation.portability.export import FORMAT, VERSION
from memoryos.operation.portability.export_file import LONGEST_LINE
from memoryos.operation.scheduler.step import Step, some_at_a_time, take, together
from memoryos.plain import Plain
from memoryos.privacy.protection import UNPROTECTED, Protection
from memoryos.scope import Scope

LINKS_AT_ONCE = 1_000  # stored in one transaction

Lines = Callable[[], Iterable[str]]  # the lines of the file, from the first


@dataclass(frozen=True, slots=True)
class LoadedExport(Plain):
    """Counts of what was loaded. Segments count only in `memories` and `known`."""

    memories: Mapping[str, int] = field(default_factory=dict)  #: memories by kind
    known: int = 0  #: memories that existed already
    removed: int = 0  #: memories that were left out: this store has removed them, or all that they were derived from
    expired: int = 0  #: memories that were left out: they have expired by now, or all that they were derived from
    owners: tuple[Scope, ...] = ()  #: owners of the memories in the file


@dataclass(slots=True)
class _Outline:
    """What the first pass finds: whose memories the file holds, and which of them are not stored."""

    owners: dict[Scope, None] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)
    peopled: set[str] = field(default_factory=set)  #: segments of pages that may be stored
    deserted: set[str] = field(default_factory=set)  #: segments of pages that may not
    settled: set[str] = field(default_factory=set)  #: pages of the store that join no segment of the file
    unchained: set[str] = field(default_factory=set)  #: pages whose chain leads to one that is not stored
    removed: set[str] = field(default_factory=set)
    expired: set[str] = field(default_factory=set)

    def leaves(self, cube_id: str) -> bool:
        """Whether a memory of the file is not stored."""
        return cube_id in self.removed or cube_id in self.expired

    def seat(self, records: Iterable[_Record]) -> None:
        """Note the segments of pages, once it is known which are not stored and which are settled."""
        for record in records:
            is_away = record.cube.id in self.settled or self.leaves(record.cube.id)
            (self.deserted if is_away else self.peopled).update(record.targets(LinkKind.MEMBER_OF))

    def leave_bereft(self, records: Iterable[_Record]) -> None:
        """Leave out what was made of pages of the file none of which is stored, except what somebody stated."""
        for record in records:
            cube_id, lost = record.cube.id, self._lost(record)
            if cube_id in self.deserted and cube_id not in self.peopled:
                self.removed.add(cube_id)
            elif lost and not record.is_stated and not self._has_source(record):
                (self.expired if self.removed.isdisjoint(lost) else self.removed).add(cube_id)

    def shortened(self, record: _Record) -> _Record:
        """The record; if a page of it, or one that it rests on, is not stored, without the versions that may quote it.

        What was stated, and rests on no page any more, has no quote either.
        """
        if record.cube.kind is Kind.PAGE:
            return self._unchained(record)
        if record.cube.id in self.deserted:
            return replace(record, cube=_untold(record.cube), earlier=())
        if not self._lost(record):
            return record
        cube, payload = record.cube, record.cube.payload
        if isinstance(payload, Learned) and not self._has_source(record):
            cube = replace(cube, payload=unquoted(payload))
        return replace(record, cube=cube, earlier=())

    def _unchained(self, record: _Record) -> _Record:
        """The page; if its chain leads to a page that is not stored, without what it tells of the chain."""
        if not any(self.leaves(one) or one in self.unchained for one in record.targets(LinkKind.CHAIN)):
            return record
        self.unchained.add(record.cube.id)
        return replace(record, cube=alone(record.cube), earlier=tuple(map(alone, record.earlier)))

    def _lost(self, record: _Record) -> list[str]:
        return list(filter(self.leaves, record.targets(LinkKind.DERIVED_FROM)))

    def _has_source(self, record: _Record) -> bool:
        return any(one in self.ids and not self.leaves(one) for one in record.targets(LinkKind.DERIVED_FROM))


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    size: int  #: characters of the line
    cube: MemCube
    earlier: tuple[MemCube, ...]
    links: tuple[Link, ...]
    parcels: Parcels

    @property
    def edges(self) -> tuple[MemCube, ...]:
        """The first of the earlier versions and the last ones: with these, `verify` accepts the memory."""
        return (*self.earlier[:1], *self.earlier[1:][-REVISIONS:])

    @property
    def is_stated(self) -> bool:
        """Whether somebody said it in these words."""
        return self.cube.descriptive.origin is not Origin.INFERENCE

    @property
    def is_trimmed(self) -> bool:
        """Whether the oldest versions were removed where it was exported."""
        return (*self.earlier, self.cube)[0].version.number > 1

    @property
    def later(self) -> tuple[MemCube, ...]:
        """The earlier versions that may be stored after the memory: those between the edges, or all if it is large.

        The newest comes first: `verify` accepts a gap only before many that follow it.
        """
        return (self.earlier if self.size > CHARS_AT_ONCE else self.earlier[1:-REVISIONS])[::-1]

    def targets(self, kind: LinkKind) -> list[str]:
        """The memories that it is linked to."""
        return [link.target for link in self.links if link.kind is kind]


@dataclass(frozen=True, slots=True)
class Loader:
    """Stores exported memories."""

    vault: Vault
    embedder: Embedder
    clock: Clock
    protection: Protection = UNPROTECTED
    again: bool = False  #: whether what this store has removed is stored again

    def load(self, lines: Lines) -> LoadedExport:
        """Check all lines, then store them. Raises InvalidInput, which names the line, before anything is stored."""
        outline = self._outlined(lines())
        kinds: Counter[str] = Counter()
        known = 0
        for owner, all_of in _batches(self._records(lines())):
            some = self._wanted(owner, all_of, outline)
            fresh = self._stored(owner, some, outline)
            self._completed(owner, some)
            kinds.update(record.cube.kind.value for record in fresh)
            known += sum(not outline.leaves(record.cube.id) for record in some) - len(fresh)
        for owner, all_of in _batches(self._records(lines())):
            some = [record for record in all_of if not outline.leaves(record.cube.id)]
            self._joined(owner, some, outline)
            if pages := [record.cube.id for record in some if record.cube.id in outline.unchained]:
                take(self.vault, owner, partial(_chained, pages))
            if segments := [record.cube for record in some if record.cube.kind is Kind.SEGMENT]:
                take(self.vault, owner, partial(self._described, segments))
        removed, expired = (len(ids - outline.segments) for ids in (outline.removed, outline.expired))
        return LoadedExport(dict(kinds), known, removed, expired, tuple(outline.owners))

    def _outlined(self, lines: Iterable[str]) -> _Outline:
        """Check all lines, and find out which memories are not to be stored."""
        outline = _Outline()
        for owner, records in _batches(_checked(self._records(lines), outline)):
            self._judge(owner, records, outline)
            outline.settled |= self._settled(owner, records)
            outline.seat(records)
        return outline

    def _settled(self, owner: Scope, records: Sequence[_Record]) -> set[str]:
        """The pages that are in another segment here, formed before or after that of the file, or still in STM."""
        told = {record.cube.id: targets for record in records if (targets := record.targets(LinkKind.MEMBER_OF))}
        with self.vault.read(owner) as reader:
            homes = {link.source: link.target for link in reader.targets(told, LinkKind.MEMBER_OF)}
            recent = {cube.id for cube in reader.get(told).values() if cube.tier is Tier.STM}
        return recent.union(page for page, home in homes.items() if home not in told[page])

    def _judge(self, owner: Scope, records: Sequence[_Record], outline: _Outline) -> list[_Record]:
        """Leave out what has expired and what was removed; returns the others that are not stored yet."""
        now = self.clock()
        with self.vault.read(owner) as reader:
            present = reader.kinds(record.cube.id for record in records)
            absent = [record for record in records if record.cube.id not in present]
            over = {record.cube.id for record in absent if record.cube.has_expired(now)}
            outline.expired |= over
            outline.removed |= self._removed(reader, [one.cube.id for one in absent if one.cube.id not in over])
        return [record for record in absent if not outline.leaves(record.cube.id)]

    def _wanted(self, owner: Scope, records: Sequence[_Record], outline: _Outline) -> list[_Record]:
        """Those that are not to be left out, before anything else sees their words."""
        outline.leave_bereft(self._judge(owner, records, outline))
        return [outline.shortened(record) for record in records if not outline.leaves(record.cube.id)]

    def _removed(self, reader: Reader, ids: Sequence[str]) -> set[str]:
        return set() if self.again else reader.removed(ids)

    def _records(self, lines: Iterable[str]) -> Iterator[_Record]:
        return map(self._protected, _records(lines))

    def _protected(self, record: _Record) -> _Record:
        """The record with the words that may be stored. Raises InvalidInput, which names the line."""
        privacy = self.protection.for_owner(record.cube.scope.owner)
        if privacy.is_off:
            return record
        try:
            cube, *earlier = (protected(privacy, one) for one in (record.cube, *record.earlier))
            parcels = privacy.value("blobs", record.parcels)
        except PrivacyRefused as error:
            raise PrivacyRefused(f"file, line {record.line:,}, {error.field}", error.kinds) from None
        return replace(record, cube=cube, earlier=tuple(earlier), parcels=parcels)

    def _stored(self, owner: Scope, records: Sequence[_Record], outline: _Outline) -> list[_Record]:
        entries = self._entries([record.cube for record in records])
        earlier = {record.cube.id: _if_small([Entry(one).prepared for one in record.edges]) for record in records}

        def store() -> list[str]:
            with self.vault.read(owner) as reader:  # thousands of pages of one memory are looked for beside others
                sequence, there = reader.sequence(), _sources(reader, records, outline)
            with self.vault.write(owner) as writer:
                if writer.sequence() != sequence:
                    there = _sources(writer, records, outline)
                present = writer.kinds(record.cube.id for record in records)
                missing = [record.cube.id for record in records if record.cube.id not in present]
                outline.removed.update(self._removed(writer, missing))  # also what was removed a moment ago
                fresh = [cube_id for cube_id in missing if cube_id not in outline.removed]
                writer.insert([entries[cube_id] for cube_id in fresh])
                writer.keep_versions([entry for cube_id in fresh for entry in earlier[cube_id]])
                writer.link(_resting([one for one in records if one.cube.id in fresh], there | {*fresh}))
                if any(record.is_trimmed for record in records if record.cube.id in fresh):
                    writer.write_note(TRIMMED, "1")
            return fresh

        parcels = {sha: parcel for record in records for sha, parcel in record.parcels.items()}
        stored = set(with_parcels(self.vault, owner, parcels, self.clock, store))
        return [record for record in records if record.cube.id in stored]

    def _completed(self, owner: Scope, records: Sequence[_Record]) -> None:
        """Add the other versions that are missing, also those that an earlier load did not get to."""
        long = {record.cube.id: record for record in records if record.later}
        if not long:
            return
        with self.vault.read(owner) as reader:
            there = [one for one in reader.get(long).values() if _is_same(one, long[one.id].cube)]
            kept = {(one.cube_id, one.number) for one in reader.kept_versions(cube.id for cube in there)}
        lacking = (
            Entry(one).prepared
            for cube in there
            for one in long[cube.id].later
            if (one.id, one.version.number) not in kept
        )
        for some in together(lacking, chars_of, CHARS_AT_ONCE):
            with self.vault.write(owner) as writer:
                writer.keep_versions(self._lasting(writer, some))

    def _lasting(self, writer: Writer, versions: Sequence[Entry]) -> list[Entry]:
        """Those that were not removed: what was deleted meanwhile stays deleted, and what was trimmed at any time."""
        ids = {entry.cube.id for entry in versions}
        present, trimmed = writer.kinds(ids), {} if self.again else writer.trimmed(ids)
        there = (entry for entry in versions if entry.cube.id in present)
        return [entry for entry in there if entry.cube.version.number > trimmed.get(entry.cube.id, 0)]

    def _joined(self, owner: Scope, records: Sequence[_Record], outline: _Outline) -> None:
        """Add the links, now that both ends exist."""
        told = (link for record in records for link in record.links)
        links = [link for link in told if link.target in outline.ids and not outline.leaves(link.target)]
        for some in some_at_a_time(links, LINKS_AT_ONCE):
            with self.vault.write(owner) as writer:
                stay = {link.source for link in writer.targets([link.source for link in some], LinkKind.MEMBER_OF)}
                stay |= outline.settled
                writer.link([link for link in some if link.kind is not LinkKind.MEMBER_OF or link.source not in stay])

    def _described(self, segments: Sequence[MemCube], reader: Reader) -> Step:
        """Give segments the mean vectors of their pages; describe those anew of which some pages are not stored.

        A frozen one among these is frozen at any moment that others see: here it is thawed within the transaction.
        """
        ids = [segment.id for segment in segments]
        there, changes = reader.get(ids).values(), Changes(reader)
        untold = [cube for cube in there if cube == _untold(cube)]
        for cube in there:
            changes.change(Entry(cube, segment_vector(reader, cube, self.embedder), ()), Operation.REFRESH)
        redescribe_segments(changes, [cube.id for cube in untold], self.clock())
        changes.prepare()
        thawed = [Entry(replace(cube, state=State.GENERATED)) for cube in untold if cube.is_frozen]

        def write(writer: Writer) -> None:
            doing(Action.ADMINISTER, lambda: writer.update(thawed, Operation.REFRESH))  # who loads is admitted to that
            changes.flush(writer)  # their state is in it: frozen

        return Step(write, ids)

    def _entries(self, cubes: Sequence[MemCube]) -> dict[str, Entry]:
        pages = page_entries([cube for cube in cubes if cube.kind is Kind.PAGE], self.embedder)
        facts = [cube for cube in cubes if cube.kind is Kind.FACT]
        vectors = self.embedder.embed([cube.meaning for cube in facts])
        made = [*pages, *(Entry(fact, vector) for fact, vector in zip(facts, vectors, strict=True))]
        entries = {cube.id: Entry(cube) for cube in cubes} | {entry.cube.id: entry for entry in made}
        return {cube_id: entry.prepared for cube_id, entry in entries.items()}


def _sources(reader: Reader, records: Iterable[_Record], outline: _Outline) -> Set[str]:
    """Those memories that these rest on that are stored."""
    told = (link.target for record in records for link in record.links if link.kind in RESTING)
    return reader.kinds(one for one in told if not outline.leaves(one)).keys()


def _resting(records: Iterable[_Record], there: Container[str]) -> list[Link]:
    """The links to what memories rest on, as far as it is stored: who may not read that may not read them at once."""
    return [link for record in records for link in record.links if link.kind in RESTING and link.target in there]


def _chained(pages: Sequence[str], reader: Reader) -> Step:
    """Let pages tell of the part of their chain that is stored."""
    changes = Changes(reader)
    for cube in described_chains(changes, pages):
        changes.change(Entry(cube), Operation.CHAIN)
    changes.prepare()
    return Step(changes.flush, {*pages, *changes.touched})


def _untold(segment: MemCube) -> MemCube:
    """The segment without what it says of its pages."""
    return replace(segment, payload=replace(segment_of(segment), summary="", written="", keywords=()))


def _if_small(entries: list[Entry]) -> list[Entry]:
    """All of them, or none if they are too large for the transaction that stores their memory."""
    return entries if sum(map(chars_of, entries)) <= CHARS_AT_ONCE else []


def _is_same(stored: MemCube, cube: MemCube) -> bool:
    return (stored.version.number, stored.payload) == (cube.version.number, cube.payload)


def _batches(records: Iterable[_Record]) -> Iterator[tuple[Scope, list[_Record]]]:
    """The memories of the file with their owners: some at a time, but a large one alone."""
    for owner, owned in groupby(records, key=lambda record: record.cube.scope.owner):
        for some in together(owned, lambda record: record.size, CHARS_AT_ONCE):
            yield owner, some


def _checked(records: Iterable[_Record], outline: _Outline) -> Iterator[_Record]:
    """The records, noted in the outline. Raises InvalidInput if a line is wrong or the end is missing."""
    for record in records:
        cube, owner = record.cube, record.cube.scope.owner
        if any((owner.tenant, owner.user) != (other.tenant, other.user) for other in islice(outline.owners, 1)):
            raise _wrong(record.line, "holds a memory of another user or tenant than the lines before it")
        if cube.id in outline.ids:
            raise _wrong(record.line, "holds a memory that an earlier line holds, too")
        outline.owners.setdefault(owner)
        outline.ids.add(cube.id)
        if cube.kind is Kind.SEGMENT:
            outline.segments.add(cube.id)
        yield record


def _records(lines: Iterable[str]) -> Iterator[_Record]:
    numbered = enumerate(lines, 1)
    _check_head(next(numbered, (1, ""))[1])
    count, end = 0, None
    for number, line in numbered:
        document = _object(number, line)
        if end is not None:
            raise _wrong(number, "comes after the end")
        if "end" in document:
            end = document["end"]
            continue
        record = _record(number, len(line), document)
        count += 1
        if record.cube.kind not in MADE_OF_MEMORIES:  # an older program wrote them, without their bytes
            yield record
    if end != count:
        raise InvalidInput("file", f"ends early: {count:,} memories of {end or 'more'}", "Export again")


def _check_head(line: str) -> None:
    head = _object(1, line)
    if head.get("format") != FORMAT:
        raise _wrong(1, "is not the head of an export")
    if head.get("version") != VERSION:
        raise _wrong(1, f"names version {head.get('version')!r}, and this program reads {VERSION}")


def _record(number: int, size: int, document: dict[str, Any]) -> _Record:
    try:
        cube = from_json(json.dumps(document["memory"]))
        told = (from_json(json.dumps(one)) for one in document.get("earlier", ()))
        earlier = tuple(sorted(told, key=lambda one: one.version.number))
        links = tuple(Link(cube.id, LinkKind(one["kind"]), str(one["target"])) for one in document.get("links", ()))
        parcels = dict(_parcel(one) for one in document.get("blobs", ()))
        has_metadata = all(isinstance(_metadata(one), dict) for one in (cube, *earlier))
    except InvalidInput as error:
        raise _wrong(number, f"holds no memory: {error}") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _wrong(number, "holds no memory with links") from None
    if any(one.id != cube.id or one.scope.owner != cube.scope.owner for one in earlier):
        raise _wrong(number, "has an earlier version of another memory or of another owner")
    if len({one.version.number for one in earlier}) < len(earlier):
        raise _wrong(number, "has two earlier versions of one number")
    if not has_metadata:
        raise _wrong(number, "has metadata that is no JSON object")
    return _Record(number, size, cube, earlier, links, parcels)


def _parcel(told: Mapping[str, Any]) -> tuple[str, Parcel]:
    """Bytes by their sha256. Raises ValueError if the hash or the type is wrong."""
    text, media_type = told["base64"], told.get("media_type")
    if not isinstance(text, str):
        raise ValueError  # noqa: TRY004 - as for all that is wrong in it
    data = from_base64(text)
    if BlobRef.of(data).sha256 != told["sha256"] or not isinstance(media_type, str | None):
        raise ValueError
    return told["sha256"], Parcel(data, media_type)


def _metadata(cube: MemCube) -> Any:
    return json.loads(cube.descriptive.metadata or "{}")


def _object(number: int, line: str) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise _wrong(number, f"has more than {LONGEST_LINE:,} characters")
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise _wrong(number, "is not JSON") from None
    if not isinstance(document, dict):
        raise _wrong(number, "is no object")
    return document


def _wrong(number: int, problem: str) -> InvalidInput:
    return InvalidInput("file", f"line {number:,} {problem}", "Pass a file that `export` wrote")
