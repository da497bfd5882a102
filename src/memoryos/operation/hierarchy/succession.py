"""Succession: which of the facts that exclude each other held when.

A pure function of everything that was said: the mentions in the order of the moments they speak of, and not in the
order in which they were processed. So an import from last to first, or a deletion, gives what would have come about
anyhow. Mentions of one value that follow each other are a spell; a spell ends where the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from uuid_utils.compat import uuid7

from memoryos.cube import Fact, MemCube, Mention, State, Tier
from memoryos.infrastructure.vault.contract import Link, LinkKind
from memoryos.operation.hierarchy.filling import Slot
from memoryos.operation.hierarchy.lesson import Identity, identity
from memoryos.operation.hierarchy.slot import filling, term

Value = tuple[str, bool]  # and whether it is denied


@dataclass(frozen=True, slots=True)
class Told:
    """One time that one of the facts was said."""

    mention: Mention
    key: Identity  #: of the fact
    value: Value
    order: int  #: among what one page says

    @property
    def moment(self) -> tuple[datetime, str, int]:
        """Its place in the succession: what is said later in one breath comes after."""
        return self.mention.at, self.mention.source, self.order


@dataclass(frozen=True, slots=True)
class Succession:
    """How the facts of a slot follow each other."""

    cubes: tuple[MemCube, ...]  #: all of them, as they are now
    copied: tuple[tuple[str, str], ...]  #: ids of new cubes, and of those whose words they have
    gone: tuple[str, ...]  #: ids of cubes that became one with another
    links: tuple[Link, ...]  #: which supersedes which


@dataclass
class _Place:
    """A fact in one spell."""

    mentions: list[Mention] = field(default_factory=list)
    cubes: list[MemCube] = field(default_factory=list)


def mentions_of(cube: MemCube) -> tuple[Mention, ...]:
    """When it was said; of a fact that an older program stored no more is known than the first time."""
    known = cube.descriptive
    if known.mentions:
        return known.mentions
    said = known.valid_from or known.event_at
    return tuple(Mention(said=said, source=source, at=said) for source in known.provenance or (cube.id,))


def value_in(slot: Slot | None, text: str) -> Value:
    """What a fact fills the slot with; its words, when it is known to exclude the others by other means."""
    found = filling(text)
    if found and found.slot == slot:
        return found.value, found.is_denied
    return text.casefold(), False


def succession(cubes: Sequence[MemCube], slot: Slot | None, now: datetime) -> Succession:
    """Put facts that exclude each other into their order."""
    told = [
        Told(mention, identity(cube.payload), value_in(slot, cube.text), index)
        for index, cube in enumerate(cubes)
        for mention in mentions_of(cube)
    ]
    spells, asides = _spells(told)
    places = [_places(spell) for spell in spells]
    _give(cubes, [*places, asides])
    copied: list[tuple[str, str]] = []
    held = [[_held(key, place, cubes, copied, now) for key, place in found.items()] for found in places]
    aside = [_open(_held(key, place, cubes, copied, now)) for key, place in asides.items()]
    linked, links = _linked(held, now)
    kept = {cube.id for cube in (*linked, *aside)}
    gone = tuple(cube.id for cube in cubes if cube.id not in kept)
    return Succession((*linked, *aside), tuple(copied), gone, tuple(links))


def _spells(told: Iterable[Told]) -> tuple[list[list[Told]], dict[Identity, _Place]]:
    """The mentions as spells of one value; those that deny what was not so anyhow stand aside."""
    ordered: list[Told] = []
    asides: dict[Identity, _Place] = {}
    for one in sorted(told, key=lambda one: one.moment):
        value, is_denied = one.value
        if is_denied and not (ordered and ordered[-1].value[0] == value):
            asides.setdefault(one.key, _Place()).mentions.append(one.mention)
        else:
            ordered.append(one)
    return [list(spell) for _, spell in groupby(ordered, key=lambda one: one.value)], asides


def _places(spell: Iterable[Told]) -> dict[Identity, _Place]:
    found: dict[Identity, _Place] = {}
    for one in spell:
        found.setdefault(one.key, _Place()).mentions.append(one.mention)
    return found


def _give(cubes: Sequence[MemCube], places: Sequence[dict[Identity, _Place]]) -> None:
    """Give each cube to the first spell that has one of its mentions."""
    for cube in cubes:
        key, mentions = identity(cube.payload), set(mentions_of(cube))
        home = next(
            (found[key] for found in places if key in found and mentions.intersection(found[key].mentions)), None
        )
        if home:
            home.cubes.append(cube)


def _held(
    key: Identity, place: _Place, cubes: Sequence[MemCube], copied: list[tuple[str, str]], now: datetime
) -> MemCube:
    """The cube for a fact in one spell: the one that is there, or a copy of the one that was split."""
    pages = {page for cube in cubes for page in cube.descriptive.provenance}
    if place.cubes:
        cube = place.cubes[0]
    else:
        model = next(cube for cube in cubes if identity(cube.payload) == key)
        cube = replace(
            model,
            id=str(uuid7()),
            tier=Tier.LPM,
            state=State.ACTIVATED,
            descriptive=replace(model.descriptive, recorded_at=now, updated_at=now),
        )
        copied.append((cube.id, model.id))
    return _told(cube, place.mentions, pages)


def _told(cube: MemCube, mentions: Sequence[Mention], pages: set[str]) -> MemCube:
    """The cube with these mentions, and what follows from them."""
    terms = [term(cube.text, mention.said) for mention in mentions]
    starts = [one.start or mention.said for one, mention in zip(terms, mentions, strict=True)]
    ends = [one.end for one in terms]
    if not cube.descriptive.mentions and set(mentions) == set(mentions_of(cube)):
        return replace(cube, descriptive=replace(cube.descriptive, valid_to=ends[-1]))  # no more is known than it says
    rests_on = cube.descriptive.provenance
    sources = [mention.source for mention in mentions if mention.source in pages]
    descriptive = replace(
        cube.descriptive,
        mentions=tuple(mentions),
        provenance=(
            *(page for page in rests_on if page in sources),
            *(page for page in sources if page not in rests_on),
        ),
        event_at=max(mention.said for mention in mentions),
        valid_from=min(starts),
        valid_to=ends[-1],
    )
    return replace(cube, descriptive=descriptive)


def _linked(held: Sequence[Sequence[MemCube]], now: datetime) -> tuple[list[MemCube], list[Link]]:
    """Each spell closed by the one after it; the last is open."""
    done: list[MemCube] = []
    links: list[Link] = []
    for index, spell in enumerate(held):
        heir = held[index + 1][0] if index + 1 < len(held) else None
        former = held[index - 1][0].id if index else None
        for cube in spell:
            known = replace(cube, version=replace(cube.version, supersedes=former))
            done.append(_closed(known, heir, now) if heir else _open(known))
        if heir:
            links += [Link(heir.id, LinkKind.SUPERSEDES, cube.id) for cube in spell]
    return done, links


def _open(cube: MemCube) -> MemCube:
    version = replace(cube.version, superseded_by=None, superseded_at=None)
    revived = cube.moved(Tier.LPM) if cube.state is State.MERGED else cube
    return replace(revived, version=version)


def _closed(cube: MemCube, heir: MemCube, now: datetime) -> MemCube:
    """It holds until its heir does; it leaves LPM, and only its time finds it."""
    known = cube.descriptive
    start, until = known.valid_from or known.event_at, heir.descriptive.valid_from or heir.descriptive.event_at
    end = max(start, min(until, known.valid_to or until))
    version = replace(cube.version, superseded_by=heir.id, superseded_at=cube.version.superseded_at or now)
    return replace(
        cube, tier=Tier.ARCHIVE, state=State.MERGED, version=version, descriptive=replace(known, valid_to=end)
    )


def is_superseded(cube: MemCube) -> bool:
    """Whether another fact took its place."""
    return cube.version.superseded_by is not None


def is_former(cube: MemCube) -> bool:
    """Whether it is a fact at all, rather than the proposal of one."""
    return isinstance(cube.payload, Fact) and cube.state not in (State.FROZEN, State.EXPIRED)
