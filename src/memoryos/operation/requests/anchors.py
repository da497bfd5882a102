"""Anchors: what a follow-up leaves out, filled in from the latest exchanges, as of "and where does she live".

A pronoun stands for the latest person or thing in STM that it fits. "And last week?" and "What about Ben?" repeat the
question before with another time or another name. What is not clear stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.kinds import Role
from memoryos.language.times import asked_times, without_times
from memoryos.language.words import HAN
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.requests.request_entities import Referent, RequestEntity, entities_in
from memoryos.regex import regex

TURN_CHARS = 2_000  # of a turn that are looked at
_PRONOUNS = (
    (Referent.SHE, regex(r"\b(?:she|her|hers)\b|她", re.IGNORECASE)),
    (Referent.HE, regex(r"\b(?:he|him|his)\b|他(?!们|人|妈)", re.IGNORECASE)),
    (Referent.ANYBODY, regex(r"\b(?:they|them|their)\b", re.IGNORECASE)),
    (Referent.IT, regex(r"\b(?:it|its)\b|它(?!们)", re.IGNORECASE)),
)
_POSSESSIVE = frozenset(("his", "its", "their", "hers"))
_NOT_A_NOUN = regex(
    r"\s*(?:[?.!,;]|\Z|(?:about|to|for|with|in|on|at|from|and|or|again|anymore|any more|yesterday|today|last|when|is"
    r"|was)\b)",
    re.IGNORECASE,
)
_FRAGMENT = regex(
    r"\s*(?:那么?|还有)?(?P<han>[^?？，,]{1,20}?)呢[?？]?\s*\Z"
    r"|\s*(?:(?:and|but|so|then)\b\s*)?(?:(?:what|how) about\b\s*)?(?P<new>[^?？]{1,60}?)\s*[?？]\s*\Z",
    re.IGNORECASE,
)
_FEW_WORDS = 6  # of such a text
_HAS_VERB = regex(
    r"\b(?:is|are|was|were|do|does|did|have|has|had|can|will|live|lives|say|said|go|went)\b|住|是|有|说|叫|去|做",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Anchored:
    """A question that stands by itself, and the page that it was completed from."""

    text: str
    page: str | None = None


def anchored(text: str, recent: Sequence[MemCube], now: datetime) -> Anchored:
    """The text with what it leaves out; `recent` are the latest pages, oldest first."""
    if found := _repeated(text, recent, now):
        return found
    for wanted, pattern in _PRONOUNS:
        pronoun = pattern.search(text)
        if pronoun is None or any(one.fits(wanted) for one in entities_in(text[: pronoun.start()])):
            continue
        for page, named in _named(recent):
            if meant := _meant_by(wanted, named):
                names = {entity.name for entity in meant}
                return Anchored(_filled(text, pronoun, meant[-1]), page) if len(names) == 1 else Anchored(text)
    return Anchored(text)


def _filled(text: str, pronoun: re.Match[str], entity: RequestEntity) -> str:
    word, after = pronoun.group().lower(), text[pronoun.end() :]
    is_owner = word in _POSSESSIVE or (word == "her" and not _NOT_A_NOUN.match(after))
    ending = "'s" if is_owner else ""
    return f"{text[: pronoun.start()]}{entity.name}{ending}{after}"


def _meant_by(wanted: Referent, named: Sequence[RequestEntity]) -> list[RequestEntity]:
    """Those of these that are known to be such; if there are none, those that may be."""
    known = [one for one in named if one.referent is wanted]
    return known or [one for one in named if one.fits(wanted)]


def _named(recent: Sequence[MemCube]) -> Iterator[tuple[str, list[RequestEntity]]]:
    """What each turn of the pages names, the latest turn first."""
    for page in reversed(recent):
        for turn in reversed(turns_of(page)):
            if turn.role in (Role.USER, Role.ASSISTANT):
                found = sorted(entities_in(turn.text[:TURN_CHARS]), key=lambda entity: entity.start)
                yield page.id, found


def _repeated(text: str, recent: Sequence[MemCube], now: datetime) -> Anchored | None:
    """The question before, with the time or the name of a text that is no more than that."""
    fragment = _FRAGMENT.match(text)
    if fragment is None or len(text.split()) > _FEW_WORDS or _HAS_VERB.search(text):
        return None
    new = (fragment["new"] or fragment["han"]).strip()
    for page, question in _questions(recent):
        if changed := _with(question, new, now):
            return Anchored(changed, page)
    return None


def _questions(recent: Sequence[MemCube]) -> Iterator[tuple[str, str]]:
    for page in reversed(recent):
        for turn in reversed(turns_of(page)):
            words = turn.text[:TURN_CHARS]
            if turn.role is Role.USER and words.rstrip().endswith(("?", "？")):
                yield page.id, words


def _with(question: str, new: str, now: datetime) -> str | None:
    """The question with another time or another name; None if it has neither in its place."""
    if asked_times(new, now):
        mentions = asked_times(question, now)
        bare = without_times(question, mentions).rstrip("?？ ").split()
        return f"{new}{''.join(bare)}？" if HAN.search(question) else f"{' '.join(bare)} {new}?"
    named = list(entities_in(question))
    if not named or not any(entities_in(f"of {new}" if new.isascii() else new)):
        return None
    old = named[0]
    end = old.start + len(old.name)
    is_owned = question[end : end + 2] == "'s" and new.endswith("'s")
    return f"{question[: old.start]}{new}{question[end + 2 * is_owned :]}"
