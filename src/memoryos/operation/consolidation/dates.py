"""Relative dates ("yesterday", "上周五") resolved against the moment they were said.

Only expressions with one reading are resolved: "next Friday" said on a Monday, "on Friday", "a few days
ago" and "this weekend" said on a Monday stay as they are. What is coarse stays coarse: "two months ago"
is a month, "last week" a week.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memoryos.language.calendar import MONTHS, spoken

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SATURDAY = 5
_WEEK = 7  # days
_YEAR = 12  # months

_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
    for word in words.split()
}
_HAN_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_HAN_NUMBER = r"(?P<number>\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_HAN_WEEK = r"(?:周|星期|礼拜)"


@dataclass(frozen=True, slots=True)
class DateMention:
    """A relative date in a text, and the calendar date it means."""

    start: int  #: of the expression in the text
    end: int
    label: str  #: "7 May 2023", "week of 1 May 2023", "April 2023", "2022"


@dataclass(frozen=True, slots=True)
class _Labels:
    """How one language writes calendar dates."""

    day: Callable[[date], str]
    week: Callable[[date], str]
    weekend: Callable[[date], str]
    month: Callable[[date], str]
    year: Callable[[date], str]


_ENGLISH = _Labels(
    day=spoken,
    week=lambda day: f"week of {spoken(_monday(day))}",
    weekend=lambda day: f"weekend of {spoken(day)}",
    month=lambda day: f"{MONTHS[day.month - 1]} {day.year}",
    year=lambda day: str(day.year),
)
_CHINESE = _Labels(
    day=lambda day: f"{day.year}年{day.month}月{day.day}日",
    week=lambda day: f"{_monday(day).year}年{_monday(day).month}月{_monday(day).day}日当周",
    weekend=lambda day: f"{day.year}年{day.month}月{day.day}日周末",
    month=lambda day: f"{day.year}年{day.month}月",
    year=lambda day: f"{day.year}年",
)

_Resolve = Callable[[re.Match[str], date], "str | None"]


def english_dates(text: str, said_at: datetime) -> list[DateMention]:
    """Find the relative English dates of `text` that can be resolved, in order."""
    return _mentions(_ENGLISH_RULES, text, said_at)


def chinese_dates(text: str, said_at: datetime) -> list[DateMention]:
    """Find the relative Chinese dates of `text` that can be resolved, in order."""
    return _mentions(_CHINESE_RULES, text, said_at)


def insert_dates(text: str, mentions: list[DateMention], brackets: tuple[str, str]) -> str:
    """Return the text with each calendar date in brackets behind its expression."""
    for mention in reversed(mentions):
        text = f"{text[: mention.end]}{brackets[0]}{mention.label}{brackets[1]}{text[mention.end :]}"
    return text


def _mentions(rules: list[tuple[re.Pattern[str], _Resolve]], text: str, said_at: datetime) -> list[DateMention]:
    """Apply the rules in order; where two match the same words the earlier rule wins."""
    found: list[DateMention] = []
    taken: list[tuple[int, int]] = []
    for pattern, resolve in rules:
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            label = _resolved(resolve, match, said_at.date())
            if label is not None:
                found.append(DateMention(match.start(), match.end(), label))
    return sorted(found, key=lambda mention: mention.start)


def _resolved(resolve: _Resolve, match: re.Match[str], today: date) -> str | None:
    try:
        return resolve(match, today)
    except (OverflowError, ValueError):  # before the year 1 or after 9999
        return None


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _add_months(day: date, months: int) -> date:
    """Return the first of the month that many months away."""
    years, month = divmod(day.year * _YEAR + day.month - 1 + months, _YEAR)
    return date(years, month + 1, 1)


def _add_years(day: date, years: int) -> date:
    return date(day.year + years, 1, 1)


def _shift(labels: _Labels, unit: str, count: int, today: date) -> str:
    """Return the label of the day, week, month or year that lies `count` units away."""
    if unit == "day":
        return labels.day(today + timedelta(days=count))
    if unit == "week":
        return labels.week(today + timedelta(weeks=count))
    if unit == "month":
        return labels.month(_add_months(today, count))
    return labels.year(_add_years(today, count))


def _ago(match: re.Match[str], today: date) -> str | None:
    word = match["number"].lower()
    count = int(word) if word.isdigit() else _NUMBERS[word]
    return _shift(_ENGLISH, match["unit"].lower(), -count, today)


def _beside(match: re.Match[str], today: date) -> str | None:
    """`last month`, `this year`, `next week`."""
    step = {"last": -1, "this": 0, "next": 1}[match["which"].lower()]
    return _shift(_ENGLISH, match["unit"].lower(), step, today)


def _named_day(match: re.Match[str], today: date) -> str | None:
    """`last Friday` is the latest one; `this`/`next Friday` only where no other reading exists."""
    which = match["which"].lower()
    ahead = (_WEEKDAYS.index(match["weekday"].lower()) - today.weekday()) % _WEEK or _WEEK
    coming = today + timedelta(days=ahead)
    in_this_week = _monday(coming) == _monday(today)
    if which == "last":
        return _ENGLISH.day(today - timedelta(days=(_WEEK - ahead) or _WEEK))
    if (which == "this") != in_this_week:
        return None
    return _ENGLISH.day(coming)


def _english_weekend(match: re.Match[str], today: date) -> str | None:
    return _weekend(_ENGLISH, match["which"].lower(), today)


def _weekend(labels: _Labels, which: str, today: date) -> str | None:
    """Label the weekend meant; `this` only when said on that weekend, `next` only then too."""
    saturday = _monday(today) + timedelta(days=_SATURDAY)
    at_weekend = today >= saturday
    if which == "last":
        return labels.weekend(saturday - timedelta(days=_WEEK))
    if not at_weekend:
        return None
    return labels.weekend(saturday if which == "this" else saturday + timedelta(days=_WEEK))


def _fixed(labels: _Labels, unit: str, count: int) -> _Resolve:
    return lambda _match, today: _shift(labels, unit, count, today)


def _rule(pattern: str, resolve: _Resolve) -> tuple[re.Pattern[str], _Resolve]:
    return re.compile(pattern, re.IGNORECASE), resolve


_NO_SPAN = r"(?<!the )(?<!past )(?<!over )(?<!since )(?<!until )(?<!every )"  # "the last week" is a span, not a date
_ENGLISH_RULES = [
    _rule(r"\bthe day before yesterday\b", _fixed(_ENGLISH, "day", -2)),
    _rule(r"\bthe day after tomorrow\b", _fixed(_ENGLISH, "day", 2)),
    _rule(r"\b(?:yesterday|last night)\b", _fixed(_ENGLISH, "day", -1)),
    _rule(r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", _fixed(_ENGLISH, "day", 0)),
    _rule(r"\btomorrow\b", _fixed(_ENGLISH, "day", 1)),
    _rule(rf"\b{_NUMBER} (?P<unit>day|week|month|year)s? ago\b", _ago),
    _rule(rf"\b{_NO_SPAN}(?P<which>last|this|next) (?P<weekday>{'|'.join(_WEEKDAYS)})\b", _named_day),
    _rule(rf"\b{_NO_SPAN}(?P<which>last|this|next) weekend\b", _english_weekend),
    _rule(rf"\b{_NO_SPAN}(?P<which>last|this|next) (?P<unit>week|month|year)\b(?! of\b|-)", _beside),
]


def _han_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" not in text:
        return _HAN_DIGITS[text]
    tens, _, ones = text.partition("十")
    return _HAN_DIGITS.get(tens, 1) * 10 + _HAN_DIGITS.get(ones, 0)


def _han_ago(match: re.Match[str], today: date) -> str | None:
    unit = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}[match["unit"]]
    return _shift(_CHINESE, unit, -_han_number(match["number"]), today)


def _han_weekday(match: re.Match[str], today: date) -> str | None:
    """`上周五` is the Friday of the week before: Chinese counts weeks, so there is one reading."""
    week = {"上": -1, "这": 0, "本": 0, "下": 1}[match["which"]]
    weekday = "一二三四五六日".index(match["weekday"].replace("天", "日"))
    return _CHINESE.day(_monday(today) + timedelta(weeks=week, days=weekday))


def _han_weekend(match: re.Match[str], today: date) -> str | None:
    week = {"上": -1, "这": 0, "本": 0, "下": 1}[match["which"]]
    return _CHINESE.weekend(_monday(today) + timedelta(weeks=week, days=_SATURDAY))


def _han_beside(match: re.Match[str], today: date) -> str | None:
    step = {"上": -1, "这": 0, "本": 0, "下": 1}[match["which"]]
    return _shift(_CHINESE, "month" if match["unit"] == "月" else "week", step, today)


def _han_year_month(match: re.Match[str], today: date) -> str | None:
    years = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}[match["year"]]
    month = _han_number(match["number"])
    return _CHINESE.month(date(today.year + years, month, 1))


_CHINESE_RULES = [
    _rule("大前天", _fixed(_CHINESE, "day", -3)),
    _rule("(?<![目之以])前天(?!气)", _fixed(_CHINESE, "day", -2)),
    _rule("昨[天晚日]晚?", _fixed(_CHINESE, "day", -1)),
    _rule("今[天晚早日]晚?", _fixed(_CHINESE, "day", 0)),
    _rule("明[天晚早日]", _fixed(_CHINESE, "day", 1)),
    _rule("大后天", _fixed(_CHINESE, "day", 3)),
    _rule("(?<![之以])后天(?!天)", _fixed(_CHINESE, "day", 2)),
    _rule(f"{_HAN_NUMBER}个?(?P<unit>天|周|星期|礼拜|月|年)(?:之前|以前|前)(?!天)", _han_ago),
    _rule(f"(?<![晚早])(?P<which>[上这本下])个?{_HAN_WEEK}(?P<weekday>[一二三四五六日天])", _han_weekday),
    _rule(f"(?<![晚早])(?P<which>[上这本下])个?{_HAN_WEEK}末", _han_weekend),
    _rule(f"(?<![晚早])(?P<which>[上这本下])个?(?P<unit>月|{_HAN_WEEK})(?![一二三四五六日天末])", _han_beside),
    _rule(rf"(?P<year>前年|去年|今年|明年){_HAN_NUMBER}月份?(?!\d)", _han_year_month),
    _rule("前年", _fixed(_CHINESE, "year", -2)),
    _rule("去年", _fixed(_CHINESE, "year", -1)),
    _rule("今年", _fixed(_CHINESE, "year", 0)),
    _rule("明年", _fixed(_CHINESE, "year", 1)),
    _rule("后年", _fixed(_CHINESE, "year", 2)),
]
