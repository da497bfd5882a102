"""Former topics: segments that a rebuild closed, until one of their pages opens a segment again; and what they said.

A closed segment is blank and has no pages. Its earlier versions and the links of its pages to it stay, so a page that
goes finds the versions that may tell of it. The first of its pages that opens a segment opens this one. What a person
wrote of it stays if it has all its pages again; else it is an earlier version, of this segment or of the one that has
most of its pages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.caller import SYSTEM
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.audit_entry import BACKGROUND
from memoryos.infrastructure.vault.built_cubes import undeletable
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.kinds import Origin, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import Topic, segment_of
from memoryos.operation.hierarchy.redescribe import numbered_next
from memoryos.operation.scheduler.step import Step


def _detail(reason: str) -> str:
    return json.dumps({"by": SYSTEM.identity, "call": BACKGROUND, "reason": reason})


REBUILT = _detail("rebuild: formed again from its pages")
HANDED_ON = _detail("what was written of a topic whose pages joined this one")


class Closing:
    """Closes segments that have no page any more; the history keeps what they said."""

    def __init__(self, reader: Reader, pages: Iterable[str], now: datetime) -> None:
        """Prepare the segments of these pages, beside other writers."""
        homes = {link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)}
        self._now = now
        self._known = {one.id: (one, self._closed(one).prepared) for one in reader.get(homes).values()}

    def close(self, writer: Writer, segments: Iterable[MemCube]) -> None:
        """Close these segments; one that changed meanwhile is prepared again."""
        prepared = ((one, *self._known.get(one.id, (None, None))) for one in segments)
        entries = [entry if entry and known == one else self._closed(one) for one, known, entry in prepared]
        writer.update(entries, Operation.REVISE, detail=REBUILT)

    def _closed(self, segment: MemCube) -> Entry:
        return numbered_next(Entry(_blank(segment, self._now)), segment)


def _blank(segment: MemCube, now: datetime) -> MemCube:
    payload = replace(segment_of(segment), summary="", written="", keywords=(), pages=0)
    told = replace(segment.descriptive, updated_at=now, derived_by=None, origin=Origin.INFERENCE)
    behaviour = replace(segment.behaviour, interactions=0)
    return replace(
        segment, tier=Tier.ARCHIVE, mark=CubeMark.CLOSED, payload=payload, descriptive=told, behaviour=behaviour
    )


def reopened(changes: Changes, page: str, topic: Topic) -> Topic | None:
    """The closed segment that this page was in, as the new `topic` that it opens; None if it was in none."""
    former = changes.get(link.target for link in changes.reader.targets([page], LinkKind.TOLD_IN))
    known = next((cube for cube in former if cube.mark is CubeMark.CLOSED and not cube.is_frozen), None)
    if known is None:
        return None
    new = topic.cube
    told = replace(known.descriptive, updated_at=new.descriptive.updated_at, event_at=new.descriptive.event_at)
    cube = replace(known, tier=new.tier, mark=None, payload=new.payload, behaviour=new.behaviour, descriptive=told)
    return Topic.of(cube, topic.centroid)


def stated(reader: Reader, segment: MemCube) -> MemCube | None:
    """The last version of a segment that a person wrote."""
    versions = (*reader.history(segment.id), segment)
    return next((one for one in reversed(versions) if one.descriptive.origin is Origin.USER_INPUT), None)


def saying(segment: MemCube, version: MemCube) -> MemCube:
    """The segment with the summary that a person wrote in that version."""
    words = segment_of(version)
    told = replace(segment.descriptive, origin=Origin.USER_INPUT, derived_by=None)
    payload = replace(segment_of(segment), summary=words.summary, written=words.written)
    return replace(segment, payload=payload, descriptive=told)


@dataclass(frozen=True, slots=True)
class Bequest:
    """What a person wrote of a segment that goes, as the next version of the one that its pages joined."""

    heir: MemCube
    pages: Sequence[str]  #: that the words may quote, and that the heir may not have

    def write(self, writer: Writer) -> None:
        """Write it; another version has to follow, made of the pages."""
        writer.link([Link(page, LinkKind.TOLD_IN, self.heir.id) for page in self.pages])
        writer.update([Entry(self.heir)], Operation.REVISE, detail=HANDED_ON)


def bequest(reader: Reader, segment: MemCube, heir: MemCube, leaving: Iterable[str] = ()) -> Bequest | None:
    """What a segment that goes hands on to another one; None if no person wrote anything of it.

    Its last pages are `leaving` it now.
    """
    version = stated(reader, segment)
    if version is None:
        return None
    members = {link.source for link in reader.sources([heir.id], LinkKind.MEMBER_OF)}
    told = {link.source for link in reader.sources([segment.id], LinkKind.TOLD_IN)}
    return Bequest(numbered_next(Entry(saying(heir, version)), heir).cube, sorted(told.union(leaving) - members))


def reunited(reader: Reader, name: str, now: datetime) -> Step:
    """Let a segment that was closed say what a person wrote of it, or go if none of its pages opened it again."""
    segment = reader.get([name]).get(name)
    pages = [link.source for link in reader.sources([name], LinkKind.TOLD_IN)]
    if segment is None or segment.is_frozen:
        return Step(lambda _: None, ())
    if segment.mark is CubeMark.CLOSED:
        return _gone(reader, segment, pages, now)
    members = {link.source for link in reader.sources([name], LinkKind.MEMBER_OF)}
    return _restated(reader, segment, now) if pages and members.issuperset(pages) else Step(lambda _: None, ())


def _gone(reader: Reader, segment: MemCube, pages: Collection[str], now: datetime) -> Step:
    if undeletable(reader, [segment.id]):
        return Step(lambda _: None, ())
    homes = Counter(link.target for link in reader.targets(pages, LinkKind.MEMBER_OF))
    heirs = reader.get(name for name, _ in homes.most_common(1))
    found = next((bequest(reader, segment, heir) for heir in heirs.values() if not heir.is_frozen), None)
    again = [_renewed(heirs[found.heir.id], found.heir, now)] if found else []

    def write(writer: Writer) -> None:
        if found:
            found.write(writer)
            writer.update(again, Operation.REVISE, detail=REBUILT)
        writer.delete([segment.id])

    return Step(write, {segment.id, *heirs})


def _renewed(heir: MemCube, said: MemCube, now: datetime) -> Entry:
    """The heir as it was, as the version after what it was handed."""
    return numbered_next(Entry(replace(heir, descriptive=replace(heir.descriptive, updated_at=now))), said)


def _restated(reader: Reader, segment: MemCube, now: datetime) -> Step:
    """The segment has all its pages again: what a person wrote before the rebuild stays."""
    before = reader.history(segment.id)[-1:]
    if segment.descriptive.origin is Origin.USER_INPUT or not before:
        return Step(lambda _: None, ())
    if before[0].descriptive.origin is not Origin.USER_INPUT:
        return Step(lambda _: None, ())
    cube = saying(segment, before[0])
    cube = replace(cube, descriptive=replace(cube.descriptive, updated_at=now))
    return Step(lambda writer: writer.update([Entry(cube)], Operation.REFRESH), [segment.id])


def joined_again(reader: Reader, segments: Iterable[str]) -> list[Link]:
    """The links of pages to segments that they are in again: the membership tells of them."""
    names = list(segments)
    members = {(link.source, link.target) for link in reader.sources(names, LinkKind.MEMBER_OF)}
    told = reader.sources(names, LinkKind.TOLD_IN)
    return [link for link in told if (link.source, link.target) in members]
