"""Prefix: memories as the beginning of a prompt. The same memories always give the same text, to the byte.

There is no time in it and nothing about a question. Stored text stands in the fence, as in every prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import AccessMode, Kind, State, Tier
from memoryos.language.quotation import fenced, item
from memoryos.operation.activation.recipe import Recipe
from memoryos.operation.answer.respond import INSTRUCTIONS
from memoryos.operation.hierarchy.told_topics import told_memories
from memoryos.operation.recall.trust import outside_mark

_ORDER = (Kind.PROFILE, Kind.TRAIT, Kind.FACT, Kind.SEGMENT, Kind.PAGE)  # of the lines; pages by time come last


@dataclass(frozen=True, slots=True)
class Prefix:
    """A system message, and the memories that it tells."""

    text: str
    sources: tuple[MemCube, ...]

    @property
    def versions(self) -> tuple[tuple[str, int], ...]:
        """The id and the version of each source."""
        return tuple((cube.id, cube.version.number) for cube in self.sources)

    def is_same(self, other: Prefix) -> bool:
        """Whether a state of one is a state of the other. A visit of a source changes nothing."""
        return self._told() == other._told()

    def _told(self) -> tuple[object, ...]:
        return self.text, self.versions, self.access, self.sensitivity, self.ends

    @property
    def access(self) -> AccessMode:
        """The strictest access of the sources; private without any."""
        modes = {cube.governance.access.mode for cube in self.sources} or {AccessMode.PRIVATE}
        return min(modes, key=lambda mode: mode.openness)

    @property
    def sensitivity(self) -> tuple[str, ...]:
        """What makes any of the sources sensitive."""
        return tuple(sorted({one for cube in self.sources for one in cube.governance.sensitivity}))

    @property
    def labels(self) -> frozenset[str]:
        """The tags of the sources."""
        return frozenset(tag for cube in self.sources for tag in cube.tags)

    @property
    def heat(self) -> int:
        """How often the sources were found."""
        return sum(cube.behaviour.visits for cube in self.sources)

    @property
    def ends(self) -> datetime | None:
        """When the first of the sources ends."""
        ends = [end for cube in self.sources if (end := cube.governance.lifespan.expires_at)]
        return min(ends, default=None)


Show = Callable[[MemCube], MemCube]  # a memory as the policy `privacy_on_read` lets a model see it


def chosen(reader: Reader, recipe: Recipe, now: datetime, show: Show) -> Prefix:
    """The prefix of a recipe, from all that the reader shows."""
    cubes = {cube.id: cube for kind in recipe.kinds for cube in reader.cubes(kind, tiers=[Tier.LPM])}
    return prefix_of(recipe, told_memories(reader, {**cubes, **reader.get(recipe.ids)}.values()), now, show)


def again(reader: Reader, recipe: Recipe, ids: Collection[str], now: datetime, show: Show) -> Prefix:
    """The prefix of these memories as they are now, as far as the reader shows them."""
    return prefix_of(recipe, told_memories(reader, reader.get(ids).values()), now, show)


def prefix_of(recipe: Recipe, cubes: Iterable[MemCube], now: datetime, show: Show) -> Prefix:
    """The prefix of those of these memories that may be used."""
    sources = sorted((cube for cube in cubes if _is_usable(cube, now)), key=_place)
    lines = "\n".join(f"{outside_mark(cube)}{item(show(cube).text)}" for cube in sources)
    text = "\n\n".join(part for part in (INSTRUCTIONS.format(role=recipe.role), fenced("memory", lines)) if part)
    return Prefix(text, tuple(sources))


def _is_usable(cube: MemCube, now: datetime) -> bool:
    is_out = cube.has_expired(now) or cube.is_over(now) or cube.state is State.MERGED
    return cube.kind in _ORDER and not (is_out or cube.is_proposal or cube.is_withdrawn or cube.version.superseded_by)


def _place(cube: MemCube) -> tuple[int, datetime, str]:
    """By kind and time; of what was said several times by the first, so that saying it again moves no line."""
    return _ORDER.index(cube.kind), min((one.at for one in cube.descriptive.mentions), default=cube.at), cube.id
