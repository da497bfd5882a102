"""Placeholder: a memory without words that takes the links of a large new one, some in each step.

A memory that rests on thousands of pages is not stored with all its links in one short step. A placeholder comes first,
then its links, and in the last step it becomes the memory. Until then it is withdrawn and says nothing: after a crash,
nobody is shown it, and it quotes no page that goes before its link is there. It goes with any page that it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from memoryos.cube import Behaviour, Descriptive, Fact, Governance, MemCube, ProfileField, Trait, Version
from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.records import Entry, Link, Vector
from memoryos.infrastructure.vault.withdrawal import withdrawn
from memoryos.operation.scheduler.step import PartAhead, some_at_a_time

LINKS_AT_ONCE = 1_000  # added or removed in one transaction


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A large new memory, and the links that are stored before it."""

    entry: Entry
    links: Sequence[Link]

    @property
    def parts(self) -> list[Callable[[Writer], object]]:
        """What comes before the memory, each a transaction, and how it is taken back."""
        empty = Entry(_emptied(self.entry.cube), _no_direction(self.entry)).prepared
        first, *others = some_at_a_time(self.links, LINKS_AT_ONCE)
        begin = PartAhead(partial(_begun, entry=empty, links=first), partial(_ended, cube_id=empty.cube.id))
        return [begin, *(PartAhead(partial(_linked, links=some), partial(_unlinked, links=some)) for some in others)]


def is_placeholder(cube: MemCube) -> bool:
    """Whether this is what was left by a crash, or by work that still goes on."""
    return cube.is_withdrawn and _without_words(cube) == cube.payload


def _emptied(cube: MemCube) -> MemCube:
    known, at = cube.descriptive, cube.descriptive.recorded_at
    blank = Descriptive(
        event_at=at, recorded_at=at, updated_at=at, origin=known.origin, semantic_type=known.semantic_type
    )
    empty = replace(
        cube,
        payload=_without_words(cube),
        descriptive=blank,
        behaviour=Behaviour(last_access=at),
        governance=Governance(),
        version=Version(),
    )
    return withdrawn(empty, at)


def _without_words(cube: MemCube) -> Fact | Trait | ProfileField:
    match cube.payload:
        case Fact() as fact:
            return replace(fact, text="", quote="", wordings=())
        case Trait() as trait:
            return replace(trait, dimension="", reason="", counter=())
        case ProfileField() as field:
            return replace(field, field="", value="", quote="")
    raise TypeError(f"a {cube.kind.value} rests on no pages")


def _no_direction(entry: Entry) -> Vector | None:
    """A vector that says nothing of the words, for what must have one."""
    if entry.vector is None:
        return None
    return np.full_like(entry.vector, 1 / np.sqrt(entry.vector.size))


def _begun(writer: Writer, *, entry: Entry, links: Sequence[Link]) -> None:
    writer.insert([entry])
    writer.link(links)


def _linked(writer: Writer, *, links: Sequence[Link]) -> None:
    writer.link(links)


def _unlinked(writer: Writer, *, links: Sequence[Link]) -> None:
    if _is_there(writer, links[0].source):
        writer.unlink(links)


def _ended(writer: Writer, *, cube_id: str) -> None:
    if _is_there(writer, cube_id):
        writer.delete([cube_id])


def _is_there(writer: Writer, cube_id: str) -> bool:
    """Whether the placeholder is still one: an interrupt may come after its last step."""
    return any(map(is_placeholder, writer.get([cube_id]).values()))
