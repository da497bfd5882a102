"""Search: from a question to ranked turns, their pages, facts and profile.

The embedder is the only model, and nothing is written: the caller records the visits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Subject, Trust
from memoryos.models.embedder import Embedder
from memoryos.models.reranker import Reranker
from memoryos.operation.hierarchy.told_topics import told_topics
from memoryos.operation.index.resident import Resident
from memoryos.operation.paging.calibrator import tuned_for
from memoryos.operation.recall.confidence import Examined, WordJudge, confidence
from memoryos.operation.recall.filters import Classes, Filters
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Asked, Weights, scored
from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
from memoryos.operation.recall.moment import entries_at, former, known_until, pages_at
from memoryos.operation.recall.nearest_facts import FactLikeness, outdated
from memoryos.operation.recall.ranking import Ranking, best_turns
from memoryos.operation.recall.relevance import weighed
from memoryos.operation.recall.then import Since, known_then
from memoryos.operation.recall.topics import Home, fits, homes, topic_name
from memoryos.operation.recall.two_stage import cosine, two_stage

_AT_A_TIME = 32  # archived facts


@dataclass(frozen=True, slots=True)
class Search:
    """The options of a search."""

    strategy: Strategy
    pages: int | None  #: None: the value of the settings; with two_stage, the tuned value of the scope
    filters: Filters
    weights: Weights = DEFAULT_WEIGHTS
    reranker: Reranker | None = None  #: changes the order of the found turns
    explain: bool = False  #: whether hits have the parts of their scores
    min_score: float = 0.0  #: the least relevance of a hit
    tokens: int | None = None  #: stop at turns that fill so many tokens; None: no limit
    facts: int | None = None  #: about the user and the agent each; None: the value of the settings
    least_trust: Trust = Trust.OUTSIDE  #: of what is found

    def facts_under(self, settings: Settings) -> int:
        """How many facts about the user and the agent each."""
        return settings.recall_facts if self.facts is None else self.facts

    def parts(self, **parts: float) -> Mapping[str, float]:
        """The parts of a score, if they are requested."""
        return parts if self.explain else {}


@dataclass(frozen=True, slots=True)
class Source:
    """Where an owner's memory is read: the store and the resident index."""

    reader: Reader  #: has only the cubes that the caller may read; the resident has all
    resident: Resident
    classes: Classes | None = None  #: which of the resident's turns the caller may read; None: all
    since: Since | None = None  #: what happened since the snapshot that is searched

    def looking_back(self, filters: Filters, embedder: Embedder) -> Source:
        """The memory as the store held it at the snapshot of a search, if there is one."""
        if filters.snapshot is None:
            return self
        since = Since.of(self.reader, filters.snapshot)
        with self.resident.lock:
            turns = since.turns(self.reader, self.resident.turns, embedder)
            if self.classes is not None and turns is not self.resident.turns:  # read again, with all turns
                turns = turns.seen(self.classes)
        resident = self.resident if turns is self.resident.turns else self.resident.having(turns)
        return replace(self, resident=resident, since=since)

    def then(self, ids: Iterable[str], filters: Filters) -> dict[str, MemCube]:
        """The memories with these ids as they were at the time of the search, which found them."""
        if self.since is None or filters.as_of is None:
            return pages_at(self.reader, ids, filters.as_of)
        found = self.since.cubes(self.reader, self.reader.get(ids).values())
        return {cube_id: cube for cube_id, cube in found.items() if known_then(cube, filters.as_of)}

    def entries_then(self, entries: Sequence[Entry], filters: Filters) -> list[Entry]:
        """The entries as they were at the time of the search."""
        if self.since is None:
            return entries_at(self.reader, entries, filters.as_of)
        then = self.then([entry.cube.id for entry in entries], filters)
        known = [replace(entry, cube=then[entry.cube.id]) for entry in entries if entry.cube.id in then]
        return known_until(self.reader, known, filters.until)

    def recent(self, settings: Settings, search: Search) -> Sequence[Entry]:
        """The pages of STM, oldest first; for who may read a part, the latest pages of that part, as many as STM has.

        Which pages left STM was decided by all pages, and must not tell of those that the caller may not read.
        """
        if self.classes is None:
            return [self._shown(entry) for entry in self.resident.recent]
        latest = self._latest(search.filters.now, settings.short_term_capacity)
        here = {entry.cube.id: entry for entry in self.resident.recent}
        others = self.reader.found_pages(page for page in latest if page not in here)
        vectors = self.resident.page_vectors(self.reader, others)
        read = {page: Entry(cube, vectors.get(page)) for page, cube in others.items()}
        return [found for page in latest if (found := here.get(page) or read.get(page))]

    def _latest(self, now: datetime, most: int) -> list[str]:
        """The pages that came last of those that the caller may read, oldest first."""
        if self.resident.turns.corpus is None:
            with self.resident.lock:
                return Filters(now, classes=self.classes).admitted(self.resident.turns).latest_pages(most)
        found = self.reader.listed(Selection(Kind.PAGE, now), limit=most, is_latest=True)
        return [one.cube.id for one in reversed(found)]

    def under(self, search: Search) -> Search:
        """The search with only the turns that the caller may read."""
        return replace(search, filters=replace(search.filters, classes=self.classes)) if self.classes else search

    @property
    def known_facts(self) -> set[str] | None:
        """The facts whose words may be counted; None: all."""
        if self.classes is None:
            return None
        with self.resident.lock:
            known = list(self.resident.fact_words.facts)
        return self.reader.permitted(known)

    def permitted(self, entries: Iterable[Entry], filters: Filters) -> list[Entry]:
        """The entries of the resident that the caller may read, as the reader shows them, with values of the period."""
        held = list(entries)
        if self.classes is not None and held:
            known = self.reader.permitted(entry.cube.id for entry in held)
            held = [self._shown(entry) for entry in held if entry.cube.id in known]
        return known_until(self.reader, held, filters.until)

    def _shown(self, entry: Entry) -> Entry:
        cube = self.reader.shown(entry.cube)
        return entry if cube is entry.cube else replace(entry, cube=cube)  # nearly all stay as they are


