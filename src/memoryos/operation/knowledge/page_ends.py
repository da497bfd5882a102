"""Page ends: when what rests on pages ends: with the last of them, and never if one of them has no end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.kinds import Origin
from memoryos.operation.knowledge.lesson import Lesson


def last_end(pages: Iterable[MemCube]) -> datetime | None:
    """The end of the last of these pages; None without pages, or if one of them has none."""
    ends = [page.governance.lifespan.own_end for page in pages]
    known = [end for end in ends if end]
    return max(known) if known and len(known) == len(ends) else None


def ending(lesson: Lesson, pages: Mapping[str, MemCube]) -> Lesson:
    """The lesson with the end of those pages that it rests on."""
    end = last_end(pages[one] for one in lesson.pages if one in pages)
    return replace(lesson, about=replace(lesson.about, expires_at=end)) if end else lesson


def ending_at(cube: MemCube, end: datetime | None) -> MemCube:
    """A memory with the end of its pages; one that somebody stated keeps its own."""
    lifespan = cube.governance.lifespan
    if cube.descriptive.origin is not Origin.INFERENCE or lifespan.own_end == end:
        return cube
    return replace(cube, governance=replace(cube.governance, lifespan=replace(lifespan, expires_at=end, rule=None)))
