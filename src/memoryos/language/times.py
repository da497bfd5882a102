"""Times: the expressions of time in a text, English and Chinese, and the periods that they mean.

A turn speaks of the periods that its expressions name. A question also asks for what lies before, after or
between them: "since May 2023", "before last week", 从2023年5月到7月.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from memoryos.language.bounds import NEAR, Bound, bound_of
from memoryos.language.chinese_times import CHINESE
from memoryos.language.english_times import ENGLISH
from memoryos.language.holidays import HINTS as HOLIDAYS
from memoryos.language.marked import Marked, marks
from memoryos.language.period import Period, after, before
from memoryos.language.plain_letters import plain_text
from memoryos.language.rule import Rule
from memoryos.language.undated import Undated, undated_times
from memoryos.language.yearly import bounding_days
from memoryos.regex import regex
from memoryos.text_cache import SHORT, text_cache

# One of these is in every English expression, so that most texts are read once and not once for every rule.
_HINTS = (
    "day",
    "night",
    "tomorrow",
    "morning",
    "afternoon",
    "evening",
    "week",
    "month",
    "year",
    "0s",
    "0's",
    *HOLIDAYS,
)
_YEAR_HINT = regex(r"(?:1[5-9]|20|21)\d\d")
_MONTH_HINT = Marked(
    regex(r"(?:last|this|next) (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"), marks("last_ this_ next_")
)

_FROM = regex(r"(?:\b(?:between|from)\s+(?:the )?|从|自)$", re.IGNORECASE)
_BETWEEN_HAN = regex(r"(?:之间|期间)")
_NAMES = ("month", "weekday", "holiday")  # groups of rules: people say these names, too, of what was then
_TO = regex(r"\s*(?:and|to|until|till|through|-|–|—|和|与|到|至)\s*(?:the )?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeMention:
    """An expression of time in a text, and the period that it means."""

    start: int  #: of the expression in the text
    end: int
    period: Period
    is_relative: bool = False  #: whether it means another period when it is said on another day
    is_counted: bool = False  #: whether it only counts from that day: "last week", but not "last May" or "last Friday"
    bound: Bound | None = None  #: what a question makes of the period that the words name


def english_times(text: str, said_on: date) -> list[TimeMention]:
    """The English expressions of time in the text that have one reading, in order."""
    text = plain_text(text)
    lower = text.lower()
    if not _is_hinted(lower):
        return []
    # Without case, some letters beside those of ASCII match these, too, and have another small form.
    rules = [rule for rule in ENGLISH if rule.may_match(lower)] if text.isascii() else ENGLISH
    return _mentions(rules, text, said_on)


def chinese_times(text: str, said_on: date) -> list[TimeMention]:
    """The Chinese expressions of time in the text that have one reading, in order."""
    return [] if text.isascii() else _mentions(CHINESE, plain_text(text), said_on)


def named_periods(text: str, said_at: datetime) -> list[Period]:
    """The periods that the text names, each once."""
    return list(dict.fromkeys(mention.period for mention in _times(text, said_at.date())))


def asked_times(text: str, asked_at: datetime) -> list[TimeMention]:
    """The expressions of time in a question, each with the period that it asks about; a range is one of them."""
    today = asked_at.date()
    found = _times(text, today)
    found += [
        TimeMention(one.name, one.end, period, is_relative=True)
        for one in bounding_days(text)
        if not any(one.start < other.end and other.start < one.end for other in found)
        and (period := one.days.latest(today, is_over=bound_of(text, one.name, one.end) is Bound.AFTER))
    ]
    return list(_meant(text, sorted(found, key=lambda mention: mention.start), today))


def latest_times(text: str, asked_at: datetime) -> list[TimeMention]:
    """As `asked_times`, and a weekday, or a month or day without a year, is the latest one that has begun.

    A weekday is one before today: who means today says so.
    """
    today = asked_at.date()
    found: list[tuple[TimeMention, Undated | None]] = [(one, None) for one in _times(text, today)]
    for undated in undated_times(text):
        is_new = not any(undated.start < one.end and one.start < undated.end for one, _ in found)
        is_over = bound_of(text, undated.start, undated.end) is Bound.AFTER
        if is_new and (period := undated.latest(today, is_over=is_over)):
            found.append((TimeMention(undated.start, undated.end, period, is_relative=True), undated))
    found.sort(key=lambda one: one[0].start)
    return list(_meant(text, _in_order(text, found), today))


def _in_order(text: str, found: Sequence[tuple[TimeMention, Undated | None]]) -> list[TimeMention]:
    """The mentions; the one that begins a range is before the one that ends it: "from Friday to Tuesday"."""
    mentions = [mention for mention, _ in found]
    for place, (mention, undated) in enumerate(found[:-1]):
        last = mentions[place + 1]
        if undated and mention.period.first > last.period.first and _is_range(text, mention, last):
            earlier = undated.latest(last.period.first, is_over=False)
            mentions[place] = replace(mention, period=earlier) if earlier else mention
    return mentions


def asked_periods(text: str, asked_at: datetime) -> list[Period]:
    """The periods that a question asks about, each once."""
    return list(dict.fromkeys(mention.period for mention in asked_times(text, asked_at)))


def told_periods(text: str, said_at: datetime) -> list[Period]:
    """The periods that a statement dates itself to: those it names, but not as a beginning or an end."""
    found = _times(text, said_at.date())
    return [mention.period for mention in found if not _opens(text, mention)]


def stated_bounds(text: str, said_at: datetime) -> tuple[date | None, date | None]:
    """The day from which a statement says that it holds, and the first on which it no longer does.

    "Since 2019" and 从2019年起 begin, "until last May" ends (in June), "from 2019 to 2021" does both.
    """
    first: date | None = None
    last: date | None = None
    found = _times(text, said_at.date())
    for index, mention in enumerate(found):
        if index + 1 < len(found) and _is_range(text, mention, found[index + 1]):
            first, last = mention.period.first, found[index + 1].period.last
            break
        bound = bound_of(text, mention.start, mention.end)
        if bound is Bound.UNTIL:
            last = mention.period.last
        elif bound is Bound.SINCE:
            first = mention.period.first
    return first, last + timedelta(days=1) if last and last < date.max else last


def untimed(text: str, asked_at: datetime) -> str:
    """The text without the expressions that name a period."""
    return without_times(text, _times(text, asked_at.date()))


def uncounted(text: str, asked_at: datetime) -> str:
    """The text without the expressions that only count from today: nobody says "last week" of what was said then."""
    return without_times(text, [mention for mention in _times(text, asked_at.date()) if mention.is_counted])


def without_times(text: str, mentions: Sequence[TimeMention]) -> str:
    """The text without these expressions, which are in order."""
    for mention in reversed(mentions):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text


def _is_hinted(lower: str) -> bool:
    for hint in _HINTS:
        if hint in lower:
            return True
    return bool(_YEAR_HINT.search(lower) or _MONTH_HINT.search(lower, lower))


def _times(text: str, today: date) -> list[TimeMention]:
    return [*(_known(text, today) if len(text) <= SHORT else _read(text, today))]


def _read(text: str, today: date) -> Sequence[TimeMention]:
    found = english_times(text, today)
    return found if text.isascii() else sorted([*found, *chinese_times(text, today)], key=lambda mention: mention.start)


_known = text_cache(256)(_read)  # of a question they are asked for five times


def _opens(text: str, mention: TimeMention) -> bool:
    """Whether the expression is where something begins or ends, rather than when it is."""
    return bool(
        bound_of(text, mention.start, mention.end) not in (None, Bound.BY) or _FROM.search(_head(text, mention))
    )


def _mentions(rules: Iterable[Rule], text: str, said_on: date) -> list[TimeMention]:
    """Apply the rules in order; where two match the same words the earlier rule wins."""
    found: list[TimeMention] = []
    taken = bytearray(len(text))  # which characters have been read
    for rule in rules:
        for match in rule.pattern.finditer(text):
            read = slice(*match.span())
            if any(taken[read]):
                continue
            taken[read] = b"\1" * len(match.group())
            period = rule.period(match, said_on)
            if period is not None:
                is_counted = rule.is_relative and not any(map(match.groupdict().get, _NAMES))
                found.append(TimeMention(match.start(), match.end(), period, rule.is_relative, is_counted))
    return sorted(found, key=lambda mention: mention.start)


def _meant(text: str, found: Sequence[TimeMention], today: date) -> Iterator[TimeMention]:
    """The mentions with the periods that the words around them make of them; two that are the ends of one are one."""
    left = list(reversed(found))
    while left:
        mention = left.pop()
        if left and _is_range(text, mention, left[-1]):
            last = left.pop()
            period = Period(min(mention.period.first, last.period.first), max(mention.period.last, last.period.last))
            yield replace(mention, end=last.end, period=period)
        else:
            bound = bound_of(text, mention.start, mention.end)
            period = _bounded(bound, mention.period, today) if bound else mention.period
            yield replace(mention, period=period, bound=bound)


def _is_range(text: str, first: TimeMention, last: TimeMention) -> bool:
    is_framed = _FROM.search(_head(text, first)) or _BETWEEN_HAN.match(text, last.end)
    return bool(is_framed and _TO.fullmatch(text[first.end : last.start]))


def _head(text: str, mention: TimeMention) -> str:
    return text[max(0, mention.start - NEAR) : mention.start]


def _bounded(bound: Bound, period: Period, today: date) -> Period:
    """All that lies on that side of the period; what is outside the calendar is the period itself."""
    try:
        if bound is Bound.BEFORE:
            return before(period)
        if bound is Bound.AFTER:
            return after(period)
    except OverflowError:
        return period
    return (
        Period(date.min, period.last)
        if bound in (Bound.UNTIL, Bound.BY)
        else Period(period.first, max(period.last, today))
    )
