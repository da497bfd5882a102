"""Fusion: one score for each passage, from its words, its meaning, its speaker, its time and its place in the talk.

    score = words·B/max B + meaning·C + speaker·S + when·W + day·D + own·O + length·ln(L / mean L) + priors

B is BM25 in context; C is the cosine, from 0 at the farthest passage to 1 at the nearest; S says whether the question
names the speaker; W says how much of what a passage speaks of lies in the time asked about; D is the best plain BM25
of the same day; O is 1 for what a user said and -1 for what an assistant said, the other way round when the question
is about the assistant's words; L is the number of words. `docs/retrieval.md` says what each part is worth on nine
data sets, and how the weights were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType

import numpy as np

from memoryos.infrastructure.vault.contract import Mark, Vector
from memoryos.language.marks import asks_assistant
from memoryos.language.times import asked_periods, untimed
from memoryos.language.words import index_words, stem
from memoryos.language.yearly import without_yearly, yearly
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Flags, Floats, Ints, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, Kin
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.lexical import Group, bm25, bm25_in_context
from memoryos.operation.recall.speakers import name_stems, named_speakers
from memoryos.operation.recall.timely import DAY, timeliness

RRF_K = 60  # Cormack et al. 2009
UNSEEN = 10  # turns


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part of the score counts; 0 leaves a part out."""

    words: float = 1.0
    meaning: float = 0.5
    speaker: float = 0.25
    when: float = 0.7  #: the passage was said in the time asked about, or speaks of it
    day: float = 0.3  #: something said on the same day has the words of the question
    own: float = 0.2  #: a user said it, not an assistant
    asks: float = -0.1  #: the turn ends with a question: it wants to know, too
    opens: float = 0.14  #: the turn opens a sitting, with the news since the last one
    first: float = 0.15  #: the passage is the first of its turn
    length: float = -0.14  #: the logarithm of the length, compared with the mean
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
        "speaker": named_speakers(index, asked.text) * np.float32(weights.speaker),
        "when": _when(index, asked) * np.float32(weights.when),
        "day": _best_of_day(index, asked) * np.float32(weights.day),
        "own": _own(index, asked) * np.float32(weights.own),
        **_priors(index, weights),
    }
    return Scores.of(**parts)


def _word_scores(resident: Resident, asked: Asked, weights: Weights) -> Floats:
    index = resident.turns
    asked_words = list(dict.fromkeys(index_words(asked.text)))
    if not weights.context:
        return bm25(index, asked_words)
    kin = kin_of(resident, asked, asked_words) if weights.kin else {}
    return bm25_in_context(index, [Group(word, kin.get(word, NO_KIN)) for word in asked_words])


def kin_of(resident: Resident, asked: Asked, asked_words: Sequence[str]) -> dict[str, Kin]:
    """Words near in meaning, but neither for names and dates nor among the names."""
    index = resident.turns
    people = name_stems(index)
    names = {term for name in people if (term := index.postings.number(name)) is not None}
    dateless = [word for word in _timeless(asked, asked_words) if stem(word) not in people]
    return {word: kin.without(names) for word, kin in resident.kin(dateless).items()}


def _timeless(asked: Asked, asked_words: Sequence[str]) -> list[str]:
    """The words outside expressions of time: April is not near to the "May 2023" that was asked for."""
    text = asked.text if asked.at is None else untimed(asked.text, asked.at)
    outside = set(index_words(without_yearly(text)))
    return [word for word in asked_words if word in outside]


def _meaning(index: TurnIndex, asked: Asked) -> Floats:
    return index.vectors.dot(asked.vector)


def _when(index: TurnIndex, asked: Asked) -> Floats:
    if asked.at is None:
        return timeliness(index, (), yearly(asked.text))
    return timeliness(index, asked_periods(asked.text, asked.at), yearly(untimed(asked.text, asked.at)))


def _best_of_day(index: TurnIndex, asked: Asked) -> Floats:
    """The best plain BM25 of the day on which each row was said, as a part of the best of all, shape (n,)."""
    days, count = index.derived("day numbers", partial(_numbered_days, index))
    best: Floats = np.zeros(count, np.float32)
    scores = _share(bm25(index, index_words(asked.text)))
    matching = np.flatnonzero(scores)
    np.maximum.at(best, days[matching], scores[matching])
    return best[days]


def _numbered_days(index: TurnIndex) -> tuple[Ints, int]:
    """The days on which rows were said, numbered from 0, shape (n,), and how many there are."""
    days, numbers = np.unique(index.said_at // DAY, return_inverse=True)
    return numbers, len(days)


def _own(index: TurnIndex, asked: Asked) -> Floats:
    """1 for what users said and -1 for what assistants said, or the other way round, shape (n,)."""
    said_by = index.derived("roles", partial(_roles, index))
    return -said_by if asks_assistant(asked.text) else said_by


def _roles(index: TurnIndex) -> Floats:
    is_user, is_assistant = index.marks & Mark.BY_USER != 0, index.marks & Mark.BY_ASSISTANT != 0
    return np.asarray(is_user, np.float32) - np.asarray(is_assistant, np.float32)


def _priors(index: TurnIndex, weights: Weights) -> dict[str, Floats]:
    """What makes a passage worth telling whatever the question is."""
    return index.derived(f"priors {weights}", partial(_weighed, index, weights))


def _weighed(index: TurnIndex, weights: Weights) -> dict[str, Floats]:
    held = _conditions(index)
    return {name: condition * np.float32(getattr(weights, name)) for name, condition in held.items()}


def _conditions(index: TurnIndex) -> dict[str, Flags | Floats]:
    before = index.around.before[:-1]
    return {
        "asks": index.marks & Mark.ENDS_ASKING != 0,
        "opens": before == len(index),
        "first": index.beginning,
        "length": np.log(np.maximum(index.lengths, 1) / max(index.mean_length, 1)),
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
