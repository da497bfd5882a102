"""Fusion: one score for each passage, from its words, its meaning, its speaker, its time and its place in the talk.

    score = words·B + meaning·(2 - max B)·C + speaker·S + when·W + day·D + identifier·I
            + own·O + length·ln(L / mean L) + priors

B is BM25 in context, as a part of the best or of what the question's words can give; C is the cosine, from 0 at the
farthest passage to 1 at the nearest; S says whether the question names the speaker; W says how much of what a passage
speaks of lies in the time asked about; D is the best plain BM25 of the same day; I says how much the passage has of the
numbers and codes that the question names; O is 1 for what a user said and -1 for what an assistant said, the other way
round when the question is about the assistant's words; L is the number of words. O, L and the priors count in full for
passages that words and meaning speak for. `docs/explanation/retrieval.md` says what each part is worth on nine data
sets, and how the weights were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memoryos.cached_property import cached_property
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.records import Mark, Vector
from memoryos.language.clauses import clauses
from memoryos.language.foreign import latin_language
from memoryos.language.marks import asks_assistant
from memoryos.language.times import uncounted, untimed
from memoryos.language.words import index_words, stem
from memoryos.language.yearly import without_yearly
from memoryos.operation.index.beside import beside
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Flags, Floats, Ints, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, Kin
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.lexical import WordGroup, attainable, bm25, bm25_in_context, identified
from memoryos.operation.recall.speakers import are_two, name_stems, named_speakers
from memoryos.operation.recall.timely import DAY, AskedTime, timeliness, words_left_out
from memoryos.text import shown

RRF_K = 60  # Cormack et al. 2009
UNSEEN = 10  # turns
RELEVANT = 0.35  # score of words and meaning from which on priors count in full
MANY = 10_000  # rows from which on their cosines are computed in another thread, while the words are looked for
ENOUGH = 0.25  # share of the idf of a question's words that a clause needs to have an answer of its own
FULL = 0.7  # share of the idf of a question's words that a passage needs to count as found


LARGEST_WEIGHT = 1e6  # a larger one leaves nothing of the other parts in 32 bits


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each part of the score; 0 leaves a part out."""

    words: float = 1.0  #: words that the passage and the question share, by rarity
    meaning: float = 0.5  #: likeness of the vectors
    speaker: float = 0.25  #: the question names the speaker
    when: float = 0.7  #: the passage was said in the time that the question is about, or mentions it
    day: float = 0.3  #: another passage of the same day has the words of the question
    identifier: float = 0.7  #: the passage has a number or code of the question
    own: float = 0.2  #: the user said it, not the assistant
    asks: float = -0.1  #: the turn ends with a question
    answers: float = 0.05  #: between two named people, the turn before asks a question
    opens: float = 0.14  #: the turn is the first of its session, which often has news
    first: float = 0.15  #: the passage is the first of its turn
    length: float = -0.12  #: logarithm of the length relative to the mean
    context: bool = True  #: whether BM25 includes the neighbouring turns
    kin: bool = True  #: whether words with similar meaning count
    clauses: bool = True  #: whether each part of a compound question also counts by itself

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, int | float) or not abs(value) <= LARGEST_WEIGHT:
                raise InvalidInput(f"weights.{one.name}", f"{shown(value)} is not a weight", "Pass a number, e.g. 0.5")


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True)
class Asked:
    """An analysed question; what is read from its text is found out once."""

    text: str
    vector: Vector
    at: datetime | None = None  #: what "yesterday" is the day before; None leaves times unresolved
    clauses: tuple[Asked, ...] = ()  #: the questions in it, when there are several

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words as those of an index, without the times that only count from today: when they are is part W."""
        return self._words_of(self.text if self.at is None else uncounted(self.text, self.at))

    @cached_property
    def all_words(self) -> tuple[str, ...]:
        """Its words as those of an index, each once."""
        return tuple(dict.fromkeys(self._said))

    @cached_property
    def _said(self) -> tuple[str, ...]:
        """Its words as those of an index."""
        return index_words(self.text)

    def _words_of(self, text: str) -> tuple[str, ...]:
        """The words of the question without some of it, which is mostly nothing."""
        return self._said if text == self.text else index_words(text)

    @cached_property
    def undated(self) -> frozenset[str]:
        """The words that do not count in dates (`words_left_out`)."""
        return words_left_out(self.text, self.at)

    @cached_property
    def untimed_words(self) -> frozenset[str]:
        """The words outside expressions of time: April is not near to the "May 2023" that was asked for."""
        text = self.text if self.at is None else untimed(self.text, self.at)
        return frozenset(self._words_of(without_yearly(text)))

    @cached_property
    def time(self) -> AskedTime:
        """The time that it asks about."""
        return AskedTime.of(self.text, self.at)

    @property
    def whole_and_clauses(self) -> tuple[Asked, ...]:
        """The question as a whole, and its clauses."""
        return (self, *self.clauses)

    def weighed(self, weights: Weights) -> Asked:
        """The question for these weights: without its clauses if they do not count."""
        return self if weights.clauses else replace(self, clauses=())


def analysed(text: str, embed: Callable[[str], Vector], at: datetime | None) -> Asked:
    """The question and its clauses with their vectors."""
    return Asked(text, embed(text), at, tuple(Asked(clause, embed(clause), at) for clause in clauses(text)))


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for every row and the parts that it is the sum of, each of shape (n,)."""

    total: Floats
    find_parts: Callable[[], Mapping[str, Floats]]
    clauses: Sequence[Floats] = ()  #: of a compound question, the score for each clause alone, shape (n,) each
    literal: Floats | None = None  #: how much of the question's words each row itself has, about 1 for all, shape (n,)

    @property
    def parts(self) -> Mapping[str, Floats]:
        """The parts that are not all zero, computed on demand."""
        found = self.find_parts()
        return {name: part for name, part in found.items() if part.any()} or dict(list(found.items())[:1])

    @classmethod
    def of(cls, **parts: Floats) -> Scores:
        """The sum of the parts."""
        total = np.zeros_like(next(iter(parts.values())), np.float32)
        for part in parts.values():
            total += part
        return cls(total, lambda: parts)


