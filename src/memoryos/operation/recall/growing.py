"""Growing: a turn of which a text takes one stretch after another.

Counting the whole line again for each stretch would take time in proportion to the square of its length. So what a
stretch adds is counted for itself, and the whole line once, when the text is laid out. Until then the count may be
wrong by the tokens of words and marks that a stretch cuts in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memoryos.language.quotation import quotation
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import LEFT_OUT, Span
from memoryos.operation.recall.line import Line, as_compared
from memoryos.operation.recall.stretches import Stretches

CountTokens = Callable[[str], int]  # the count of two lines must be the sum of both

_REACH = 2  # lengths of a quote, around a stretch, in which it may stand


@dataclass(frozen=True, slots=True)
class Addition:
    """What a turn gets by one more stretch."""

    span: Span
    stretches: Stretches  #: those of the turn with this one
    told: Sequence[str]  #: the words that are new
    gaps: int  #: the new places where words are left out; below zero when one is closed

    def price(self, count_tokens: CountTokens) -> int:
        """The tokens that it adds."""
        return sum(map(count_tokens, map(quotation, self.told))) + self.gaps * count_tokens(LEFT_OUT)

    def tells(self, quote: str) -> bool:
        """Whether a quote stands in the stretch, or across one of its ends."""
        return quote in as_compared(self.stretches.near(self.span, _REACH * len(quote)))


@dataclass
class Growing:
    """A turn in a text, with what was added to it since it was counted as a whole."""

    line: Line  #: as it was counted
    stretches: Stretches
    added: list[Span] = field(default_factory=list)

    @classmethod
    def of(cls, line: Line) -> Growing:
        """The line of a turn, before anything is added."""
        words = "" if line.turn is None else turns_of(line.cube)[line.turn].words
        return cls(line, Stretches(words, line.spans))

    def with_more(self, span: Span) -> Addition | None:
        """What one more stretch would add; None if it is there."""
        told = [self.stretches.words[start:end] for start, end in self.stretches.missing(span)]
        if not told:
            return None
        more = self.stretches.plus(span)
        return Addition(span, more, told, more.gaps - self.stretches.gaps)

    def add(self, addition: Addition) -> None:
        """Take a stretch."""
        self.stretches = addition.stretches
        self.added.append(addition.span)

    def drop(self) -> bool:
        """Give up the latest stretch; return False if there is none."""
        if not self.added:
            return False
        self.added.pop()
        self.stretches = Stretches.of(self.stretches.words, [*self.line.spans, *self.added])
        return True

    def whole(self) -> Line:
        """The line with all its stretches."""
        return self.line.with_spans(self.stretches.spans)
