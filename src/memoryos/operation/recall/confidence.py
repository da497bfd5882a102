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
the question is not judged, either, unless its letters are Latin.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import exp

from memoryos.language.bm25 import idf
from memoryos.language.marks import asks_judgement
from memoryos.language.tongue import Tongue, is_foreign, tongue
from memoryos.language.words import HAN, index_words, stem
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, SHARE, Kin
from memoryos.operation.recall.fusion import Asked, kin_of, timeless
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.speakers import asked_about, name_stems

TEXTS = 8  # passages that are looked at, the best ones; where one of two people is named, of each of them
LONGEST = 2_000  # characters of each
FEWEST = 2  # words
ENOUGH = 4.0  # words, each as rare as can be
DOUBT = 2.0  # the same
BY_CHARACTERS = 0.5  # the weight of a Chinese word if only its characters occur, not the word
DOUBTFUL = 0.05  # lowest confidence because the other person said the words: not refused by default
UNJUDGED = 0.5  # the confidence of a question that words cannot judge

SMALL = 25  # passages of a memory at which unsaid words count half
SMALL_CHINESE = 300  # the same: Chinese has more words for one thing, and here no words near in meaning

BIAS, COVERED, UNSAID, ELSEWHERE = -5.6, 17.0, -11.4, -15.0

_ASCII_WORD = re.compile(r"[a-z0-9_]+")
_DIGIT = re.compile(r"\d")

# Words about a talk are seldom in it, and nobody answers with a word for "which".
_OF_TALKS = frozenset(
    """
    discuss mention talk chat convers speak say tell ask 讨论 討論 提到 聊 聊天 谈 談 谈到 談到
    哪个 哪個 哪些 哪种 哪種
    """.split()
)


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals for whether a question can be answered, each from 0 to 1."""

    covered: float
    unsaid: float
    elsewhere: float = 0.0

    @classmethod
    def of(cls, asked: Sequence[Word], size: float, covered: float, elsewhere: float) -> Signals:
        """The signals of a question; `covered` is the weight of its words in the best text, the others as below."""
        total = sum(word.weight for word in asked)
        unsaid = size * sum(word.weight * word.unsaid for word in asked)
        most = min(total, ENOUGH) + DOUBT
        return cls((min(covered, ENOUGH) + DOUBT / 2) / most, unsaid / (total + DOUBT), elsewhere)

    @property
    def confidence(self) -> float:
        """The probability that the memory holds an answer."""
        logit = BIAS + COVERED * self.covered + UNSAID * self.unsaid
        by_words, likely = _probability(logit), _probability(logit + ELSEWHERE * self.elsewhere)
        return max(likely, min(by_words, DOUBTFUL))


@dataclass(frozen=True, slots=True)
class SaidText:
    """A text, prepared for word lookups."""

    text: str  #: in lower case
    stems: frozenset[str]  #: of its words in ASCII

    @classmethod
    def of(cls, text: str) -> SaidText:
        """Prepare the text without segmenting Chinese, which would take longer than the search."""
        low = text.lower()
        dated = text.isascii() and _DIGIT.search(text) is not None
        return cls(low, frozenset(map(stem, index_words(text) if dated else _ASCII_WORD.findall(low))))

    def has(self, form: str) -> bool:
        """Whether the text has the stem of a word."""
        return form in self.stems if form.isascii() else form in self.text

    def may_have(self, forms: frozenset[str] | None) -> bool:
        """Whether the text may have one of these stems; None: a set cannot tell."""
        return forms is None or not forms.isdisjoint(self.stems)


class SaidTexts(dict[str, SaidText]):
    """The texts of one search, each prepared when it is first looked up."""

    def __missing__(self, text: str) -> SaidText:
        """Prepare a text."""
        self[text] = prepared = SaidText.of(text)
        return prepared


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question."""

    stem: str
    weight: float  #: its idf, as a part of the highest there is
    near: Mapping[str, float]  #: stems near in meaning, and how near
    characters: frozenset[str]  #: of a Chinese word of several
    unsaid: float  #: 1 when nobody said it

    def within(self, said: SaidText) -> float:
        """How well a text contains the word, from 0 to 1."""
        if said.has(self.stem):
            return 1.0
        near = max((self.near[other] for other in said.stems & self.near.keys()), default=0.0)
        return max(near, BY_CHARACTERS * _part(self.characters, said.text)) if self.characters else near


