"""Told topics: segments as readers see them while a page of them has expired and the sweep has not taken it out yet.

Their summaries and keywords may quote that page. So they are described anew by their other pages, for the reader alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.operation.hierarchy.mid_term import formed
from memoryos.operation.hierarchy.redescribe import in_order

MOST_PAGES = 64  # that describe a topic, the latest: it may have thousands


def told_topics(reader: Reader, segments: Sequence[MemCube]) -> list[MemCube]:
    """The segments without the words of expired pages; those of which all pages have expired are left out."""
    return without_pages(reader, segments, set(reader.expired()) if segments else set())


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
        raise NotFound(f"there is no memory {cube.id!r} of this user and agent")
    return told[0]


def quotes_expired(reader: Reader, cube: MemCube) -> bool:
    """Whether it is a segment with a page that has expired: its earlier versions may quote that page, too."""
    gone = set(reader.expired()) if cube.kind is Kind.SEGMENT else set[str]()
    return bool(gone) and any(link.source in gone for link in reader.sources([cube.id], LinkKind.MEMBER_OF))


def _told(reader: Reader, segment: MemCube, pages: Sequence[str], gone: Collection[str]) -> MemCube | None:
    left = [page for page in pages if page not in gone]
    if len(left) == len(pages):
        return segment
    if not (known := in_order(reader.get(left[-MOST_PAGES:]))):
        return None
    return replace(
        segment,
        payload=replace(formed(known), pages=len(left)),
        descriptive=replace(segment.descriptive, derived_by=None),
        behaviour=replace(segment.behaviour, fingerprint=()),
    )
