"""Speakers: whether a question names the person who said a passage."""

from __future__ import annotations

import numpy as np

from memoryos.language.words import stem, words
from memoryos.operation.index.turns import NOBODY, Floats, TurnIndex

_AMONG_MANY = 0.6  # what a full name counts among more than two speakers, who may be apps, groups and contacts
_PAIR = 2


def named_speakers(index: TurnIndex, text: str) -> Floats | None:
    """How far the question names the speaker of each row, shape (n,); None when it tells none apart.

    Between two people it is 1 for the one who is named and -1 for the other; a question that names both, or neither,
    tells nothing. Among more speakers it is the named part of the speaker's name, times 0.6, and nobody loses.
    """
    if len(index.speaker_names) > _PAIR:
        named = _named(index, text)
        return _of_many(index, named) if named else None
    if (one := _one_of_two(index, text)) is None:
        return None
    found = np.zeros(len(index), np.float32)
    found[index.speakers != NOBODY] = -1
    found[index.speakers == one] = 1
    return found


def asked_about(index: TurnIndex, text: str) -> str | None:
    """The name of the one of two people whom the question names; None when it names both, neither, or more talk."""
    one = _one_of_two(index, text)
    return next((name for name, number in index.speaker_names.items() if number == one), None)


def are_two(index: TurnIndex) -> bool:
    """Whether two speakers talk with each other: among more, the turn before is often addressed to somebody else."""
    return len(index.speaker_names) == _PAIR


def name_stems(index: TurnIndex) -> set[str]:
    """The stems of all words in the names of the speakers."""
    return set().union(*_names(index).values())


def _named(index: TurnIndex, text: str) -> dict[int, float]:
    """Which part of a speaker's name is in the question, by the speaker's number."""
    asked = {stem(word) for word in words(text)}
    return {number: len(asked & name) / len(name) for number, name in _names(index).items() if asked & name}


def _one_of_two(index: TurnIndex, text: str) -> int | None:
    named = _named(index, text) if are_two(index) else {}
    return next(iter(named)) if len(named) == 1 else None


def _of_many(index: TurnIndex, named: dict[int, float]) -> Floats:
    found = np.zeros(len(index), np.float32)
    for number, part in named.items():
        found[index.speakers == number] = np.float32(_AMONG_MANY * part)
    return found


def _names(index: TurnIndex) -> dict[int, set[str]]:
    """The stems of each speaker's name, by the speaker's number; a name without a word is left out."""
    return index.derived("names", lambda: _stemmed(index))


def _stemmed(index: TurnIndex) -> dict[int, set[str]]:
    found = {number: {stem(word) for word in words(name)} for name, number in index.speaker_names.items()}
    return {number: name for number, name in found.items() if name}
