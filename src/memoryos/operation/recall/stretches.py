"""Stretches: the parts of a turn that stand in a text, which grows part by part.

A further part is found, and joined to its neighbours, without reading the others again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from memoryos.operation.recall.hit import INK, Span

FAR = 1000  # characters of white space that separate two parts


@dataclass(frozen=True, slots=True)
class Stretches:
    """Spans of some words: in order, without overlap; between any two are other words, or many blanks."""

    words: str
    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, words: str, spans: Iterable[Span]) -> Stretches:
        """These spans; those separated only by a few blanks are merged."""
        ordered = sorted(spans)
        return reduce(Stretches.plus, ordered[1:], cls(words, tuple(ordered[:1])))

    def plus(self, span: Span) -> Stretches:
        """The same with one more span."""
        first = bisect_left(self.spans, span[0], key=lambda one: one[1])
        last = bisect_right(self.spans, span[1], key=lambda one: one[0])
        if first and self._is_joint(self.spans[first - 1][1], span[0]):
            first -= 1
        if last < len(self.spans) and self._is_joint(span[1], self.spans[last][0]):
            last += 1
        start = min(span[0], *(one[0] for one in self.spans[first:last]), span[0])
        end = max(span[1], *(one[1] for one in self.spans[first:last]), span[1])
        return Stretches(self.words, (*self.spans[:first], (start, end), *self.spans[last:]))

    def missing(self, span: Span) -> Iterator[Span]:
        """What the span has and these have not, without blanks alone."""
        start, end = span
        first = bisect_right(self.spans, start, key=lambda one: one[1])
        while start < end:
            held = self.spans[first] if first < len(self.spans) else (end, end)
            if start < held[0] and not self._is_blank(start, min(held[0], end)):
                yield start, min(held[0], end)
            start, first = max(start, held[1]), first + 1

    @property
    def gaps(self) -> int:
        """The places where words are left out: before the first span, between two, and behind the last."""
        if not self.spans:
            return 0
        before, behind = self._is_blank(0, self.spans[0][0]), self._is_blank(self.spans[-1][1], len(self.words))
        return len(self.spans) - 1 + (not before) + (not behind)

    def near(self, span: Span, reach: int) -> str:
        """The words of a span that is among these, and so many characters of what stands beside it."""
        held = self.spans[bisect_right(self.spans, span[0], key=lambda one: one[0]) - 1]
        return self.words[max(held[0], span[0] - reach) : min(held[1], span[1] + reach)]

    def _is_joint(self, start: int, end: int) -> bool:
        return end - start < FAR and self._is_blank(start, end)

    def _is_blank(self, start: int, end: int) -> bool:
        return INK.search(self.words, start, end) is None
