"""Chosen: which of the memories that a search found a topic means.

A search finds what bears on a question. What is to be removed or frozen must say the words of the topic, all of them,
or if no memory has all, more than half. Inflected forms count: "allergies" means "allergic".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memoryos.cube import MemCube
from memoryos.language.words import index_words, stem

NEAR = 5  # memories that are named as near
LEAST = 0.6  # of the words of a topic
_ALIKE = 5  # first letters that forms of one word share


def chosen(topic: str, found: Sequence[MemCube]) -> tuple[list[MemCube], list[MemCube]]:
    """The memories that the topic means, and a few that have some of its words."""
    wanted = frozenset(map(stem, index_words(topic)))
    shares = [_share(wanted, cube) for cube in found] if wanted else [0.0] * len(found)
    best = max(shares, default=0.0)
    least = best if best == 1.0 else LEAST
    taken = [cube for cube, share in zip(found, shares, strict=True) if share >= least]
    near = [cube for cube, share in zip(found, shares, strict=True) if 0 < share < least]
    return taken, (near if taken or near else list(found))[:NEAR]


def _share(wanted: frozenset[str], cube: MemCube) -> float:
    """The part of the words of the topic that a memory has."""
    said = frozenset(map(stem, index_words(cube.text)))
    missing = wanted - said
    return 1 - sum(not _is_like_any(word, said) for word in missing) / len(wanted)


def _is_like_any(word: str, said: Iterable[str]) -> bool:
    if len(word) < _ALIKE or not word.isascii():
        return False
    head = word[: max(_ALIKE, len(word) - 2)]
    return any(one.startswith(head) and len(one) <= len(word) + 2 for one in said)
