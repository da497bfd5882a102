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
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, joined, opened
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.hierarchy.recent import extracted


@dataclass
class _Group:
    """The pages of a new segment, in order."""

    topic: Topic
    pages: list[MemCube] = field(default_factory=list)


def form_anew(writer: Writer, settings: Settings, now: datetime) -> list[Topic]:
    """Put the segments of MTM away, form others of the same pages, and write them; returns them."""
    pages = writer.cubes(Kind.PAGE, tiers=[Tier.MTM])
    old = writer.cubes(Kind.SEGMENT, tiers=[Tier.MTM])
    unread = _unread(writer, old)
    writer.delete([segment.id for segment in old])
    topics = [_with_history(group, unread) for group in _groups(writer, pages, settings, now)]
    writer.insert([topic.entry for topic, _ in topics])
    writer.link([Link(page.id, LinkKind.MEMBER_OF, topic.cube.id) for topic, members in topics for page in members])
    writer.update([Entry(page) for page in pages], Operation.MOVE)
    return [topic for topic, _ in topics]


def _groups(writer: Writer, pages: Sequence[MemCube], settings: Settings, now: datetime) -> list[_Group]:
    """The pages in the segments that they find when they come one after the other."""
    mid_term = MidTerm([], settings)
    groups: dict[str, _Group] = {}
    vectors = page_vectors(writer, (page.id for page in pages))
    for cube in pages:
        page = Entry(cube, vectors[cube.id])
        home = mid_term.home_of(page)
        topic = joined(home, page, now) if home else opened(page, now)
        mid_term.put(topic)
        group = groups.setdefault(topic.cube.id, _Group(topic))
        group.topic = topic
        group.pages.append(cube)
    return list(groups.values())


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
