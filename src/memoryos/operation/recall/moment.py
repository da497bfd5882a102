"""Moments: a memory as it was then, so that a question can be asked as of a past day.

A page has the turns that had been said. A fact, trait or field is there from its first page until it ended, in the
words of the version that had been said last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from memoryos.cube import MemCube, Page
from memoryos.infrastructure.vault.contract import Entry, Reader


def entries_at(reader: Reader, entries: Iterable[Entry], moment: datetime | None) -> list[Entry]:
    """Those that there were at the moment, as they were; all as they are when it is None."""
    if moment is None:
        return list(entries)
    then = ((entry, cube_at(reader, entry.cube, moment)) for entry in entries)
    return [replace(entry, cube=cube) for entry, cube in then if cube]


def cubes_at(reader: Reader, ids: Iterable[str], moment: datetime | None) -> dict[str, MemCube]:
    """The memories with these ids that there were at the moment, as they were; as they are when it is None."""
    cubes = reader.get(ids)
    if moment is None:
        return cubes
    then = {cube_id: cube_at(reader, cube, moment) for cube_id, cube in cubes.items()}
    return {cube_id: cube for cube_id, cube in then.items() if cube}


def cube_at(reader: Reader, cube: MemCube, moment: datetime) -> MemCube | None:
    """The memory as it was at the moment; None when it was not there yet, or no more."""
    if isinstance(cube.payload, Page):
        return _page_at(cube, cube.payload, moment)
    if not _holds(cube, moment):
        return None
    if cube.descriptive.event_at <= moment or cube.version.number == 1:
        return cube
    versions = [version for version in reader.history(cube.id) if version.descriptive.event_at <= moment]
    return versions[-1] if versions else None


def _page_at(cube: MemCube, page: Page, moment: datetime) -> MemCube | None:
    """The page up to its first turn after the moment; its summary may tell of what follows."""
    said = tuple(takewhile(lambda turn: (turn.at or cube.descriptive.event_at) <= moment, page.turns))
    if said == page.turns:
        return cube
    if not said:
        return None
    sources = tuple(turn.source_id for turn in said if turn.source_id)
    return replace(
        cube,
        payload=replace(page, turns=said, chain_summary="", chain_written=""),
        descriptive=replace(cube.descriptive, source_ids=sources),
    )


def _holds(cube: MemCube, moment: datetime) -> bool:
    """Whether it was true then: from the first time it was said until it ended or gave way to another."""
    known, version = cube.descriptive, cube.version
    ends = [end for end in (known.valid_to, version.superseded_at) if end]
    return (known.valid_from or known.event_at) <= moment and all(moment < end for end in ends)
