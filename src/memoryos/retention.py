"""Retention: rules that say how long the memories of an owner, or of a whole tenant, are kept.

A rule gives an end to each memory that it fits, now and later. Where several rules fit, and where the caller gave an
end, the earliest counts. The end is written into the memory, so that searches need no rules.
Other rules say after how long without use pages and facts are archived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import log2

from pydantic import AwareDatetime, FiniteFloat

from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind, State
from memoryos.lifecycle import EndByRule
from memoryos.plain import Plain

MOST_RULES = 200  # of one owner or tenant: each of them is tried on each memory that is stored or swept
_OTHER_WAYS = 2  # to say how long, beside the one of a rule
COUNTED = (Kind.PAGE, Kind.FACT)  # whose use is counted: every search returns traits and fields
GOVERNED = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE)  # a segment goes with the last of its pages


@dataclass(frozen=True, slots=True)
class RetentionRule(Plain):
    """How long some memories are kept: for a time after they were stored, until a day, or as long as they are used."""

    name: str  #: name by which it is replaced and removed
    kinds: tuple[Kind, ...] = ()  #: only these kinds; empty: page, fact, trait and profile
    tags: tuple[str, ...] = ()  #: only what has all of these tags
    ttl_seconds: FiniteFloat | None = None  #: seconds from when a memory was stored until it expires
    until: AwareDatetime | None = None  #: when it expires; an alternative to `ttl_seconds`
    half_life_seconds: FiniteFloat | None = None  #: seconds in which its strength halves; an alternative to both
    tenant: str | None = None  #: the tenant of which it is, with all its owners; None: it is of one owner
    namespace: tuple[str, ...] | None = None  #: where a tenant's rule counts, with all below it; None: everywhere

    def __post_init__(self) -> None:
        if sum(one is None for one in (self.ttl_seconds, self.until, self.half_life_seconds)) != _OTHER_WAYS:
            problem = "and `until` and `half_life` are all missing, or several are passed"
            raise InvalidInput("ttl", problem, "Pass one of them")

    def fits(self, cube: MemCube) -> bool:
        """Whether the rule is about this memory."""
        return cube.kind in (self.kinds or GOVERNED) and set(self.tags) <= set(cube.descriptive.tags)

    def covers(self, namespace: tuple[str, ...]) -> bool:
        """Whether the rule is about the memories of this namespace."""
        return self.namespace is None or namespace[: len(self.namespace)] == self.namespace

    def end_of(self, cube: MemCube) -> datetime:
        """When the memory expires by this rule."""
        if self.until is not None:
            return self.until
        if self.half_life_seconds is not None:
            return _faded(cube, self.half_life_seconds)
        return _later(cube.descriptive.recorded_at, self.ttl_seconds or 0.0)

    def written(self) -> str:
        """The rule as it is stored."""
        return self.to_json()


@dataclass(frozen=True, slots=True)
class UnusedRule(Plain):
    """After how long without use pages and facts are archived."""

    name: str  #: name by which it is replaced and removed
    unused_seconds: FiniteFloat  #: seconds since a search found it last, it was stored, or a fact was said last
    visits: int | None = None  #: only what searches found at most so often; None: all
    tags: tuple[str, ...] = ()  #: only what has all of these tags
    kinds: tuple[Kind, ...] = (Kind.PAGE,)  #: pages, facts or both

    def due(self, cube: MemCube) -> datetime | None:
        """When the memory is archived if nothing uses it; None if the rule is not about it."""
        known = cube.behaviour
        is_rare = self.visits is None or known.visits <= self.visits
        if cube.kind not in self.kinds or cube.state not in _ARCHIVABLE or cube.is_proposal or not is_rare:
            return None
        if not set(self.tags) <= set(cube.descriptive.tags):
            return None
        said = [cube.descriptive.event_at] if cube.kind is Kind.FACT else []
        return _later(max(known.last_access, cube.descriptive.recorded_at, *said), self.unused_seconds)


@dataclass(frozen=True, slots=True)
class VersionLimit:
    """Which earlier versions of a memory are kept: the latest ones, and only for a time."""

    most: int | None = None  #: so many; None: all
    seconds: float | None = None  #: so long after the next version came; None: as long as the memory

    @classmethod
    def of(cls, most: int | None, days: float | None) -> VersionLimit | None:
        """The limit of these settings; None without any."""
        return None if most is None and days is None else cls(most, None if days is None else days * _DAY)

    def ends(self, replaced: Sequence[tuple[int, datetime]]) -> list[tuple[int, datetime | None]]:
        """The versions, oldest first, each with the moment from which it is not kept; None: no such moment.

        `replaced` are their numbers, each with the moment when the next version came.
        """
        over = 0 if self.most is None else len(replaced) - self.most
        return [(number, at if place < over else self._end(at)) for place, (number, at) in enumerate(replaced)]

    def _end(self, at: datetime) -> datetime | None:
        return None if self.seconds is None else _later(at, self.seconds)


_DAY = 86_400.0
_ARCHIVABLE = (State.GENERATED, State.ACTIVATED)


def check_room(name: str, known: Iterable[RetentionRule | UnusedRule]) -> None:
    """Raise InvalidInput if there are so many rules that a further one, of this name, is too many."""
    names = {rule.name for rule in known}
    if name not in names and len(names) >= MOST_RULES:
        problem = f"would be rule {MOST_RULES + 1} here; there can be {MOST_RULES}"
        raise InvalidInput("name", problem, "Replace a rule by its name, or remove one")


def governed(cube: MemCube, rules: Sequence[RetentionRule]) -> MemCube:
    """The memory with the end that these rules give it. What is frozen stays as it is."""
    if cube.is_frozen:
        return cube
    own = cube.governance.lifespan.own_end
    first = _first(cube, rules)
    if first is None and cube.governance.lifespan.rule is None:
        return cube  # as nearly always
    if first is None or (own is not None and own <= first.end_of(cube)):
        lifespan = replace(cube.governance.lifespan, expires_at=own, rule=None)
    else:
        rule = EndByRule(name=first.name, own_end=own)
        lifespan = replace(cube.governance.lifespan, expires_at=first.end_of(cube), rule=rule)
    if lifespan == cube.governance.lifespan:
        return cube
    return replace(cube, governance=replace(cube.governance, lifespan=lifespan))


def _first(cube: MemCube, rules: Iterable[RetentionRule]) -> RetentionRule | None:
    """The rule that ends the memory first; of several at the same time, the first by name."""
    fitting = (rule for rule in rules if rule.fits(cube))
    return min(fitting, key=lambda rule: (rule.end_of(cube), rule.name), default=None)


def _faded(cube: MemCube, half_life: float) -> datetime:
    """When the strength of a memory is a half: it is 1 + visits at the last use, and halves in each half-life."""
    used = max(cube.behaviour.last_access, cube.descriptive.recorded_at)
    return _later(used, half_life * (1.0 + log2(1 + cube.behaviour.visits)))


def _later(start: datetime, seconds: float) -> datetime:
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=start.tzinfo)
