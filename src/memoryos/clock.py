"""Time: always aware, always UTC inside. The clock is injected so that tests and imports own the present."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memoryos.errors import InvalidInput

Clock = Callable[[], datetime]

CLOCK_SKEW = timedelta(minutes=5)  # how far a caller's clock may run ahead of ours


def system_clock() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


def parse_moment(field: str, value: datetime | str, *, now: datetime) -> datetime:
    """Turn a datetime or an ISO 8601 string with a zone into UTC.

    Raises InvalidInput when it cannot be parsed, has no zone, or lies in the future.
    """
    moment = parse_time(field, value)
    if moment > now + CLOCK_SKEW:
        raise InvalidInput(field, f"{moment.isoformat()} is in the future", "Pass the time at which it was said")
    return moment


def parse_time(field: str, value: datetime | str) -> datetime:
    """Turn a datetime or an ISO 8601 string with a zone into UTC.

    Raises InvalidInput when it cannot be parsed or has no zone.
    """
    if isinstance(value, str):
        value = _parsed(field, value)
    if not isinstance(value, datetime):
        raise InvalidInput(
            field, f"expected a datetime or ISO 8601 text, got {type(value).__name__}", "Pass a datetime"
        )
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(field, "has no time zone", "Add one, e.g. datetime(..., tzinfo=UTC) or a +00:00 suffix")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(field, "is outside the calendar", "Use a year from 1 to 9999") from None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """Undo `micros`."""
    return _EPOCH + timedelta(microseconds=value)


def _parsed(field: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(field, f"{text[:40]!r} is no date", "Use ISO 8601, e.g. 2026-05-08T13:56:00+00:00") from None
