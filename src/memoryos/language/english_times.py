"""English expressions of time: "8 May 2023", "last Friday", "the weekend before 14 August 2023".

Only what has one reading is resolved: "next Friday" said on a Monday, "last May" said in June, "on Friday",
"a few days ago" and "this weekend" said on a Monday are not. What is coarse stays coarse: "two months ago" is a month.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from memoryos.language.calendar import DAY_NUMBER, MONTH, NO_FIGURES, UNGLUED, WEEKDAYS, month_number
from memoryos.language.holidays import ENGLISH_HOLIDAY, holiday
from memoryos.language.period import (
    WEEK,
    Grain,
    Period,
    beside,
    day_of,
    decade_of,
    latest_decade,
    month_of,
    shifted,
    span,
    week_of,
    weekday_beside,
    weekend_of,
    year_of,
)
from memoryos.language.rule import absolute, fixed, relative
from memoryos.regex import regex

_NUMBER_WORDS = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}
NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBER_WORDS)})"
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3}
_STEPS = {"last": -1, "this": 0, "next": 1}
_WEEKDAY = "|".join(WEEKDAYS)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_LATE_YEAR = r"(?:19|20)\d\d"  # of a range without a word before it; 1500-1600 may be anything
_GAP = r"(?:,\s?|\s)"

# Groups of a date have no names here, so that it can stand twice in a pattern; `english_date` reads it.
_DAY = rf"(?:{DAY_NUMBER} (?:of )?(?:{MONTH})\b\.?{_GAP}{_YEAR}|(?:{MONTH})\b\.? (?:the )?{DAY_NUMBER}{_GAP}{_YEAR})"
_MONTH = rf"(?:{MONTH})\b\.?(?: of)?{_GAP}{_YEAR}"
_ISO = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}"
_DOTTED = rf"(?<![\d.])\d{{1,2}}\.\d{{1,2}}\.{_YEAR}"  # the day comes first wherever dots are used
_DATE = rf"\b(?:{_DAY}|{_MONTH}|{_ISO}|{_DOTTED}|{_YEAR})\b(?![-/]\d|[.,]\d)"
# "The 1900s" may be a century.
_DECADE = r"(?:(?P<decade>(?:1[5-9]|20|21)[1-9]0|2000)|(?<=\bthe )['’]?(?P<short>[2-9]0))['’]?s"
_LAST_DAY = 31
_ENGLISH_DATE = regex(rf"(?:{MONTH})\b|\d+", re.IGNORECASE)


def english_date(text: str) -> Period:
    """The day, month or year that the text names in full. Raises ValueError when there is no such day."""
    found = _ENGLISH_DATE.findall(text)
    names = [part for part in found if not part.isdigit()]
    numbers = [int(part) for part in found if part.isdigit()]
    if not names and len(numbers) > 1:
        first, number, last = numbers
        return day_of(date(first, number, last) if first > _LAST_DAY else date(last, number, first))
    if not names:
        return year_of(date(numbers[0], 1, 1))
    month = date(numbers[-1], month_number(names[0]), 1)
    return day_of(month.replace(day=numbers[0])) if len(numbers) > 1 else month_of(month)


def _named(match: re.Match[str], _today: date) -> Period:
    return english_date(match["date"])


def _decade(match: re.Match[str], today: date) -> Period:
    """`the 1990s`; `the '90s` are the latest that have begun."""
    return decade_of(int(match["decade"])) if match["decade"] else latest_decade(int(match["short"]), today)


def _between(match: re.Match[str], _today: date) -> Period:
    """`11 to 15 August 2023`: what the first date leaves out is that of the second."""
    last = english_date(match["until"])
    start = match["since"]
    if re.search(MONTH, start, re.IGNORECASE):
        return Period(english_date(f"{start} {last.first.year}").first, last.last)
    return Period(last.first.replace(day=int(start.rstrip("stndrh"))), last.last)


def _years(match: re.Match[str], _today: date) -> Period:
    """`2020-2021`."""
    return Period(date(int(match["since"]), 1, 1), year_of(date(int(match["until"]), 1, 1)).last)


def _holiday_of_year(match: re.Match[str], _today: date) -> Period:
    """`Christmas 2022`."""
    return _days_of(match, int(match["year"]))


def _last_holiday(match: re.Match[str], today: date) -> Period | None:
    """`last Christmas` until it comes again; after it, it may mean this year's or that of the year before."""
    return _days_of(match, today.year - 1) if today <= _days_of(match, today.year).last else None


