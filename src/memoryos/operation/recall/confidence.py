"""Confidence: how likely it is that what was found bears on the question at all.

Three signals, of the question's words without times and the names of speakers, each word weighed by its idf as a part
of the highest there is:

- covered: how much of them the best single text has, from 0 to 1; a word near in meaning counts by its closeness, and
  a Chinese word by its characters, by half at most. Of a long question, as much as `ENOUGH` rare words is all;
- unsaid: how much of them nobody ever said, from 0 to 1; less in a small memory, where that tells little;
- elsewhere: when the question names one of two people, how much more of them a text of the other one has: it may be
  about the wrong person.

The first two are taken as if the question had `DOUBT` more words, half of them covered and none unsaid. They are
weighed by a logistic regression, and the third so that no question is refused for it by default;
`docs/explanation/retrieval.md` says on what and how good it is. What words cannot tell is not held unlikely: a question
of fewer than `FEWEST` words ("Hello!"), one that asks for advice, a guess, a summary or a character, and one that is
not in the language of most of what was found, or in neither English nor Chinese. One text in another script than
the question is not judged, either, unless its letters are Latin. If one of the best texts is in another language, the
question is not refused by default. Of a text that asks several questions, or says something beside one, the question
that is most likely answered counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import exp

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube
from memoryos.kinds import Subject
from memoryos.language.clauses import questions
from memoryos.language.foreign import language_of
from memoryos.language.marks import asks_judgement
from memoryos.language.tongue import Tongue, is_foreign, is_other, tongue
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.said_text import LONGEST, SaidText, SaidTexts
from memoryos.operation.recall.asked_words import AskedWords
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.speakers import asked_about

TEXTS = 8  # passages that are looked at, the best ones; where one of two people is named, of each of them
FEWEST = 2  # words
ENOUGH = 4.0  # words, each as rare as can be
DOUBT = 2.0  # the same
DOUBTFUL = 0.05  # not refused by default: the other person said the words, or the answer may be in another language
UNJUDGED = 0.5  # the confidence of a question that words cannot judge

SMALL = 25  # passages of a memory at which unsaid words count half; a few of a document, for it is about one thing
SMALL_CHINESE = 150  # the same: Chinese has more words for one thing, and here no words near in meaning

BIAS, COVERED, UNSAID, ELSEWHERE = -5.6, 17.0, -11.4, -15.0


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals for whether a question can be answered, each from 0 to 1."""

    covered: float
    unsaid: float
    elsewhere: float = 0.0

    @classmethod
    def of(cls, weight: float, unsaid: float, covered: float, elsewhere: float) -> Signals:
        """The signals of a question: the weight of its words, of those unsaid, and of those in the best text."""
        most = min(weight, ENOUGH) + DOUBT
        return cls((min(covered, ENOUGH) + DOUBT / 2) / most, unsaid / (weight + DOUBT), elsewhere)

    @property
    def confidence(self) -> float:
        """The probability that the memory holds an answer."""
        logit = BIAS + COVERED * self.covered + UNSAID * self.unsaid
        by_words, likely = _probability(logit), _probability(logit + ELSEWHERE * self.elsewhere)
        return max(likely, min(by_words, DOUBTFUL))


