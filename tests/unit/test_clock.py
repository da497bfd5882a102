from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from memoryos.clock import CLOCK_SKEW, parse_end, parse_moment, parse_time, system_clock, zoned
from memoryos.errors import InvalidInput

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def parse(value):
    return parse_moment("at", value, now=NOW)


def test_the_system_clock_is_in_utc():
    before = datetime.now(UTC)
    assert before <= system_clock() <= datetime.now(UTC)
    assert system_clock().tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-08T13:56:00+00:00", datetime(2026, 5, 8, 13, 56, tzinfo=UTC)),
        ("2026-05-08T13:56:00Z", datetime(2026, 5, 8, 13, 56, tzinfo=UTC)),
        ("2026-05-08 13:56+08:00", datetime(2026, 5, 8, 5, 56, tzinfo=UTC)),
        ("20260508T135600.123456-0530", datetime(2026, 5, 8, 19, 26, 0, 123456, tzinfo=UTC)),
        (datetime(2026, 5, 8, tzinfo=timezone(timedelta(hours=-5))), datetime(2026, 5, 8, 5, tzinfo=UTC)),
        ("1969-12-31T23:59:59Z", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_becomes_utc(value, expected):
    assert parse(value) == expected
    assert parse(value).tzinfo is UTC


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "value", ["2026-05-08", "20260508", date(2026, 5, 8), datetime(2026, 5, 8), "2026-05-08T00:00:00"], ids=repr
)
def test_what_has_no_zone_is_in_that_of_the_call(value):
    assert parse_time("at", value) == datetime(2026, 5, 8, tzinfo=UTC)
    assert zoned(BERLIN, lambda: parse_time("at", value)) == datetime(2026, 5, 7, 22, tzinfo=UTC)
    assert parse_time("at", value) == datetime(2026, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize("value", ["2026-03-29", date(2026, 3, 29)])
def test_a_day_ends_with_its_last_microsecond_also_where_it_has_23_hours(value):
    assert parse_end("until", value) == datetime(2026, 3, 29, 23, 59, 59, 999999, tzinfo=UTC)
    assert zoned(BERLIN, lambda: parse_end("until", value)) == datetime(2026, 3, 29, 21, 59, 59, 999999, tzinfo=UTC)


def test_a_moment_has_no_end():
    assert parse_end("until", "2026-03-29T10:00:00") == datetime(2026, 3, 29, 10, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="outside the calendar"):
        parse_end("until", "9999-12-31")
    with pytest.raises(InvalidInput, match="is not a date"):
        parse_end("until", "soon")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("yesterday", "is not a date"),
        ("", "is not a date"),
        ("2026-13-01T00:00:00Z", "is not a date"),
        ("x" * 1000, "'x{40}' is not a date"),
        (1_780_000_000, "got int"),
        (None, "got NoneType"),
        (b"2026-05-08T13:56:00Z", "got bytes"),
        ("0001-01-01T00:00:00+14:00", "outside the calendar"),
        ("9999-12-31T23:59:59-14:00", "outside the calendar"),
        ("2026-06-02T00:00:00Z", "in the future"),
    ],
)
def test_what_is_no_moment_is_refused_by_name(value, problem):
    with pytest.raises(InvalidInput, match=rf"^at: .*{problem}"):
        parse(value)


def test_a_clock_may_run_a_little_ahead():
    assert parse(NOW + CLOCK_SKEW) == NOW + CLOCK_SKEW
    with pytest.raises(InvalidInput, match="in the future"):
        parse(NOW + CLOCK_SKEW + timedelta(microseconds=1))
