"""Span: a stretch of time falls into years, months, weeks, days, sittings and topics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.clock import from_micros, micros
from memoryos.infrastructure.vault.records import StoredPassage
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.recall.span import Break, Span

MONDAY = datetime(2024, 1, 1, 12, tzinfo=UTC)
VECTOR = np.ones(2, "<f2").tobytes()


def span(*moments: datetime, worth: Sequence[float] = (), segments: Sequence[str | None] = ()) -> Span:
    """The span of turns said at these moments."""
    index = TurnIndex(2)
    index.put(
        [
            StoredPassage(f"p{number}", number, 1, "mtm", None, micros(at), None, 0, "word", VECTOR, segment=segment)
            for number, (at, segment) in enumerate(zip(moments, segments or [None] * len(moments), strict=True))
        ]
    )
    return Span.of(index, np.arange(len(moments)), np.array(worth or [1] * len(moments), np.float32))


def days(*numbers: float) -> list[datetime]:
    return [MONDAY + timedelta(days=number) for number in numbers]


@pytest.mark.parametrize(
    ("pause", "ends"),
    [
        (timedelta(minutes=5), Break.NONE),
        (timedelta(hours=2), Break.SITTING),
        (timedelta(days=1), Break.DAY),
        (timedelta(days=7), Break.WEEK),
        (timedelta(days=31), Break.MONTH),
        (timedelta(days=366), Break.YEAR),
    ],
)
def test_what_ends_between_two_turns(pause, ends):
    assert span(MONDAY, MONDAY + pause).breaks.tolist() == [Break.NONE, ends]


def test_a_week_begins_on_monday_also_before_1970():
    for monday in (datetime(1969, 12, 29, tzinfo=UTC), datetime(2024, 1, 8, tzinfo=UTC)):
        before, on, after = (monday + timedelta(days=number) for number in (-1, 0, 1))
        assert span(before, on, after).breaks.tolist() == [Break.NONE, Break.WEEK, Break.DAY]


def test_a_topic_ends_where_another_segment_begins():
    moments = [MONDAY + timedelta(minutes=number) for number in range(4)]
    found = span(*moments, segments=["a", "a", "b", None])
    assert found.breaks.tolist() == [Break.NONE, Break.NONE, Break.TOPIC, Break.TOPIC]


def test_the_longest_periods_come_first():
    found = span(*days(0, 1, 40, 41, 400, 401, 440))
    assert found.runs(1) == [(0, 7)]
    assert found.runs(2) == [(0, 4), (4, 7)]  # years
    assert found.runs(4) == [(0, 2), (2, 4), (4, 6), (6, 7)]  # months
    assert found.runs(99) == [(place, place + 1) for place in range(7)]


def test_what_is_worth_more_is_split_first():
    found = span(*days(0, 40, 80, 120), worth=[9, 9, 1, 1])
    assert found.runs(3) == [(0, 1), (1, 2), (2, 4)]


def test_turns_that_come_in_late_are_put_in_their_place():
    found = span(*days(5, 0, 3))
    assert [from_micros(int(at)) for at in found.index.said_at[found.rows]] == days(0, 3, 5)


def test_nothing_falls_into_no_runs():
    assert span().runs(5) == []


@given(st.lists(st.floats(0, 1500), min_size=1, max_size=40), st.integers(1, 50), st.randoms())
def test_runs_are_the_whole_span_and_more_of_them_are_finer(moments, count, chance):
    found = span(*days(*moments), worth=[chance.random() for _ in moments])
    fewer, more = found.runs(count), found.runs(count + 1)
    assert len(fewer) == min(count, len(moments))
    assert [fewer[0].first, fewer[-1].end] == [0, len(moments)]
    assert all(one.end == other.first for one, other in pairwise(fewer))
    assert {run.first for run in fewer} <= {run.first for run in more}
