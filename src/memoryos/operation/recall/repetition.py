"""Repetition: finds turns that repeat a better one, which are useless to a reader.

Two turns say the same if the same speaker uses the same words in the same order, ignoring case, spaces, punctuation
around words (but not a question mark) and a leading "Oh" or "Well". A different number, name or "not" makes them
different. So does the situation: a turn that mentions a time ("yesterday") repeats only turns of the same day, an
answer repeats only answers to the same question, and a short turn ("I love it!") depends on its neighbours. But of
turns that have the same words, whatever their days and however short, only `OFTEN` are kept: a reminder of each day
would leave no room for anything else.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from memoryos.language.marks import asks, mentions_time
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import TurnHit

OFTEN = 3  # turns with the same words
SHORT = 20  # bytes: some four English words, or seven Chinese characters

_ENDS = ".,;:…。，、；："  # behind a number: whether 5, 5' or .5 is another matter
_AROUND = _ENDS + "!\"'()[]*_！“”‘’（）《》「」"  # a word may stand between these without being changed
_OPENING = 3  # words, of which the first may be one that does not count
_OPENINGS = {"oh", "ah", "well", "hey", "wow", "hmm"}


def told_once(turns: Iterable[tuple[TurnHit, bool]]) -> tuple[list[TurnHit], list[TurnHit]]:
    """Split the turns into those to keep and those that repeat a better one.

    Each turn comes with whether it answers a question.
    """
    found = list(turns)
    first: list[TurnHit] = []
    again: list[TurnHit] = []
    told: set[Hashable] = set()
    often: Counter[Hashable] = Counter()
    for (turn, is_answer), is_alike in zip(found, _alike([turn.text for turn, _ in found]), strict=True):
        saying, words = (_saying(turn, is_answer=is_answer), _words(turn)) if is_alike else (None, None)
        is_known = saying in told or (words is not None and often[words] == OFTEN)
        (again if is_known else first).append(turn)
        if not is_known:
            told.update([saying] if saying is not None else ())
            often.update([words] if words is not None else ())
    return first, again


def _words(hit: TurnHit) -> Hashable:
    """The key that turns of one speaker with the same words share, if they answer the same."""
    return hit.turn.speaker or hit.turn.role, plain_words(hit.text), _question(hit)


def _alike(texts: Sequence[str]) -> list[bool]:
    """Which texts end and begin like another: where that differs, as it mostly does, nobody looks between."""
    ends = [_end(text) for text in texts]
    shared = Counter(ends)
    both = [(end, *_opening(text)) if shared[end] > 1 else () for text, end in zip(texts, ends, strict=True)]
    found = Counter(both)
    return [bool(one) and found[one] > 1 for one in both]


def _end(text: str) -> str:
    """The last word without any punctuation around it: the same for texts with the same plain words."""
    last = "".join(text.rsplit(None, 1)[-1:])
    return (last.lower() if last.isascii() else plain_words(last)).strip(_AROUND)


def _opening(words: str) -> list[str]:
    return plain_words(" ".join(words.split(None, _OPENING)[:_OPENING])).split(" ")[: _OPENING - 1]


def _saying(hit: TurnHit, *, is_answer: bool) -> Hashable | None:
    """The key that equal turns share; None for a turn that equals no other."""
    turn, words = hit.turn, hit.text
    text = plain_words(words)
    question = _question(hit) if is_answer else ""
    if question is None or len(text.encode()) < SHORT:
        return None
    day = (turn.at or hit.cube.descriptive.event_at).date() if mentions_time(words) else None
    return turn.speaker or turn.role, text, question, day


def _question(hit: TurnHit) -> str | None:
    """The question that the turn answers, if it is on the same page."""
    before = turns_of(hit.cube)[hit.index - 1].words if hit.index else ""
    return plain_words(before) if asks(before) else None


def plain_words(text: str) -> str:
    """The words of a text, without case, spaces, punctuation around words and a leading "Oh" or "Well"."""
    words = [_bare(word) for word in unicodedata.normalize("NFKC", text).casefold().split()]
    if len(words) > 1 and words[0] in _OPENINGS:
        del words[0]
    return " ".join(words)


def _bare(word: str) -> str:
    """The word without the punctuation around it; one that is nothing else, such as ":)", stays."""
    is_number = any(map(str.isdigit, word))
    return (word.rstrip(_ENDS) if is_number else word.strip(_AROUND)) or word
