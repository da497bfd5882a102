"""Kept versions: the versions of one memory that the store still has, by their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.operation.correction.builds import builds
from memoryos.operation.hierarchy.told_topics import quotes_expired, told_topic


def unexpired(cube: MemCube, now: datetime) -> MemCube:
    """The memory. Raises NotFound if it has expired; a hold may keep it in the store."""
    if cube.has_expired(now):
        raise _missing(cube.id)
    return cube


def check_there(reader: Reader, ids: Sequence[str], now: datetime) -> None:
    """Raise NotFound for a memory that the reader does not show, or that has expired."""
    known = reader.get(ids)
    for one in ids:
        if one not in known:
            raise _missing(one)
        unexpired(known[one], now)


def _missing(cube_id: str) -> NotFound:
    return NotFound(f"there is no memory {cube_id!r} of this user and agent")


def unended(cubes: Iterable[MemCube], now: datetime) -> list[MemCube]:
    """Those of the memories that have not expired."""
    return [cube for cube in cubes if not cube.has_expired(now)]


def kept_versions(reader: Reader, cube_id: str, now: datetime) -> Mapping[int, MemCube]:
    """The versions that the caller may read, oldest first; the stored one is the last. Raises NotFound."""
    cube = reader.one(cube_id)
    if cube is None:
        raise _missing(cube_id)
    unexpired(cube, now)
    if quotes_expired(reader, cube):
        return {cube.number: told_topic(reader, cube)}
    return {one.number: one for one in unended((*reader.history(cube_id), *builds(reader, cube)), now)}


def numbered(versions: Mapping[int, MemCube], number: int) -> MemCube:
    """The version with this number. Raises NotFound."""
    if number not in versions:
        raise NotFound(f"version {number} is not kept: `history` lists the versions of this memory")
    return versions[number]


def version_before(versions: Mapping[int, MemCube], number: int) -> MemCube:
    """The version before the one with this number. Raises NotFound."""
    earlier = list(takewhile(lambda one: one != number, versions))
    if not earlier:
        raise NotFound(f"there is no version before {number}: nothing to compare it with")
    return versions[earlier[-1]]
