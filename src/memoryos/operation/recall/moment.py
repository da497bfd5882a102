"""Moments: a memory as it was at an earlier time, for questions as of that time.

A page has the turns that had been said. A fact, trait or field exists from its first page until it ended, with the
words of its version at that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from memoryos.cube import MemCube, Page
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, LinkKind
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.operation.hierarchy.page_entries import topic_words
from memoryos.operation.recall.former_labels import FormerLabels


def entries_at(reader: Reader, entries: Iterable[Entry], moment: datetime | None) -> list[Entry]:
    """The entries that existed at the moment, as they were; the current ones if it is None."""
    if moment is None:
        return list(entries)
    known = list(entries)
    then = cubes_at(reader, (entry.cube for entry in known), moment)
    return [replace(entry, cube=then[entry.cube.id]) for entry in known if entry.cube.id in then]


def cubes_at(reader: Reader, cubes: Iterable[MemCube], moment: datetime) -> dict[str, MemCube]:
    """Those of the memories that existed at the moment, as they were, with the labels and the end that they had."""
    pairs = [(cube, then) for cube in cubes if (then := _cube_at(reader, cube, moment))]
    return dict(zip((now.id for now, _ in pairs), labelled_at(reader, pairs, moment), strict=True))


def labelled_at(reader: Reader, pairs: Sequence[tuple[MemCube, MemCube]], moment: datetime) -> list[MemCube]:
    """Memories, given as they are now and as they were, with the labels of the moment.

    One that the store got later had none then: it keeps those that it has.
    """
    changes = reader.label_changes(now.id for now, _ in pairs if now.descriptive.recorded_at <= moment)
    later = {one: [change for change in told if change.at > moment] for one, told in changes.items()}
    return [FormerLabels.before(now, since).of(then) if (since := later.get(now.id)) else then for now, then in pairs]


def pages_at(reader: Reader, pages: Iterable[str], moment: datetime | None) -> dict[str, MemCube]:
    """The pages that a search found and that existed at the moment, as they were; the current ones if it is None."""
    cubes = reader.found_pages(pages)
    if moment is None:
        return cubes
    return cubes_at(reader, cubes.values(), moment)


def _cube_at(reader: Reader, cube: MemCube, moment: datetime) -> MemCube | None:
    """The memory as it was at the moment; None if it did not exist then, or was never so, as was learned since."""
    if cube.is_withdrawn:
        return None
    if isinstance(cube.payload, Page):
        return _page_at(cube, cube.payload, moment)
    if cube.kind is Kind.PROFILE:
        return _field_at(reader, cube, moment)
    return _words_at(reader, cube, moment) if _holds(reader, cube, moment) else None


def _words_at(reader: Reader, cube: MemCube, moment: datetime) -> MemCube | None:
    """The memory with the words that were the last by then; None if it had none."""
    if cube.descriptive.event_at <= moment or cube.version.number == 1:
        return cube
    versions = [version for version in reader.history(cube.id) if version.descriptive.event_at <= moment]
    return versions[-1] if versions else None


def known_until(reader: Reader, entries: Iterable[Entry], moment: datetime | None) -> list[Entry]:
    """The entries, and of fields, facts and traits those that held by then, with the last words that they had."""
    if moment is None:
        return list(entries)
    then = ((entry, _until(reader, entry.cube, moment)) for entry in entries)
    return [replace(entry, cube=cube) for entry, cube in then if cube]


def _until(reader: Reader, cube: MemCube, moment: datetime) -> MemCube | None:
    if cube.kind is Kind.PROFILE:
        return _field_at(reader, cube, moment)
    if cube.kind not in (Kind.FACT, Kind.TRAIT):
        return cube
    return None if _gave_way(reader, cube, moment) else _words_at(reader, cube, moment) or cube


def _field_at(reader: Reader, cube: MemCube, moment: datetime) -> MemCube | None:
    """The profile field with its value at that time; each version has the start of its value."""
    number = cube.version.number
    former = [version for version in reader.history(cube.id) if version.version.number < number] if number > 1 else []
    versions = [*former, cube]
    known = [version for version in versions if first_said(version) <= moment]
    return known[-1] if known and not known[-1].is_over(moment) else None


def _page_at(cube: MemCube, page: Page, moment: datetime) -> MemCube | None:
    """The page up to its first turn after the moment, without its summary, which may tell what follows."""
    if cube.is_absorbed and cube.version.superseded_at and cube.version.superseded_at <= moment:
        return None
    said = tuple(takewhile(lambda turn: (turn.at or cube.descriptive.event_at) <= moment, page.turns))
    if said == page.turns:
        return cube
    if not said:
        return None
    sources = tuple(turn.source_id for turn in said if turn.source_id)
    payload = replace(page, turns=said, chain_summary="", chain_written="")
    return replace(
        cube,
        payload=payload,
        behaviour=replace(cube.behaviour, fingerprint=topic_words(payload)),
        descriptive=replace(cube.descriptive, source_ids=sources),
    )


def former(reader: Reader, subject: Subject, kind: Kind = Kind.FACT) -> list[Entry]:
    """The facts that others replaced, and what was withdrawn, as memories of LPM."""
    cubes = reader.cubes(kind, tiers=[Tier.ARCHIVE], states=[State.MERGED], subject=subject)
    vectors = reader.vectors(cube.id for cube in cubes)
    return [Entry(cube.moved(Tier.LPM), vectors.get(cube.id)) for cube in cubes]


def predecessors(reader: Reader, cube: MemCube) -> list[MemCube]:
    """The facts that this one replaced, oldest first."""
    found: dict[str, MemCube] = {}
    left = [cube.id]
    while left:
        ids = [link.target for link in reader.targets(left, LinkKind.SUPERSEDES) if link.target not in found]
        reached = reader.get(ids)
        found |= reached
        left = list(reached)
    return sorted(found.values(), key=lambda former: (former.descriptive.valid_from or first_said(former), former.id))


def _holds(reader: Reader, cube: MemCube, moment: datetime) -> bool:
    """Whether it was known and valid then: from the first mention until it ended or was replaced."""
    return first_said(cube) <= moment and not cube.is_over(moment) and not _gave_way(reader, cube, moment)


def _gave_way(reader: Reader, cube: MemCube, moment: datetime) -> bool:
    """Whether its replacement had already been said."""
    while heir := reader.get([heir_id]).get(heir_id) if (heir_id := cube.version.superseded_by) else None:
        if first_said(heir) <= moment:
            return True
        cube = heir
    return False


def first_said(cube: MemCube) -> datetime:
    """When it was first said."""
    known = cube.descriptive
    if known.mentions:
        return min(mention.said for mention in known.mentions)
    return known.valid_from or known.event_at
