"""Assertion: a part of a claim beside the clause of a turn that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

Span = tuple[int, int]
Stems = Callable[[str], Iterable[tuple[str, int]]]  # of a text: what its words are compared by, and where each ends


class Stance(StrEnum):
    """How a turn stands to a claim."""

    STATED = "stated"
    SUPPOSED = "supposed"  # or wished, or asked
    DENIED = "denied"  # or the claim denies what is stated
    OTHERS = "others"  # somebody else's words, or about somebody else


@dataclass(frozen=True, slots=True)
class Assertion:
    """A part of a claim, and the clause that has most of its words."""

    part: str  #: of the claim: one clause
    claim: str
    text: str  #: the turn
    sentence: Span
    clause: Span
    place: Span  #: the quoted words
    upto: int  #: where the last of the shared words ends
    shared: int  #: how many different words of the part are in the clause
    is_own: bool  #: whether the claim is about the speaker

    @classmethod
    def of(
        cls, part: str, claim: str, text: str, where: tuple[Span, Span], place: Span, is_own: bool, stems: Stems
    ) -> Assertion:
        """The part beside a clause of a sentence: of a word said twice, the quoted one counts, else the first."""
        clause, sentence = where
        wanted = {stem for stem, _ in stems(part)}
        ends: dict[str, int] = {}
        for stem, last in stems(text[slice(*clause)]):
            end = clause[0] + last
            held = ends.get(stem, 0)
            if stem in wanted and (not held or held <= place[0] < end <= place[1]):
                ends[stem] = end
        upto = max(ends.values(), default=min(place[1], clause[1]))
        return cls(part, claim, text, sentence, clause, place, upto, len(ends), is_own)

    @property
    def words(self) -> str:
        """The clause."""
        return self.text[slice(*self.clause)]

    @property
    def before(self) -> str:
        """The clause up to the last of the shared words."""
        return self.text[self.clause[0] : self.upto]

    @property
    def behind(self) -> str:
        """The rest of the sentence."""
        return self.text[self.upto : self.sentence[1]]

    @property
    def earlier(self) -> str:
        """The sentence before the clause."""
        return self.text[self.sentence[0] : self.clause[0]]

    @property
    def whole(self) -> str:
        """The sentence."""
        return self.text[slice(*self.sentence)]

    @property
    def quote(self) -> str:
        """The quoted words."""
        return self.text[slice(*self.place)]
