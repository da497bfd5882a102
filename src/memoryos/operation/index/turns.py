"""TurnIndex: every turn of one owner, as arrays in the order in which they came in.

A row is a turn, or a passage of a long one. Rows are only appended; a deleted page leaves rows that are not alive, and
a revised one gets new rows in the place of the old ones. What comes before what in a talk is kept by links between
rows, because several talks of one owner may run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from memoryos.infrastructure.vault.records import Facet, Mark, StoredPassage
from memoryos.kinds import Tier
from memoryos.language.passages import LONGEST
from memoryos.operation.index.column import Column, Matrix
from memoryos.operation.index.facets import AdmittedLabels, Facets
from memoryos.operation.index.postings import Counts, Postings, Rows

T = TypeVar("T")

SITTING_PAUSE = 3600 * 10**6  # microseconds; a turn after a longer pause does not count as an answer
NOBODY = -1  # no row, no speaker

OF_A_TURN = 8  # passages of a turn that count for how much was said

_MOST_SEEN = 4  # indexes for callers with different rights, at once

_PARTS = 1 << 24  # passages of a page, at most: position and part make one number that orders the rows
_OPEN = -1  # the end of a passage that ends with its turn, wherever that is
STALE_WORDS = LONGEST // 2  # that a turn is found by: function words are left out, so its text may be twice as long

MOST_BURIED = 1_000  # rows: fewer take too little to read a scope again
_PAGE_BYTES = 250  # the id of a page and its entry in the dictionary, roughly

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


class Spot(NamedTuple):
    """The place of a row: its page, the index of its turn, and its span in the words of the turn."""

    page: str
    turn: int
    start: int = 0
    end: int | None = None  #: None is the end of the turn


@dataclass(frozen=True, slots=True)
class Around:
    """The neighbours of each row, shapes (n + 1,); the value `n` means none, and row `n` has none itself."""

    before: Ints
    after: Ints


@dataclass(frozen=True, slots=True)
class Corpus:
    """Statistics of all turns of an owner, for an index with only the turns around some pages."""

    pages: frozenset[str]  #: the pages that may be found; the others are there for what stands around them
    turns: int
    mean_length: float  #: words
    lowest: float  #: the cosine of the farthest turn with the question
    frequencies: Callable[[Collection[str]], Mapping[str, int]]  #: in how many turns stems occur


class TurnIndex:
    """The turns of one owner; with a corpus, only those around some pages."""

    def __init__(self, dim: int, corpus: Corpus | None = None) -> None:
        self.corpus = corpus
        self.vectors = Matrix(dim)
        self.postings = Postings()
        self.facets = Facets()
        self._lengths = Column(np.float32)
        self._alive = Column(np.bool_)
        self._said_at = Column(np.int64)
        self._marks = Column(np.int8)
        self._speakers = Column(np.int32)
        self._order = Column(np.int64)
        self._turns = Column(np.int32)  # index of the turn in its page
        self._starts = Column(np.int32)  # of the passage in the turn's words
        self._ends = Column(np.int32)
        self._before = Column(np.int64)  # the turn before in the same session, however long before
        self._after = Column(np.int64)
        self._page_ids: list[str] = []
        self._rows_of: dict[str, list[int]] = {}
        self._last_of: dict[int, int] = {}  # number of the session -> its latest row
        self._speaker_ids: dict[str, int] = {}
        self._derived: dict[Hashable, object] = {}
        self._seen: dict[bytes, TurnIndex] = {}  # by the sets of labels that a caller may read
        self._buried = 0

    def __len__(self) -> int:
        """The number of rows, including deleted ones."""
        return len(self._order)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        return self.derived("size", self._measured)

    @property
    def has_buried(self) -> bool:
        """Whether words of deleted turns are still in the index."""
        return self._buried > 0

    @property
    def is_mostly_buried(self) -> bool:
        """Whether reading the scope again makes it much smaller: more rows are deleted than not, and not a few."""
        return self._buried > max(MOST_BURIED, len(self) - self._buried)

    @property
    def lengths(self) -> Floats:
        """Words of each row, shape (n,)."""
        return self._lengths.values

    @property
    def total(self) -> int:
        """The number of all turns of the owner, also those not in this index."""
        return self.corpus.turns if self.corpus else self.derived("total", self._count)

    @property
    def said(self) -> int:
        """The number of passages, at most OF_A_TURN of each turn, as a mean over the turns of a page.

        So a document counts like a long turn. Of a corpus, all passages count.
        """
        return self.corpus.turns if self.corpus else self.derived("said", self._count_said)

    @property
    def mean_length(self) -> float:
        """The mean number of words of the owner's passages; 0 without any."""
        return self.corpus.mean_length if self.corpus else self.derived("mean length", self._mean_length)

    @property
    def beginning(self) -> Flags:
        """Which rows begin their turn, shape (n,)."""
        return np.asarray(self._starts.values == 0, np.bool_)

    @property
    def alive(self) -> Flags:
        """Which rows are still in the store, shape (n,)."""
        return self._alive.values

    @property
    def findable(self) -> Flags:
        """Which rows a search may find at all, shape (n,)."""
        return self.alive if self.corpus is None else self.derived("findable", self._chosen)

    @property
    def marks(self) -> NDArray[np.int8]:
        """`Mark` of each row, shape (n,)."""
        return self._marks.values

    @property
    def said_at(self) -> Ints:
        """Microseconds since the epoch, shape (n,)."""
        return self._said_at.values

    @property
    def speakers(self) -> NDArray[np.int32]:
        """Number of each row's speaker, NOBODY for none, shape (n,)."""
        return self._speakers.values

    @property
    def speaker_names(self) -> dict[str, int]:
        """The speakers of living rows by name."""
        return self.derived("speakers", self._living_speakers)

    def speakers_of(self, rows: Ints) -> list[str | None]:
        """The name of the speaker of each of these rows, if there is one."""
        names: list[str | None] = [*self._speaker_ids, None]  # NOBODY is the last
        return [names[number] for number in self.speakers[rows].tolist()]

    @property
    def order(self) -> Ints:
        """A number that grows with the page's position and the passage's place in it, shape (n,)."""
        return self._order.values

    def positions(self, rows: Ints) -> Ints:
        """The position of each of these rows' page among the owner's cubes, shape (k,)."""
        return self._order.values[rows] // _PARTS

    def having(self, term: int) -> tuple[Rows, Counts]:
        """The living rows that contain the term, and how often, shapes (k,)."""
        rows, counts = self.postings.of(term)
        if not self._buried:
            return rows, counts
        living = self._are_alive(rows)
        return rows[living], counts[living]

    def having_any(self, terms: Ints) -> tuple[Rows, Counts, Ints]:
        """The living rows that contain each of the terms, how often, and which of the terms it is, shapes (k,)."""
        rows, counts, which = self.postings.of_any(terms)
        if not self._buried:
            return rows, counts, which
        living = self._are_alive(rows)
        return rows[living], counts[living], which[living]

    def frequency(self, terms: Ints, counted: Ints) -> Ints:
        """The number of the owner's turns with each term, shape (k,); `counted` is the number in this index."""
        if self.corpus is None:
            return counted
        stems = [self.postings.stems[term] for term in terms.tolist()]
        found = self.corpus.frequencies(stems) if stems else {}
        return np.array([found.get(term, 0) for term in stems], np.int64)

    def frequencies(self, stems: Collection[str]) -> Mapping[str, int]:
        """The number of the owner's turns with each stem."""
        if self.corpus:
            return self.corpus.frequencies(stems)
        terms = {form: self.postings.number_of_stem(form) for form in stems}
        return {form: 0 if term is None else self._count_having(term) for form, term in terms.items()}

    def place(self, row: int) -> Spot:
        """The place of a row."""
        end = self._ends.item(row)
        return Spot(self._page_ids[row], self._turns.item(row), self._starts.item(row), None if end == _OPEN else end)

    def page_of(self, row: int) -> str:
        """The page of a row."""
        return self._page_ids[row]

    def count_turns(self, rows: Ints) -> int:
        """The number of turns of these rows."""
        return len(np.unique((self.positions(rows) * _PARTS) + self._turns.values[rows]))

    def turn_numbers(self, rows: Ints) -> list[int]:
        """The index of the turn of each of these rows in its page."""
        found: list[int] = self._turns.values[rows].tolist()
        return found

    @property
    def stale(self) -> Sequence[str]:
        """The readable pages with a turn that an older program stored as one passage, which may be too long."""
        return self.derived("stale", self._kept_whole)

    def rows_of(self, page: str) -> Sequence[int]:
        """The rows of a page."""
        return self._rows_of.get(page, ())

    def pages_around(self, pages: Iterable[str]) -> set[str]:
        """The pages among these that are in the index, and the pages of neighbouring turns in the same sitting."""
        rows = np.array([row for page in pages for row in self.rows_of(page)], np.int64)
        near = np.concatenate([rows, self.around.before[rows], self.around.after[rows]])
        further = np.concatenate([near, self.around.before[near], self.around.after[near]])
        return {self._page_ids[row] for row in np.unique(further).tolist() if row < len(self)}

    def heads(self, tiers: Iterable[Tier]) -> Ints:
        """The first row of each page in these tiers, in the order of the pages, shape (k,)."""
        rows = np.flatnonzero(self.alive & self.facets.in_tiers(tiers) & (self.order % _PARTS == 1))
        return rows[np.argsort(self.order[rows], kind="stable")]

    def segment_of(self, page: str) -> str | None:
        """The segment of a page; None in STM or if the page is not in the index."""
        rows = self.rows_of(page)
        return self.facets.segment_at(rows[0]) if rows else None

    @property
    def around(self) -> Around:
        """The neighbours of each row in the same sitting."""
        return self.derived("around", self._neighbours)

    @property
    def answering(self) -> Flags:
        """Which rows begin a turn after a question, shape (n,)."""
        return self.derived("answering", self._answers)

    def derived(self, name: Hashable, make: Callable[[], T]) -> T:
        """The result of `make` for the current turns, cached until they change."""
        known = self._derived  # another thread, or `make`, may replace it meanwhile
        if name not in known:
            known[name] = make()
        return cast("T", known[name])

    def put(self, passages: Sequence[StoredPassage]) -> None:
        """Add passages, page by page; the first passage of a page replaces all earlier ones."""
        if not passages:
            return
        first = len(self)
        self._extend(passages)
        for row, passage in enumerate(passages, first):
            self.postings.add(row, passage.words.split())
            if passage.page not in self._rows_of:
                self._follow(row, passage.page)
            elif passage.part > 1:
                self._go_on(row, passage.page)
            else:
                self._replace(row, passage.page)
        self.postings.settle()
        self._derive_anew()

    def note(self, facets: Mapping[str, Facet]) -> None:
        """Update properties of pages other than their words."""
        noted = [(row, facet) for page, facet in facets.items() for row in self.rows_of(page)]
        if self.facets.note([row for row, _ in noted], [facet for _, facet in noted]):
            self._seen.clear()

    def seen(self, classes: AdmittedLabels) -> TurnIndex:
        """The index for a caller who may read the turns with some sets of labels only.

        For that caller the others do not exist: their words are in no statistics, and what stands before and after
        them are neighbours. No turn is in a segment, because all turns formed these. Use it under the lock of this
        index, as this index; it stays as it is when turns come in.
        """
        sets = self.facets.admitted_sets(classes)
        name = sets.tobytes()
        if name not in self._seen:
            if len(self._seen) >= _MOST_SEEN:
                del self._seen[next(iter(self._seen))]
            self._seen[name] = self._limited(sets)
        return self._seen[name]

    def _limited(self, sets: Flags) -> TurnIndex:
        """The index without the rows whose set of labels is not among these.

        Where these are all, it has the same statistics: nothing that is derived depends on segments.
        """
        admitted = sets[self.facets.label_sets]
        limited = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Column | Matrix):
                setattr(limited, name, value.fixed())
        limited.facets, limited._seen = self.facets.without_segments(), {}
        limited._buried = max(1, self._buried)  # the postings have the hidden rows and those that come in later, too
        if admitted.all():
            return limited
        hidden = ~admitted
        limited._derived = {}
        limited._alive = Column.of(self.alive & admitted)
        limited._lengths = Column.of(np.where(hidden, np.float32(0), self.lengths))
        limited._before = Column.of(_passing(self._before.values, hidden))
        limited._after = Column.of(_passing(self._after.values, hidden))
        return limited

    def _derive_anew(self) -> None:
        """Let go of what was derived; an index that a caller still uses keeps what it shares."""
        self._derived, self._seen = {}, {}

    def drop(self, page: str) -> None:
        """Remove a page; the pages before and after it become neighbours."""
        for row in self._rows_of.pop(page, []):
            self._take_out(row)
        self._derive_anew()

    def _extend(self, passages: Sequence[StoredPassage]) -> None:
        rows = len(passages)
        vectors = np.frombuffer(b"".join(passage.vector for passage in passages), "<f2")
        self.vectors.append(vectors.reshape(rows, -1).astype(np.float32))
        self.facets.extend(passages)
        self._lengths.extend([passage.words.count(" ") + 1 if passage.words else 0 for passage in passages])
        self._alive.extend(np.ones(rows, np.bool_))
        self._said_at.extend([passage.said_at for passage in passages])
        self._marks.extend([passage.marks for passage in passages])
        self._speakers.extend([self._speaker(passage.speaker) for passage in passages])
        self._order.extend([passage.position * _PARTS + passage.part for passage in passages])
        extents = [passage.extent for passage in passages]
        self._turns.extend([extent.turn for extent in extents])
        self._starts.extend([extent.start for extent in extents])
        self._ends.extend([_OPEN if extent.end is None else extent.end for extent in extents])
        self._before.extend(np.full(rows, NOBODY))
        self._after.extend(np.full(rows, NOBODY))
        once: dict[str, str] = {}  # an id is in memory once, and not once for each passage
        self._page_ids.extend(once.setdefault(passage.page, passage.page) for passage in passages)

    def _follow(self, row: int, page: str) -> None:
        """Append the first row of a page to its session."""
        session = self.facets.session_at(row)
        self._join(self._last_of.get(session, NOBODY), row)
        self._last_of[session] = row
        self._rows_of[page] = [row]

    def _go_on(self, row: int, page: str) -> None:
        """Append a row to its page."""
        rows = self._rows_of[page]
        last, session = rows[-1], self.facets.session_at(row)
        self._join(row, int(self._after.values[last]))
        self._join(last, row)
        if self._last_of.get(session) == last:
            self._last_of[session] = row
        rows.append(row)

    def _replace(self, row: int, page: str) -> None:
        """Replace all rows of a page by its first new row."""
        first, *others = self._rows_of[page]
        for other in others:
            self._take_out(other)
        self._join(int(self._before.values[first]), row)
        self._join(row, int(self._after.values[first]))
        session = self.facets.session_at(row)
        if self._last_of.get(session) == first:
            self._last_of[session] = row
        self._rows_of[page] = [row]
        self._bury(first)

    def _take_out(self, row: int) -> None:
        """Remove a row; the rows before and after it become neighbours."""
        session = self.facets.session_at(row)
        before, after = int(self._before.values[row]), int(self._after.values[row])
        self._join(before, after)
        if self._last_of.get(session) == row:
            self._last_of[session] = before
        self._bury(row)

    def _join(self, before: int, after: int) -> None:
        if before != NOBODY:
            self._after.values[before] = after
        if after != NOBODY:
            self._before.values[after] = before

    def _bury(self, row: int) -> None:
        """Overwrite the vector; the postings are ignored from now on and stay until the scope is read again."""
        self._alive.values[row] = False
        self._buried += 1
        self._lengths.values[row] = 0
        self._before.values[row] = self._after.values[row] = NOBODY
        self.vectors.clear([row])

    def _speaker(self, name: str | None) -> int:
        return NOBODY if name is None else self._speaker_ids.setdefault(name, len(self._speaker_ids))

    def _are_alive(self, rows: Rows) -> Flags:
        """Which of these rows are alive, shape (k,); the postings may have later ones than this index."""
        alive = self.alive
        is_known = rows < len(alive)
        return alive[rows] if is_known.all() else is_known & alive[np.minimum(rows, len(alive) - 1)]

    def _measured(self) -> int:
        columns = sum(value.nbytes for value in vars(self).values() if isinstance(value, Column))
        parts = self.vectors.nbytes + self.postings.nbytes + self.facets.nbytes
        return parts + 2 * columns + _PAGE_BYTES * len(self._page_ids)

    def _count_having(self, term: int) -> int:
        return len(self.having(term)[0]) if self._buried else self.postings.size(term)

    def _count(self) -> int:
        return int(np.count_nonzero(self.alive))

    def _count_said(self) -> int:
        pages = self.positions(np.flatnonzero(self.alive))
        turns = self.positions(np.flatnonzero(self.alive & self.beginning))
        size = int(pages.max(initial=-1)) + 1
        most = OF_A_TURN * np.bincount(turns, minlength=size)
        return int(np.minimum(np.bincount(pages, minlength=size), most).sum())

    def _mean_length(self) -> float:
        return float(self.lengths[self.alive].mean()) if self.alive.any() else 0.0

    def _chosen(self) -> Flags:
        pages = self.corpus.pages if self.corpus else frozenset()
        return self.alive & np.fromiter((page in pages for page in self._page_ids), np.bool_, len(self))

    def _kept_whole(self) -> list[str]:
        is_here = self.alive & self.facets.in_tiers(Tier, cold=False)
        rows = np.flatnonzero((self._ends.values == _OPEN) & (self.lengths >= STALE_WORDS) & is_here)
        return list(dict.fromkeys(self._page_ids[row] for row in rows.tolist()))

    def _answers(self) -> Flags:
        before, pages = self.around.before[:-1], self.positions(np.arange(len(self)))
        asked = np.append(self.marks & Mark.ASKS != 0, False)[before]
        near = np.minimum(before, len(self) - 1)  # no previous turn, so no question
        goes_on = (pages[near] == pages) & (self._turns.values[near] == self._turns.values)
        return np.asarray(asked & ~goes_on, np.bool_)

    def _living_speakers(self) -> dict[str, int]:
        heard = set(self.speakers[self.alive].tolist())
        return {name: number for name, number in self._speaker_ids.items() if number in heard}

    def _neighbours(self) -> Around:
        rows = len(self)
        before = np.append(self._before.values, rows)
        pause = np.abs(self.said_at - self.said_at[before[:-1]])
        before[:-1][(before[:-1] == NOBODY) | (pause > SITTING_PAUSE)] = rows
        after = np.full(rows + 1, rows, np.int64)
        linked = np.flatnonzero(before != rows)
        after[before[linked]] = linked
        return Around(before, after)


def _passing(links: Ints, hidden: Flags) -> Ints:
    """The links between rows without the hidden rows: each leads to the next one that is not hidden, shape (n,)."""
    nobody = len(links)
    links = np.append(np.where(links == NOBODY, nobody, links), nobody)
    leads = np.where(np.append(hidden, False), links, np.arange(nobody + 1))  # a hidden row leads on, others stay
    while not np.array_equal(leads, further := leads[leads]):
        leads = further
    passed = leads[links[:-1]]
    passed[(passed == nobody) | hidden] = NOBODY
    return passed
