"""Months and days named without a year, English and Chinese: "in February", "at the end of May", 五月底, 3月5日.

So are holidays ("at Christmas", 圣诞节那天), where the words around say that a time is meant, not the holiday itself.

Such an expression means those days of every year, so it can rank what was said then but names no period. Only where a
question takes it as a bound ("before May", 五月之前) it is that of one year: the latest that has begun, for "after" the
latest that is over.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MINYEAR, date, timedelta

from memoryos.language.bounds import Bound, bound_of
from memoryos.language.calendar import DAY_NUMBER, HAN_NUMBER, MONTH, MONTHS, han_number, month_number
from memoryos.language.holidays import CHINESE_HOLIDAY, ENGLISH_HOLIDAY, holiday
from memoryos.language.holidays import HINTS as HOLIDAYS
from memoryos.language.period import Period
from memoryos.language.plain_letters import plain_text
from memoryos.regex import regex

_LAST_DAY = 31
_THIRDS = {"early": (1, 10), "middle": (11, 20), "late": (21, _LAST_DAY)}

_CLEAR = "January|February|July|September|October|November|December"  # none is also a verb or a common first name
_HEAD = (
    r"(?:(?P<early>early|start of|beginning of)|(?P<middle>mid|middle of)|(?P<late>late|end of)"
    r"|(?P<near>last|this)|in|of|on|during|since|until|till|by|before|after|from|prior to|to|between|through"
    r"|throughout|and|around|about)"
)
_NO_YEAR = r"(?!\.?,? ?\d{4})"
_ENGLISH = regex(
    rf"\b{_HEAD}[ -](?:the )?(?:(?P<ahead>{DAY_NUMBER}) (?:of )?)?(?P<named>{MONTH})\b{_NO_YEAR}"
    rf"(?:\.? (?:the )?(?P<behind>{DAY_NUMBER})\b)?"
    rf"|\b(?P<front>{DAY_NUMBER}) (?:of )?(?P<dated>{MONTH})\b{_NO_YEAR}"
    rf"|\b(?P<first>{MONTH})\.? (?:the )?(?P<number>{DAY_NUMBER})\b{_NO_YEAR}"
    rf"|\b(?P<clear>{_CLEAR})\b{_NO_YEAR}",
    re.IGNORECASE,
)
_HAN_THIRDS = {
    "上旬": "early",
    "初": "early",
    "中旬": "middle",
    "中": "middle",
    "下旬": "late",
    "底": "late",
    "末": "late",
}
_CHINESE = regex(
    rf"(?<![年\d])(?P<month>{HAN_NUMBER})月(?![饼球亮])份?(?:(?P<day>{HAN_NUMBER})[日号]|(?P<third>{'|'.join(_HAN_THIRDS)}))?"
)
# "For Christmas" and "about Christmas" are no time, and neither is 圣诞节礼物.
_ENGLISH_HOLIDAYS = regex(
    rf"\b(?:at|on|over|during|since|until|till|by|before|after|prior to|around|last|this) (?:the )?"
    rf"(?P<holiday>{ENGLISH_HOLIDAY})\b(?!,? (?:of |in )?\d{{4}})",
    re.IGNORECASE,
)
_CHINESE_HOLIDAYS = regex(
    rf"(?:(?<=[在于自从到])|(?={CHINESE_HOLIDAY}(?:那天|当天|晚上|期间|的时候|时|之?[前后]|以[前后来])))"
    rf"(?<!年)(?P<holiday>{CHINESE_HOLIDAY})"
)
_HINTS = (*(month[:3].lower() for month in MONTHS), "day", "year", *HOLIDAYS)  # one is in every English expression
_AT = {"在", "于"}  # 在五月开始: it began in May
_TO = regex(r"\s*(?:to|until|till|through|-|–|—|到|至)\s*(?:the )?(?:(?:early|late|mid|end of)[ -])?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Yearly:
    """The days from `first` to `last` of a month, in every year."""

    month: int
    first: int = 1
    last: int = _LAST_DAY

    def latest(self, today: date, *, is_over: bool) -> Period | None:
        """These days of the latest year in which they have begun, or are over; None where the calendar has none."""
        begun = self._in(today.year)
        if (begun.last if is_over else begun.first) + timedelta(days=is_over) <= today:
            return begun
        return self._in(today.year - 1) if today.year > MINYEAR else None

    def _in(self, year: int) -> Period:
        days = monthrange(year, self.month)[1]
        return Period(date(year, self.month, min(self.first, days)), date(year, self.month, min(self.last, days)))


@dataclass(frozen=True, slots=True)
class YearlyMention:
    """An expression in a text that names days without a year."""

    start: int  #: of the expression with its preposition
    name: int  #: where the days begin
    end: int
    days: Yearly


def yearly(text: str) -> list[Yearly]:
    """The months and days that the text names without a year, each once; a range gives every month in it."""
    return list(dict.fromkeys(_with_ranges(text, _found(text))))


def yearly_asked(text: str) -> list[Yearly]:
    """Those that a question asks about in every year: all that are no bounds."""
    bounds = bounding_days(text)
    return list(dict.fromkeys(_with_ranges(text, [one for one in _found(text) if one not in bounds])))


def bounding_days(text: str) -> list[YearlyMention]:
    """Those that are the beginning or the end of the time meant: "before May", but not "from March until May"."""
    found = _found(text)
    return [
        one
        for before, one in zip([None, *found], found, strict=False)
        if _is_bound(text, one) and not (before and _is_range(text, before, one))
    ]


def _is_bound(text: str, one: YearlyMention) -> bool:
    bound = bound_of(text, one.name, one.end)
    begins_in_it = bound is Bound.SINCE and text[one.name - 1 : one.name] in _AT
    return bound is not None and not begins_in_it


def without_yearly(text: str) -> str:
    """The text without the months and days that it names without a year."""
    for one in sorted(_found(text), reverse=True, key=lambda mention: mention.start):
        text = f"{text[: one.start]} {text[one.end :]}"
    return text


def yearly_mentions(text: str) -> list[YearlyMention]:
    """Where the text names months and days without a year."""
    return sorted(_found(text), key=lambda mention: mention.name)


def _found(text: str) -> list[YearlyMention]:
    if text.isascii() and not _is_hinted(text.lower()):  # otherwise ſ is an s, too, where case does not count
        return []
    readable = plain_text(text)
    found = [*_english(readable), *_holidays(_ENGLISH_HOLIDAYS, readable)]
    if text.isascii():
        return found
    return [*found, *_chinese(readable), *_holidays(_CHINESE_HOLIDAYS, readable)]


def _is_hinted(lower: str) -> bool:
    for hint in _HINTS:  # noqa: SIM110 - a loop takes half the time of any()
        if hint in lower:
            return True
    return False


def _holidays(pattern: re.Pattern[str], text: str) -> Iterator[YearlyMention]:
    for match in pattern.finditer(text):
        yield YearlyMention(match.start(), match.start("holiday"), match.end(), Yearly(*holiday(match["holiday"])))


def _english(text: str) -> Iterator[YearlyMention]:
    for match in _ENGLISH.finditer(text):
        name = match["named"] or match["dated"] or match["first"] or match["clear"]
        day = match["ahead"] or match["behind"] or match["front"] or match["number"]
        if day is None and not name[0].isupper() and name.lower() in {"may", "march"}:
            continue  # "to march", "and may"
        third = next((third for third in _THIRDS if match[third]), None)
        value = _value(month_number(name), int(day.rstrip("stndrhSTNDRH")) if day else None, third)
        if value:
            begins = next(
                (match.start(part) for part in (third, "near", "ahead", "named") if part and match[part]), match.start()
            )
            yield YearlyMention(match.start(), begins, match.end(), value)


def _chinese(text: str) -> Iterator[YearlyMention]:
    for match in _CHINESE.finditer(text):
        day, third = match["day"], match["third"]
        value = _value(han_number(match["month"]), han_number(day) if day else None, _HAN_THIRDS.get(third or ""))
        if value:
            yield YearlyMention(match.start(), match.start(), match.end(), value)


def _value(month: int, day: int | None, third: str | None) -> Yearly | None:
    if not 1 <= month <= len(MONTHS) or (day is not None and not 1 <= day <= _LAST_DAY):
        return None
    if day is not None:
        return Yearly(month, day, day)
    return Yearly(month, *_THIRDS[third]) if third else Yearly(month)


def _with_ranges(text: str, found: Sequence[YearlyMention]) -> Iterator[Yearly]:
    """What was found, and the whole months between two that are the ends of a range."""
    for number, one in enumerate(found):
        yield one.days
        if number + 1 < len(found) and _is_range(text, one, found[number + 1]):
            yield from (Yearly(month) for month in range(one.days.month + 1, found[number + 1].days.month))


def _is_range(text: str, first: YearlyMention, last: YearlyMention) -> bool:
    """Whether nothing but "to" or the like stands between two."""
    return bool(_TO.fullmatch(text[first.end : last.name]))
