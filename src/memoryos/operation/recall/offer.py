"""Offers: what one memory asks another, and the answer that allows ranking both together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.clock import micros
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import Entry, StoredPassage, Vector, labels_text
from memoryos.kinds import Kind
from memoryos.language.words import index_words, stem
from memoryos.operation.hierarchy.page_entries import vector_of
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Hit, Strategy
from memoryos.operation.recall.nearest_facts import FactLikeness
from memoryos.operation.recall.search import Search
from memoryos.operation.recall.two_stage import cosine


@dataclass(frozen=True, slots=True)
class Wanted:
    """A query to a mounted memory."""

    asked: Asked | None  #: the question; None is all that the filters admit, the latest first
    search: Search
    pages: int  #: at most so many
    facts: int  #: at most so many

    @property
    def text(self) -> str:
        """The text of the question; empty if there is none."""
        return self.asked.text if self.asked else ""

    @property
    def vector(self) -> Vector | None:
        """The vector of the question, by the embedder of the searching memory."""
        return self.asked.vector if self.asked else None

    @property
    def of_each(self) -> Search:
        """The options for each memory.

        There is no reranker, because the results are ranked again, and one page more, to mark the end of the others.
        """
        pages = self.search.pages if self.strategy is Strategy.TWO_STAGE else self.pages + 1
        return replace(self.search, pages=pages, reranker=None, min_score=0.0)

    @property
    def filters(self) -> Filters:
        """Which memories may be found."""
        return self.search.filters

    @property
    def strategy(self) -> Strategy:
        """The search strategy."""
        return self.search.strategy

    @property
    def now(self) -> datetime:
        """The time at which expiry is checked."""
        return self.filters.now


@dataclass(frozen=True, slots=True)
class Totals:
    """Statistics of all turns of a memory that offers only some. They decide how rare a word is."""

    turns: int
    words: int
    lowest: float  #: the cosine of the farthest turn with the question
    frequencies: Callable[[Collection[str]], Mapping[str, int]]  #: in how many turns stems occur


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a mounted memory for a question."""

    pages: Mapping[str, MemCube]  #: by id
    passages: Sequence[StoredPassage]  #: the turns of these pages and, if known, of those around them
    facts: Sequence[Hit] = ()  #: scored by their likeness to the question, about 0 to 1.5
    totals: Totals | None = None  #: None: the passages are all there is

    @classmethod
    def of(cls, entries: Sequence[Entry], wanted: Wanted) -> Found:
        """Pages with their passages, in the order in which they came in, and facts with their vectors."""
        pages = {entry.cube.id: entry.cube for entry in entries if entry.cube.kind is Kind.PAGE}
        facts = [entry for entry in entries if entry.cube.kind is Kind.FACT]
        passages = [passage for place, entry in enumerate(entries, 1) for passage in _stored(entry, place)]
        return cls(pages, passages, [Hit(fact.cube, _closeness(fact, wanted)) for fact in facts])

    def known(self, question: Vector) -> Totals:
        """The statistics of all turns."""
        return self.totals or _counted(self.passages, question)


def _stored(entry: Entry, position: int) -> Iterator[StoredPassage]:
    cube = entry.cube
    expires_at = cube.governance.lifespan.expires_at
    for part, passage in enumerate(entry.passages or (), 1):
        yield StoredPassage(
            page=cube.id,
            position=position,
            part=part,
            tier=cube.tier.value,
            session=cube.scope.session,
            tags=labels_text(cube),
            expires_at=micros(expires_at) if expires_at else None,
            **passage.columns,
        )


def _closeness(fact: Entry, wanted: Wanted) -> float:
    """The closeness of a fact to the question; all words weigh the same, because their rarity elsewhere is unknown."""
    if wanted.asked is None:
        return 0.0
    forms = set(map(stem, index_words(wanted.text)))
    weights = dict.fromkeys(forms, 1 / max(1, len(forms)))
    return sum(FactLikeness.by(wanted.asked, weights, wanted.strategy).parts(fact).values())


def _counted(passages: Sequence[StoredPassage], question: Vector) -> Totals:
    """The statistics of the offered turns."""
    found: Counter[str] = Counter()
    for passage in passages:
        found.update({stem(word) for word in passage.words.split()})
    cosines = (cosine(vector_of(passage), question) for passage in passages)
    return Totals(
        turns=len(passages),
        words=sum(len(passage.words.split()) for passage in passages),
        lowest=min(cosines, default=0.0),
        frequencies=lambda stems: {form: found[form] for form in stems},
    )