def recall(owner: Source, persona: Source, asked: Asked, search: Search, settings: Settings) -> Recall:
    """Return everything the three tiers hold for the question; `persona` is the scope of the user's persona."""
    turns, found, chosen = _turns(owner, asked, search, settings)
    turns = reranked(turns, asked, search)

    def held(source: Source, entries: Sequence[Entry]) -> list[Entry]:
        permitted = source.permitted(entries, search.filters)
        with owner.resident.lock:
            found = search.filters.entries(permitted, owner.resident.turns)
        return source.entries_then(found, search.filters)

    def about(kind: Kind, subject: Subject) -> list[Entry]:
        source = persona if subject is Subject.USER else owner
        then = former(source.reader, subject, kind) if search.filters.snapshot else []
        return held(source, [*source.resident.entries(kind, subject), *then])

    def facts(subject: Subject) -> tuple[Hit, ...]:
        source = persona if subject is Subject.USER else owner
        is_past = search.filters.as_of or search.filters.until
        then = former(source.reader, subject) if is_past else []
        at_hand = held(source, [*source.resident.entries(Kind.FACT, subject), *then])
        likeness = of_user if subject is Subject.USER else of_agent
        evicted = (held(source, some) for some in _batched(likeness.evicted(source.resident, subject)))
        return _nearest(at_hand, evicted, likeness, search, search.facts_under(settings))

    def likeness_in(source: Source) -> FactLikeness:
        return FactLikeness.of(source.resident, asked, search.strategy, source.known_facts)

    def both(kind: Kind) -> tuple[MemCube, ...]:
        return tuple(entry.cube for subject in (Subject.USER, Subject.AGENT) for entry in about(kind, subject))

    of_agent = likeness_in(owner)
    of_user = of_agent if persona is owner else likeness_in(persona)
    passes = search.filters.admits if owner.since is None else search.filters.is_in_reach
    recent = [page for page in held(owner, owner.recent(settings, search)) if passes(page.cube)]
    recalled = Recall(
        query=asked.text,
        hits=tuple(pages_of(turns, found)),
        turns=tuple(turns),
        recent=tuple(_by_cosine(page, asked, search, "recent") for page in recent),
        user_facts=facts(Subject.USER),
        agent_facts=facts(Subject.AGENT),
        profile=both(Kind.PROFILE),
        traits=both(Kind.TRAIT),
        segments=tuple(_segments(owner, asked, search, settings)),
        chosen=chosen,
    )
    return judged(recalled, owner.resident, asked, search, persona.resident)


def judged(
    recalled: Recall, resident: Resident, asked: Asked, search: Search, persona: Resident | None = None
) -> Recall:
    """Return the recall with its confidence and the relevance of each hit.

    `resident` has the ranked turns, and `persona` the user's facts, if they are not there.
    """
    facts = [hit.cube for hit in (*recalled.user_facts, *recalled.agent_facts, *recalled.knowledge)]
    examined = Examined(resident, persona or resident, asked, recalled.turns)
    sure = replace(recalled, confidence=confidence(examined, [*facts, *recalled.profile, *recalled.traits]))
    if search.tokens is not None and not search.min_score:  # a context has thousands of turns and shows no relevance
        return sure
    return weighed(sure, WordJudge.of(examined), search.min_score)