def scored(resident: Resident, asked: Asked, strategy: Strategy, weights: Weights) -> Scores:
    """The scores of all rows for a question."""
    return _STRATEGIES[strategy](resident, asked.weighed(weights), weights)


def _hybrid(resident: Resident, asked: Asked, weights: Weights) -> Scores:
    index = resident.turns
    alike = _alike(resident, asked, weights)
    found = _by_clause(alike.words) * np.float32(weights.words)
    near = _by_clause(alike.near) * np.float32(weights.meaning)
    unfound = max(0.0, 1 - found.max(initial=0))  # the more of it, the more meaning counts: up to twice as much
    # A short turn that matches neither by words nor by meaning answers no question.
    relevance: Floats = np.clip((found + near) / np.float32(RELEVANT), 0, 1)
    parts = {"words": found, **alike.parts, "meaning": near * np.float32(1 + unfound)}
    priors = _priors(index, asked, weights)
    total = priors.total * relevance
    for part in parts.values():
        total += part
    others = total - found - parts["meaning"] if asked.clauses else total
    clauses = [
        others + words * np.float32(weights.words) + own * np.float32(weights.meaning * (1 + unfound))
        for most, words, own in zip(alike.attainable[1:], alike.words[1:], alike.near[1:], strict=True)
        if most >= ENOUGH * alike.attainable[0]  # can be answered by itself: "What is this skill?" says too little
    ]
    return Scores(
        total,
        lambda: parts | {name: prior * relevance for name, prior in priors.parts.items()},
        clauses,
        alike.literal,
    )


@dataclass(frozen=True, slots=True)
class _Alike:
    """The likeness of a question and each row; all but `literal` for the whole question and for each clause."""

    attainable: Sequence[float]  #: by a passage that has all words
    words: Sequence[Floats]
    near: Sequence[Floats]
    literal: Floats  #: as in Scores
    parts: Mapping[str, Floats]  #: the other parts, of the question as a whole, as far as it has any


def _alike(resident: Resident, asked: Asked, weights: Weights) -> _Alike:
    index = resident.turns
    if len(index) < MANY:
        return _compared(resident, asked, weights, partial(_nearness, index, asked))
    nearness = beside(partial(_nearness, index, asked))
    try:
        return _compared(resident, asked, weights, nearness.result)
    finally:
        if not nearness.done():  # an error must not leave it reading an index that may change
            wait([nearness])


def _compared(resident: Resident, asked: Asked, weights: Weights, nearness: Callable[[], Sequence[Floats]]) -> _Alike:
    index = resident.turns
    most = [attainable(index, one.words) for one in asked.whole_and_clauses]
    literal = _literal(index, asked, most[0])
    parts = _others_of(index, asked, literal, weights)
    words = [  # last, because the thread that computes the cosines then helps
        _word_share(resident, one, weights, total) for one, total in zip(asked.whole_and_clauses, most, strict=True)
    ]
    return _Alike(most, words, nearness(), literal, parts)


def _others_of(index: TurnIndex, asked: Asked, literal: Floats, weights: Weights) -> dict[str, Floats]:
    found = {
        "speaker": (named_speakers(index, asked.text), weights.speaker),
        "when": (_when(index, asked), weights.when),
        "day": (_best_of_day(index, literal), weights.day),
        "identifier": (_identified(index, asked), weights.identifier),
    }
    return {name: part * np.float32(weight) for name, (part, weight) in found.items() if part is not None}


