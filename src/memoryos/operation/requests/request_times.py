"""Request times: the time range that a request names, and its words without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from memoryos.language.stopwords import FUNCTION_WORDS
from memoryos.language.times import TimeMention, asked_times, latest_times
from memoryos.language.words import words
from memoryos.operation.requests.request_hours import latest_hours
from memoryos.regex import regex

_BEFORE = regex(
    r"(?:\b(?:in|on|at|from|since|until|till|up to|during|of|between|before|prior to|after|by|over|throughout|around)"
    r"\s+(?:the\s+)?(?:time\s+)?|在|于|从|自从?|到|截至)\Z",
    re.IGNORECASE,
)
_BEHIND = regex(r"(?:(?:之|以)[前后来间内]|[前后]|期间|起|开始|为止|至今|的?时候|那天|当天|里|份|的)*")
_TIME_WORDS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn fall winter day days night nights week weeks weekend
    weekends month months year years hour hours minute minutes morning mornings afternoon afternoons evening evenings
    noon midnight today yesterday tomorrow tonight earlier recently lately ago past last next previous other while time
    times once moment moments before after since until now then later long early late first second third few couple
    several christmas easter holidays date era beginning end start middle mid
    最近 近来 前几天 早上 上午 中午 下午 晚上 刚才 之前 以前 那天 时候 几天 周末 平时 小时 分钟 日子 时间 天 周
    月 年 星期 礼拜 春天 夏天 秋天 冬天 当时 那时 后来 前些天 早些时候 上次 昨天 今天 明天 去年 今年 早晨 半夜
    夜里 傍晚""".split()
)
_PARTS_OF_DAY = regex(
    r"\b(?:mornings?|afternoons?|evenings?|nights?|tonight|noon|midnight)\b|[早晚]上|[今昨前]晚|今早|上午|中午|下午|傍晚|凌晨|半夜|夜里",
    re.IGNORECASE,
)
_NUMBER = regex(r"\d+(?:st|nd|rd|th)?")
_HAN_SMALL = frozenset("我你的了在那个这些前后上下几")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range, and the text that named it without its words."""

    since: datetime | None
    until: datetime | None
    rest: str
    is_split: bool = False  #: whether the text names several times that have no day in common

    @property
    def is_bounded(self) -> bool:
        """Whether there is a begin or an end."""
        return self.since is not None or self.until is not None


def time_range(text: str, now: datetime, *, is_latest: bool) -> TimeRange:
    """The time range that a text names: the days that all times in it have in common, or from the first to the last.

    A text that names no day may name the latest hours or minutes.

    With `is_latest`, a weekday, and a month or day without a year, is the latest one; else these name no range.
    """
    mentions = latest_times(text, now) if is_latest else asked_times(text, now)
    if not mentions:
        hours = latest_hours(text, now)
        return TimeRange(hours.since, now, hours.rest) if hours else TimeRange(None, None, text)
    firsts = [mention.period.first for mention in mentions]
    lasts = [mention.period.last for mention in mentions]
    is_split = max(firsts) > min(lasts)
    first, last = (min(firsts), max(lasts)) if is_split else (max(firsts), min(lasts))
    return TimeRange(
        _start(first, now), _end(last, now), " ".join(without_time_phrases(text, mentions).split()), is_split
    )


def names_part_of_day(text: str) -> int:
    """How many parts of a day a text names: times are days, and "last night" would take all of yesterday."""
    return len(_PARTS_OF_DAY.findall(text))


def is_only_time(text: str) -> bool:
    """Whether a text has words, and all of them tell a time: "the other day", 前几天."""
    told = [word for word in words(text) if word not in FUNCTION_WORDS and word not in _HAN_SMALL]
    return bool(told) and all(word in _TIME_WORDS or _NUMBER.fullmatch(word) for word in told)


def without_time_phrases(text: str, mentions: Sequence[TimeMention]) -> str:
    """The text without these expressions and the words that bind them to it."""
    for mention in reversed(mentions):
        head = _BEFORE.sub("", text[: mention.start])
        behind = _BEHIND.match(text, mention.end)
        text = f"{head} {text[behind.end() if behind else mention.end :]}"
    return text


def _start(day: date, now: datetime) -> datetime | None:
    """The begin of a day; None for the first day of the calendar, before which there is nothing."""
    return datetime.combine(day, time(), now.tzinfo) if day > date.min else None


def _end(day: date, now: datetime) -> datetime | None:
    if day >= date.max - timedelta(days=1):
        return None
    return datetime.combine(day + timedelta(days=1), time(), now.tzinfo) - timedelta(microseconds=1)
