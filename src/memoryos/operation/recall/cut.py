"""Cut: the part of a long text that is most relevant to a question.

It is cut between sentences. If the most relevant sentence does not fit, it is cut at commas and similar marks, then
between words, then between characters.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from memoryos.language.sentences import sentence_bounds
from memoryos.language.words import index_words, stem
from memoryos.operation.recall.hit import Span
from memoryos.operation.recall.stretches import FAR
from memoryos.regex import regex
from memoryos.text_cache import short_text_cache, text_cache

LEAST = 40  # tokens: less says too little

CountTokens = Callable[[str], int]

_CLAUSE = regex(r"[,;:،؛؟۔](?=\s)|[，、；：।॥။។።]|[\u2013\u2014](?=\s)")  # marks that end a clause, of many scripts
_WORD = regex(r"\S+")
_SLICE = 12  # characters in a group, in a text without blanks
_JOINER = "\u200d"


def asked_words(question: str) -> frozenset[str]:
    """The stems of the question's words, some of which occur in a sentence about it."""
    return frozenset(map(stem, index_words(question)))


def cut(text: str, asked: Collection[str], room: int, count_tokens: CountTokens) -> Span | None:
    """The best part and its neighbours, in at most so many tokens; None if not even a character fits."""
    return _cut(text, asked, room, count_tokens, 0)


def share(text: str, asked: Collection[str]) -> float:
    """The share of the question's words that the text has, from 0 to 1."""
    return len(_stems(text).intersection(asked)) / max(1, len(asked))


def _cut(text: str, asked: Collection[str], room: int, count_tokens: CountTokens, level: int) -> Span | None:
    """Cut at the parts of one level: sentences, clauses, words or characters."""
    places = _trimmed(text, _LEVELS[level](text))
    if not places:
        return None
    costs = [count_tokens(text[start:end]) for start, end in places]
    told = [_stems(text[start:end]).intersection(asked) for start, end in places]
    best = max(range(len(places)), key=lambda number: (len(told[number]), costs[number] <= room, -number))
    if costs[best] > room:
        if level + 1 == len(_LEVELS):
            return None
        start, end = places[best]
        found = _cut(text[start:end], asked, room, count_tokens, level + 1)
        return found and (start + found[0], start + found[1])
    group = (best, best) if level < _WORDS else _densest(costs, told, room)
    first, last = _grown(places, costs, told, room, group, near=level >= _WORDS)
    while last > first and count_tokens(text[places[first][0] : places[last][1]]) > room:
        last -= 1  # characters may cost more tokens together than apart
    return places[first][0], places[last][1]


def _densest(costs: Sequence[int], told: Sequence[Collection[str]], room: int) -> tuple[int, int]:
    """The first and last of the fewest parts that together score highest and fit."""
    found, most = (0, 0), (-1, 0)
    inside: Counter[str] = Counter()
    first = cost = 0
    for last, stems in enumerate(told):
        inside.update(stems)
        cost += costs[last]
        while first <= last and (cost > room or (first < last and all(inside[one] > 1 for one in told[first]))):
            inside.subtract(told[first])
            cost -= costs[first]
            first += 1
        here = sum(count > 0 for count in inside.values()), first - last
        if first <= last and here > most:
            found, most = (first, last), here
    return found


def _grown(
    places: Sequence[Span],
    costs: Sequence[int],
    told: Sequence[Collection[str]],
    room: int,
    group: tuple[int, int],
    *,
    near: bool,
) -> tuple[int, int]:
    """The group with as many neighbours as fit, highest score first, or only the `near` ones."""
    first, last = group
    room -= sum(costs[first : last + 1])
    while True:
        sides = [side for side in (last + 1, first - 1) if 0 <= side < len(places) and costs[side] <= room]
        sides = [side for side in sides if not _is_far(places, side, first, last)]
        if not sides:
            return first, last
        if near:
            side = min(sides, key=lambda number: max(group[0] - number, number - group[1]))
        else:
            side = max(sides, key=lambda number: len(told[number]))
        first, last = min(first, side), max(last, side)
        room -= costs[side]


def _is_far(places: Sequence[Span], side: int, first: int, last: int) -> bool:
    """Whether a part and its neighbour are separated by much white space."""
    before, behind = (side, first) if side < first else (last, side)
    return places[behind][0] - places[before][1] >= FAR


def _trimmed(text: str, places: Iterator[Span]) -> list[Span]:
    """The places without the white space around them."""
    found = ((start, end, text[start:end]) for start, end in places)
    trimmed = ((start + len(one) - len(one.lstrip()), end - len(one) + len(one.rstrip())) for start, end, one in found)
    return [(start, end) for start, end in trimmed if start < end]


def _clauses(text: str) -> Iterator[Span]:
    start = 0
    for mark in _CLAUSE.finditer(text):
        yield start, mark.end()
        start = mark.end()
    yield start, len(text)


def _words(text: str) -> Iterator[Span]:
    return (word.span() for word in _WORD.finditer(text))


def _characters(text: str) -> Iterator[Span]:
    """Groups of a few characters; combining marks stay with their character."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        while end < min(len(text), start + 2 * _SLICE) and _belongs(text[end - 1], text[end]):
            end += 1
        yield start, min(end, len(text))
        start = end


def _belongs(before: str, sign: str) -> bool:
    return _JOINER in (before, sign) or unicodedata.category(sign).startswith("M") or "🏻" <= sign <= "🏿"


@short_text_cache(2_048)  # a turn is found again and again, and is looked at a few times each time
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, index_words(text)))


_stem = text_cache(8192)(stem)
_LEVELS: tuple[Callable[[str], Iterator[Span]], ...] = (sentence_bounds, _clauses, _words, _characters)
_WORDS = 2  # the level of words