@dataclass(frozen=True)
class Examined:
    """A question and the turns that were found for it; what both are judged by is found out once."""

    resident: Resident  #: holds the turns that were ranked
    persona: Resident  #: holds the facts about the user
    asked: Asked
    turns: Sequence[TurnHit]
    said: SaidTexts = field(default_factory=SaidTexts)  #: the texts that were looked at, prepared once
    weights: dict[str, Sequence[float]] = field(default_factory=dict)  #: `covered_by`, by what was looked at

    @cached_property
    def language(self) -> Tongue | None:
        """The language of the question, or None if it is unclear."""
        return tongue(self.asked.text)

    @property
    def is_unjudged(self) -> bool:
        """Whether the question is surely in neither English nor Chinese."""
        return self.language is None and language_of(self.asked.text) != "en"

    @cached_property
    def asks_judgement(self) -> bool:
        """Whether advice, a guess, a summary or a character is asked for, which words cannot tell."""
        return asks_judgement(self.asked.text)

    @cached_property
    def words(self) -> AskedWords:
        """The words of the question."""
        return AskedWords.of(self.resident, self.asked)

    @cached_property
    def texts(self) -> list[str]:
        """The best passages."""
        return _texts(self.turns)

    @cached_property
    def is_told(self) -> bool:
        """Whether the best passages may be in the language of the question."""
        return self.is_in(self.texts)

    @cached_property
    def is_mixed(self) -> bool:
        """Whether one of the best passages is in another language: it may answer in other words."""
        return self.language is not None and any(is_other(text[:LONGEST], self.language) for text in self.texts)

    @cached_property
    def size(self) -> float:
        """The share of unsaid words that counts, from 0 to 1."""
        is_chinese = self.language is not None and self.language.is_chinese
        with self.resident.lock:
            said = self.resident.turns.said
        return said / (said + (SMALL_CHINESE if is_chinese else SMALL))

    @cached_property
    def elsewhere(self) -> float:
        """How much more of the question's words the other of two people said, from 0 to 1."""
        with self.resident.lock:
            named = asked_about(self.resident.turns, self.asked.text)
        if named is None or not self.words.words:
            return 0.0
        own = _texts(turn for turn in self.turns if turn.turn.speaker == named)
        others = _texts(turn for turn in self.turns if turn.turn.speaker != named)
        more = self.most_covered(others) - self.most_covered(own)
        return max(0.0, more) / self.words.weight

    def most_covered(self, texts: Iterable[str]) -> float:
        """The weight of the question's words in the text that has most of them."""
        return max((self.words.covered(self.said[text]) for text in texts), default=0.0)

    @cached_property
    def ways(self) -> Sequence[AskedWords]:
        """The words of the whole text, and of each question in it that has words; one answer is enough."""
        parts = (replace(self.asked, text=text, clauses=()) for text in questions(self.asked.text))
        found = (AskedWords.of(self.resident, part) for part in parts)
        return self.words, *(words for words in found if words.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all `ways`."""
        return frozenset().union(*(words.stems for words in self.ways))

    @cached_property
    def is_spelt(self) -> bool:
        """Whether one of the `ways` has words that stems cannot tell."""
        return any(words.spelt for words in self.ways)

    @cached_property
    def nothing(self) -> Sequence[float]:
        """What a text without any of the words covers of each of the `ways`."""
        return (0.0,) * len(self.ways)

    def said_by(self, memory: TurnHit | MemCube) -> SaidText:
        """The text of a passage, a fact or the like, prepared."""
        if isinstance(memory, TurnHit):
            return self.said[memory.titled]
        is_elsewhere = self.persona is not self.resident and memory.subject is Subject.USER
        return (self.persona if is_elsewhere else self.resident).said(memory)

    def timely(self, memory: TurnHit | MemCube) -> float:
        """How well a memory was said at the time asked for, or names it, from 0 to 1; 0 if none is asked for."""
        time = self.asked.time
        if not time:
            return 0.0
        cube, said_at = (memory.cube, memory.at) if isinstance(memory, TurnHit) else (memory, None)
        return time.matches(self.said_by(memory).text, said_at or cube.descriptive.event_at)

    def likely(self, covered: Sequence[float]) -> float:
        """The probability that a text bears on one of the `ways`, by the weight of the words of each that it covers."""
        return max(
            Signals.of(words.weight, self.size * words.unsaid, most, self.elsewhere).confidence
            for words, most in zip(self.ways, covered, strict=True)
        )

    def covered(self, texts: Iterable[SaidText]) -> Sequence[float]:
        """For each of the `ways`, the weight of its words in the text that has most of them."""
        return tuple(map(max, zip(*map(self.covered_by, texts), strict=True))) or self.nothing

    def covered_by(self, said: SaidText) -> Sequence[float]:
        """The same for one text."""
        found = self.weights.get(said.text)
        if found is None:
            may_cover = self.is_spelt or not self.stems.isdisjoint(said.stems)
            found = tuple([words.covered(said) for words in self.ways]) if may_cover else self.nothing
            self.weights[said.text] = found
        return found

    def is_in(self, texts: Sequence[str]) -> bool:
        """Whether half of the texts, or all of them read as one, may be in the language of the question."""
        if self.language is None:
            return False
        own = (text for text in texts if self.language.may_be(tongue(text[:LONGEST])))
        needed = (len(texts) + 1) // 2
        return len(list(islice(own, needed))) == needed or self.language.may_be(tongue(" ".join(texts)[:LONGEST]))


def confidence(examined: Examined, known: Sequence[MemCube]) -> float:
    """The probability that the turns that were found, or one of the cubes that are known beside them, are an answer."""
    found = examined.texts
    if not found and not known:
        return 0.0
    is_told = examined.is_told if found else examined.is_in([examined.said_by(cube).text for cube in known])
    if not is_told or examined.asks_judgement:
        return UNJUDGED
    likely = examined.likely(examined.covered(examined.said[text] for text in found))
    if likely < UNJUDGED:  # otherwise they are not needed
        likely = max(likely, examined.likely(examined.covered(map(examined.said_by, known))))
    if likely < DOUBTFUL and examined.is_mixed:
        likely = DOUBTFUL
    return likely if len(examined.words.words) >= FEWEST else max(likely, UNJUDGED)


@dataclass(frozen=True, slots=True)
class WordJudge:
    """Estimates for each text how likely it bears on a question."""

    examined: Examined
    is_blind: bool  #: whether words say nothing
    is_alone: bool = False  #: whether the question has a single word
    least: float = 0.0  #: more than 0 where a memory without the question's words may answer in others
    known: dict[Sequence[float], float] = field(default_factory=dict)  #: the relevance by the weights of covered words

    @classmethod
    def of(cls, examined: Examined) -> WordJudge:
        """The judge for a search result."""
        asked_words = examined.words.words
        if examined.language is None:  # a few words without a sentence are in no language that could be told
            is_foreign = not examined.words.are_said and len(asked_words) >= FEWEST
        else:
            is_foreign = bool(examined.turns) and not examined.is_told
        is_blind = is_foreign or examined.asks_judgement or not asked_words
        least = UNJUDGED if examined.is_unjudged and examined.words.unsaid else 0.0
        return cls(examined, is_blind, len(asked_words) < FEWEST, least)

    def relevance(self, memory: TurnHit | MemCube) -> float:
        """The relevance of a memory, from 0 to 1."""
        examined = self.examined
        if self.is_blind:
            return UNJUDGED if examined.words.words else max(UNJUDGED, examined.timely(memory))
        said, language = examined.said_by(memory), examined.language
        if language and is_foreign(said.text, language):
            return UNJUDGED
        if self.is_alone:
            return max(self.least, self._of_word(examined.words.covered(said), memory))
        covered = examined.covered_by(said)
        found = self.known.get(covered)
        if found is None:
            found = self.known[covered] = max(self.least, examined.likely(covered))
        return found

    def _of_word(self, covered: float, memory: TurnHit | MemCube) -> float:
        """The relevance for a question with a single word: it occurs or not; a time asked for is a word more."""
        weight = self.examined.words.weight
        return max(covered / weight, (covered + self.examined.timely(memory)) / (weight + 1))


def _probability(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def _texts(turns: Iterable[TurnHit]) -> list[str]:
    return [turn.titled for turn in islice(turns, TEXTS)]
