"""Purity: segments against the sessions and events of their pages; every expected value is worked out by hand."""

from __future__ import annotations

import json
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import load_settings
from memoryos.bench.agreement import agreement
from memoryos.bench.purity import measure_locomo, read_events

from .talk import talk


def test_purity_f1_and_nmi_of_a_small_example():
    found = agreement("aaabb", "xxyyy")
    assert found is not None
    assert found.purity == pytest.approx(4 / 5)
    # Four pairs are put together, of which xx and yy are right; of the same class are xx and three of yyy.
    assert found.pairwise_f1 == pytest.approx(2 * 2 / (4 + 4))
    shared = 2 / 5 * log(5 * 2 / (3 * 2)) + 1 / 5 * log(5 / (3 * 3)) + 2 / 5 * log(5 * 2 / (2 * 3))
    entropy = -(3 / 5 * log(3 / 5) + 2 / 5 * log(2 / 5))
    assert found.nmi == pytest.approx(shared / entropy)
    assert (found.groups, found.classes, found.things) == (2, 2, 5)


def test_nothing_agrees_with_nothing():
    assert agreement([], []) is None


def test_groups_of_one_are_pure_and_no_good():
    found = agreement(range(6), "xxxyyy")
    assert found is not None
    assert (found.purity, found.pairwise_f1) == (1, 0)
    assert found.nmi < 0.6


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_every_measure_lies_between_0_and_1_and_is_1_for_the_same(pairs: list[tuple[int, int]]):
    one, other = zip(*pairs, strict=True)
    found, same = agreement(one, other), agreement(one, [f"class {number}" for number in one])
    assert found is not None and same is not None
    for measure in (found.purity, found.pairwise_f1, found.nmi):
        assert -1e-9 <= measure <= 1 + 1e-9
    assert (same.purity, same.pairwise_f1, same.nmi) == pytest.approx((1, 1, 1))


def test_events_are_read_by_session_without_the_speakers(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{**talk(), "event_summary": EVENTS}]), "utf-8")
    assert read_events(path)["conv-1"]["session_1"] == [frozenset({"adopt", "parrot"}), frozenset({"tax", "form"})]


EVENTS = {
    "events_session_1": {"Ann": ["Ann adopts parrot."], "Ben": ["Tax form."], "date": "8 May, 2023"},
    "events_session_2": {"Ann": ["Ann moves to Oslo."], "Ben": [], "date": "9 May, 2023"},
}


def test_a_file_is_measured_before_and_after_repair(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{**talk(), "event_summary": EVENTS}]), "utf-8")
    report = measure_locomo(path, load_settings(embedder="hashing", short_term_capacity=1, segment_threshold=-1.0))
    sessions, events = report.before.sessions, report.before.events
    assert sessions is not None and events is not None
    # Four pages, of which the last stays in STM: two of session_1 and one of session_2, all in one segment.
    assert (sessions.groups, sessions.classes, sessions.things) == (1, 2, 3)
    assert sessions.purity == pytest.approx(2 / 3)
    assert (events.classes, events.things) == (3, 3)
    assert [repair.pages for repair in report.repairs] == [3]
    assert report.after.sessions is not None


def test_a_file_without_events_is_measured_against_sessions_alone(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([talk()]), "utf-8")
    report = measure_locomo(path, load_settings(embedder="hashing", short_term_capacity=1))
    assert report.before.sessions is not None
    assert report.before.events is None