def _days_of(match: re.Match[str], year: int) -> Period:
    month, first, last = holiday(match["holiday"])
    return Period(date(year, month, first), date(year, month, last))


def _in_month(match: re.Match[str], _today: date) -> Period:
    """`the second week of May 2023` begins on the 8th; the first weekend is that of the first Saturday."""
    month = english_date(match["date"])
    weeks = _PLACES[match["place"].lower()]
    if match["unit"].lower() == Grain.WEEK:
        return Period(month.first + timedelta(weeks=weeks), month.first + timedelta(weeks=weeks, days=WEEK - 1))
    start = weekday_beside(5, "after", day_of(month.first - timedelta(days=1))).first
    return weekend_of(start + timedelta(weeks=weeks))


def _beside_date(match: re.Match[str], _today: date) -> Period:
    """`the week before 9 June 2023`: the seven days; `the Sunday before` it: the nearest one."""
    unit, side, anchor = match["unit"].lower(), match["side"].lower(), english_date(match["date"])
    if unit.capitalize() in WEEKDAYS:
        return weekday_beside(WEEKDAYS.index(unit.capitalize()), side, anchor)
    return beside(unit, side, anchor)


def _away_from_date(match: re.Match[str], _today: date) -> Period:
    """`two weeks before 9 June 2023`, as `two weeks ago` said on that day."""
    anchor = english_date(match["date"])
    is_before = match["side"].lower() == "before"
    count = counted(match)
    return shifted(match["unit"].lower(), -count if is_before else count, anchor.first if is_before else anchor.last)


def counted(match: re.Match[str]) -> int:
    """The value of the group `number` of a match of NUMBER: "two", "12"; one if it is not there."""
    word = (match["number"] or "one").lower()
    return int(word) if word.isdigit() else _NUMBER_WORDS[word]


def _ago(match: re.Match[str], today: date) -> Period:
    return shifted(match["unit"].lower(), -counted(match), today)


def _span(match: re.Match[str], today: date) -> Period:
    """`the last two weeks`: up to today."""
    return span(match["unit"].lower(), counted(match), today)


def _beside(match: re.Match[str], today: date) -> Period:
    """`last month`, `this year`, `next week`."""
    return shifted(match["unit"].lower(), _STEPS[match["which"].lower()], today)


def _before_last(match: re.Match[str], today: date) -> Period:
    return shifted(match["unit"].lower(), -2, today)


def _named_day(match: re.Match[str], today: date) -> Period | None:
    """`last Friday` is the latest one; `this`/`next Friday` only where no other reading exists."""
    which = match["which"].lower()
    weekday = WEEKDAYS.index(match["weekday"].capitalize())
    if which == "last":
        return weekday_beside(weekday, "before", day_of(today))
    coming = weekday_beside(weekday, "after", day_of(today))
    return coming if (which == "this") == (coming.first <= week_of(today).last) else None


def _named_month(match: re.Match[str], today: date) -> Period | None:
    """`last May` before and in May; after it, it may mean this year's or that of the year before."""
    which, name = match["which"].lower(), match["month"]
    if name in {"march", "may"} and (which, name) != ("last", "may"):
        return None  # "this may help", "his last march"
    month = month_number(name)
    years = _STEPS[which]
    is_clear = not years or (month >= today.month if years < 0 else month <= today.month)
    return month_of(date(today.year + years, month, 1)) if is_clear else None


def _month_of_year(match: re.Match[str], today: date) -> Period:
    """`May last year`, `last year in May`."""
    return month_of(date(today.year + _STEPS[match["which"].lower()], month_number(match["month"]), 1))


def _weekend(match: re.Match[str], today: date) -> Period | None:
    """The weekend meant; `this` only when said on that weekend, `next` only then too."""
    which = match["which"].lower()
    if which != "last" and today < weekend_of(today).first:
        return None
    return shifted(Grain.WEEKEND, _STEPS[which], today)


_WHICH = r"(?P<which>last|this|next)"
_NO_SPAN = r"(?<!the )(?<!past )(?<!over )(?<!every )"  # "the last week" is a span, not a date
_OF = "|".join(
    rf"(?<=\b{word} )"
    for word in "in of during since before after by until till from between to through and year".split()
)

