"""The names of the calendar, independent of the process's language, and the words that a date is found by.

A date is found by its year, the English name of its month and its day, in whatever language it is written: the
question 2023年5月 finds what was said on "8 May 2023", and the other way round.
"""

from __future__ import annotations

import re
from datetime import date

from memoryos.language.plain_letters import plain_text
from memoryos.regex import regex

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DAY_NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
MONTH = "|".join(month if month == "May" else f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + "|Sept"

# A date in figures may stand in a range of two; glued to other figures it is none (10.01.2024-77).
_ISO_OR_DOTTED = r"\d{4}[-/]\d{1,2}[-/]\d|\d{1,2}\.\d{1,2}\.\d{4}"
NO_FIGURES = rf"(?!-(?!{_ISO_OR_DOTTED})\d)"
UNGLUED = r"(?:(?<!\d-)|(?<=[-/.]\d\d-)|(?<=\.\d{4}-))"

HAN_NUMBER = r"(?:(?<!\d)\d{1,3}(?!\d)|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
HAN_YEAR = r"(?:(?<!\d)\d{4}|[零〇一二三四五六七八九]{4})"
_HAN_DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}

# The verb is written small or opens a sentence ("May I?"). Beside a number, after some prepositions or with a capital
# inside a sentence it is the month; or somebody's name, which is worth finding, too.
_MAY = regex(
    r"""(?i:\bmay(?=,?\ (?:the\ )?\d)                                           # May 2023, may 8th
          | \b\d{1,2}(?:st|nd|rd|th)?\ (?:of\ )?may\b(?=,?\ \d{4}|\s*[?.!,;]|\s*$)   # 8 may, 8th of may
          | \b(?:in|last|since|until|during)\ may\b)
      | (?<=[a-z0-9,;&][ ])May\b | (?<=[a-z]-)May\b                          # by May, mid-May
    """,
    re.VERBOSE,
)
_DAY = regex(
    rf"\b(?P<day>{DAY_NUMBER}) (?:of )?(?P<month>{MONTH})\b"
    rf"|\b(?P<named>{MONTH})\.? (?:the )?(?P<number>{DAY_NUMBER}|\d{{4}})\b(?!:)",
    re.IGNORECASE,
)
_DIGIT = regex(r"\d")
_FIGURE_SIGNS = regex(r"\d[-/]\d|\d\.\d{1,2}\.\d{4}")
_FIGURES = regex(
    rf"{UNGLUED}(?<!\d)(?P<iso_year>\d{{4}})[-/](?P<iso_month>\d{{1,2}})[-/](?P<iso_day>\d{{1,2}})(?!\d){NO_FIGURES}"
    rf"|{UNGLUED}(?<![\d.])(?P<dot_day>\d{{1,2}})\.(?P<dot_month>\d{{1,2}})\.(?P<dot_year>\d{{4}})(?![\d.]\d){NO_FIGURES}"
    rf"|(?P<year>{HAN_YEAR})年(?:(?P<month>{HAN_NUMBER})月份?(?:(?P<day>{HAN_NUMBER})[日号]?)?)?"
    rf"|(?P<only_month>{HAN_NUMBER})月(?![饼球亮前])份?(?:(?P<only_day>{HAN_NUMBER})[日号]?)?"
)


def spoken(day: date) -> str:
    """A date as people write it: 8 May 2023."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def dated_words(text: str) -> tuple[str, list[str]]:
    """The text with English days and months in one form and without other dates, and the words these are found by.

    Its digits are those of ASCII, so that a number is found in whatever digits it is written.

    The month of May is among these words, because a search leaves the verb out.
    """
    text = plain_text(text)
    has_digit = _DIGIT.search(text) is not None
    if has_digit:
        text = _DAY.sub(_plain_day, text)
    found = ["may"] * len(_MAY.findall(text)) if "may" in text.lower() else []
    if not text.isascii() or (has_digit and _FIGURE_SIGNS.search(text)):
        found += [word for match in _FIGURES.finditer(text) for word in _words_of(match)]
        text = _FIGURES.sub(lambda match: " " if _words_of(match) else match.group(), text)
    return text, found


def month_number(name: str) -> int:
    """The month of an English name or its abbreviation, from 1."""
    return 1 + next(number for number, month in enumerate(MONTHS) if month.startswith(name[:3].capitalize()))


def han_number(text: str) -> int:
    """The value of a number up to 999 in figures, or up to 99 in Chinese; of a year, digit by digit."""
    if text.isdecimal():
        return int(text)
    if "十" not in text:
        return int("".join(str(_HAN_DIGITS[digit]) for digit in text))
    tens, _, ones = text.partition("十")
    return _HAN_DIGITS.get(tens, 1) * 10 + _HAN_DIGITS.get(ones, 0)


def _plain_day(match: re.Match[str]) -> str:
    """`Aug. 4th` as `4 August`, so that it is found by the date of the day."""
    month = MONTHS[month_number(match["month"] or match["named"]) - 1]
    number = (match["day"] or match["number"]).rstrip("stndrh")
    return f"{number} {month}" if len(number) <= 2 else f"{month} {number}"


def _words_of(match: re.Match[str]) -> list[str]:
    """Year, month and day as far as they are named; nothing when there is no such month."""
    year, month, day = (
        next((han_number(match[name]) for name in names if match[name]), None)
        for names in (
            ("iso_year", "dot_year", "year"),
            ("iso_month", "dot_month", "month", "only_month"),
            ("iso_day", "dot_day", "day", "only_day"),
        )
    )
    if month is not None and not 1 <= month <= len(MONTHS):
        return []
    words = (year and str(year), month and MONTHS[month - 1].lower(), day and str(day))
    return [word for word in words if word]