def _nearness(index: TurnIndex, asked: Asked) -> list[Floats]:
    cosines = index.vectors.dots(np.stack([one.vector for one in asked.whole_and_clauses]))
    return [_stretched(column, index) for column in cosines.T]


def _by_clause(scores: Sequence[Floats]) -> Floats:
    """The score for the whole question; with several clauses, half of that and half of the best clause's."""
    whole, *others = scores
    return np.asarray((whole + np.maximum.reduce(others)) / 2, np.float32) if others else whole


def _word_share(resident: Resident, asked: Asked, weights: Weights, most: float) -> Floats:
    """BM25 as a part of the best passage's, or of FULL of the `most` that the words can give, if that is more.

    So a passage that shares a single ordinary word with a long question does not count like one that has them all.
    """
    scores = _word_scores(resident, asked, weights)
    return _share(scores, FULL * most)


def _word_scores(resident: Resident, asked: Asked, weights: Weights) -> Floats:
    index = resident.turns
    asked_words = list(dict.fromkeys(asked.words))
    if not weights.context:
        return _plain_scores(index, asked, asked_words)
    kin = kin_of(resident, timeless(asked, asked_words)) if weights.kin and _has_kin(asked.text) else {}
    groups = [WordGroup(word, kin.get(word, NO_KIN), word not in asked.undated) for word in asked_words]
    return bm25_in_context(index, groups)


def _plain_scores(index: TurnIndex, asked: Asked, asked_words: Sequence[str]) -> Floats:
    return bm25(index, asked_words, asked.undated)


def _literal_scores(index: TurnIndex, asked: Asked) -> Floats:
    """The same with all words, for strategies that do not know when something was said."""
    return _plain_scores(index, asked, index_words(asked.text))


def _identified(index: TurnIndex, asked: Asked) -> Floats | None:
    """How many of the question's numbers and codes, except times, each row has, shape (n,); None if it has none."""
    with_digits = [word for word in asked.all_words if any(map(str.isdigit, word))]
    return identified(index, timeless(asked, with_digits)) if with_digits else None


def kin_of(resident: Resident, asked_words: Sequence[str]) -> dict[str, Kin]:
    """Words with a meaning near to the question's words, except times and names."""
    index = resident.turns
    people = name_stems(index)
    names = {term for name in people if (term := index.postings.number(name)) is not None}
    nameless = [word for word in asked_words if stem(word) not in people]
    return {word: kin.without(names) for word, kin in resident.kin(nameless).items()}


def _has_kin(text: str) -> bool:
    """Whether the lexicon has the single words of a question's language: among Latin scripts only English."""
    return latin_language(text) == "en"


def timeless(asked: Asked, asked_words: Sequence[str]) -> list[str]:
    """Those of these words that are outside expressions of time."""
    return [word for word in asked_words if word in asked.untimed_words]


def _meaning(index: TurnIndex, asked: Asked) -> Floats:
    return index.vectors.dot(asked.vector)


def _when(index: TurnIndex, asked: Asked) -> Floats | None:
    if not asked.time:
        return None
    return timeliness(index, asked.time.periods, asked.time.every_year)


def _literal(index: TurnIndex, asked: Asked, most: float) -> Floats:
    """Plain BM25 as a part of the `most` that the question's words can give, shape (n,)."""
    return _plain_scores(index, asked, asked.words) / np.float32(most or 1.0)


def _best_of_day(index: TurnIndex, literal: Floats) -> Floats:
    """The best plain BM25 of the day on which each row was said, as a part of the best of all, shape (n,)."""
    if not len(index):
        return np.zeros(0, np.float32)
    days = index.derived("days in order", partial(_DayGroups.of, index))
    return days.best(_share(literal, FULL))