def _turns(
    owner: Source, asked: Asked, search: Search, settings: Settings
) -> tuple[list[TurnHit], Mapping[str, Home], tuple[str, ...]]:
    """The found turns, the segments of their pages, and the segments that were chosen."""
    if Kind.PAGE not in search.filters.kinds:
        return [], {}, ()
    read = partial(owner.then, filters=search.filters)
    if search.strategy is Strategy.TWO_STAGE:
        knobs = settings if owner.classes else tuned_for(owner.reader, settings)  # tuned by all pages
        pages = search.pages or knobs.recall_pages
        turns, found, chosen = two_stage(
            owner.reader, owner.resident, asked, pages, search.filters, knobs, read, explain=search.explain
        )
        return turns, found, chosen
    pages = search.pages or settings.recall_pages
    turns = best_turns(ranking(owner.resident, asked, search), read, pages, explain=search.explain)
    return turns, homes(owner.reader, owner.resident, [turn.cube.id for turn in turns], search.filters.now), ()


def ranking(resident: Resident, asked: Asked, search: Search) -> Ranking:
    """Rank the resident's turns for the question, under the filters."""
    with resident.lock:
        index = resident.turns
        scores = scored(resident, asked, search.strategy, search.weights)
        allowed = search.filters.admitted(index).rows
        if search.strategy is Strategy.BM25:
            allowed &= scores.total > 0  # a turn without any of the words is no match
        return Ranking.of(index, scores, allowed, search.tokens)


def reranked(turns: list[TurnHit], asked: Asked, search: Search) -> list[TurnHit]:
    """The same turns in the reranker's order, with its scores."""
    if search.reranker is None or not turns:
        return turns
    judged = search.reranker.scores(
        asked.text, [f"{turn.turn.speaker or turn.turn.role}: {turn.text}" for turn in turns]
    )
    again = [
        replace(turn, score=float(score), parts=search.parts(rerank=float(score)))
        for turn, score in zip(turns, judged, strict=True)
    ]
    return sorted(again, key=lambda turn: -turn.score)


def pages_of(turns: Sequence[TurnHit], found: Mapping[str, Home]) -> Iterator[Hit]:
    """Each page once, with the score of its best turn; `found` has the segments of pages."""
    seen = set()
    for turn in turns:
        if turn.cube.id not in seen:
            seen.add(turn.cube.id)
            home = found.get(turn.cube.id, Home())
            yield Hit(turn.cube, turn.score, turn.parts, home.segment, home.topic, turn.mount)


def _segments(owner: Source, asked: Asked, search: Search, settings: Settings) -> Iterator[Hit]:
    """The best topics with an admitted page, if segments are requested."""
    filters = search.filters
    if Kind.SEGMENT not in filters.kinds:
        return
    with owner.resident.lock:
        admitted = filters.admitted(owner.resident.turns)
        told = fits(owner.reader, owner.resident, asked, filters, admitted, settings)
        alive = (fit for fit in told if fit.pages and not fit.topic.cube.has_expired(filters.now))
        alive = (fit for fit in alive if owner.reader.permitted([fit.topic.cube.id]))
        best = list(islice(alive, settings.recall_segments))
    shown = {one.id: one for one in told_topics(owner.reader, [fit.topic.cube for fit in best])}
    for fit in best:
        if cube := shown.get(fit.topic.cube.id):
            yield Hit(cube, fit.score.total, search.parts(**fit.parts), topic=topic_name(cube))


def _nearest(
    at_hand: Sequence[Entry], evicted: Iterable[Sequence[Entry]], likeness: FactLikeness, search: Search, limit: int
) -> tuple[Hit, ...]:
    """The facts most like the question; evicted ones come in this order, and only some are read."""
    known = outdated(at_hand)
    alive = (fact for some in evicted for fact in some if not known.holds(fact.cube))
    found = [*(fact for fact in at_hand if not known.holds(fact.cube)), *islice(alive, limit)]
    hits = (_scored(fact.cube, likeness.parts(fact), search) for fact in found)
    return tuple(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _scored(cube: MemCube, parts: Mapping[str, float], search: Search) -> Hit:
    return Hit(cube, sum(parts.values()), search.parts(**parts))


def _batched(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """The items in batches, because most searches need only the first few."""
    while some := list(islice(entries, _AT_A_TIME)):
        yield some


def _by_cosine(entry: Entry, asked: Asked, search: Search, topic: str = "") -> Hit:
    score = cosine(entry.vector, asked.vector)
    return Hit(entry.cube, score, search.parts(cosine=score), topic=topic)
