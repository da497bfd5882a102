"""Asked words: the words of a question that tell something, and how much of them a text contains.

Times and the names of speakers are left out. A word weighs its idf, as a part of the highest there is; in a small
memory, whose counts say little, rather how rare it is in all texts. A word near in meaning counts by its closeness, and
a Chinese word by its characters, by half at most.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import mul

import numpy as np

from memoryos.language.bm25 import idf
from memoryos.language.words import HAN, stem
from memoryos.models.telling import telling
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.said_text import SaidText
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.index.vocabulary import SHARE, Kin, shares
from memoryos.operation.recall.fusion import Asked, kin_of, timeless
from memoryos.operation.recall.speakers import name_stems

FEW = 100  # passages of a memory whose own counts weigh a word as much as how rare it is in all texts
BY_CHARACTERS = 0.5  # the weight of a Chinese word if only its characters occur, not the word

# Words about a talk are seldom in it, and nobody answers with a word for "which".
_OF_TALKS = frozenset(
    """
    discuss mention talk chat convers speak say tell ask 讨论 討論 提到 聊 聊天 谈 談 谈到 談到
    哪个 哪個 哪些 哪种 哪種
    """.split()
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question."""

    stem: str
    weight: float  #: how much it tells, from 0 to 1
    near: Mapping[str, float]  #: stems near in meaning, and how near
    characters: frozenset[str]  #: of a Chinese word of several
    unsaid: float  #: 1 when nobody said it

    def share_of_letters(self, text: str) -> float:
        """How well a text contains a word that is not in ASCII, from 0 to 1; words near to it are not looked for."""
        if not self.stem.isascii() and self.stem in text:
            return 1.0
        return BY_CHARACTERS * _part(self.characters, text) if self.characters else 0.0


class WordPlaces:
    """The words that a stem stands for, by their places, and how well; found out for the stems that texts have."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._shares = [{**word.near, word.stem: 1.0} for word in words]
        self._found: dict[str, Sequence[tuple[int, float]]] = {}  # no more than the stems of the question

    @property
    def stems(self) -> frozenset[str]:
        """The stems in ASCII."""
        return frozenset(filter(str.isascii, chain.from_iterable(self._shares)))

    def of(self, form: str) -> Sequence[tuple[int, float]]:
        """The words for a stem, each with how well it stands for it."""
        if form in self._found:
            return self._found[form]
        found = [(place, one[form]) for place, one in enumerate(self._shares) if form in one]
        if found:
            self._found[form] = found
        return found


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The words of a question, each stem once."""

    words: Sequence[Word]
    weights: Sequence[float]  #: of each
    weight: float  #: of all of them
    unsaid: float  #: of those that nobody said
    passages: int  #: in the memory
    stems: frozenset[str]  #: in ASCII, of the words and of those near
    places: WordPlaces  #: for each stem, the words that it stands for, and how well
    spelt: Sequence[int]  #: the words that stems in ASCII cannot tell

    @classmethod
    def of(cls, resident: Resident, asked: Asked) -> AskedWords:
        """The words of a question to this memory."""
        with resident.lock:
            passages = resident.turns.total
            return cls.from_words(list(_words(resident, asked, passages)), passages)

    @classmethod
    def from_words(cls, found: Sequence[Word], passages: int) -> AskedWords:
        """The words, and the stems by which they are found."""
        places = WordPlaces(found)
        spelt = [place for place, word in enumerate(found) if word.characters or not word.stem.isascii()]
        weights = [word.weight for word in found]
        unsaid = sum(word.weight * word.unsaid for word in found)
        return cls(found, weights, sum(weights), unsaid, passages, places.stems, places, spelt)

    @property
    def are_said(self) -> bool:
        """Whether most of the words occur in the memory."""
        return 2 * sum(word.unsaid < 1 for word in self.words) >= len(self.words)

    def covered(self, said: SaidText) -> float:
        """The weight of the words that a text contains."""
        found = self.stems & said.stems
        if not found and not self.spelt:
            return 0.0
        shares = [0.0] * len(self.words)
        for form in found:
            for place, share in self.places.of(form):
                shares[place] = max(shares[place], share)
        for place in self.spelt:
            shares[place] = max(shares[place], self.words[place].share_of_letters(said.folded))
        return float(sum(map(mul, self.weights, shares)))


def _words(resident: Resident, asked: Asked, passages: int) -> Iterator[Word]:
    index = resident.turns
    found = timeless(asked, asked.all_words)
    kin = kin_of(resident, found)
    whole = "".join(word for word in found if len(word) > 1)
    characters = frozenset(word for word in found if HAN.fullmatch(word) and word in whole)
    forms = {stem(word): word for word in found if word not in characters}
    known = index.frequencies([*forms, *characters])
    said = {form for form, times in known.items() if times}
    rarest = idf(0, passages)
    near = _near(index, kin)
    for form in forms.keys() - name_stems(index) - _OF_TALKS:
        parts = characters.intersection(forms[form])
        unsaid = 0.0 if form in said else 1 - BY_CHARACTERS * _part(parts, said)
        rare = float(idf(known.get(form, 0), passages) / rarest)
        weight = (passages * rare + FEW * telling(forms[form])) / (passages + FEW)
        yield Word(form, weight, near.get(forms[form], {}), parts, unsaid)


def _near(index: TurnIndex, kin: Mapping[str, Kin]) -> dict[str, Mapping[str, float]]:
    """For each word, stems with a meaning close to it, and how close."""
    stems = index.postings.stems
    near = shares(list(chain.from_iterable(one.closeness for one in kin.values()))) / np.float32(SHARE)
    left = iter(near.tolist())
    return {
        word: dict(zip([stems[term] for term in one.terms], islice(left, len(one.terms)), strict=True))
        for word, one in kin.items()
    }


def _part(characters: frozenset[str], there: Container[str]) -> float:
    return sum(character in there for character in characters) / len(characters) if characters else 0.0
