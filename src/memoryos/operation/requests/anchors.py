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
from memoryos.language.calendar import spoken
from memoryos.language.entities import Entity, Referent, entities_in
from memoryos.language.period import Period, beside
from memoryos.language.times import latest_times
from memoryos.language.words import HAN
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.knowledge.person import is_person
from memoryos.operation.requests.request_times import without_time_phrases
from memoryos.regex import regex

TURN_CHARS = 2_000  # of a turn that are looked at
_PRONOUNS = (
    (Referent.SHE, regex(r"\b(?:she|her|hers)\b|她", re.IGNORECASE)),
    (Referent.HE, regex(r"\b(?:he|him|his)\b|他(?!们|人|妈)", re.IGNORECASE)),
    (Referent.SOMEBODY, regex(r"\b(?:they|them|their)\b", re.IGNORECASE)),
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
# "A hotel in Oslo", and not "My dog is a poodle".
_ANOTHER_THING = regex(r"(?<!\bis )(?<!\bwas )(?<!\bare )\b(?:an?|the) (?:[a-z]+ )?[a-z]{3,}")
_FEW_WORDS = 6  # of such a text
_BESIDE = regex(
    r"(?:the )?(?P<unit>day|week|month|year) (?P<side>before|after)(?: that)?"
    r"|(?:the )?(?P<which>previous|following) (?P<one>day|week|month|year)"
    r"|(?P<way>再上|再前|前一|后一)一?个?(?P<han>天|日|周|星期|礼拜|月|年)",
    re.IGNORECASE,
)
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_SIDES = {
    **dict.fromkeys(("before", "previous", "再上", "再前", "前一"), "before"),
    **dict.fromkeys(("after", "following", "后一"), "after"),
}
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
        if pronoun is None or any(one.may_be(wanted) for one in entities_in(f"of {text[: pronoun.start()]}")):
            continue
        for page, said in _turns(recent):
            if possible := [one for one in entities_in(said) if one.may_be(wanted)]:
                is_clear = _is_clear(possible, wanted, said, text)
                return Anchored(_filled(text, pronoun, possible[-1]), page) if is_clear else Anchored(text)
    return Anchored(text)


def _is_clear(possible: Sequence[Entity], wanted: Referent, said: str, text: str) -> bool:
    """Whether a pronoun of a text can stand for nothing else of what was said, and in no other language."""
    one = possible[-1]
    is_han, is_asked_in_han = HAN.search(one.name) is not None, HAN.search(text) is not None
    is_foreign = is_han != is_asked_in_han and (is_han or one.name.startswith("my "))
    if is_foreign or len({entity.name for entity in possible}) > 1:
        return False
    if wanted is Referent.IT:
        return _ANOTHER_THING.search(said) is None
    return one.fits(wanted) or is_person(one.name)


def _filled(text: str, pronoun: re.Match[str], entity: Entity) -> str:
    word, after = pronoun.group().lower(), text[pronoun.end() :]
    is_owner = word in _POSSESSIVE or (word == "her" and not _NOT_A_NOUN.match(after))
    ending = "'s" if is_owner else ""
    return f"{text[: pronoun.start()]}{entity.name}{ending}{after}"


def _turns(recent: Sequence[MemCube]) -> Iterator[tuple[str, str]]:
    """What each turn of the pages says, the latest turn first."""
    for page in reversed(recent):
        for turn in reversed(turns_of(page)):
            if turn.role in (Role.USER, Role.ASSISTANT):
                yield page.id, turn.text[:TURN_CHARS]


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
    when = _beside(question, new, now) or (new if latest_times(new, now) else "")
    if when:
        bare = without_time_phrases(question, latest_times(question, now)).rstrip("?？ ").split()
        return f"{when}{''.join(bare)}？" if HAN.search(question) else f"{' '.join(bare)} {when}?"
    named = list(entities_in(question))
    if not named or not any(entities_in(f"of {new}" if new.isascii() else new)):
        return None
    old = named[0]
    end = old.start + len(old.name)
    is_owned = question[end : end + 2] == "'s" and new.endswith("'s")
    return f"{question[: old.start]}{new}{question[end + 2 * is_owned :]}"


def _beside(question: str, new: str, now: datetime) -> str:
    """The dates of "the week before", which counts from the time of the question; empty for anything else."""
    found, told = _BESIDE.fullmatch(new), latest_times(question, now)
    if found is None or len(told) != 1:
        return ""
    unit, side = (found["unit"] or found["one"] or found["han"]), (found["side"] or found["which"] or found["way"])
    try:
        period = beside(_UNITS.get(unit, unit.lower()), _SIDES[side.lower()], told[0].period)
    except (ValueError, OverflowError):
        return ""
    return _dates(period, is_chinese=HAN.search(question) is not None)


def _dates(period: Period, *, is_chinese: bool) -> str:
    days = [period.first, period.last]
    if is_chinese:
        first, last = (f"{day.year}年{day.month}月{day.day}日" for day in days)
        return first if first == last else f"从{first}到{last}"
    first, last = map(spoken, days)
    return f"on {first}" if first == last else f"between {first} and {last}"
