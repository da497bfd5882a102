"""Stance: how a turn stands to a claim that is said to rest on words of it.

The words may be there and the claim be wrong all the same: they are denied ("I do not like jazz"), somebody else's ("my
boss says 'I hate dogs'"), supposed, wished or asked. So what is read is the clause around the words: what denies or
supposes them before they come, whose words they are, and who they are about. A claim that says the same ("does not like
jazz", "her boss hates dogs", "wishes to live in Berlin") is right. English and Chinese are read; other languages are
not, and everything counts as stated there. Irony is seen where it shows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

from memoryos.cached_property import cached_property
from memoryos.language.quotation import visible
from memoryos.language.sentences import sentence_bounds
from memoryos.language.words import HAN
from memoryos.operation.consolidation.assertion import Assertion, Span, Stance
from memoryos.operation.consolidation.own_words import QuotedPiece, end_of_own, is_ironic, pieces_of_others
from memoryos.operation.consolidation.taken_back import is_taken_back
from memoryos.operation.consolidation.wording import WORD, wording
from memoryos.regex import regex

_PLACES = 8  # of words that are said again and again, so many are looked at

_SIGNS = 4  # characters behind a sentence that may show how it is meant

_BLANKS = regex(r"[^\S\n]+")
_BREAKS = regex(r"(?: ?\n)+ ?")
_ORDER = list(Stance)  # the first is what a claim needs


def stance(claim: str, quote: str, turn: Said) -> Stance:
    """How the turn stands to the claim, at the place of the quoted words where it stands best."""
    places = turn.places(quote)
    if not places:  # the words run over a sentence that was left out
        turn = Said(quote, turn.speaker)
        places = [(0, len(turn.text))]
    return min((turn.stance(claim, place) for place in places), key=_ORDER.index)


@dataclass(frozen=True)
class Said:
    """The words of a turn, and by what name their speaker goes."""

    raw: str
    speaker: str = ""

    @cached_property
    def text(self) -> str:
        """The words without what cannot be seen, every sign in its common form, and one blank for many."""
        common = unicodedata.normalize("NFKC", visible(self.raw)).replace("’", "'")
        return _BREAKS.sub("\n", _BLANKS.sub(" ", common))

    def places(self, quote: str) -> list[Span]:
        """Where the quoted words stand first, whatever became of their case, marks and spaces."""
        wanted = f" {wording(quote)} "
        found: list[Span] = []
        at = self._wording.find(wanted)
        while at >= 0 and len(found) < _PLACES:
            first = self._wording.count(" ", 0, at)
            last = first + wanted.count(" ") - 2
            found.append((self._words[first][0], self._words[last][1]))
            at = self._wording.find(wanted, at + 1)
        return found

    def stance(self, claim: str, place: Span) -> Stance:
        """How it stands to the claim at that place."""
        rules = _rules_for(self.text[slice(*place)])
        is_own = rules.is_of_speaker(claim, self.speaker)
        found = [
            [Assertion.of(part, claim, self.text, clause, place, is_own, rules.stems) for clause in self._near(place)]
            for part in rules.parts(claim)
        ]
        told = [of_part for of_part in found if any(one.shared for one in of_part)]
        return max((self._best(of_part) for of_part in told or found), key=_ORDER.index, default=Stance.STATED)

    def _best(self, found: Sequence[Assertion]) -> Stance:
        """How the clauses that have most of a part's words stand to it: one is enough."""
        most = max((one.shared for one in found), default=0)
        return min((self._read(one) for one in found if one.shared == most), key=_ORDER.index, default=Stance.STATED)

    def _read(self, one: Assertion) -> Stance:
        """What is found inside the sentence, unless the words are somebody else's, or not meant at all."""
        rules = _rules_for(one.words)
        for piece in self._others:
            if piece.start < one.upto <= piece.end and not rules.is_of_source(one, piece):
                return Stance.OTHERS
        if one.is_own and self._is_not_meant(one):
            is_opposite = rules.is_denial(one.part) and not rules.is_denial(one.words)
            return Stance.STATED if is_opposite else Stance.DENIED
        return Stance.SUPPOSED if one.upto > self._end_of_own and one.is_own else rules.read(one)

    def _is_not_meant(self, one: Assertion) -> bool:
        """Whether the sentence says that it is irony, or it is taken back at once."""
        start, end = one.sentence
        return is_taken_back(self.text, one.upto, end) or is_ironic(self.text[start : end + _SIGNS])

    def _near(self, place: Span) -> list[tuple[Span, Span]]:
        """The clauses that the place touches, each with its sentence."""
        return [
            (clause, sentence)
            for sentence, clauses in self._sentences
            for clause in clauses
            if sentence[0] < place[1] and place[0] < sentence[1] and clause[0] < place[1] and place[0] < clause[1]
        ]

    @cached_property
    def _sentences(self) -> Sequence[tuple[Span, Sequence[Span]]]:
        return [(bounds, list(_clauses(self.text, bounds))) for bounds in sentence_bounds(self.text)]

    @cached_property
    def _words(self) -> list[Span]:
        return [word.span() for word in WORD.finditer(self.text)]

    @cached_property
    def _wording(self) -> str:
        return f" {' '.join(word.group().casefold() for word in WORD.finditer(self.text))} "

    @cached_property
    def _others(self) -> list[QuotedPiece]:
        pieces = pieces_of_others(self.text)
        return [one for one in pieces if one.is_marked or not self._is_label_of_speaker(one.before)]

    def _is_label_of_speaker(self, lead: str) -> bool:
        """Whether what leads to a line of a pasted talk is the speaker's name."""
        return bool(self.speaker) and lead.strip(" :：").casefold() == self.speaker.casefold()

    @cached_property
    def _end_of_own(self) -> int:
        return end_of_own(self.text)


def _clauses(text: str, bounds: Span) -> Iterator[Span]:
    sentence = text[slice(*bounds)]
    rules = _rules_for(sentence)
    cuts = [bounds[0], *(bounds[0] + cut for cut in rules.cuts(sentence)), bounds[1]]
    return ((start, end) for start, end in pairwise(cuts) if start < end)


def _rules_for(words: str) -> ModuleType:
    """Those of the language of the words, loaded when they are first needed: that takes a tenth of a second."""
    if HAN.search(words):
        from memoryos.operation.consolidation import chinese_stance

        return chinese_stance
    from memoryos.operation.consolidation import english_stance

    return english_stance