@dataclass(frozen=True)
class Examined:
    """A question and the turns that were found for it; what both are judged by is found out once."""

    resident: Resident  #: holds the turns that were ranked
    asked: Asked
    turns: Sequence[TurnHit]
    said: SaidTexts = field(default_factory=SaidTexts)  #: the texts that were looked at, prepared once

    @cached_property
    def language(self) -> Tongue | None:
        """The language of the question, or None if it is unclear."""
        return tongue(self.asked.text)

    @cached_property
    def words(self) -> tuple[list[Word], int]:
        """The words of the question, and the number of passages in the memory."""
        return words_of(self.resident, self.asked)

    @cached_property
    def texts(self) -> list[str]:
        """The beginnings of the best passages."""
        return _texts(self.turns)

    @cached_property
    def size(self) -> float:
        """The share of unsaid words that counts, from 0 to 1."""
        is_chinese = self.language is not None and self.language.is_chinese
        return self.words[1] / (self.words[1] + (SMALL_CHINESE if is_chinese else SMALL))

    @cached_property
    def elsewhere(self) -> float:
        """How much more of the question's words the other of two people said, from 0 to 1."""
        with self.resident.lock:
            named = asked_about(self.resident.turns, self.asked.text)
        if named is None or not self.words[0]:
            return 0.0
        own = _texts(turn for turn in self.turns if turn.turn.speaker == named)
        others = _texts(turn for turn in self.turns if turn.turn.speaker != named)
        more = self.most_covered(others) - self.most_covered(own)
        return max(0.0, more) / sum(word.weight for word in self.words[0])

    def most_covered(self, texts: Iterable[str]) -> float:
        """The weight of the question's words in the text that has most of them."""
        return _most_covered(self.words[0], map(self.said.__getitem__, texts))

    def is_in(self, texts: Sequence[str]) -> bool:
        """Whether half of the texts, or all of them read as one, may be in the language of the question."""
        if self.language is None:
            return False
        own = sum(self.language.may_be(tongue(text)) for text in texts)
        return 2 * own >= len(texts) or self.language.may_be(tongue(" ".join(texts)[:LONGEST]))


def confidence(examined: Examined, known: Iterable[str]) -> float:
    """The probability that the turns that were found, or one of the texts that are known beside them, are an answer."""
    found, beside = examined.texts, [text[:LONGEST] for text in known]
    if not found and not beside:
        return 0.0
    if not examined.is_in(found or beside) or asks_judgement(examined.asked.text):
        return UNJUDGED
    asked_words, _ = examined.words
    likely = _likely(examined, found)
    if likely < UNJUDGED:  # otherwise they are not needed
        likely = max(likely, _likely(examined, beside))
    return likely if len(asked_words) >= FEWEST else max(likely, UNJUDGED)


def _likely(examined: Examined, texts: Sequence[str]) -> float:
    covered = examined.most_covered(texts)
    return Signals.of(examined.words[0], examined.size, covered, examined.elsewhere).confidence


