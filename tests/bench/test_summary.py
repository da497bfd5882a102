from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.bench.metrics import MEASURES
from memoryos.bench.summary import by_type, summarise

FIRST = MEASURES[0]


def rows(*values):
    return [[value] * len(MEASURES) for value in values]


def test_the_mean_of_each_group():
    groups = by_type(["4", "1", "4"], rows(1.0, 0.0, 0.5))
    assert list(groups) == ["overall", "1", "4"]
    assert [group.questions for group in groups.values()] == [3, 1, 2]
    assert [group.estimates[FIRST].mean for group in groups.values()] == [0.5, 0.0, 0.75]


def test_a_measure_is_summarised_by_itself():
    table = np.eye(len(MEASURES))
    estimates = summarise(table.tolist()).estimates
    assert list(estimates) == list(MEASURES)
    assert {found.mean for found in estimates.values()} == {1 / len(MEASURES)}


def test_the_interval_is_as_wide_as_theory_says():
    found = summarise(rows(*[0.0, 1.0] * 200)).estimates[FIRST]
    assert found.high - found.low == pytest.approx(2 * 1.96 * (0.25 / 400) ** 0.5, rel=0.15)


def test_the_same_scores_give_the_same_interval():
    assert summarise(rows(0.1, 0.9, 0.4)) == summarise(rows(0.1, 0.9, 0.4))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_lies_among_the_scores(values):
    found = summarise(rows(*values)).estimates[FIRST]
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert min(values) - 1e-9 <= found.mean <= max(values) + 1e-9
