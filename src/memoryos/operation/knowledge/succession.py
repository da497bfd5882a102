"""Succession: which of the facts that exclude each other held when.

A pure function of everything that was said: the mentions in the order of the moments they speak of, and not in the
order in which they were processed. So an import from last to first, or a deletion, gives what would have come about
anyhow. Mentions of one value that follow each other are a spell; a spell ends where the next begins, or where something
is said that ends it though it fills another slot ("I quit my job" ends an employer).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from uuid_utils.compat import uuid7

from memoryos.about import about_of
from memoryos.cube import Fact, MemCube, Mention
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.kinds import Origin, State, Tier
from memoryos.operation.knowledge.filling import Slot
from memoryos.operation.knowledge.lesson import Identity, identity
from memoryos.operation.knowledge.slot import term
from memoryos.operation.knowledge.streaks import Streak, Told, filling_in, streaks


@dataclass(frozen=True, slots=True)
class Spell:
    """Facts of one value, said one after the other with nothing else between."""

    since: tuple[datetime, str]  #: the moment and the source of the first mention
    cubes: tuple[str, ...]  #: ids


@dataclass(frozen=True, slots=True)
class Succession:
    """How the facts of a slot follow each other."""

    cubes: tuple[MemCube, ...]  #: all of them, as they are now
    copied: tuple[tuple[str, str], ...]  #: ids of new cubes, and of those whose words they have
    gone: tuple[str, ...]  #: ids of cubes that became one with another
    links: tuple[Link, ...]  #: which supersedes which
    spells: tuple[Spell, ...]  #: in their order, if all fill one slot; without denials of what was not so anyhow


@dataclass
class _Place:
    """A fact in one spell."""

    mentions: list[Mention] = field(default_factory=list)
    cubes: list[MemCube] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Held:
    """A cube in its spell, with what its mentions there tell of it."""

    cube: MemCube
    mentions: tuple[Mention, ...]
    provenance: tuple[str, ...]
    event_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class _Stage:
    """A spell with its cubes, or the cube that ends it from another slot."""

    held: Sequence[_Held]
    is_foreign: bool = False


def mentions_of(cube: MemCube) -> tuple[Mention, ...]:
    """When it was said; of a fact that an older program stored no more is known than the first time."""
    known = cube.descriptive
    if known.mentions:
        return known.mentions
    said = known.valid_from or known.event_at
    return tuple(Mention(said=said, source=source, at=said) for source in known.provenance or (cube.id,))


def succession(
    cubes: Sequence[MemCube],
    family: Slot | None,
    now: datetime,
    *,
    former: str | None = None,
    heir: MemCube | None = None,
) -> Succession:
    """Put facts that exclude each other into their order: those of one slot, or of the slots of a family.

    Of a long succession, the spells around what comes to it are enough: `former` is what the first of these superseded,
    and `heir` what supersedes the last of them.
    """
    lines, denials = streaks(
        Told(mention, identity(cube.payload), filling_in(family, cube.text), index)
        for index, cube in enumerate(cubes)
        for mention in mentions_of(cube)
    )
    places = [_places(streak.told) for line in lines for streak in line if not streak.is_foreign]
    asides = _places(denials)
    _give(cubes, [*places, asides])
    known = _Known(cubes, now)
    held = [[known.held(key, place) for key, place in found.items()] for found in places]
    aside = [known.held(key, place) for key, place in asides.items()]
    holders = _holders([*places, asides], [*held, aside])
    stages = _stages(lines, held, holders)
    linked, links = _linked(stages, now, former, heir)
    ended = _ended(stages)
    beside = [_open(one, ended.get(one.cube.id, one.cube.version.supersedes)) for one in aside]
    kept = {cube.id for cube in (*linked, *beside)}
    gone = tuple(cube.id for cube in cubes if cube.id not in kept)
    spells = (
        [_spell(streak.told, found) for streak, found in zip(lines[0], held, strict=True)] if len(lines) == 1 else ()
    )
    return Succession((*linked, *beside), tuple(known.copied), gone, tuple(links), tuple(spells))


def _spell(told: Sequence[Told], held: Sequence[_Held]) -> Spell:
    first = told[0].mention
    return Spell((first.at, first.source), tuple(one.cube.id for one in held))


def _places(told: Iterable[Told]) -> dict[Identity, _Place]:
    found: dict[Identity, _Place] = {}
    for one in told:
        found.setdefault(one.key, _Place()).mentions.append(one.mention)
    return found


def _holders(
    places: Iterable[dict[Identity, _Place]], held: Iterable[Sequence[_Held]]
) -> dict[tuple[Identity, Mention], _Held]:
    """Which cube has which mention of a fact."""
    return {
        (key, mention): one
        for found, some in zip(places, held, strict=True)
        for (key, place), one in zip(found.items(), some, strict=True)
        for mention in place.mentions
    }


def _stages(
    lines: Iterable[Sequence[Streak]],
    held: Iterable[Sequence[_Held]],
    holders: Mapping[tuple[Identity, Mention], _Held],
) -> list[list[_Stage]]:
    """The streaks of each slot with their cubes; what ends one from another slot does so when it is said."""
    own = iter(held)
    return [
        [
            _Stage([_saying(streak.told[0], holders)], is_foreign=True) if streak.is_foreign else _Stage(next(own))
            for streak in line
        ]
        for line in lines
    ]


def _saying(told: Told, holders: Mapping[tuple[Identity, Mention], _Held]) -> _Held:
    holder = holders[told.key, told.mention]
    start = term(holder.cube.text, told.mention.said).start or told.mention.said
    return replace(holder, valid_from=start)


def _give(cubes: Sequence[MemCube], places: Sequence[dict[Identity, _Place]]) -> None:
    """Give each cube to the first spell that has one of its mentions."""
    homes: dict[tuple[Identity, Mention], int] = {}
    for number, found in enumerate(places):
        for key, place in found.items():
            for mention in place.mentions:
                homes.setdefault((key, mention), number)
    for cube in cubes:
        key = identity(cube.payload)
        numbers = [homes[key, mention] for mention in mentions_of(cube) if (key, mention) in homes]
        if numbers:
            places[min(numbers)][key].cubes.append(cube)


class _Known:
    """The cubes that are there, and those that are copied from them."""

    def __init__(self, cubes: Sequence[MemCube], now: datetime) -> None:
        self._now = now
        self._pages = {page for cube in cubes for page in cube.descriptive.provenance}
        self._models = {identity(cube.payload): cube for cube in reversed(cubes)}
        self.copied: list[tuple[str, str]] = []

    def held(self, key: Identity, place: _Place) -> _Held:
        """The cube for a fact in one spell: the one that is there, or a copy of the one that was split."""
        cube = joined(place.cubes) if place.cubes else self._copy(self._models[key])
        return _told(cube, place.mentions, self._pages)

    def _copy(self, model: MemCube) -> MemCube:
        cube = replace(
            model,
            id=str(uuid7()),
            tier=Tier.LPM,
            state=_revived(model.state),
            descriptive=replace(model.descriptive, recorded_at=self._now, updated_at=self._now),
        )
        self.copied.append((cube.id, model.id))
        return cube


def joined(cubes: Sequence[MemCube]) -> MemCube:
    """The first of facts with the same words, with the labels of all; it is stated outright if one of them is."""
    first, *others = cubes
    for other in others:
        labels, known = about_of(other), first.descriptive
        labels = replace(labels, title=known.title or labels.title, source=known.source or labels.source, access=None)
        first = labels.add_to(first)
        if known.origin is Origin.INFERENCE is not other.descriptive.origin:
            first = replace(first, descriptive=replace(first.descriptive, origin=other.descriptive.origin))
    return first


def _told(cube: MemCube, mentions: Sequence[Mention], pages: set[str]) -> _Held:
    """The cube with these mentions, and what follows from them."""
    terms = [term(cube.text, mention.said) for mention in mentions]
    starts = [one.start or mention.said for one, mention in zip(terms, mentions, strict=True)]
    end, known = terms[-1].end, cube.descriptive
    if not known.mentions and set(mentions) == set(mentions_of(cube)):  # no more is known than it says
        return _Held(cube, (), known.provenance, known.event_at, known.valid_from, end)
    sources = dict.fromkeys(mention.source for mention in mentions if mention.source in pages)
    rests_on = dict.fromkeys(page for page in known.provenance if page in sources) | sources
    return _Held(cube, tuple(mentions), tuple(rests_on), max(mention.said for mention in mentions), min(starts), end)


def _linked(
    lines: Iterable[Sequence[_Stage]], now: datetime, first: str | None, last: MemCube | None
) -> tuple[list[MemCube], list[Link]]:
    """Each spell closed by the stage after it; the last is open, unless one more follows."""
    done: list[MemCube] = []
    links: list[Link] = []
    ended = _ended(lines)
    for line in lines:
        following = [*(stage.held[0] for stage in line[1:]), _as_it_is(last) if last else None]
        for index, (stage, heir) in enumerate(zip(line, following, strict=False)):
            if stage.is_foreign:
                continue
            former = line[index - 1].held[0].cube.id if index else first
            for one in stage.held:
                before = former or ended.get(one.cube.id)
                done.append(_closed(one, before, heir, now) if heir else _open(one, before))
            if heir:
                links += [Link(heir.cube.id, LinkKind.SUPERSEDES, one.cube.id) for one in stage.held]
    return done, links


def _ended(lines: Iterable[Sequence[_Stage]]) -> dict[str, str]:
    """The filling of another slot that each cube ended, by its id; the first of several."""
    found: dict[str, str] = {}
    for line in lines:
        for before, stage in pairwise(line):
            if stage.is_foreign:
                found.setdefault(stage.held[0].cube.id, before.held[0].cube.id)
    return found


def _as_it_is(cube: MemCube) -> _Held:
    known = cube.descriptive
    return _Held(cube, known.mentions, known.provenance, known.event_at, known.valid_from, known.valid_to)


def _open(held: _Held, former: str | None) -> MemCube:
    cube = held.cube
    revived = cube
    if cube.state is State.MERGED or is_superseded(cube):
        revived = replace(cube, tier=Tier.LPM, state=_revived(cube.state))
    return _settled(revived, held, held.valid_to, (former, None, None))


def _closed(held: _Held, former: str | None, heir: _Held, now: datetime) -> MemCube:
    """It holds until its heir does; it leaves LPM, and only its time finds it."""
    start, until = held.valid_from or held.event_at, heir.valid_from or heir.event_at
    end = max(start, min(until, held.valid_to or until))
    cube = held.cube
    state = cube.state if cube.state in (State.EXPIRED, State.FROZEN) else State.MERGED
    if (cube.tier, cube.state) != (Tier.ARCHIVE, state):
        cube = replace(cube, tier=Tier.ARCHIVE, state=state)
    return _settled(cube, held, end, (former, heir.cube.id, cube.version.superseded_at or now))


def _settled(
    cube: MemCube, held: _Held, end: datetime | None, place: tuple[str | None, str | None, datetime | None]
) -> MemCube:
    """The cube at its place; most of a long succession stays as it is, and is not made again."""
    known, version = cube.descriptive, cube.version
    told = (held.mentions, held.provenance, held.event_at, held.valid_from, end)
    if told != (known.mentions, known.provenance, known.event_at, known.valid_from, known.valid_to):
        mentions, provenance, event_at, valid_from, valid_to = told
        known = replace(known, mentions=mentions, provenance=provenance, event_at=event_at)
        cube = replace(cube, descriptive=replace(known, valid_from=valid_from, valid_to=valid_to))
    if (version.supersedes, version.superseded_by, version.superseded_at) != place:
        former, heir, since = place
        version = replace(version, supersedes=former, superseded_by=heir, superseded_at=since)
        cube = replace(cube, version=version)
    return cube


def _revived(state: State) -> State:
    """The state of a fact that holds again; one that ended for another reason stays as it is."""
    return State.ACTIVATED if state is State.MERGED else state


def is_superseded(cube: MemCube) -> bool:
    """Whether another fact took its place."""
    return cube.version.superseded_by is not None


def is_former(cube: MemCube) -> bool:
    """Whether it is a fact at all, rather than the proposal of one."""
    return isinstance(cube.payload, Fact) and not cube.is_proposal
