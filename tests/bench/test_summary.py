from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.bench.means import by_type, summarise
from memoryos.bench.metrics import MEASURES

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


def test_memories_that_differ_give_a_wider_interval_than_their_questions():
    values, users = [0.0] * 50 + [1.0] * 50, ["ann"] * 50 + ["ben"] * 50
    by_questions, by_users = (summarise(rows(*values), clusters=of).estimates[FIRST] for of in (None, users))
    assert by_users.mean == by_questions.mean == 0.5
    assert (by_users.low, by_users.high) == (0, 1)
    assert by_questions.high - by_questions.low < 0.3


def test_a_memory_counts_by_its_questions():
    found = summarise(rows(1.0, 1.0, 1.0, 0.0), clusters=["ann", "ann", "ann", "ben"]).estimates[FIRST]
    assert found.mean == 0.75


def test_questions_of_no_type_count_overall_alone():
    groups = by_type(["b", None, "a"], rows(1.0, 0.0, 0.5))
    assert {name: group.questions for name, group in groups.items()} == {"overall": 3, "a": 1, "b": 1}


def test_the_same_scores_give_the_same_interval():
    assert summarise(rows(0.1, 0.9, 0.4)) == summarise(rows(0.1, 0.9, 0.4))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_lies_among_the_scores(values):
    found = summarise(rows(*values)).estimates[FIRST]
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert min(values) - 1e-9 <= found.mean <= max(values) + 1e-9
