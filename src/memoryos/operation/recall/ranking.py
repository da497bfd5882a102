"""Ranking: from a score for every row to the best turns, without repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memoryos.cube import MemCube
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.index.turns import Flags, Floats, Ints, TurnIndex
from memoryos.operation.recall.fusion import Scores
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.repetition import told_once

ReadCubes = Callable[[Iterable[str]], dict[str, MemCube]]

_DECIMALS = 5  # scores that differ less are a tie: the order of a sum changes its last bits
_AT_FIRST = 4  # turns that are sorted for each page wanted; more when that is not enough
_OF_A_CLAUSE = 2  # best passages of each clause that come first
_STEP = 1e-4  # between their scores
_LITERAL = 0.3  # share of the question's words that a passage has itself, from which on it may rank higher for them
_BETTER = 3  # times as much as each of the best has
_BEST = 8  # passages that it is compared with: as many as the confidence looks at
_OF_A_PAGE = 32  # passages of one page before those of others: a book has thousands
_RESERVE = 64  # index words of rows beside one for each token to fill: at 2,048, about one and a half times what fits
_MORE = 4  # times the tokens
_PARTS = 4  # of the rows for each one wanted, whose highest values tell a bound
_REACH = (1, 2, 4)  # times the wanted pages: the range in which a repetition is replaced by another turn


@dataclass(frozen=True, slots=True)
class Lift:
    """What a row ranks higher by, and the part of its score that this is called."""

    name: str
    by: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rows that may be found and their scores; valid without the resident's lock, because rows are never reused."""

    index: TurnIndex
    scores: Scores
    total: Floats  #: as compared, shape (n,)
    answering: Flags  #: which rows answer a question, shape (n,)
    candidates: int
    tokens: int | None = None  #: rows that can fill so many are enough; None is no bound
    lifts: Mapping[int, Lift] = field(default_factory=dict)  #: what some rows rank higher by

    @classmethod
    def of(cls, index: TurnIndex, scores: Scores, allowed: Flags, tokens: int | None = None) -> Ranking:
        """The ranking of the rows that are allowed."""
        total = np.round(scores.total, _DECIMALS)
        if not allowed.all():
            total[~allowed] = -np.inf
        lifts = _lifts(total, scores)
        for row, lift in lifts.items():
            total[row] += lift.by
        return cls(index, scores, total, index.answering, int(np.count_nonzero(allowed)), tokens, lifts)

    @property
    def _words(self) -> int:
        """The number of index words that fill the tokens, with a reserve."""
        return _RESERVE + (self.tokens or 0)

    def best(self, pages: int) -> Ints:
        """Rows by score, the later first in a tie, some of each page, until one page more begins, shape (k,).

        More of a page come last, and only as far as the others cannot fill the tokens.
        """
        wanted = min(self.candidates, _AT_FIRST * pages)
        while True:
            rows = self._top(wanted)
            positions = self.index.positions(rows)
            few = self._first_of_each(rows, positions)
            more, rows, positions = rows[~few], rows[few], positions[few]
            if (enough := self._enough(rows)) is not None:
                rows, positions = rows[:enough], positions[:enough]
                wanted = self.candidates
            last = _opening(positions, pages)
            if last is not None or wanted == self.candidates:
                return self._filled(rows, more) if last is None else rows[: last + 1]
            wanted = min(self.candidates, 4 * wanted)

    def score(self, row: int) -> float:
        """The score of a row."""
        lift = self.lifts.get(row)
        return self.scores.total.item(row) + (lift.by if lift else 0.0)

    def _first_of_each(self, rows: Ints, pages: Ints) -> Flags:
        """Which rows come first: of each page so many, and no more than can fill the tokens by themselves."""
        if self.tokens is None and max(Counter(pages.tolist()).values(), default=0) <= _OF_A_PAGE:
            return np.ones(len(pages), np.bool_)  # as it mostly is
        order, starts, sizes = _by_page(pages)
        ranks, words = np.empty((2, len(pages)), np.int64)
        ranks[order] = np.arange(len(pages)) - np.repeat(starts, sizes)
        lengths = self.index.lengths[rows][order].astype(np.int64)
        before = np.cumsum(lengths) - lengths
        words[order] = before - np.repeat(before[starts], sizes)
        few = ranks < _OF_A_PAGE
        return few if self.tokens is None else few & (words < self._words // 2)

    def _enough(self, rows: Ints) -> int | None:
        """The number of rows that fill the tokens, with a reserve; None if all together do not."""
        if self.tokens is None:
            return None
        words = np.cumsum(self.index.lengths[rows])
        enough = int(np.searchsorted(words, self._words)) + 1
        return enough if enough < len(rows) else None

    def _filled(self, rows: Ints, more: Ints) -> Ints:
        """The rows, and as many more as fill the tokens, with a reserve."""
        missing = self._words - int(self.index.lengths[rows].sum())
        if missing <= 0:
            return rows
        words = np.cumsum(self.index.lengths[more])
        return np.concatenate([rows, more[: int(np.searchsorted(words, missing)) + 1]])

    def _top(self, wanted: int) -> Ints:
        if not wanted:
            return np.empty(0, np.int64)
        rows = _highest(self.total, wanted)
        return rows[np.lexsort((-self.index.order[rows], -self.total[rows]))][:wanted]


def _lifts(total: Floats, scores: Scores) -> dict[int, Lift]:
    """How much higher some rows rank, so that they follow the best of all."""
    best = total.max(initial=-np.inf)
    if best == -np.inf:
        return {}
    named = dict.fromkeys(_of_clauses(total, scores.clauses), "clause")
    named |= {row: "literal" for row in _more_literal(total, scores.literal) if row not in named}
    lifts = {
        row: Lift(name, float(best - total[row]) - place * _STEP)
        for place, (row, name) in enumerate(named.items(), 1)
        if np.isfinite(total[row])
    }
    return {row: lift for row, lift in lifts.items() if lift.by > 0}


def _of_clauses(total: Floats, clauses: Sequence[Floats]) -> list[int]:
    """The best rows of each clause. Else many rows about one clause come before the first about another."""
    alone = [np.where(np.isfinite(total), clause, -np.inf) for clause in clauses]
    firsts = [np.argsort(-one, kind="stable")[:_OF_A_CLAUSE] for one in alone]
    return list(dict.fromkeys(int(row) for rows in zip(*firsts, strict=True) for row in rows))


def _more_literal(total: Floats, literal: Floats | None) -> list[int]:
    """The row with most of the question's words, if none of the best has a third as much of them.

    A statement within a long text of somebody else has no part of the score for itself but its words.
    """
    if literal is None:
        return []
    alone = np.where(np.isfinite(total), literal, -np.inf)
    row = int(alone.argmax())
    best = _highest(total, _BEST)
    above = alone[best[total[best] > total[row]]].max(initial=0.0)
    return [row] if alone[row] >= max(_LITERAL, _BETTER * above) else []


def _highest(values: Floats, wanted: int) -> Ints:
    """Where the highest values are, with all that tie with the last, so that the choice among them is ours, shape (k,).

    The highest of some parts tell a bound that few values reach: to divide all of them by a pivot takes twenty times as
    long.
    """
    if wanted >= len(values):
        return np.arange(len(values))
    size = max(1, len(values) // (_PARTS * wanted))
    parts = len(values) // size
    tops = values[: parts * size].reshape(parts, size).max(axis=1)
    (found,) = (values >= np.partition(tops, -wanted)[-wanted]).nonzero()
    highest: Ints = found[values[found] >= np.partition(values[found], -wanted)[-wanted]]
    return highest


def _by_page(pages: Ints) -> tuple[Ints, Ints, Ints]:
    """The places page by page, each page's in order; where each page begins among them; and the sizes of pages."""
    order = np.argsort(pages, kind="stable")
    starts = np.flatnonzero(np.diff(pages[order], prepend=-1))
    return order, starts, np.diff(starts, append=len(pages))


def _opening(pages: Ints, wanted: int) -> int | None:
    """The place of the page after the first `wanted` different ones; None if there are fewer."""
    seen: set[int] = set()
    for place, page in enumerate(pages.tolist()):
        seen.add(page)
        if len(seen) > wanted:
            return place
    return None


def best_turns(ranking: Ranking, read: ReadCubes, pages: int, *, explain: bool) -> list[TurnHit]:
    """The best passages of that many pages; those that repeat a better one come last.

    Of one page they are at most `_OF_A_PAGE`, unless others cannot fill the tokens that are asked for.
    """
    cubes: dict[str, MemCube] = {}
    parts = ranking.scores.parts if explain else {}
    first: list[TurnHit] = []
    again: list[TurnHit] = []
    rows: list[int] = []
    for reach in _REACH:
        if 2 * len(again) > len(rows):  # most of what could fill the tokens repeats the rest
            ranking = replace(ranking, tokens=ranking.tokens and _MORE * ranking.tokens)
        before, rows = rows, ranking.best(reach * pages).tolist()
        if rows == before:
            break
        cubes |= read(set(map(ranking.index.page_of, rows)).difference(cubes))
        found = ((hit, bool(ranking.answering[row])) for row in rows if (hit := _hit(ranking, cubes, row, parts)))
        first, again = told_once(found)
        kept = _of_pages(first, pages)
        if len(kept) < len(first) or not again:
            return kept
    return _of_pages([*first, *again], pages)


def _hit(ranking: Ranking, cubes: dict[str, MemCube], row: int, parts: Mapping[str, Floats]) -> TurnHit | None:
    page, turn, start, end = ranking.index.place(row)
    if page not in cubes or turn >= len(turns_of(cubes[page])):
        return None  # the page was deleted meanwhile, or did not have this turn yet at that moment
    why = {name: float(part[row]) for name, part in parts.items()} if parts else {}
    if why and (lift := ranking.lifts.get(row)):
        why[lift.name] = lift.by
    return TurnHit(cubes[page], turn, ranking.score(row), why, start=start, end=end)


def _of_pages(turns: list[TurnHit], wanted: int) -> list[TurnHit]:
    """The turns before the first one of a page too many."""
    pages: set[str] = set()
    for number, turn in enumerate(turns):
        pages.add(turn.cube.id)
        if len(pages) > wanted:
            return turns[:number]
    return turns
