"""Extractive summaries: the sentences that say most of what the text is about.

A summary is a text of one sentence a line, so that its sentences can be told apart again. It is made once and then
extended: a sentence of a new text gets in by what it adds, and only then are those that were picked before weighed
against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby, repeat
from typing import Final, NamedTuple

from memoryos.language.sentences import split_sentences
from memoryos.language.words import content_stems
from memoryos.text_cache import text_cache

Cost = Callable[[str], int]

SENTENCE_CHARS = 240  # a longer sentence is cut: one run-on turn must not be the whole summary

_BAR = "|"  # stands between speakers, and in none of their sentences

_NOTHING: Final = repeat(0.0)  # what a stem weighs that is not among the weights

MISFITS = 4  # sentences that were too long for what is left: those after them say less


class Sentence(NamedTuple):
    """A sentence, and what it is about."""

    text: str
    stems: frozenset[str]
    speaker: str = ""  #: who says it, where that is told

    @property
    def quoted(self) -> str:
        """The sentence with who says it."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    def said_by(self, speaker: str) -> Sentence:
        """The sentence as that speaker's, in a line with those of others."""
        return self._replace(text=self.text.replace(_BAR, "/"), speaker=speaker)


def sentences(texts: Iterable[str]) -> list[Sentence]:
    """The sentences of the texts in order, each once."""
    found = [sentence for text in texts for line in text.split("\n") for sentence in _sentences(line)]
    return list({sentence.text: sentence for sentence in found}.values())


def commonness(found: Iterable[Sentence]) -> Mapping[str, float]:
    """How many of the sentences are about each stem: what it weighs when nothing else is known."""
    return Counter(chain.from_iterable([sentence.stems for sentence in found]))


def cover(
    found: Sequence[Sentence],
    weights: Mapping[str, float],
    *,
    limit: int,
    cost: Cost = len,
    covered: Iterable[str] = (),
) -> list[Sentence]:
    """The sentences that cover the most weight, in their order, that cost no more than `limit` with a break each.

    `weights` maps stems to importance. Greedy: a stem counts once, so that two sentences about the same thing are not
    both taken, and none that says only what is `covered` already.
    """
    known = frozenset(covered)
    left = {index: one.stems - known for index, one in enumerate(found)}  # what each would add
    gains = {index: _worth(new, weights) for index, new in left.items()}
    chosen = []
    room = limit + 1  # nothing follows the last
    misfits = 0
    while gains and misfits < MISFITS:
        best = max(gains, key=gains.__getitem__)  # the first of several
        if gains.pop(best) <= 0:
            break
        needed = cost(found[best].quoted) + 1
        if needed > room:
            misfits += 1
            continue
        chosen.append(best)
        room -= needed
        _discount(gains, left, left[best], weights)
    return [found[index] for index in sorted(chosen)]


def extended(
    summary: str,
    texts: Iterable[str],
    *,
    limit_chars: int,
    weights: Mapping[str, float] | None = None,
    written: str = "",
) -> str:
    """The summary, and what the new texts add to it.

    It stays as it is when they say nothing new; so to say it again changes nothing. `written` is the part at its
    beginning that a model wrote: that stays, and at most `limit_chars` characters are picked to follow it. Without
    `weights` a stem weighs as many sentences as are about it.
    """
    kept, new = sentences([summary.removeprefix(written)]), sentences(texts)
    covered = content_stems(written)
    said = covered.union(*(one.stems for one in kept))
    fresh = [one for one in new if _adds(one.stems - said, weights)]
    if not fresh:
        return summary
    if weights is None:
        weights = commonness([*kept, *new])
    picked = cover([*kept, *fresh], weights, limit=limit_chars, covered=covered)
    return joined([written, *(one.text for one in picked)])


def running(found: Iterable[Sentence]) -> str:
    """Sentences on one line; who says several after each other is named once, and a bar stands between two speakers."""
    told = []
    for _, run in groupby(found, key=lambda one: one.speaker):
        first, *others = run
        told.append(" ".join([first.quoted, *(one.text for one in others)]))
    return f" {_BAR} ".join(told)


def joined(lines: Iterable[str]) -> str:
    """A summary of these lines."""
    return "\n".join(line for line in lines if line)


def _discount(
    gains: dict[int, float], left: dict[int, frozenset[str]], covered: frozenset[str], weights: Mapping[str, float]
) -> None:
    """Take what is covered from what the other sentences would add."""
    for index in gains:
        if not covered.isdisjoint(left[index]):
            left[index] -= covered
            gains[index] = _worth(left[index], weights)


def _adds(stems: frozenset[str], weights: Mapping[str, float] | None) -> bool:
    """Whether these stems weigh something; without weights, each does."""
    return bool(stems) if weights is None else _worth(stems, weights) > 0


def _worth(stems: Iterable[str], weights: Mapping[str, float]) -> float:
    return sum(map(weights.get, stems, _NOTHING))


def _sentences(line: str) -> tuple[Sentence, ...]:
    """A turn is told of its chain and of its segment, and a summary is extended line by line: a line comes again."""
    return _short(line) if len(line) <= _SHORT else _long(line)


def _cut(line: str) -> tuple[Sentence, ...]:
    cut = (sentence[:SENTENCE_CHARS].strip() for sentence in split_sentences(line))
    return tuple(Sentence(text, content_stems(text)) for text in cut if text)


_SHORT: Final = 1_000  # characters: the sentences of a line take about 15 times as many bytes
_short = text_cache(2_048)(_cut)
_long = text_cache(8)(_cut)  # of up to 100,000 characters
