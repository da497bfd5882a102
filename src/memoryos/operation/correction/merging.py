"""Duplicates: memories that say the same, and merging them into one.

Two memories say the same if they have the same kind, labels and end, and the same words apart from case, spaces and
punctuation (equal), or if one says nothing that the other does not say (near). A different name, number or "not" makes
them different, and so does another day if they mention a time. Pages that nobody named to be merged are near only if
they have the same tenses and words that relate, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np

from memoryos.caller import current_action
from memoryos.cube import MemCube, Page
from memoryos.errors import CubeProtected, InvalidInput, NotFound
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.absorption import GONE, absorbed_by, given_back, orphans
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation, Vector
from memoryos.kinds import Kind, State
from memoryos.language.marks import asks, mentions_time
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, chars_to_write
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.knowledge.likeness import repeats, says_the_same
from memoryos.operation.recall.repetition import plain_words
from memoryos.operation.scheduler.step import together
from memoryos.plain import PlainContent
from memoryos.scope import Scope

MERGEABLE = (Kind.PAGE, Kind.FACT)  # of traits and profile fields there is one for each dimension and field
NEAR = 0.9  # cosine from which words are asked
ONLY_EQUAL = 2.0  # in its place: no cosine is as high
UNMERGED = "unmerge"  # the cause of the transition of what is given back
MOST = 2_000  # memories of a kind, the latest, that are compared with each other
MOST_CLOSE = 20  # of these, the closest, whose words are compared with those of one memory
Alike = Callable[[str, str], bool]  # whether two texts say the same
_ROWS = 500  # compared at a time
_USUAL = (State.GENERATED, State.ACTIVATED, State.ARCHIVED)


@dataclass(frozen=True, slots=True)
class DuplicateGroup(PlainContent):
    """Memories that say the same, the earliest first."""

    memories: tuple[MemCube, ...]  #: the first one would take in the others
    is_exact: bool  #: whether all have the same words

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories, for `merge`."""
        return tuple(cube.id for cube in self.memories)


def duplicates(reader: Reader, kind: Kind, now: datetime, *, near: float = NEAR) -> list[DuplicateGroup]:
    """The groups of memories of a kind that say the same, by their earliest memory; `near` is the least cosine."""
    cubes = [cube for cube in reader.cubes(kind, last=MOST) if _is_open(cube) and not cube.has_expired(now)]
    equal: dict[Hashable, list[MemCube]] = {}
    for cube in sorted(cubes, key=lambda one: (one.at, one.id)):
        equal.setdefault((_outside(cube), _said(cube)), []).append(cube)
    vectors = _vectors(reader, kind, [some[0].id for some in equal.values()])
    groups = _joined(list(equal.values()), vectors, near)
    return [DuplicateGroup(tuple(some), is_exact) for some, is_exact in groups if len(some) > 1]


def merge(
    vault: Vault, home: Scope, ids: Sequence[str], cause: str, now: datetime, *, alike: Alike = says_the_same
) -> None:
    """Let the first of these memories take in the others, if their pages are `alike`: some in each transaction.

    Raises NotFound, InvalidInput if they do not say the same, CubeProtected and OnHold. Then nothing was merged, except
    if one of them changed meanwhile.
    """
    with vault.read(home, current_action()) as reader:
        known = _present(reader, ids)
        _check(reader, known, ids)
    _check_words(known, alike)
    for some in together(known[1:], chars_to_write, CHARS_AT_ONCE):
        with vault.write(home) as writer:
            _absorb(writer, [known[0], *some], ids, cause, now, alike)


def _absorb(
    writer: Writer, known: Sequence[MemCube], ids: Collection[str], cause: str, now: datetime, alike: Alike
) -> None:
    """Merge memories that said the same when they were read, of those with the `ids`."""
    survivor, *others = cubes = _present(writer, [cube.id for cube in known])
    _check(writer, cubes, ids)
    if [_content(cube) for cube in cubes] != [_content(cube) for cube in known]:
        _check_words(cubes, alike)
    changed = [Entry(absorbed_by(cube, survivor.id, now)) for cube in others]
    writer.update(changed, Operation.REFRESH, cause=cause)
    writer.link([Link(survivor.id, LinkKind.ABSORBED, cube.id) for cube in others])


