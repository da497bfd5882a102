"""Digest: a summary of a whole period, as detailed as a budget of tokens allows.

Raw pages stay; a digest is made from them on request. A part of the budget covers the whole period with one line for
each run of turns (`span`): the dates, the number of turns, and the most informative sentences, from stored summaries or
typical turns. The rest shows turns in full, most valuable first (`worth`); they need no other line. So a small budget
gives one line for a year, a medium one recent turns in full and older months in one line, and a large one everything.
What a search must not find (expired, deleted) is in no line, and neither is a summary that may quote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from memoryos.clock import from_micros
from memoryos.config import Settings
from memoryos.cube import MemCube, Segment
from memoryos.language.quotation import name, one_line, quotation
from memoryos.language.summary import Sentence, commonness, cover, running, sentences
from memoryos.language.words import stem, words
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.index.turns import Flags, Ints
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import quoted
from memoryos.operation.recall.search import Source
from memoryos.operation.recall.shown import ShownResult
from memoryos.operation.recall.span import Span, TurnRun
from memoryos.operation.recall.worth import by_question, by_use
from memoryos.plain import Plain

CountTokens = Callable[[str], int]

LEAST_TOKENS = 32  # tokens of a budget from which on the whole period is covered
COVER_SHARE = 0.75  # the least share of the budget for lines of runs
ASKED_COVER_SHARE = 0.25  # the same if something is asked: few turns have the answer
RUN_TOKENS = 40  # of a run's line: its dates and a sentence

_TURN_TOKENS = 8  # the least tokens of a turn in full: its date and speaker
_BREAK_TOKENS = 1  # of a line
_TOKEN_CHARS = 8  # more words per token are hardly possible
_AT_A_TIME = 32  # turns read at once
_MISSES = 32  # turns in a row that were too long for what is left; then others hardly fit
_TYPICAL = 4  # turns that a run's sentences are taken from
_SAMPLE = 256  # turns of a run that are compared, evenly over all
_SUMMARIES = 2  # segments whose summaries a run's sentences are taken from
_IDS = 12  # of segments, and of pages, that a run names
_ASKED_WEIGHT = 3.0  # times the weight of another word of the sentence
_SUMMARY = "summary"  # who says a sentence of a summary that might pass for somebody's
_CUT = "…"
_LEAST_CUT = 6  # tokens; a shorter text says nothing


@dataclass(frozen=True, slots=True)
class DigestLine:
    """A line of a digest."""

    text: str  #: the line
    start: datetime  #: time of its first turn
    end: datetime  #: time of its last turn
    turns: int  #: number of turns that it covers
    ids: tuple[str, ...]  #: ids to read more: the page, or segments (largest share first) and pages without one


@dataclass(frozen=True, slots=True)
class Digest(Plain):
    """A summary of a period."""

    text: str  #: the lines as text
    tokens: int  #: tokens of the text
    lines: tuple[DigestLine, ...]  #: ordered by time
    turns: int  #: turns of the period
    days: int  #: days of the period with a turn
    covered: float  #: share of the days that a line covers: 1, unless the budget is too small for any line
    resolved: float  #: share of the days with a line of their own

    @property
    def start(self) -> datetime | None:
        """The time of the first turn in the digest."""
        return min((line.start for line in self.lines), default=None)

    @property
    def end(self) -> datetime | None:
        """The time of the last turn in the digest."""
        return max((line.end for line in self.lines), default=None)


def digest(
    source: Source,
    filters: Filters,
    budget: int,
    count_tokens: CountTokens,
    settings: Settings,
    asked: Asked | None = None,
    view: ShownResult | None = None,
) -> Digest:
    """Summarise the turns that pass the filters in at most `budget` tokens, with more detail for the question.

    With a `view`, the words are those that it shows. Summaries are of now: the digest of a snapshot quotes none.
    """
    resident = source.resident
    with resident.lock:
        index = resident.turns
        rows = np.flatnonzero(replace(filters, classes=source.classes).admitted(index).rows)
        worth = by_question(resident, rows, asked) if asked else by_use(resident, rows, settings, filters.now)
        span = Span.of(index, rows, worth)
        lines = _Teller(source, span, count_tokens, filters, asked, view).lines(budget) if len(span) else []
        return _bound(lines, span, count_tokens)


def _bound(lines: Sequence[DigestLine], span: Span, count_tokens: CountTokens) -> Digest:
    text = "\n".join(line.text for line in lines)
    days = len(np.unique(span.days))
    own = {line.start.date() for line in lines if line.start.date() == line.end.date()}
    return Digest(
        text=text,
        tokens=count_tokens(text),
        lines=tuple(lines),
        turns=span.turns,
        days=days,
        covered=1.0 if lines or not days else 0.0,
        resolved=len(own) / days if days else 1.0,
    )


@dataclass
class _Teller:
    """Writes the digest of one span; it holds the lock of the resident meanwhile."""

    source: Source
    span: Span
    count_tokens: CountTokens
    filters: Filters
    asked: Asked | None
    view: ShownResult | None
    _cubes: dict[str, MemCube] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)  # tokens of texts

    def lines(self, budget: int) -> list[DigestLine]:
        """The lines, ordered by time, of at most `budget` tokens in total."""
        share = ASKED_COVER_SHARE if self.asked else COVER_SHARE
        full = self._all_in_full(budget) or self._best_in_full(budget - max(LEAST_TOKENS, int(share * budget)))
        left = np.ones(len(self.span), np.bool_)
        left[list(full)] = False
        room = budget - sum(map(self._cost, full.values()))
        return [line for _, line in sorted({**full, **self._covering(left, room)}.items())]

    def _all_in_full(self, room: int) -> dict[int, DigestLine]:
        """Every turn by its position; empty if they do not all fit."""
        if len(self.span) * _TURN_TOKENS > room:
            return {}
        found = {}
        for place, line in self._in_full():
            found[place] = line
            room -= self._cost(line)
            if room < 0:
                return {}
        return found

    def _best_in_full(self, room: int) -> dict[int, DigestLine]:
        """The most valuable turns by their positions; a turn that is too long for the rest is skipped."""
        found: dict[int, DigestLine] = {}
        misses = 0
        for place, line in self._in_full():
            cost = self._cost(line)
            if cost <= room:
                found[place] = line
                room -= cost
            misses = 0 if place in found else misses + 1
            if room < _TURN_TOKENS or misses >= _MISSES:
                break
        return found

    def _in_full(self) -> Iterator[tuple[int, DigestLine]]:
        """Every turn in full with its position, most valuable first."""
        best = self.span.best()
        for start in range(0, len(best), _AT_A_TIME):
            places = best[start : start + _AT_A_TIME].tolist()
            rows = self.span.rows[places].tolist()
            self._read(map(self._page, rows))
            for place, row in zip(places, rows, strict=True):
                if said := self._said(row):
                    at = self._at(row)
                    text = f"[{at:%Y-%m-%d}] {said[0]}: {said[1]}"
                    yield place, DigestLine(text, at, at, 1, (self._page(row),))

    def _covering(self, left: Flags, room: int) -> dict[int, DigestLine]:
        """Lines for the remaining turns, by the position of the first turn of each; empty if there is no room."""
        rest, places = self.span.where(left), np.flatnonzero(left)
        runs = rest.runs(max(1, room // RUN_TOKENS))
        typical = {run: self._typical(rest, run) for run in runs}
        summarised = self._summarised(rest, runs)
        self._read([self._page(row) for rows in typical.values() for row in rows])
        self._read([segment for segments in summarised.values() for segment in segments])
        lines = {}
        for number, run in enumerate(runs):
            texts = [*self._quotes(typical[run]), *self._summaries(summarised[run])]
            line = self._run_line(rest, run, texts, room // (len(runs) - number) - _BREAK_TOKENS)
            if line:
                lines[int(places[run.first])] = line
                room -= self._cost(line)
        return lines

    def _typical(self, rest: Span, run: TurnRun) -> list[int]:
        """Rows of typical turns of the run, by time: closest to the question, or to the mean of the run."""
        step = -(-(run.end - run.first) // _SAMPLE)
        places = np.arange(run.first, run.end)
        if self.asked:
            scores = rest.worth[places]
        else:
            places = places[::step]
            vectors = rest.index.vectors.rows(rest.rows[places])
            scores = np.vecdot(vectors, vectors.mean(axis=0)) * np.log1p(rest.index.lengths[rest.rows[places]])
        best = places[np.lexsort((-places, -scores))[:_TYPICAL]]
        return [int(row) for row in rest.rows[np.sort(best)]]

    def _summarised(self, rest: Span, runs: Sequence[TurnRun]) -> dict[TurnRun, list[str]]:
        """Segments of each run whose stored summaries cover only turns of this run that may be shown."""
        numbers, names = self.span.index.facets.segments, self.span.index.facets.segment_names
        size = len(names)
        known = np.bincount(numbers[self.span.index.alive], minlength=size)
        complete = known == np.bincount(numbers[self.span.rows], minlength=size)
        total = np.bincount(numbers[rest.rows], minlength=size)
        found = {}
        for run in runs:
            inside, counts = np.unique(numbers[rest.rows[run.first : run.end]], return_counts=True)
            fits = complete[inside] & (counts == total[inside])
            largest = inside[fits][np.argsort(-counts[fits], kind="stable")]
            found[run] = [name for number in largest.tolist() if (name := names[number])][:_SUMMARIES]
        return found

    def _quotes(self, rows: Iterable[int]) -> Iterator[Sentence]:
        """The sentences of turns, each with its speaker."""
        for row in rows:
            if said := self._said(row):
                for one in sentences([said[1]]):
                    yield one.said_by(said[0])

    def _summaries(self, segments: Iterable[str]) -> list[Sentence]:
        if self.source.since:  # these were not written then
            return []
        cubes = [self._cubes[segment] for segment in segments if segment in self._cubes]
        cubes = [self.view.cube(cube) for cube in cubes] if self.view else cubes
        alive = (cube.payload for cube in cubes if not cube.has_expired(self.filters.now))
        summaries = (payload.summary for payload in alive if isinstance(payload, Segment))
        told = sentences(one_line(line) for summary in summaries for line in summary.split("\n"))
        return [one.said_by(_SUMMARY if ":" in one.text else "") for one in told]

    def _run_line(self, rest: Span, run: TurnRun, said: Sequence[Sentence], room: int) -> DigestLine | None:
        """The line of a run in at most `room` tokens; None if not even its dates fit."""
        rows = rest.rows[run.first : run.end]
        start, end = self._at(rows[0]), self._at(rows[-1])
        first, last = f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}"
        told = self.span.index.count_turns(rows)
        turns = f"{told} turns" if told > 1 else "1 turn"
        head = f"[{first if first == last else f'{first} – {last}'} | {turns}]"
        room -= self._count(head)
        if room < 0:
            return None
        body = self._extract(said, room)
        return DigestLine(f"{head} {body}" if body else head, start, end, told, self._ids(rows))

    def _extract(self, said: Sequence[Sentence], room: int) -> str:
        """The most informative sentences in at most `room` tokens, or the start of one."""
        weights = dict(commonness(said))
        for form in _stems_of(self.asked):
            if form in weights:
                weights[form] *= _ASKED_WEIGHT
        short = [one for one in said if len(one.text) <= _TOKEN_CHARS * room]  # the others need not be counted
        chosen = cover(short, weights, limit=room, cost=self._count)
        if chosen:
            return running(chosen)
        richest = max(said, key=lambda one: sum(weights[form] for form in one.stems), default=None)
        return _cut(richest.quoted, room, self.count_tokens) if richest else ""

    def _ids(self, rows: Ints) -> tuple[str, ...]:
        """The segments of the turns, largest share first, and pages without a segment; at most a few."""
        facets = self.span.index.facets
        inside, which, counts = np.unique(facets.segments[rows], return_inverse=True, return_counts=True)
        homes = [facets.segment_names[number] for number in inside.tolist()]
        largest = [homes[place] for place in np.argsort(-counts, kind="stable").tolist()]
        is_loose = np.array([home is None for home in homes])[which]
        pages = dict.fromkeys(map(self._page, rows[is_loose].tolist()))
        return (*[home for home in largest if home][:_IDS], *list(pages)[:_IDS])

    def _said(self, row: int) -> tuple[str, str] | None:
        """The speaker and the words of a passage; empty if its page was deleted meanwhile."""
        page, place, start, end = self.span.index.place(row)
        turns = turns_of(self._cubes[page]) if page in self._cubes else ()
        if place >= len(turns):
            return None
        turn = turns[place]
        span = start, len(turn.words) if end is None else end
        if self.view:
            turn, span = self.view.passage(self._cubes[page], place, span)
        told = quoted(turn.words, [span])
        return name(turn.speaker, turn.role.value), quotation(told)

    def _read(self, ids: Iterable[str]) -> None:
        self._cubes |= self.source.then(set(ids).difference(self._cubes), self.filters)

    def _page(self, row: int) -> str:
        return self.span.index.place(row)[0]

    def _at(self, row: int) -> datetime:
        return from_micros(int(self.span.index.said_at[row]))

    def _cost(self, line: DigestLine) -> int:
        return self._count(line.text) + _BREAK_TOKENS

    def _count(self, text: str) -> int:
        if text not in self._counts:
            self._counts[text] = self.count_tokens(text)
        return self._counts[text]


def _stems_of(asked: Asked | None) -> set[str]:
    return {stem(word) for word in words(asked.text)} if asked else set()


def _cut(text: str, room: int, count_tokens: CountTokens) -> str:
    """The longest start of the text that fits, with an ellipsis; empty if it would say nothing."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + _CUT) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _CUT if room >= _LEAST_CUT else ""
