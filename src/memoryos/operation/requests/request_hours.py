"""Request hours: "in the last two hours" and 最近半小时, which name no day but count back from the request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memoryos.language.calendar import HAN_NUMBER, han_number
from memoryos.language.english_times import NUMBER, counted
from memoryos.language.words import HAN
from memoryos.regex import regex

_ENGLISH = regex(
    rf"\b(?:in|within|during|over|from) the (?:last|past|previous) (?:(?:{NUMBER}|(?P<half>half an)) )?"
    r"(?P<unit>hour|minute)s?\b",
    re.IGNORECASE,
)
_CHINESE = regex(
    rf"在?(?:最近|过去|過去|近)的?(?:这|這)?(?:(?P<number>{HAN_NUMBER})|(?P<half>半))?个?個?"
    r"(?P<unit>小时|小時|钟头|鐘頭|分钟|分鐘)(?:之内|之內|以内|以內|内|內|里|裡)?的?"
)


@dataclass(frozen=True, slots=True)
class LatestHours:
    """The time from a moment of today on, and the text without the words for it."""

    since: datetime
    rest: str


def latest_hours(text: str, now: datetime) -> LatestHours | None:
    """The hours or minutes up to now that a text names; None if it names none."""
    found = (_CHINESE if HAN.search(text) else _ENGLISH).search(text)
    if found is None:
        return None
    unit = timedelta(minutes=1) if found["unit"].lower() in ("minute", "分钟", "分鐘") else timedelta(hours=1)
    passed = unit / 2 if found["half"] else unit * _number(found)
    since = (now.astimezone(UTC) - passed).astimezone(now.tzinfo)  # a clock that is changed in between skips none
    return LatestHours(since, " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()))


def _number(found: re.Match[str]) -> int:
    number = found["number"] or ""
    return han_number(number) if HAN.search(number) else counted(found)
