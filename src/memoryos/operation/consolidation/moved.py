"""When somebody moved: a move is told as news, or as something of long ago that later homes may have followed."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from memoryos.language.times import told_periods
from memoryos.regex import regex

_NEWS = timedelta(days=365)  # a move within it is news, whenever the last home was told
_MOVED = regex(r"\b(?:moved|relocated)\b|[搬移]")


def came_about(quote: str, sentence: str, said_at: datetime) -> datetime:
    """From when on the home that is quoted holds: when it was said, or when one moved there if that is long ago."""
    dated = told_periods(sentence, said_at) if _MOVED.search(quote) else []
    past = [period.last for period in dated if period.last < (said_at - _NEWS).date()]
    return datetime.combine(max(past), time.max, said_at.tzinfo) if past else said_at