@dataclass(frozen=True, slots=True)
class WordJudge:
    """Estimates for each text how likely it bears on a question."""

    words: Sequence[Word]
    size: float  #: the share of unsaid words that counts, from 0 to 1
    elsewhere: float  #: as of Signals
    is_blind: bool  #: whether words say nothing
    forms: frozenset[str] | None  #: stems of the words and of those near; None when some are not in ASCII
    language: Tongue | None  #: of the question
    said: SaidTexts  #: the texts of the search, prepared

    @classmethod
    def of(cls, examined: Examined) -> WordJudge:
        """The judge for a search result."""
        asked_words, _ = examined.words
        if examined.language is None:
            is_foreign = not _are_said(asked_words)
        else:
            is_foreign = bool(examined.turns) and not examined.is_in(examined.texts)
        is_blind = is_foreign or asks_judgement(examined.asked.text) or not asked_words
        size, elsewhere, language = examined.size, examined.elsewhere, examined.language
        return cls(asked_words, size, elsewhere, is_blind, _forms(asked_words), language, examined.said)

    def relevance(self, texts: Iterable[str]) -> float:
        """The relevance of the best of some texts of one memory, from 0 to 1."""
        heard = [text[:LONGEST] for text in texts]
        if self.is_blind or any(self.language and is_foreign(text, self.language) for text in heard):
            return UNJUDGED
        said = (one for one in map(self.said.__getitem__, heard) if one.may_have(self.forms))
        covered = _most_covered(self.words, said)
        if len(self.words) < FEWEST:  # a single word occurs or not
            return covered / self.words[0].weight
        return Signals.of(self.words, self.size, covered, self.elsewhere).confidence


def _are_said(asked_words: Sequence[Word]) -> bool:
    """Whether most of the words occur: a few words without a sentence are in no language that could be told."""
    return 2 * sum(word.unsaid < 1 for word in asked_words) >= len(asked_words) or len(asked_words) < FEWEST


def words_of(resident: Resident, asked: Asked) -> tuple[list[Word], int]:
    """The words of the question, and the number of passages in the memory."""
    with resident.lock:
        index = resident.turns
        passages = index.total
        return list(_words(resident, asked, passages)), passages


def _probability(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def _texts(turns: Iterable[TurnHit]) -> list[str]:
    return [turn.titled[:LONGEST] for turn in islice(turns, TEXTS)]


def _forms(asked_words: Sequence[Word]) -> frozenset[str] | None:
    forms = frozenset().union(*({word.stem, *word.near} for word in asked_words))
    return forms if all(map(str.isascii, forms)) else None


def _most_covered(asked_words: Sequence[Word], said: Iterable[SaidText]) -> float:
    """The weight of the question's words in the text that has most of them."""
    return max((_covered(asked_words, one) for one in said), default=0.0)


def _covered(asked_words: Sequence[Word], said: SaidText) -> float:
    return sum(word.weight * word.within(said) for word in asked_words)


def _words(resident: Resident, asked: Asked, passages: int) -> Iterator[Word]:
    """The words of the question, each stem once, without times and the names of speakers."""
    index = resident.turns
    found = timeless(asked, list(dict.fromkeys(index_words(asked.text))))
    kin = kin_of(resident, found)
    whole = "".join(word for word in found if len(word) > 1)
    characters = frozenset(word for word in found if HAN.fullmatch(word) and word in whole)
    forms = {stem(word): word for word in found if word not in characters}
    known = index.frequencies([*forms, *characters])
    said = {form for form, times in known.items() if times}
    for form in forms.keys() - name_stems(index) - _OF_TALKS:
        parts = characters.intersection(forms[form])
        unsaid = 0.0 if form in said else 1 - BY_CHARACTERS * _part(parts, said)
        weight = float(idf(known.get(form, 0), passages) / idf(0, passages))
        yield Word(form, weight, _near(index, kin.get(forms[form], NO_KIN)), parts, unsaid)


def _near(index: TurnIndex, kin: Kin) -> dict[str, float]:
    """Stems with a meaning close to a word, and how close."""
    found = zip(kin.terms.tolist(), kin.shares.tolist(), strict=True)
    return {index.postings.stems[term]: share / SHARE for term, share in found}


def _part(characters: frozenset[str], there: Container[str]) -> float:
    return sum(character in there for character in characters) / max(len(characters), 1)
