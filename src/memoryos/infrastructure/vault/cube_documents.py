"""Documents: cubes, vectors and passages as rows of a database hold them, checked when they are read."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np

from memoryos.cube import MemCube, from_json, to_json
from memoryos.errors import CubeDamaged, InvalidInput
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import checksum, queries
from memoryos.infrastructure.vault.records import (
    COLD_TIER,
    MERGED_TIER,
    Entry,
    StoredPassage,
    alone,
)
from memoryos.infrastructure.vault.version_part import StoredVersion
from memoryos.kinds import Tier

logger = logging.getLogger(__name__)

_TIERS = frozenset((*(tier.value for tier in Tier), COLD_TIER, MERGED_TIER))
_NUMBER, _NAME = (int, type(None)), (str, type(None))


def read_cube(packs: Packs, cube_id: str, stored: str, told: int | None) -> MemCube:
    """The cube in a row with that checksum. Raises CubeDamaged."""
    if not checksum.is_text_sound(stored, told):
        raise damaged(cube_id)
    return parse_document(cube_id, packs.document(cube_id, stored))


def parse_document(cube_id: str, document: str, told: int | None = None, part: str = "") -> MemCube:
    """The cube of a document. Raises CubeDamaged when its checksum differs, or it cannot be read."""
    if checksum.is_text_sound(document, told):
        try:
            return from_json(document)
        except InvalidInput:  # what it quotes may be what a user said
            pass
    raise damaged(cube_id, part)


def earlier_cube(stored: StoredVersion) -> MemCube:
    """An earlier version of a cube, of which the row has the whole document. Raises CubeDamaged."""
    return parse_document(stored.cube_id, stored.document, stored.checksum, f"version {stored.version} of ")


def damaged(cube_id: str, part: str = "") -> CubeDamaged:
    """The error that names a cube without its content."""
    return CubeDamaged(
        f"{part}the memory {checksum.shown(cube_id)} is damaged: restore the store from a backup, or delete it"
    )


def is_left_out(what: str, cube_id: str) -> bool:
    """Log that something damaged is left out; always False."""
    cube = checksum.shown(cube_id)
    told = "%s %s is damaged and left out: `memoryos verify` lists the damage"
    logger.warning(told, what, cube, extra={"action": "read", "cube": cube})
    return False


def read_passages(rows: Iterator[Any]) -> Iterator[StoredPassage]:
    """Passages, each with the tier of its page, which comes with the first ones only."""
    tier = ""
    for row in rows:
        passage = StoredPassage._make(row)
        if passage.tier is None:
            passage = passage._replace(tier=tier)
        tier = passage.tier
        if (
            not passage.part
            or (has_types(passage) and checksum.is_passage_sound(passage))
            or is_left_out("passage", passage.page)
        ):
            yield passage


def has_types(passage: StoredPassage) -> bool:
    """Whether what stands beside a passage, of which there is no checksum, can be read; SQLite stores any type."""
    return (
        passage.tier in _TIERS
        and type(passage.position) in _NUMBER
        and type(passage.expires_at) in _NUMBER
        and type(passage.session) in _NAME
        and type(passage.tags) in _NAME
        and type(passage.segment) in _NAME
    )


def vector_row(entry: Entry) -> dict[str, Any]:
    """The row of a vector."""
    data = np.asarray(entry.vector, dtype="<f4").tobytes()
    return {
        "tenant": entry.cube.scope.tenant,
        "cube_id": entry.cube.id,
        "part": queries.WHOLE_CUBE,
        "data": data,
        "checksum": checksum.of_bytes(data),
    }


def version_row(earlier: Entry) -> dict[str, Any]:
    """The row of an earlier version of a cube: of a page, without what it says of others, which may go."""
    cube, packed = alone(earlier.cube), earlier.packed
    known = earlier.document if cube is earlier.cube else None
    document = "" if packed else known or to_json(cube)
    return {
        "tenant": cube.scope.tenant,
        "cube_id": cube.id,
        "version": cube.version.number,
        "document": document,
        "checksum": packed.checksum if packed else checksum.of_text(document),
        "packed": packed and packed.data,
        "base": packed and packed.base,
    }