def unmerge(writer: Writer, cube_id: str) -> MemCube:
    """Give a memory back that another one took in, and return it. Raises NotFound."""
    (cube,) = _present(writer, [cube_id])
    links = writer.sources([cube_id], LinkKind.ABSORBED)
    if cube.state is not State.MERGED or not links:
        raise NotFound(f"the memory {cube_id!r} was not merged into another one")
    before = [one.before for one in writer.transitions(cube_id) if one.after is State.MERGED][-1:]
    back = given_back(cube, State.ARCHIVED if before == [State.ARCHIVED] else State.ACTIVATED)
    writer.unlink(links)
    writer.update([Entry(back)], Operation.REFRESH, cause=UNMERGED)
    return back


def taken_in(reader: Reader, ids: Iterable[str]) -> list[str]:
    """The memories that were merged into these, and into those."""
    found: dict[str, None] = {}
    while reached := [link.target for link in reader.targets(ids, LinkKind.ABSORBED) if link.target not in found]:
        found.update(dict.fromkeys(reached))
        ids = reached
    return list(found)


def still_taken_in(reader: Reader, taker: str, ids: Sequence[str]) -> tuple[list[str], set[str]]:
    """Those of these memories that were merged into another one, directly or not, and those between them."""
    below: dict[str, list[str]] = {}
    known, level = set[str](), ids
    while links := [link for link in reader.sources(level, LinkKind.ABSORBED) if link.target not in known]:
        for link in links:
            below.setdefault(link.source, []).append(link.target)
            known.add(link.target)
        level = [link.source for link in links]
    found, reached = set[str](), [taker]
    while reached := [one for upper in reached for one in below.get(upper, ()) if one not in found]:
        found.update(reached)
    return [one for one in ids if one in found], found


def give_back(vault: Vault, home: Scope, ids: Sequence[str]) -> None:
    """Let what these memories took in be found again, before they go: some in each transaction."""
    with vault.read(home) as reader:
        waiting = [entry.cube for entry in orphans(reader, ids)]
    for some in together(waiting, chars_to_write, CHARS_AT_ONCE):
        with vault.write(home) as writer:
            found = writer.get([cube.id for cube in some]).values()
            back = [Entry(given_back(cube)) for cube in found if cube.state is State.MERGED]
            writer.update(back, Operation.REFRESH, cause=GONE)


def _check(reader: Reader, cubes: Sequence[MemCube], among: Collection[str]) -> None:
    for cube in cubes:
        if cube.is_frozen or cube.is_read_only:
            raise CubeProtected(f"the memory {cube.id} is frozen or read-only, and nothing was merged")
        if not _is_open(cube):
            raise InvalidInput("ids", f"the memory {cube.id} is {cube.state.value}", "Leave it out")
    for hold in reader.retention.held([cube.id for cube in cubes[1:]]).items():
        raise hold[1].refusal(hold[0])
    if any(one.kind not in MERGEABLE for one in cubes):
        raise InvalidInput("ids", "only pages and facts can be merged", "Take the ids from `duplicates.list`")
    if reader.successions([cube.id for cube in cubes]) - set(among):
        raise InvalidInput("ids", "name a fact that replaced another one, or was replaced", "Leave it out")


def _check_words(cubes: Sequence[MemCube], alike: Alike) -> None:
    if any(_outside(one) != _outside(cubes[0]) or not _say_the_same(cubes[0], one, alike) for one in cubes[1:]):
        problem = "do not say the same, or differ in kind, subject, labels, document or end"
        raise InvalidInput("ids", problem, "Take the ids from `duplicates.list`")


