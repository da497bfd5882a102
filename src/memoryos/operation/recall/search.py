"""Search as in the paper: STM whole, MTM in two stages, LPM by similarity (MemoryOS paper, section 3.4).

No model is called but the embedder, and nothing is written: the caller records the visits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memoryos.config import Settings
from memoryos.cube import Kind, MemCube, Subject, Tier
from memoryos.infrastructure.vault.contract import LinkKind, Reader, Vector
from memoryos.language.words import keywords, terms
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, segment_of, top_keywords
from memoryos.operation.hierarchy.paging import topics_of
from memoryos.operation.hierarchy.score import FScore, Probe
from memoryos.operation.recall.hit import Hit, Recall, Strategy

TOPIC_WORDS = 4  # keywords that name a topic to a reader


@dataclass(frozen=True, slots=True)
class Question:
    """A query, analysed once."""

    text: str
    vector: Vector

    @property
    def probe(self) -> Probe:
        """What is compared with segments."""
        return Probe.of(self.vector, keywords(self.text))


@dataclass(frozen=True, slots=True)
class Search:
    """How to search."""

    strategy: Strategy
    pages: int
    archive: bool  #: whether evicted memory is searched too


def recall(owner: Reader, persona: Reader, question: Question, search: Search, settings: Settings) -> Recall:
    """Everything the three tiers hold for the question; `persona` is where the user's persona lives."""
    recent = _short_term(owner, question)
    if search.strategy is Strategy.TWO_STAGE:
        found = [*_two_stage(owner, question, search, settings), *recent]
    else:
        found = _lexical(owner, question, search)
    user_facts = persona.cubes(Kind.FACT, tiers=[Tier.LPM], subject=Subject.USER)
    agent_facts = owner.cubes(Kind.FACT, tiers=[Tier.LPM], subject=Subject.AGENT)
    return Recall(
        query=question.text,
        hits=tuple(_best_first(found)),
        recent=tuple(recent),
        user_facts=tuple(_nearest(persona, user_facts, question, settings.recall_facts)),
        agent_facts=tuple(_nearest(owner, agent_facts, question, settings.recall_facts)),
        profile=tuple(_both(owner, persona, Kind.PROFILE)),
        traits=tuple(_both(owner, persona, Kind.TRAIT)),
    )


def _short_term(owner: Reader, question: Question) -> list[Hit]:
    """All of STM, oldest first, scored like other pages so that they can be ranked together."""
    pages = owner.cubes(Kind.PAGE, tiers=[Tier.STM])
    vectors = owner.vectors(page.id for page in pages)
    return [
        Hit(page, score, MappingProxyType({"cosine": score}), topic="recent")
        for page in pages
        for score in [_cosine(vectors.get(page.id), question.vector)]
    ]


def _two_stage(owner: Reader, question: Question, search: Search, settings: Settings) -> list[Hit]:
    """Top-m segments by F_score, then the top-k of their pages by cosine."""
    tiers = [Tier.MTM, Tier.ARCHIVE] if search.archive else [Tier.MTM]
    topics = topics_of(owner, owner.cubes(Kind.SEGMENT, tiers=tiers))
    chosen = MidTerm(topics, settings).rank(question.probe, settings.recall_segments)
    scores = {topic.cube.id: (topic, score) for topic, score in chosen}
    members = owner.sources(scores, LinkKind.MEMBER_OF)
    vectors = owner.vectors(link.source for link in members)
    ranked = sorted(
        ((_cosine(vectors.get(link.source), question.vector), link) for link in members), key=lambda pair: -pair[0]
    )[: search.pages]
    cubes = owner.get(link.source for _, link in ranked)
    return [
        _page_hit(cubes[link.source], cosine, *scores[link.target]) for cosine, link in ranked if link.source in cubes
    ]


def _page_hit(page: MemCube, cosine: float, topic: Topic, fit: FScore) -> Hit:
    parts = {"cosine": cosine, "segment_cosine": fit.cosine, "segment_jaccard": fit.jaccard}
    return Hit(page, cosine, MappingProxyType(parts), topic.cube.id, topic_name(topic.cube))


def _lexical(owner: Reader, question: Question, search: Search) -> list[Hit]:
    """The top-k pages by BM25."""
    tiers = [Tier.STM, Tier.MTM, *([Tier.ARCHIVE] if search.archive else [])]
    scores = owner.find_terms(terms(question.text), kind=Kind.PAGE, tiers=tiers, limit=search.pages)
    cubes = owner.get(scores)
    homes = {link.source: link.target for link in owner.targets(scores, LinkKind.MEMBER_OF)}
    segments = owner.get(homes.values())
    return [
        Hit(cubes[page], score, MappingProxyType({"bm25": score}), home, topic_name(segments.get(home or "")))
        for page, score in scores.items()
        if page in cubes
        for home in [homes.get(page)]
    ]


def _nearest(reader: Reader, facts: Sequence[MemCube], question: Question, limit: int) -> list[Hit]:
    vectors = reader.vectors(fact.id for fact in facts)
    scored = ((fact, _cosine(vectors.get(fact.id), question.vector)) for fact in facts)
    hits = [Hit(fact, score, MappingProxyType({"cosine": score})) for fact, score in scored]
    return _best_first(hits)[:limit]


def _both(owner: Reader, persona: Reader, kind: Kind) -> list[MemCube]:
    user = persona.cubes(kind, tiers=[Tier.LPM], subject=Subject.USER)
    return [*user, *owner.cubes(kind, tiers=[Tier.LPM], subject=Subject.AGENT)]


def _best_first(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: -hit.score)


def _cosine(vector: Vector | None, question: Vector) -> float:
    """Both are unit vectors, or one is missing."""
    return 0.0 if vector is None else float(vector @ question)


def topic_name(segment: MemCube | None) -> str:
    """A few keywords that name a segment; empty for a page that is in none yet."""
    return ", ".join(top_keywords(segment_of(segment))[:TOPIC_WORDS]) if segment else ""
