"""The segments that pages lie in, as a reader of results sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import LinkKind, Reader
from memoryos.operation.hierarchy.mid_term import segment_of, top_keywords
from memoryos.operation.index.resident import Resident

TOPIC_WORDS = 4  # keywords that name a topic to a reader


@dataclass(frozen=True, slots=True)
class Home:
    """Where a page lies; nowhere while it is in STM."""

    segment: str | None = None
    topic: str = "recent"


def homes(reader: Reader, resident: Resident, pages: Iterable[str]) -> dict[str, Home]:
    """The segment of each page that is in one."""
    links = reader.targets(pages, LinkKind.MEMBER_OF)
    known = {link.target: resident.held(link.target) for link in links}
    archived = reader.get(segment for segment, cube in known.items() if cube is None)
    return {
        link.source: Home(link.target, topic_name(known[link.target] or archived.get(link.target))) for link in links
    }


def topic_name(segment: MemCube | None) -> str:
    """A few keywords that name a segment."""
    return ", ".join(top_keywords(segment_of(segment))[:TOPIC_WORDS]) if segment else ""
