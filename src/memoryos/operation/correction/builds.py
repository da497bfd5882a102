"""Builds: the versions of an adapter, or the KV states of a prefix, that stand. Each is a memory with an id of its own.

A KV state gives way to the next one, so an earlier one stands only while it is frozen or on hold.
"""

from __future__ import annotations

from memoryos.cube import MemCube, Parameter
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import MADE_OF_MEMORIES


def builds(reader: Reader, cube: MemCube) -> list[MemCube]:
    """Those up to this one, oldest first, with this one last; of another memory, itself."""
    if cube.kind not in MADE_OF_MEMORIES:
        return [cube]
    found = [one for one in reader.cubes(cube.kind) if _name(one) == _name(cube) and one.number < cube.number]
    return [*sorted(found, key=lambda one: (one.number, one.id)), cube]


def _name(cube: MemCube) -> str | None:
    return cube.payload.name if isinstance(cube.payload, Parameter) else cube.title