_UNIT = "(?P<unit>day|week|month|year)"
_SIDE = "(?P<side>before|after)"
_ALONE = r"(?<![\w.,/-])(?=\d{4}\s?[-–]\s?\d{4}\s*(?:[?!.,;:)]|$))"  # a range of years, and not of what follows it
_PART = rf"(?:{DAY_NUMBER} (?:of )?)?(?:{MONTH})\b(?:\.? {DAY_NUMBER})?|{DAY_NUMBER}"  # of a date that a later one ends

# Words of which one is in every match (`Rule.marks`).
_FIGURES = "1 2 - /"  # of a date: its year, or what is between the figures of 2023-05-08
_STEP = "last_ this_ next_"

ENGLISH = (
    absolute(
        rf"\b(?:between|from) (?P<since>{_PART}) (?:and|to|until|till|through) (?P<until>{_DATE})", _between, _FIGURES
    ),
    absolute(rf"\b(?P<since>{DAY_NUMBER})\s?[-–]\s?(?P<until>{_DAY})", _between, "-"),
    absolute(
        rf"\b(?:the |last |the last )(?P<unit>day|week|weekend|month|year|{_WEEKDAY}) {_SIDE} (?P<date>{_DATE})",
        _beside_date,
        "before after",
    ),
    absolute(rf"\b{NUMBER} {_UNIT}s? {_SIDE} (?P<date>{_DATE})", _away_from_date, "before after"),
    absolute(
        rf"\b(?P<place>first|second|third|fourth) (?P<unit>week|weekend) (?:of|in) (?P<date>{_MONTH})\b",
        _in_month,
        "week",
    ),
    absolute(rf"(?P<date>\b(?:{_DAY}|{_MONTH}|{UNGLUED}(?:{_ISO}|{_DOTTED})\b{NO_FIGURES})\b)", _named, _FIGURES),
    absolute(rf"(?<!\w)(?<!\d-){_DECADE}\b", _decade, "0s 0's"),
    absolute(
        rf"(?:{_OF}|{_ALONE})(?P<since>{_LATE_YEAR})\s?[-–]\s?(?P<until>{_LATE_YEAR})\b(?![-/]\d|[.,]\d)", _years, "-"
    ),
    absolute(rf"\b(?P<holiday>{ENGLISH_HOLIDAY}),? (?:of |in )?(?P<year>{_YEAR})\b", _holiday_of_year, "1 2"),
    relative(r"\bthe day before yesterday\b", fixed("day", -2), "yesterday"),
    relative(r"\bthe day after tomorrow\b", fixed("day", 2), "tomorrow"),
    relative(r"\b(?:yesterday|last night)\b", fixed("day", -1), "yesterday night"),
    relative(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", fixed("day", 0), "today tonight this_"),
    relative(r"\btomorrow\b", fixed("day", 1), "tomorrow"),
    relative(rf"\b{NUMBER} {_UNIT}s? ago\b", _ago, "_ago"),
    relative(r"\b(?:the )?(?P<unit>week|weekend|month|year) before last\b", _before_last, "before_last"),
    relative(rf"\b(?:the|over|in|during) (?:last|past) (?:{NUMBER} )?{_UNIT}s?\b(?! of\b|-)", _span, "last_ past_"),
    relative(rf"\blast (?P<holiday>{ENGLISH_HOLIDAY})\b", _last_holiday, "last_"),
    relative(rf"\b{_NO_SPAN}{_WHICH} (?P<weekday>{_WEEKDAY})\b", _named_day, _STEP),
    relative(rf"\b{_NO_SPAN}{_WHICH} weekend\b", _weekend, "weekend"),
    relative(rf"\b(?P<month>{MONTH}) (?:of )?{_WHICH} year\b", _month_of_year, _STEP),
    relative(rf"\b{_NO_SPAN}{_WHICH} year in (?P<month>{MONTH})\b", _month_of_year, "year_in"),
    relative(rf"\b{_NO_SPAN}{_WHICH} (?P<month>{MONTH})\b", _named_month, _STEP),
    relative(rf"\b{_NO_SPAN}{_WHICH} (?P<unit>week|month|year)\b(?! of\b|-)", _beside, _STEP),
    absolute(rf"(?:{_OF})(?P<date>{_YEAR})\b(?![-/]\d|[.,]\d|%)", _named, "1 2"),
)
