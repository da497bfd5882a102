"""Fusion: one score for each turn, from what its words, its meaning, its speaker and its place in the talk say.

    score = words·B/max B + meaning·C + speaker·S + when·W + priors

B is BM25 in context; C is the cosine, from 0 at the farthest turn to 1 at the nearest; S is 1 for a turn of somebody
whom the question names, -1 for a turn of somebody else and 0 when it names nobody; W is how much of what a turn speaks
of lies in the time asked about. The weights were fitted on LoCoMo and judged on conversations left out
(docs/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

import numpy as np

from memoryos.infrastructure.vault.contract import Mark, Vector
from memoryos.language.foreign import latin_language
from memoryos.language.times import asked_periods, untimed
from memoryos.language.words import index_words, stem, words
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import NOBODY, Flags, Floats, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.lexical import Group, bm25, bm25_in_context
from memoryos.operation.recall.timely import timeliness

RRF_K = 60  # Cormack et al. 2009
UNSEEN = 10  # turns


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part of the score counts; 0 leaves a part out."""

    words: float = 1.0
    meaning: float = 0.6
    speaker: float = 0.25
    when: float = 0.3  #: the turn was said in the time asked about, or speaks of it
    asks: float = -0.1  #: the turn ends with a question: it wants to know, too
    answers: float = 0.11  #: the turn before asks something
    timed: float = 0.12  #: the turn says when
    opens: float = 0.14  #: the turn opens a sitting, with the news since the last one
    context: bool = True  #: whether BM25 looks at the turns around, too
    kin: bool = True  #: whether words close in meaning count


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, analysed once."""

    text: str
    vector: Vector
    at: datetime | None = None  #: what "yesterday" is the day before; None leaves times unresolved


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for every row and the parts that it is the sum of, each of shape (n,)."""

    total: Floats
    parts: Mapping[str, Floats]

    @classmethod
    def of(cls, **parts: Floats) -> Scores:
        """The sum of the parts; a part that is all zero is left out."""
        kept = {name: part for name, part in parts.items() if part.any()} or dict(list(parts.items())[:1])
        total = np.zeros_like(next(iter(kept.values())), np.float32)
        for part in kept.values():
            total += part
        return cls(total, MappingProxyType(kept))


def scored(resident: Resident, asked: Asked, strategy: Strategy, weights: Weights) -> Scores:
    """The scores of all rows for a question."""
    return _STRATEGIES[strategy](resident, asked, weights)


def _hybrid(resident: Resident, asked: Asked, weights: Weights) -> Scores:
    index = resident.turns
    parts = {
        "words": _share(_word_scores(resident, asked, weights)) * np.float32(weights.words),
        "meaning": _stretched(_meaning(index, asked), index) * np.float32(weights.meaning),
        "speaker": _speaker(index, _named(index, asked.text)) * np.float32(weights.speaker),
        "when": _when(index, asked) * np.float32(weights.when),
        **_priors(index, weights),
    }
    return Scores.of(**parts)


def _word_scores(resident: Resident, asked: Asked, weights: Weights) -> Floats:
    index = resident.turns
    people = set().union(*_names(index).values())
    topical = [word for word in dict.fromkeys(index_words(asked.text)) if stem(word) not in people]
    if not weights.context:
        return bm25(index, topical)
    kin = resident.kin(_timeless(asked, topical)) if weights.kin and _has_kin(asked.text) else {}
    names = {term for name in people if (term := index.postings.number(name)) is not None}
    groups = [Group(word, kin.get(word, NO_KIN).without(names)) for word in topical]
    return bm25_in_context(index, groups)


def _has_kin(text: str) -> bool:
    """Whether the lexicon knows a question's words one by one: of other languages in Latin letters it does not."""
    return latin_language(text) == "en"


def _timeless(asked: Asked, topical: Sequence[str]) -> list[str]:
    """The words that stand outside a resolved time: April is no kin of the "May 2023" that was asked for."""
    if asked.at is None:
        return list(topical)
    outside = set(index_words(untimed(asked.text, asked.at)))
    return [word for word in topical if word in outside]


def _meaning(index: TurnIndex, asked: Asked) -> Floats:
    return index.vectors.dot(asked.vector)


def _named(index: TurnIndex, text: str) -> list[int]:
    """The speakers whom the question names, by any word of their names."""
    asked = {stem(word) for word in words(text)}
    return [number for number, name in _names(index).items() if asked & name]


def _names(index: TurnIndex) -> dict[int, set[str]]:
    """The stems of each speaker's name, by the speaker's number."""
    return index.derived(
        "names", lambda: {number: {stem(word) for word in words(name)} for name, number in index.speaker_names.items()}
    )


def _speaker(index: TurnIndex, named: Sequence[int]) -> Floats:
    if not named or len(named) == len(index.speaker_names):
        return np.zeros(len(index), np.float32)
    theirs = np.isin(index.speakers, named)
    return np.where(theirs, 1, np.where(index.speakers == NOBODY, 0, -1)).astype(np.float32)


def _when(index: TurnIndex, asked: Asked) -> Floats:
    return timeliness(index, asked_periods(asked.text, asked.at) if asked.at else ())


def _priors(index: TurnIndex, weights: Weights) -> dict[str, Floats]:
    """What makes a turn worth telling whatever the question is."""
    return index.derived(f"priors {weights}", partial(_weighed, index, weights))


def _weighed(index: TurnIndex, weights: Weights) -> dict[str, Floats]:
    held = _conditions(index)
    return {name: condition * np.float32(getattr(weights, name)) for name, condition in held.items()}


def _conditions(index: TurnIndex) -> dict[str, Flags]:
    before = index.around.before[:-1]
    return {
        "asks": index.marks & Mark.ENDS_ASKING != 0,
        "answers": index.answering,
        "timed": index.marks & Mark.TIMED != 0,
        "opens": before == len(index),
    }


def _bm25(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    return Scores.of(bm25=bm25(resident.turns, index_words(asked.text)))


def _dense(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    return Scores.of(cosine=_meaning(resident.turns, asked))


def _linear(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    index = resident.turns
    lexical, meaning = bm25(index, index_words(asked.text)), _meaning(index, asked)
    half = np.float32(0.5)
    return Scores.of(bm25=half * _scaled(lexical, index.alive), cosine=half * _scaled(meaning, index.alive))


def _rrf(resident: Resident, asked: Asked, _weights: Weights) -> Scores:
    index = resident.turns
    lexical, meaning = bm25(index, index_words(asked.text)), _meaning(index, asked)
    return Scores.of(bm25=_reciprocal(lexical, index), cosine=_reciprocal(meaning, index))


def _reciprocal(scores: Floats, index: TurnIndex) -> Floats:
    """1 / (k + rank) of the living rows; of those that tie, the later one is ahead."""
    living = np.flatnonzero(index.alive)
    ranked = living[np.lexsort((-index.order[living], -scores[living]))]
    found = np.zeros(len(scores), np.float32)
    found[ranked] = 1 / (RRF_K + np.arange(1, len(ranked) + 1))
    return found


def _share(scores: Floats) -> Floats:
    """Scores from 0 on as parts of the highest; all zero when that is zero."""
    high = scores.max(initial=0)
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
    """From 0 to 1, as far as the scores of living rows reach; all zero when they are equal."""
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
