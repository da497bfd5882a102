"""What a search returns: typed values with scores, the parts of each score, and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from memoryos.cube import MemCube


class Strategy(StrEnum):
    """How pages are found."""

    TWO_STAGE = "two_stage"  # segments by F_score, then their pages by cosine (MemoryOS paper, section 3.4)
    LEXICAL = "lexical"  # pages by BM25: exact words, for names and codes


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found, and why."""

    cube: MemCube
    score: float
    parts: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({}), hash=False
    )  #: what the score is made of
    segment: str | None = None  #: id of the page's segment, when it was found through one
    topic: str = ""  #: keywords of that segment

    @property
    def id(self) -> str:
        """The id of the cube."""
        return self.cube.id

    @property
    def text(self) -> str:
        """The memory in words."""
        return self.cube.text

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.cube.descriptive.event_at

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Ids in the source data."""
        return self.cube.descriptive.source_ids


@dataclass(frozen=True, slots=True)
class Recall:
    """What a question brought back from the three tiers."""

    query: str
    hits: tuple[Hit, ...]  #: pages from MTM (and the archive, on request) and STM, best first
    recent: tuple[Hit, ...]  #: all of STM, oldest first
    user_facts: tuple[Hit, ...]
    agent_facts: tuple[Hit, ...]
    profile: tuple[MemCube, ...]  #: the static fields of both personas
    traits: tuple[MemCube, ...]
