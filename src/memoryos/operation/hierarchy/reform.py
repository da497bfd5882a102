"""Reforming: the few pages of a young scope find their segments anew, by the theta that they turned out to need.

The first pages are placed before there is anything to calibrate theta on. Where it turns out to be far from the
paper's, their segments would stay too fine or too coarse for ever, and so would what follows, for a page joins what is
there. So while a scope is small, its segments are given up and formed again; pages, and what was learned of them, stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.kinds import Kind, Tier
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.former_topics import (
    FORMED_ANEW,
    Closing,
    blanked,
    joined_again,
    reopened,
    reunited,
)
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, joined, opened
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.hierarchy.recent import extracted


@dataclass
class _Group:
    """The pages of a new segment, in order."""

    topic: Topic
    pages: list[MemCube] = field(default_factory=list)


def form_anew(writer: Writer, settings: Settings, now: datetime, *, is_rebuilt: bool = False) -> list[Topic]:
    """Close the segments of MTM, form others of the same pages, and write them; returns them.

    One that a page of it begins again keeps its id and its history, and what a person wrote of it if it has all its
    pages. In a memory that `is_rebuilt`, that is decided at the end.
    """
    pages = writer.cubes(Kind.PAGE, tiers=[Tier.MTM])
    old = writer.cubes(Kind.SEGMENT, tiers=[Tier.MTM])
    unread = _unread(writer, old)
    _close(writer, old, [page.id for page in pages], now, is_rebuilt=is_rebuilt)
    topics = [_with_history(group, unread) for group in _groups(writer, pages, settings, now)]
    known = writer.kinds(topic.cube.id for topic, _ in topics)
    writer.update([topic.entry for topic, _ in topics if topic.cube.id in known], Operation.REFRESH)
    writer.insert([topic.entry for topic, _ in topics if topic.cube.id not in known])
    writer.link([Link(page.id, LinkKind.MEMBER_OF, topic.cube.id) for topic, members in topics for page in members])
    writer.update([Entry(page) for page in pages], Operation.MOVE)
    return [topic for topic, _ in topics] if is_rebuilt else _reunited(writer, [topic for topic, _ in topics], old, now)


def _close(writer: Writer, old: Sequence[MemCube], pages: Sequence[str], now: datetime, *, is_rebuilt: bool) -> None:
    closing = Closing(writer, pages, now, FORMED_ANEW)
    homes = writer.targets(pages, LinkKind.MEMBER_OF)
    writer.link([Link(link.source, LinkKind.TOLD_IN, link.target) for link in homes])
    writer.unlink(homes)
    blanked(writer, old, now) if is_rebuilt else closing.close(writer, old)


def _reunited(writer: Writer, topics: Sequence[Topic], old: Sequence[MemCube], now: datetime) -> list[Topic]:
    """The topics as they are after the former ones said what a person wrote of them, or went."""
    names = [segment.id for segment in old]
    for name in names:
        reunited(writer, name, now, FORMED_ANEW).write(writer)
    writer.unlink(joined_again(writer, names))
    written = writer.get(topic.cube.id for topic in topics)
    return [replace(topic, cube=written[topic.cube.id]) for topic in topics]


def _groups(writer: Writer, pages: Sequence[MemCube], settings: Settings, now: datetime) -> list[_Group]:
    """The pages in the segments that they find when they come one after the other."""
    mid_term, changes = MidTerm([], settings), Changes(writer)
    groups: dict[str, _Group] = {}
    vectors = page_vectors(writer, (page.id for page in pages))
    for cube in pages:
        page = Entry(cube, vectors[cube.id])
        home = mid_term.home_of(page)
        topic = joined(home, page, now) if home else _opened(changes, page, now)
        mid_term.put(topic)
        group = groups.setdefault(topic.cube.id, _Group(topic))
        group.topic = topic
        group.pages.append(cube)
    return list(groups.values())


def _opened(changes: Changes, page: Entry, now: datetime) -> Topic:
    topic = opened(page, now)
    if former := reopened(changes, page.cube.id, topic):
        changes.change(former.entry, Operation.REFRESH)  # only so that no other page opens it
    return former or topic


def _unread(writer: Writer, segments: Sequence[MemCube]) -> set[str]:
    """The pages of these segments that wait for extraction."""
    pages = {link.source for link in writer.sources([segment.id for segment in segments], LinkKind.MEMBER_OF)}
    return pages - extracted(writer, pages)


def _with_history(group: _Group, unread: set[str]) -> tuple[Topic, list[MemCube]]:
    """The segment by its pages' past: visited like the most visited, and with the pages that nobody read."""
    behaviour = replace(
        group.topic.cube.behaviour,
        visits=max(page.behaviour.visits for page in group.pages),
        last_access=max(page.behaviour.last_access for page in group.pages),
        interactions=sum(page.id in unread for page in group.pages),
    )
    return replace(group.topic, cube=replace(group.topic.cube, behaviour=behaviour)), group.pages
