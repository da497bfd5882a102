"""Suggestion: the commands that somebody may have meant who named one that there is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

_MOST = 3


def suggested(asked: Sequence[str], known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return up to three commands that may be meant, the likeliest first; the verbs of a noun stand behind it.

    `asked` are the words of the call; `known` has the verbs of each noun, and none of a command without verbs.
    """
    paths = [*known, *(f"{noun} {verb}" for noun, verbs in known.items() for verb in verbs)]
    for found in _by_rule(asked, paths):
        if found:
            return found[:_MOST]
    return [*dict.fromkeys(_like(asked, paths))][:_MOST]


def _by_rule(asked: Sequence[str], paths: Sequence[str]) -> Iterator[list[str]]:
    """The commands with the same words (`forget-user`, `segment list`), and the nouns that have this verb (`list`)."""
    for words in (asked[:2], asked[:1]):
        wanted = _words(" ".join(words))
        yield [one for one in paths if _words(one) == wanted]
    yield [one for one in paths if one.split()[1:] == list(asked[:1])]


def _words(name: str) -> frozenset[str]:
    """Its words, in any order and without their plurals."""
    return frozenset(one.lower().removesuffix("s") for one in name.replace("-", " ").replace("_", " ").split())


def _like(asked: Sequence[str], paths: Sequence[str]) -> Iterator[str]:
    """The commands that are spelled like it, and those that one of its words names."""
    first, nouns = asked[0], [one for one in paths if " " not in one]
    verbs = [*dict.fromkeys(one.split()[1] for one in paths if " " in one)]
    if asked[1:2] and asked[1] in verbs:
        yield from get_close_matches(" ".join(asked[:2]), [one for one in paths if one.endswith(f" {asked[1]}")])
    yield from get_close_matches(first, nouns)
    yield from (one for one in nouns if _words(one) <= _words(first))
    for verb in get_close_matches(first, verbs):
        yield from (one for one in paths if one.split()[1:] == [verb])
