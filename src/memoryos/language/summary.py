"""Extractive summaries: the sentences that say most of what the text is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from memoryos.language.sentences import split_sentences
from memoryos.language.words import is_content, stem, words

SENTENCE_CHARS = 240  # a longer sentence is cut: one run-on turn must not be the whole summary


def summarise(texts: Sequence[str], weights: Mapping[str, float], *, limit_chars: int) -> str:
    """Pick sentences of `texts` that cover the most keyword weight, in their original order.

    `weights` maps stems to importance. Greedy cover: a keyword counts once, so that two sentences
    about the same thing are not both taken. The result has at most `limit_chars` characters.
    """
    sentences = _distinct(sentence for text in texts for sentence in split_sentences(text))
    forms = [{stem(word) for word in words(sentence) if is_content(word)} for sentence in sentences]
    chosen: set[int] = set()
    covered: set[str] = set()
    room = limit_chars
    while best := _next(sentences, forms, weights, chosen, covered, room):
        chosen.add(best - 1)
        covered |= forms[best - 1]
        room -= len(sentences[best - 1]) + 1
    return " ".join(sentences[index] for index in sorted(chosen))


def _next(
    sentences: Sequence[str],
    forms: Sequence[set[str]],
    weights: Mapping[str, float],
    chosen: set[int],
    covered: set[str],
    room: int,
) -> int:
    """The 1-based number of the sentence with the highest new weight that fits, or 0."""
    best, best_gain = 0, 0.0
    for index, sentence in enumerate(sentences):
        if index in chosen or len(sentence) > room:
            continue
        gain = sum(weights.get(form, 0.0) for form in forms[index] - covered)
        if gain > best_gain:
            best, best_gain = index + 1, gain
    return best


def _distinct(sentences: Iterable[str]) -> list[str]:
    seen: dict[str, None] = {}
    for sentence in sentences:
        seen.setdefault(sentence[:SENTENCE_CHARS].strip(), None)
    return [sentence for sentence in seen if sentence]
