"""Frozen: what new lessons may not change: frozen memories, and the labels of those on hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault.contract import Reader
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.knowledge.rivals import Chain
from memoryos.operation.knowledge.succession import Succession


def refuse_statement(known: MemCube, lesson: Lesson) -> None:
    """Refuse what a caller states of a frozen memory, unless it says the same. Raises CubeProtected."""
    is_same_thing = lesson.payload.text in (known.text, *getattr(known.payload, "wordings", ()))
    if not lesson.pages and not (is_same_thing and lesson.about.add_to(known) == known):
        raise CubeProtected(
            f"the memory {known.id} is frozen, and nothing was changed: thaw it first", memory_id=known.id
        )


def frozen_that_change(chain: Chain, after: Succession) -> list[MemCube]:
    """The frozen facts of a chain that would be other ones afterwards, or gone."""
    changed = [cube.id for cube in after.cubes if cube != chain.cubes.get(cube.id)]
    known = (chain.cubes[cube_id] for cube_id in (*changed, *after.gone) if cube_id in chain)
    return [cube for cube in known if cube.is_frozen]


def described(reader: Reader, known: MemCube, lesson: Lesson, now: datetime) -> MemCube:
    """The known memory with what is said of it beside its words; one on hold as it is.

    What a caller says is a new version: what was said before stays in the history. Raises OnHold if a caller states
    something else of one on hold, and InvalidInput if the caller's labels are too many for one memory.
    """
    later = lesson.about.extend(known, is_stated=lesson.is_told or lesson.is_published)
    cube = lesson.about.add_to(later, is_told=lesson.is_told)
    if cube == known:
        return known
    if (hold := reader.whole.retention.held([known.id]).get(known.id)) is None:
        return cube if lesson.pages else _next_version(cube, now)
    if not lesson.pages:
        raise hold.refusal(known.id)
    return known


def _next_version(cube: MemCube, now: datetime) -> MemCube:
    described = replace(cube.descriptive, updated_at=now)
    return replace(cube, descriptive=described, version=replace(cube.version, number=cube.version.number + 1))
