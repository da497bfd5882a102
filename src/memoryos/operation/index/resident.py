"""Resident: what one owner's searches and moves need in memory, kept in step with the store.

It follows the log: before each use it reads the events since the last one, also those of other processes, and
takes in what they changed. Nothing else tells it about a write, so it can lag behind the store but never lead it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from threading import RLock
from typing import TypeVar

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, Event, Operation, Vector
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.models.embedder import Embedder
from memoryos.operation.hierarchy.mid_term import Topic
from memoryos.operation.hierarchy.page_entries import page_vectors, passages_of, turn_vectors
from memoryos.operation.index.arrays import ArrayReader, ArrayWriter
from memoryos.operation.index.directions import directions, turn_directions
from memoryos.operation.index.evicted_facts import EvictedFacts
from memoryos.operation.index.facets import AdmittedLabels
from memoryos.operation.index.fact_words import FactWords
from memoryos.operation.index.keeper import Kept, followed
from memoryos.operation.index.said_text import SaidText
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.index.vocabulary import Kin, Vocabulary

T = TypeVar("T")

_AT_A_TIME = 4_000  # passages, while a scope is read
_LARGE = 5_000  # turns from which on an index is kept for the next process
_MOVED_ON = 5_000  # events after which it is kept again: to follow them takes a fraction of a second
_NEVER_KEPT = 1 << 62  # events
_ROWS_AN_EVENT = 20  # in a large index, one for so many rows: it takes longer to write
_CUBE_BYTES = 4_000  # a cube in memory, roughly
_OWNER_BYTES = 11_000  # of an owner without a memory, beside the arrays, roughly

_HELD = {  # the cubes that are kept whole, by kind, and the tier they are kept from
    Kind.SEGMENT: Tier.MTM,
    Kind.FACT: Tier.LPM,
    Kind.TRAIT: Tier.LPM,
    Kind.PROFILE: Tier.LPM,
}


_REPLACED = (State.MERGED, State.EXPIRED)


class Resident:
    """One owner's turns, the cubes of STM, MTM and LPM, and the facts that left LPM for lack of room."""

    def __init__(self, dim: int, lexicon: Embedder, short_term_capacity: int) -> None:
        self.lock = RLock()  # hold it while using `turns`, `kin` or `fact_words`
        self._dim = dim
        self._lexicon = lexicon
        self._capacity = short_term_capacity
        self._recent: list[Entry] = []
        self._sequence = 0  # of the last event taken in
        self._unindexed: list[str] = []
        self._held: dict[Kind, dict[str, Entry]] = {kind: {} for kind in _HELD}
        self._about: dict[tuple[Kind, Subject], list[Entry]] = {}  # those of `_held` that somebody asked for
        self._said: dict[str, tuple[MemCube, SaidText]] = {}  # of held cubes, as far as a search asked for it
        self._evicted = EvictedFacts(dim)
        self.fact_words = FactWords()  # of facts in LPM and of evicted ones
        self._topics: dict[str, Topic] = {}
        self._keeps_turns = True
        self._unkept = 0  # events since an index of ours was kept; as many as there can be when none was
        self.turns = TurnIndex(dim)
        self._vocabulary = Vocabulary(lexicon)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        cubes = sum(map(len, self._held.values())) + len(self._evicted)
        return _OWNER_BYTES + self.turns.nbytes + self._vocabulary.nbytes + _CUBE_BYTES * cubes

    @property
    def unindexed(self) -> Sequence[str]:
        """Pages that an older program stored without passages, or with long turns as one."""
        with self.lock:
            return [*self._unindexed, *self.turns.stale]

    @property
    def recent(self) -> Sequence[Entry]:
        """The latest pages of STM, as many as it has room for, oldest first."""
        return self._recent

    def entries(self, kind: Kind, subject: Subject | None = None) -> list[Entry]:
        """The cubes of a kind that are kept whole, in the order of their insertion."""
        with self.lock:
            if subject is None:
                return list(self._held[kind].values())
            about = self._about.get((kind, subject))
            if about is None:
                about = [entry for entry in self._held[kind].values() if entry.cube.subject is subject]
                self._about[kind, subject] = about
            return about.copy()

    def evicted_facts(self, subject: Subject, question: Vector, more: Mapping[str, float]) -> Iterator[Entry]:
        """The facts that left LPM for lack of room, by their cosine with the question and what some have `more`."""
        with self.lock:
            return self._evicted.nearest(subject, question, more)

    @property
    def topics(self) -> list[Topic]:
        """The segments of MTM, ready to be compared, in the order of their insertion."""
        with self.lock:
            return list(self._topics.values())

    def held(self, cube_id: str) -> MemCube | None:
        """The cube with that id, if it is in memory."""
        for held in self._held.values():
            if entry := held.get(cube_id):
                return entry.cube
        return None

    def said(self, cube: MemCube) -> SaidText:
        """The text of a cube, prepared; it is prepared only once for one that is kept whole."""
        known = self._said.get(cube.id)
        if known is not None and known[0] is cube:
            return known[1]
        said = SaidText.of(cube.text)
        with self.lock:
            entry = self._held.get(cube.kind, {}).get(cube.id)
            if entry is not None and entry.cube is cube:
                self._said[cube.id] = cube, said
        return said

    def page_vectors(self, reader: Reader, pages: Iterable[str]) -> dict[str, Vector]:
        """The direction of each page; read only of those whose turns are not here."""
        wanted = list(pages)
        with self.lock:
            here = directions(self.turns, wanted)
        return here | page_vectors(reader, [page for page in wanted if page not in here])

    def turn_vectors(self, reader: Reader, pages: Iterable[str]) -> dict[str, list[Vector]]:
        """The direction of each turn of each page; read only of those whose turns are not here."""
        wanted = list(pages)
        with self.lock:
            here = turn_directions(self.turns, wanted)
        said = passages_of(reader, [page for page in wanted if page not in here])
        return here | {page: turn_vectors(passages) for page, passages in said.items()}

    def kin(self, words: Sequence[str]) -> Mapping[str, Kin]:
        """For each word, the owner's terms close to it in meaning."""
        return self._vocabulary.kin(words, self.turns.postings.words)

    def is_worth_keeping(self, latest: int = 0) -> bool:
        """Whether its index should be kept for the next process: it is large, and none is kept or an old one.

        `latest` is the log's last event, if it may lag behind. One that holds words of pages that are gone is not
        worth it; what the next process reads from the store has none.
        """
        is_whole = self._keeps_turns and not self._unindexed and not self.turns.has_buried
        unkept = self._unkept + max(0, latest - self._sequence)
        rows = len(self.turns)
        return is_whole and rows >= _LARGE and unkept >= max(_MOVED_ON, rows // _ROWS_AN_EVENT)

    def kept(self) -> Kept:
        """Its index, to be saved for the next process."""
        with self.lock:
            self.turns.postings.merge()
            self._vocabulary.follow(self.turns.postings.words)
            writer = ArrayWriter()
            writer.write("turns", self.turns)
            writer.write("words", self._vocabulary)
            self._unkept = 0
            return Kept(self._sequence, writer.arrays, len(self.turns))

    def having(self, turns: TurnIndex) -> Resident:
        """The same cubes with only the turns that one question needs."""
        with self.lock:
            other = copy(self)
        other.turns = turns
        other._vocabulary = Vocabulary(self._lexicon)
        return other

    def seen(self, classes: AdmittedLabels) -> Resident:
        """The same with only the turns whose labels are admitted, and without segments, which all turns formed."""
        with self.lock:
            other = copy(self)
            other.turns = self.turns.seen(classes)
            other._held, other._topics = {**self._held, Kind.SEGMENT: {}}, {}  # no segment is about a subject
        return other

    def follow(
        self, reader: Reader, *, turns: bool = True, find_kept: Callable[[], Kept | None] = lambda: None
    ) -> None:
        """Apply the events since the last call, as the reader sees them, to the cubes and, if asked, the turns.

        Where all must be read, and `find_kept` finds an index that another process kept, that is read instead.
        """
        with self.lock:
            latest = reader.sequence()
            is_enough = self._keeps_turns or not turns
            if latest <= self._sequence and is_enough:
                return  # nothing new, or a reader that started before the one we followed last
            # What is indexed late lies between others, and what is deleted stays: read all anew.
            goes_on = self._sequence and is_enough and not self._unindexed and not self.turns.is_mostly_buried
            self._keeps_turns = turns or (self._keeps_turns and bool(goes_on))
            most = followed(len(self.turns))
            events = reader.events(after=self._sequence, limit=most + 1) if goes_on else []
            self._unkept += len(events)
            if goes_on and len(events) <= most:
                self._apply(reader, events)
            else:
                self._load(reader, find_kept() if self._keeps_turns else None)
            self._sequence = latest

    def refresh(self, reader: Reader) -> None:
        """Apply the events since the last call to what is here."""
        self.follow(reader, turns=self._keeps_turns)

    @property
    def is_worth_reading_again(self) -> bool:
        """Whether it has words of pages that are gone, and is read again quickly, or has little else."""
        return self.turns.has_buried and (len(self.turns) < _LARGE or self.turns.is_mostly_buried)

    def _load(self, reader: Reader, kept: Kept | None) -> None:
        self._held = {kind: {} for kind in _HELD}
        self._about, self._said = {}, {}  # anew like `_held`: a search may still have a copy of this with the old ones
        self._topics.clear()
        self._evicted.clear()
        self.fact_words.clear()
        self._unindexed.clear()
        for kind, tier in _HELD.items():
            self._hold(reader, reader.cubes(kind, tiers=[tier]))
        self._hold(reader, reader.cubes(Kind.FACT, tiers=[Tier.ARCHIVE]))
        if kept is None or not self._take_up(reader, kept):
            self.turns = TurnIndex(self._dim)
            self._vocabulary = Vocabulary(self._lexicon)
            self._unkept = _NEVER_KEPT
            self._index(reader)
        self._look_back(reader)

    def _take_up(self, reader: Reader, kept: Kept) -> bool:
        """Continue with a saved index; False if it does not fit."""
        turns, vocabulary = TurnIndex(self._dim), Vocabulary(self._lexicon)
        try:
            arrays = ArrayReader(kept.arrays)
            arrays.read("turns", turns)
            arrays.read("words", vocabulary)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return False
        self.turns, self._vocabulary = turns, vocabulary
        self._unkept = len(kept.since)
        self._follow_pages(reader, _done([event for event in kept.since if event.kind is Kind.PAGE]))
        turns.postings.merge()  # once, for each search takes longer with what came in since
        return True

    def _apply(self, reader: Reader, events: Sequence[Event]) -> None:
        pages = _done([event for event in events if event.kind is Kind.PAGE])
        others = dict.fromkeys(event.cube_id for event in events if event.kind is not Kind.PAGE)  # in the log's order
        self._follow_cubes(reader, others)
        if pages:
            self._follow_pages(reader, pages)
            self._look_back(reader)

    def _follow_cubes(self, reader: Reader, ids: Iterable[str]) -> None:
        found = reader.get(ids)
        self._hold(reader, [found[cube_id] for cube_id in ids if cube_id in found])
        for cube_id in ids:
            if cube_id not in found:
                self._let_go(cube_id)

    def _follow_pages(self, reader: Reader, done: Mapping[str, set[Operation]]) -> None:
        gone = {page for page, operations in done.items() if Operation.DELETE in operations}
        for page in gone:
            self.turns.drop(page)
        changed = [page for page, operations in done.items() if page not in gone and operations & _CHANGES]
        self._index(reader, changed)
        noted = [page for page, operations in done.items() if page not in gone and operations - _CHANGES - _UNNOTED]
        self.turns.note(reader.facets(noted))  # without their documents, which may lie in the object store

    def _look_back(self, reader: Reader) -> None:
        """Read the present pages of STM."""
        cubes = reader.cubes(Kind.PAGE, tiers=[Tier.STM], last=self._capacity)
        vectors = self.page_vectors(reader, (cube.id for cube in cubes))
        self._recent = [Entry(cube, vectors.get(cube.id)) for cube in cubes]

    def _hold(self, reader: Reader, cubes: Sequence[MemCube]) -> None:
        """Keep those that are to be kept, in their present state."""
        here = {cube.id for cube in cubes if _HELD.get(cube.kind) is cube.tier or _is_evicted(cube)}
        vectors = reader.vectors(here)
        for cube in cubes:
            is_usable = cube.kind is not Kind.SEGMENT or cube.id in vectors  # a damaged vector is left out
            if cube.id in here and is_usable:
                self._keep(Entry(cube, vectors.get(cube.id)))
            else:
                self._let_go(cube.id)

    def _keep(self, entry: Entry) -> None:
        self._about.clear()
        self._said.pop(entry.cube.id, None)
        if entry.cube.kind is Kind.FACT:
            self.fact_words.put(entry.cube)
        if _is_evicted(entry.cube):
            self._held[Kind.FACT].pop(entry.cube.id, None)
            self._evicted.put(entry)
            return
        self._evicted.drop(entry.cube.id)
        self._held[entry.cube.kind][entry.cube.id] = entry
        if entry.cube.kind is Kind.SEGMENT:
            self._topics[entry.cube.id] = Topic.of(entry.cube, entry.known_vector)

    def _let_go(self, cube_id: str) -> None:
        for held in self._held.values():
            held.pop(cube_id, None)
        self._about.clear()
        self._said.pop(cube_id, None)
        self._evicted.drop(cube_id)
        self.fact_words.drop(cube_id)
        self._topics.pop(cube_id, None)

    def _index(self, reader: Reader, pages: Iterable[str] | None = None) -> None:
        if not self._keeps_turns:
            return
        for chunk in _chunks(reader.passages(pages)):
            self.turns.put([passage for passage in chunk if passage.part])
            self._unindexed += [passage.page for passage in chunk if not passage.part]
        self._unindexed = [page for page in self._unindexed if not self.turns.rows_of(page)]


_CHANGES = {Operation.ADD, Operation.REVISE, Operation.REFRESH}  # of a page's words; other operations leave them
_UNNOTED = {  # change no facet
    Operation.CHAIN,
    Operation.DELETE,
    Operation.TRANSITION,
    Operation.LABEL,  # comes with another operation
}


def _is_evicted(cube: MemCube) -> bool:
    """Whether it is a fact that left LPM for lack of room."""
    return cube.kind is Kind.FACT and cube.tier is Tier.ARCHIVE and cube.state not in _REPLACED and not cube.is_proposal


def _done(events: Iterable[Event]) -> dict[str, set[Operation]]:
    """The operations on each cube."""
    done: dict[str, set[Operation]] = {}
    for event in events:
        done.setdefault(event.cube_id, set()).add(event.operation)
    return done


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    source = iter(items)
    while chunk := list(islice(source, _AT_A_TIME)):
        yield chunk