def _content(cube: MemCube) -> Hashable:
    """What decides whether memories say the same."""
    return cube.payload, _outside(cube)


def _present(reader: Reader, ids: Collection[str]) -> list[MemCube]:
    found = reader.get(ids)
    for cube_id in ids:
        if cube_id not in found:
            raise NotFound(f"there is no memory {cube_id!r} of this user and agent")
    return [found[cube_id] for cube_id in ids]


def _is_open(cube: MemCube) -> bool:
    """Whether it could take part in a merge."""
    is_former = cube.version.superseded_by is not None or cube.version.supersedes is not None
    return cube.state in _USUAL and not cube.is_proposal and not is_former


def _outside(cube: MemCube) -> Hashable:
    """What equal memories have in common besides their words: nothing else may find or keep them."""
    known, rules = cube.descriptive, cube.governance
    labels = frozenset(labels_of(cube))
    return cube.kind, cube.subject, labels, known.title, known.source, rules.lifespan.own_end, rules.access


def _said(cube: MemCube) -> Hashable:
    """What equal memories say."""
    if not isinstance(cube.payload, Page):
        return _words(cube.text)
    return tuple(
        (turn.role, turn.speaker, _words(turn.text), turn.attachments, _day(cube, turn.words, turn.at))
        for turn in cube.payload.turns
    )


def _words(text: str) -> Hashable:
    """What a text says, apart from punctuation: a question is no statement in the same words."""
    return plain_words(text), asks(text)


def _day(cube: MemCube, words: str, at: datetime | None) -> Hashable:
    return (at or cube.at).date() if mentions_time(words) else None


def _say_the_same(one: MemCube, other: MemCube, alike: Alike) -> bool:
    if _said(one) == _said(other):
        return True
    if not (isinstance(one.payload, Page) and isinstance(other.payload, Page)):
        return says_the_same(one.text, other.text)
    mine, yours = one.payload.turns, other.payload.turns
    return len(mine) == len(yours) and all(
        (a.role, a.speaker, a.attachments, _day(one, a.words, a.at))
        == (b.role, b.speaker, b.attachments, _day(other, b.words, b.at))
        and (_words(a.text) == _words(b.text) or alike(a.text, b.text))
        for a, b in zip(mine, yours, strict=True)
    )


def _joined(
    groups: Sequence[list[MemCube]], vectors: Sequence[Vector | None], near: float
) -> Iterator[tuple[list[MemCube], bool]]:
    """The groups, each with those that say nearly the same as its first memory; whether all are equal."""
    taken: set[int] = set()
    for first, others in _near(vectors, near):
        if first in taken:
            continue
        taken.add(first)
        close = [
            other
            for other in others
            if other not in taken
            and _outside(groups[first][0]) == _outside(groups[other][0])
            and _say_the_same(groups[first][0], groups[other][0], repeats)
        ]
        taken.update(close)
        yield [*groups[first], *(cube for other in close for cube in groups[other])], not close


def _near(vectors: Sequence[Vector | None], near: float) -> Iterator[tuple[int, Iterable[int]]]:
    """Each row with the later rows that are close to it."""
    dim = next((len(one) for one in vectors if one is not None), 1)
    nowhere = np.zeros(dim, np.float32)
    matrix = np.stack([nowhere, *(nowhere if one is None else one for one in vectors)])[1:]
    bounds = [*range(0, len(vectors), _ROWS), len(vectors)]
    for start, end in pairwise(bounds):
        cosines = matrix[start:end] @ matrix.T
        for row in range(start, end):
            later = cosines[row - start, row + 1 :]
            nearest = np.argsort(-later, kind="stable")[:MOST_CLOSE]
            yield row, [row + 1 + other for other in nearest.tolist() if later[other] >= near]


def _vectors(reader: Reader, kind: Kind, ids: Sequence[str]) -> list[Vector | None]:
    found = page_vectors(reader, ids) if kind is Kind.PAGE else reader.vectors(ids)
    return [found.get(cube_id) for cube_id in ids]
