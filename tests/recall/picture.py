"""What a turn index says, by turn instead of by row number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.filter import Filter
from memoryos.infrastructure.vault.records import StoredPassage, tags_text
from memoryos.kinds import Tier
from memoryos.operation.index.column import Matrix
from memoryos.operation.index.turns import NOBODY, TurnIndex

Place = tuple[str, int] | tuple[str, int, int]  # page, index of the turn, and where a later passage of it begins

SESSIONS = ("monday", "tuesday")
TAGS = ("work", "蜂", "a b")
MOMENTS = (0, 5)
LENGTH = 100  # of a passage, in characters


def contents(matrix: Matrix) -> NDArray[np.float32]:
    """The rows of a matrix, read as products with each axis."""
    return np.stack([matrix.dot(axis) for axis in np.eye(matrix._dim, dtype=np.float32)], axis=1)


@dataclass(frozen=True)
class Said:
    """A turn to index."""

    words: tuple[str, ...]
    said_at: int = 0  # microseconds
    speaker: str | None = None
    marks: int = 0
    vector: tuple[float, float] = (1.0, 0.0)
    start: int | None = None  # of a passage that is a part of a turn; one that begins at 0 begins the next turn


@dataclass(frozen=True)
class Sheet:
    """A page to index."""

    name: str
    position: int
    turns: tuple[Said, ...]
    session: str | None = None
    tier: Tier = Tier.STM
    tags: tuple[str, ...] = ()
    expires_at: int | None = None

    def passages(self) -> list[StoredPassage]:
        """As the store gives them."""
        numbers = list(accumulate(int(not turn.start) for turn in self.turns))
        return [
            StoredPassage(
                page=self.name,
                position=self.position,
                part=part,
                tier=self.tier.value,
                session=self.session,
                said_at=turn.said_at,
                speaker=turn.speaker,
                marks=turn.marks,
                words=" ".join(turn.words),
                vector=np.array(turn.vector, "<f2").tobytes(),
                tags=tags_text(self.tags),
                expires_at=self.expires_at,
                turn=None if turn.start is None else number - 1,
                start=turn.start,
                end=None if turn.start is None else turn.start + LENGTH,
            )
            for part, (turn, number) in enumerate(zip(self.turns, numbers, strict=True), 1)
        ]


def indexed(sheets: Iterable[Sheet], dim: int = 2) -> TurnIndex:
    """An index of these pages, made at once."""
    index = TurnIndex(dim)
    index.put([passage for sheet in sheets for passage in sheet.passages()])
    return index


def talk(*texts: str, **fields: Any) -> list[Sheet]:
    """One page for each text, of one turn, a minute after the one before; the words are taken as they are."""
    return [
        Sheet(f"page{number}", number, (Said(tuple(text.split()), number * 60 * 10**6),), **fields)
        for number, text in enumerate(texts, 1)
    ]


def place_of(index: TurnIndex, row: int) -> Place:
    """The place of a row; a turn that is one passage is named by its index alone."""
    page, turn, start, _ = index.place(row)
    return (page, turn, start) if start else (page, turn)


def places(index: TurnIndex, rows: Iterable[Any] | None = None) -> list[Place]:
    """The places of these rows (of all that are alive, when none are given), in the order of the talk."""
    chosen = np.flatnonzero(index.alive) if rows is None else rows
    return [place_of(index, int(row)) for row in sorted(chosen, key=lambda row: index.order[int(row)])]


def by_place(index: TurnIndex, values: Sequence[Any]) -> dict[Place, Any]:
    """A value for each living turn."""
    return {place_of(index, int(row)): values[int(row)] for row in np.flatnonzero(index.alive)}


def occurrences(index: TurnIndex, word: str) -> dict[Place, int]:
    """How often the word occurs in each living turn that has it."""
    term = index.postings.number(word)
    if term is None:
        return {}
    rows, counts = index.postings.of(term)
    assert list(rows) == sorted(set(rows.tolist())), "each row once, in order"
    found = {int(row): int(count) for row, count in zip(rows, counts, strict=True)}
    return {place_of(index, row): count for row, count in found.items() if index.alive[row]}


def picture(index: TurnIndex, words: Iterable[str] = ()) -> dict[str, Any]:
    """Everything the index says of the turns that are alive."""
    names = {number: name for name, number in index.speaker_names.items()} | {NOBODY: None}
    neighbours = {
        side: {
            place: None if other == len(index) else place_of(index, int(other))
            for place, other in by_place(index, getattr(index.around, side)).items()
        }
        for side in ("before", "after")
    }

    def found(rows: NDArray[np.bool_]) -> list[Place]:
        return places(index, np.flatnonzero(index.alive & rows))

    return {
        **neighbours,
        "places": places(index),
        "extents": by_place(index, [tuple(index.place(row)) for row in range(len(index))]),
        "answering": by_place(index, index.answering.tolist()),
        "positions": by_place(index, index.positions(np.arange(len(index)))),
        "lengths": by_place(index, index.lengths),
        "said_at": by_place(index, index.said_at),
        "marks": by_place(index, index.marks),
        "speakers": {place: names[int(number)] for place, number in by_place(index, index.speakers).items()},
        "vectors": {place: row.tolist() for place, row in by_place(index, contents(index.vectors)).items()},
        "tiers": {tier: found(index.facets.in_tiers([tier])) for tier in Tier},
        "sessions": {name: found(index.facets.in_session(name)) for name in SESSIONS},
        "tagged": {
            tags: found(index.facets.labelled(Filter(frozenset(tags)))) for tags in ((), *combinations(TAGS, 1), TAGS)
        },
        "lasting": {moment: found(index.facets.lasting(moment)) for moment in MOMENTS},
        "rows_of": {page: places(index, index.rows_of(page)) for page, *_ in places(index)},
        "words": {word: occurrences(index, word) for word in words},
    }
