"""Slots: what a statement says of which only one value can hold at a time, read by rules in English and Chinese.

"Tom lives in Rome" and "Tom has moved to Paris" fill one slot, Tom's residence, with two values; "Tom likes tea" and
"Tom no longer likes tea" fill another with yes and no. What the rules do not know to be exclusive fills no slot:
a person can have two sisters. Whose slot it is is told by the words, so "Tom's sister lives in Rome" is another one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, time
from types import ModuleType

from memoryos.language.plain_letters import plain_text
from memoryos.language.times import stated_bounds, told_periods
from memoryos.language.words import HAN
from memoryos.operation.knowledge.filling import Filling, Term
from memoryos.regex import regex
from memoryos.text_cache import text_cache

_TEXT_LIMIT = 400  # characters; what is longer is no single statement
# How a statement is kept that could not be put into the third person.
_QUOTED = regex(
    r"(?P<speaker>[^:：\"“]{1,80})[:：]\s*[\"“](?P<words>.*)[\"”]\s*(?P<dates>(?:\(.*\)|（.*）)?)", re.DOTALL
)


@text_cache(16_384)
def filling(text: str) -> Filling | None:
    """The slot that a statement fills, and with what; None when it fills none that the rules know."""
    if len(text) > _TEXT_LIMIT:
        return None
    quoted = _QUOTED.fullmatch(text.strip())
    speaker, words = (quoted["speaker"], quoted["words"]) if quoted else ("", text)
    found: Filling | None = _rules_for(words).filling(plain_text(" ".join(words.replace("’", "'").split())), speaker)
    return found and replace(found, value=found.value.casefold())


@text_cache(16_384)
def term(text: str, said: datetime) -> Term:
    """When what was said then holds, as far as the words tell; the moment it was said, when they do not.

    A change that is dated ("moved to Rome in 2019") speaks of its own time, and not of the present.
    """
    first, last = stated_bounds(text, said)
    start, end = _day(first, said), _day(last, said)
    if start and start > said:
        start = None  # a plan is no beginning
    found = filling(text)
    if found and found.is_change and not (start or end):
        dated = [period for period in told_periods(text, said) if period.last < said.date()]
        if dated:
            told = max(dated, key=lambda period: period.last)
            at = datetime.combine(told.last, time.max, said.tzinfo)
            return Term(min(at, said), datetime.combine(told.first, time.min, said.tzinfo), None)
    return Term(said, start, end)


def filled(text: str, said: datetime) -> Filling | None:
    """The slot that a statement filled when it was said: none, if it was over by then."""
    end = term(text, said).end
    return None if end and end <= said else filling(text)


def _day(day: date | None, said: datetime) -> datetime | None:
    return datetime.combine(day, time.min, said.tzinfo) if day else None


def _rules_for(words: str) -> ModuleType:
    """Those of the language of the words, loaded when they are first needed."""
    if HAN.search(words):
        from memoryos.operation.knowledge import chinese_slots

        return chinese_slots
    from memoryos.operation.knowledge import english_slots

    return english_slots
