"""Told topics: segments as readers see them while a page of them has expired and the sweep has not taken it out yet.

Their summaries and keywords may quote that page. So they are described anew by their other pages, for the reader alone.
Cold pages are not read for that: a topic of which all others are cold has no words until the sweep.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from memoryos.cube import MemCube, Segment
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, State, Tier
from memoryos.operation.hierarchy.mid_term import formed, segment_of
from memoryos.operation.hierarchy.redescribe import in_order

MOST_PAGES = 64  # that describe a topic, the latest: it may have thousands


def told_topics(reader: Reader, segments: Sequence[MemCube]) -> list[MemCube]:
    """The segments without the words of expired pages; those of which all pages have expired are left out.

    A frozen one stays, without words: else nobody could find it to thaw it, and it keeps its pages from the sweep.
    """
    told = {one.id: one for one in without_pages(reader, segments, set(reader.expired()) if segments else set())}
    kept = (one for one in segments if one.id in told or one.state is State.FROZEN)
    return [told[one.id] if one.id in told else without_words(one) for one in kept]


def without_pages(reader: Reader, segments: Sequence[MemCube], gone: Collection[str]) -> list[MemCube]:
    """The segments without the words of these pages; those that have no other page are left out."""
    if not gone or not segments:
        return list(segments)
    pages: dict[str, list[str]] = {}
    for link in reader.sources((one.id for one in segments), LinkKind.MEMBER_OF):
        pages.setdefault(link.target, []).append(link.source)
    told = (_told(reader, one, pages.get(one.id, ()), gone) for one in segments)
    return [one for one in told if one is not None]


def told_topic(reader: Reader, cube: MemCube) -> MemCube:
    """The memory; a segment without the words of expired pages. Raises NotFound if all its pages have expired."""
    told = told_topics(reader, [cube]) if cube.kind is Kind.SEGMENT else [cube]
    if not told:
        raise _missing(cube)
    return told[0]


def told_memories(reader: Reader, cubes: Iterable[MemCube]) -> list[MemCube]:
    """The memories; among them, segments as `told_topics` tells them."""
    known = list(cubes)
    topics = {one.id: one for one in told_topics(reader, [one for one in known if one.kind is Kind.SEGMENT])}
    told = (topics.get(one.id) if one.kind is Kind.SEGMENT else one for one in known)
    return [one for one in told if one is not None]


def without_words(segment: MemCube) -> MemCube:
    """The segment without what may quote its pages."""
    return _described(segment, replace(segment_of(segment), summary="", keywords=(), written="", pages=0))


def check_told(reader: Reader, cube: MemCube) -> None:
    """Raise NotFound for a segment of which all pages have expired, unless it is frozen."""
    gone = set(reader.expired()) if cube.kind is Kind.SEGMENT else set[str]()
    if gone and _has_ended(reader, cube, gone):
        raise _missing(cube)


def ended_topics(reader: Reader, tiers: Collection[Tier]) -> list[MemCube]:
    """The segments of these tiers of which all pages have expired, and that have not themselves."""
    gone = set(reader.expired())
    topics = {link.target for link in reader.targets(gone, LinkKind.MEMBER_OF)} - gone if gone else set[str]()
    return [one for one in reader.get(topics).values() if one.tier in tiers and _has_ended(reader, one, gone)]


def quotes_expired(reader: Reader, cube: MemCube) -> bool:
    """Whether it is a segment with a page that has expired: its earlier versions may quote that page, too."""
    gone = set(reader.expired()) if cube.kind is Kind.SEGMENT else set[str]()
    return bool(gone) and any(link.source in gone for link in reader.sources([cube.id], LinkKind.MEMBER_OF))


def _has_ended(reader: Reader, cube: MemCube, gone: Collection[str]) -> bool:
    if cube.state is State.FROZEN:
        return False
    pages = reader.sources([cube.id], LinkKind.MEMBER_OF)
    return bool(pages) and all(link.source in gone for link in pages)


def _missing(cube: MemCube) -> NotFound:
    return NotFound(f"there is no memory {cube.id!r} of this user and agent")


def _told(reader: Reader, segment: MemCube, pages: Sequence[str], gone: Collection[str]) -> MemCube | None:
    left = [page for page in pages if page not in gone]
    if len(left) == len(pages):
        return segment
    cold = reader.cold(left)
    warm = [page for page in left if page not in cold][-MOST_PAGES:]
    known = in_order(reader.get(warm))
    if not known and not cold:
        return None
    if not known:
        wordless = without_words(segment)
        return replace(wordless, payload=replace(segment_of(wordless), pages=len(left)))
    return _described(segment, replace(formed(known), pages=len(left)))


def _described(segment: MemCube, words: Segment) -> MemCube:
    return replace(
        segment,
        payload=words,
        descriptive=replace(segment.descriptive, derived_by=None),
        behaviour=replace(segment.behaviour, fingerprint=()),
    )
