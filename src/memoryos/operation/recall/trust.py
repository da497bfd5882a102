"""Trust: how far a memory can be relied on, by where its content came from.

A derived memory is trusted as little as the least trusted memory that it was derived from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from memoryos.cube import MemCube, Turn
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind, alone
from memoryos.kinds import Kind, Origin, Role, Trust
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Recall

TRUST_OF: Mapping[Origin, Trust] = MappingProxyType(
    {
        Origin.USER_INPUT: Trust.STATED,
        Origin.INFERENCE: Trust.INFERRED,
        Origin.FINETUNING: Trust.INFERRED,
        Origin.IMPORT: Trust.IMPORTED,
        Origin.RETRIEVAL: Trust.OUTSIDE,
    }
)  # documents and pages with the output of a tool are OUTSIDE, whatever their origin

OUTSIDE_MARK = "(outside) "  # before a line of a text for a model

_HITS = ("hits", "turns", "recent", "user_facts", "agent_facts", "segments", "knowledge", "ranked")  # of a Recall
_CUBES = ("profile", "traits")


def own_trust(cube: MemCube) -> Trust:
    """The trust of a memory by itself. A page is one memory: an answer may repeat what a tool told."""
    if any(is_outside(cube, turn) for turn in (None, *turns_of(cube))):
        return Trust.OUTSIDE
    return TRUST_OF[cube.descriptive.origin]


def is_outside(cube: MemCube, turn: Turn | None = None) -> bool:
    """Whether others wrote the memory, or this turn of it."""
    if turn is not None and turn.role is Role.TOOL:
        return True
    return cube.is_document or TRUST_OF[cube.descriptive.origin] is Trust.OUTSIDE


def outside_mark(cube: MemCube, turn: Turn | None = None) -> str:
    """What stands before a line that others wrote; empty for other lines."""
    return OUTSIDE_MARK if is_outside(cube, turn) else ""


def sources_of(readers: Sequence[Reader], cube: MemCube) -> tuple[str, ...]:
    """The ids of the memories that this one was derived from, also those that the caller may not read."""
    if cube.kind is not Kind.SEGMENT:
        return cube.descriptive.provenance
    return tuple(link.source for reader in readers for link in reader.whole.sources([cube.id], LinkKind.MEMBER_OF))


def trust_of(readers: Sequence[Reader], cubes: Iterable[MemCube]) -> dict[str, Trust]:
    """The least trust in the lineage of each memory, by id. A source that is not found counts as OUTSIDE."""
    known: dict[str, Trust] = {}
    rests_on: dict[str, tuple[str, ...]] = {}
    new = {cube.id: cube for cube in cubes}
    asked = list(new)
    while new:
        known |= {cube_id: own_trust(cube) for cube_id, cube in new.items()}
        rests_on |= {cube_id: sources_of(readers, cube) for cube_id, cube in new.items()}
        missing = {source for cube_id in new for source in rests_on[cube_id]}.difference(known)
        new = _read(readers, missing)
        known |= dict.fromkeys(missing.difference(new), Trust.OUTSIDE)
    return {cube_id: _least(known[one] for one in _lineage(cube_id, rests_on)) for cube_id in asked}


def trusted(recalled: Recall, least: Trust, readers: Sequence[Reader]) -> Recall:
    """What was found without memories of less trust, and without summaries, which speak of other pages."""
    hits = {name: [hit for hit in getattr(recalled, name) if hit.mount is None] for name in _HITS}
    cubes = {name: getattr(recalled, name) for name in _CUBES}
    known = trust_of(readers, [*(hit.cube for some in hits.values() for hit in some), *chain(*cubes.values())])
    enough = {cube_id for cube_id, trust in known.items() if trust.level >= least.level}
    kept: dict[str, Any] = {
        name: tuple(replace(hit, cube=alone(hit.cube)) for hit in some if hit.cube.id in enough)
        for name, some in hits.items()
    }
    kept |= {name: tuple(cube for cube in some if cube.id in enough) for name, some in cubes.items()}
    return replace(recalled, **kept)


def _read(readers: Sequence[Reader], ids: Iterable[str]) -> dict[str, MemCube]:
    wanted = list(ids)
    return {cube_id: cube for reader in readers for cube_id, cube in reader.whole.get(wanted).items()}


def _lineage(cube_id: str, rests_on: Mapping[str, Sequence[str]]) -> set[str]:
    reached, left = {cube_id}, [cube_id]
    while left:
        new = set(rests_on.get(left.pop(), ())).difference(reached)
        reached |= new
        left += new
    return reached


def _least(trusts: Iterable[Trust]) -> Trust:
    return min(trusts, key=lambda one: one.level)
