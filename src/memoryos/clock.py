"""Time: always aware, always UTC inside. The clock is injected, so that tests and imports set the current time."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TypeVar

from memoryos.errors import InvalidInput

T = TypeVar("T")

Clock = Callable[[], datetime]  #: a function that returns the current time, with a time zone

_ZONE: ContextVar[tzinfo] = ContextVar("zone", default=UTC)

CLOCK_SKEW = timedelta(minutes=5)  # how far a caller's clock may run ahead of ours

_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)  # leaves room for every delay


def system_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class CheckedClock:
    """A clock that returns UTC times between 1900 and 9000, and raises InvalidInput for others."""

    clock: Clock

    def __call__(self) -> datetime:
        """Return the current time."""
        moment = parse_time("clock", self.clock())
        if not _EARLIEST <= moment <= _LATEST:
            problem = f"{moment.isoformat()} is no possible present"
            raise InvalidInput("clock", problem, "Set the clock to a year from 1900 to 8999")
        return moment


def checked_clock(clock: Clock) -> Clock:
    """Wrap a clock so that it stays within the calendar. Raises InvalidInput if it is not callable."""
    if clock is system_clock or isinstance(clock, CheckedClock):
        return clock
    if not callable(clock):
        raise InvalidInput("clock", f"expected a function, got {type(clock).__name__}", "Pass e.g. system_clock")
    return CheckedClock(clock)


def zoned(zone: tzinfo, call: Callable[[], T]) -> T:
    """Run a function and return its result; times without a zone are in this zone meanwhile."""
    token = _ZONE.set(zone)
    try:
        return call()
    finally:
        _ZONE.reset(token)


def parse_end(field: str, value: datetime | str) -> datetime:
    """Like `parse_time`, but a day means its last microsecond."""
    moment = _parsed(field, value) if isinstance(value, str) else value
    is_day = isinstance(moment, date) and not isinstance(moment, datetime)
    is_day = is_day or (isinstance(value, str) and len(value.strip()) <= len("2024-01-01"))
    if not is_day:
        return parse_time(field, value)
    try:
        return parse_time(field, moment + timedelta(days=1)) - timedelta(microseconds=1)
    except OverflowError:
        raise InvalidInput(field, "is outside the calendar", "Use a year from 1 to 9999") from None


def parse_moment(field: str, value: datetime | str, *, now: datetime) -> datetime:
    """Convert a datetime, a day or ISO 8601 text to UTC; without a zone, it is in the zone of `zoned`.

    Raises InvalidInput if it cannot be parsed or is in the future.
    """
    moment = parse_time(field, value)
    if moment > now + CLOCK_SKEW:
        raise InvalidInput(field, f"{moment.isoformat()} is in the future", "Pass the time at which it was said")
    return moment


def parse_time(field: str, value: datetime | str) -> datetime:
    """Convert a datetime, a day (its midnight) or ISO 8601 text to UTC; without a zone, it is in the zone of `zoned`.

    Raises InvalidInput if it cannot be parsed.
    """
    if isinstance(value, str):
        value = _parsed(field, value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if not isinstance(value, datetime):
        raise InvalidInput(
            field, f"expected a datetime or ISO 8601 text, got {type(value).__name__}", "Pass a datetime"
        )
    if value.tzinfo is None or value.utcoffset() is None:
        value = value.replace(tzinfo=_ZONE.get())
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
    """The inverse of `micros`."""
    return _EPOCH + timedelta(microseconds=value)


def _parsed(field: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            field, f"{text[:40]!r} is not a date", "Use ISO 8601, e.g. 2026-05-08T13:56:00+00:00"
        ) from None
