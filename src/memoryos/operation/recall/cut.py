"""Cut: the stretch of a long text that has most to do with a question, at the bounds of sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache

from memoryos.language.sentences import sentence_bounds
from memoryos.language.words import index_words, stem
from memoryos.operation.recall.hit import Span

LEAST = 40  # tokens: a shorter stretch tells too little


def asked_words(question: str) -> frozenset[str]:
    """The stems that a sentence about the question has some of."""
    return frozenset(map(stem, index_words(question)))


def cut(text: str, asked: Collection[str], room: int, count_tokens: Callable[[str], int]) -> Span | None:
    """The best sentence with those around it, in at most so many tokens; None where not even a sentence fits."""
    found = _places(text)
    costs = [count_tokens(text[start:end]) for start, end in found]
    fitting = [number for number, cost in enumerate(costs) if cost <= room]
    if not fitting:
        return None
    worth = [len(_stems(text[start:end]).intersection(asked)) for start, end in found]
    first = max(fitting, key=lambda number: (worth[number], -number))
    last = first
    room -= costs[first]
    while True:
        sides = [side for side in (last + 1, first - 1) if 0 <= side < len(found) and costs[side] <= room]
        if not sides:
            return found[first][0], found[last][1]
        side = max(sides, key=lambda number: worth[number])
        first, last = min(first, side), max(last, side)
        room -= costs[side]


def share(text: str, asked: Collection[str]) -> float:
    """How much of what is asked the text mentions, from 0 to 1."""
    return len(_stems(text).intersection(asked)) / max(1, len(asked))


def _places(text: str) -> list[Span]:
    """Where the sentences stand, without the white space around them."""
    found = ((start, end, text[start:end]) for start, end in sentence_bounds(text))
    trimmed = ((start + len(one) - len(one.lstrip()), end - len(one) + len(one.rstrip())) for start, end, one in found)
    return [(start, end) for start, end in trimmed if start < end]


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, index_words(text)))


_stem = lru_cache(8192)(stem)