@dataclass(frozen=True, slots=True, eq=False)
class _DayGroups:
    """The days on which rows were said."""

    numbers: NDArray[np.int32]  #: of each row's day, from 0, shape (n,)
    order: NDArray[np.int32] | None  #: the rows day by day, shape (n,); None when they are in order as they are
    starts: Ints  #: where each day begins among them
    sizes: Ints

    def best(self, scores: Floats) -> Floats:
        """The highest score of each row's day, shape (n,)."""
        if self.order is None:
            return np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes)
        best: Floats = np.maximum.reduceat(scores[self.order], self.starts)
        return best[self.numbers]

    @classmethod
    def of(cls, index: TurnIndex) -> _DayGroups:
        days, numbers = np.unique(index.said_at // DAY, return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        starts = np.searchsorted(numbers[order], np.arange(len(days)))
        is_sorted = bool((np.diff(numbers) >= 0).all())
        return cls(
            numbers.astype(np.int32),
            None if is_sorted else order.astype(np.int32),
            starts,
            np.diff(starts, append=len(numbers)),
        )


def _roles(index: TurnIndex) -> Floats:
    """1 for what users said and -1 for what assistants said, shape (n,)."""
    is_user, is_assistant = index.marks & Mark.BY_USER != 0, index.marks & Mark.BY_ASSISTANT != 0
    return np.asarray(is_user, np.float32) - np.asarray(is_assistant, np.float32)


@dataclass(frozen=True, slots=True)
class _Priors:
    """The priors of a passage. Of the question, they only use whether it is about the assistant's words."""

    parts: Mapping[str, Floats]
    total: Floats


def _priors(index: TurnIndex, asked: Asked, weights: Weights) -> _Priors:
    own = -1 if asks_assistant(asked.text) else 1
    return index.derived(("priors", own, weights), partial(_weighed, index, own, weights))


def _weighed(index: TurnIndex, own: int, weights: Weights) -> _Priors:
    held = _conditions(index, own)
    parts = {name: np.asarray(held[name] * np.float32(getattr(weights, name)), np.float32) for name in held}
    return _Priors(parts, np.asarray(sum(parts.values()), np.float32))


def _conditions(index: TurnIndex, own: int) -> dict[str, Flags | Floats]:
    before = index.around.before[:-1]
    return {
        "own": own * _roles(index),
        "asks": index.marks & Mark.ENDS_ASKING != 0,
        "answers": index.answering & are_two(index) & (index.marks & (Mark.BY_USER | Mark.BY_ASSISTANT) == 0),
        "opens": before == len(index),
        "first": index.beginning,
        "length": np.log(np.maximum(index.lengths, 1) / max(index.mean_length, 1)),
    }


def _bm25(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    return Scores.of(bm25=_literal_scores(resident.turns, asked))


def _dense(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    return Scores.of(cosine=_meaning(resident.turns, asked))


def _linear(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    index = resident.turns
    lexical, meaning = _literal_scores(index, asked), _meaning(index, asked)
    half = np.float32(0.5)
    return Scores.of(bm25=half * _scaled(lexical, index.alive), cosine=half * _scaled(meaning, index.alive))


def _rrf(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    index = resident.turns
    lexical, meaning = _literal_scores(index, asked), _meaning(index, asked)
    return Scores.of(bm25=_reciprocal(lexical, index), cosine=_reciprocal(meaning, index))


def _reciprocal(scores: Floats, index: TurnIndex) -> Floats:
    """1 / (k + rank) of the living rows; of those that tie, the later one is ahead."""
    living = np.flatnonzero(index.alive)
    ranked = living[np.lexsort((-index.order[living], -scores[living]))]
    found = np.zeros(len(scores), np.float32)
    found[ranked] = 1 / (RRF_K + np.arange(1, len(ranked) + 1))
    return found


def _share(scores: Floats, least: float = 0.0) -> Floats:
    """Scores from 0 on as parts of the highest, or of `least` if that is more; all zero when the highest is zero."""
    high = scores.max(initial=0)
    high = max(high, np.float32(least)) if high > 0 else high
    return scores / high if high > 0 else scores


def _stretched(cosines: Floats, index: TurnIndex) -> Floats:
    """Cosines from 0 at the farthest living turn to 1 at the nearest, whatever the embedder's span is.

    Few turns say little of that span: it is taken as if UNSEEN more had been seen whose cosines are a whole 1 apart.
    """
    seen = cosines if index.alive.all() else cosines[index.alive]
    if not len(seen):
        return np.zeros_like(cosines)
    low, high, turns = seen.min(), seen.max(), len(seen)
    if index.corpus:
        low, turns = min(low, index.corpus.lowest), index.corpus.turns
    span = (turns * (high - low) + UNSEEN) / (turns + UNSEEN)
    return np.asarray((cosines - low) / span, np.float32)


def _scaled(scores: Floats, alive: Flags) -> Floats:
    """The scores of living rows scaled to 0 to 1; all zero if they are equal."""
    low, high = scores[alive].min(initial=np.inf), scores[alive].max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


_STRATEGIES: Mapping[Strategy, Callable[[Resident, Asked, Weights], Scores]] = {
    Strategy.HYBRID: _hybrid,
    Strategy.BM25: _bm25,
    Strategy.DENSE: _dense,
    Strategy.RRF: _rrf,
    Strategy.LINEAR: _linear,
}


def ablations(weights: Weights) -> dict[str, Weights]:
    """The weights with one part left out each, by the name of the part."""
    return {
        field.name: replace(weights, **{field.name: type(getattr(weights, field.name))(0)}) for field in fields(weights)
    }
