"""F_score = cosine + Jaccard, and the segment a page joins by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.operation.hierarchy.score import FScore, Probe, jaccard
from memoryos.operation.hierarchy.shelf import Shelf

from .world import World

UNIT = np.array([1, 0], dtype=np.float32)
SLANTED = np.array([3, 4], dtype=np.float32)  # at length 5
NOWHERE = np.zeros(2, dtype=np.float32)

vectors = st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3).map(lambda v: np.array(v, dtype=np.float32))
keyword_sets = st.lists(st.sampled_from(["tea", "cup", "milk", "茶", "杯子"]))


def f_score(segment: Probe, text: Probe) -> FScore:
    return Shelf({"segment": segment}).f_scores(text)[0]


def test_is_the_sum_of_cosine_and_jaccard():
    score = f_score(Probe.of(UNIT, ["tea", "milk", "cup"]), Probe.of(SLANTED, ["tea", "milk", "pot"]))
    assert score.cosine == pytest.approx(0.6)
    assert score.jaccard == pytest.approx(2 / 4)
    assert score.total == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((), (), 0),
        (("tea",), (), 0),
        (("tea",), ("tea",), 1),
        (("cats", "running"), ("cat", "run"), 1),
        (("tea", "cup"), ("cup", "milk"), 1 / 3),
        (("茶", "杯子"), ("杯子",), 1 / 2),
    ],
)
def test_jaccard_of_stems(left, right, expected):
    assert jaccard(Probe.of(UNIT, left).stems, Probe.of(UNIT, right).stems) == pytest.approx(expected)


def test_opposite_texts_without_common_words_score_minus_one():
    assert f_score(Probe.of(UNIT, ["tea"]), Probe.of(-UNIT, ["cup"])).total == -1


def test_a_zero_vector_has_no_cosine():
    assert f_score(Probe.of(NOWHERE, []), Probe.of(UNIT, [])).total == 0


@given(vectors, keyword_sets, vectors, keyword_sets)
def test_stays_between_minus_one_and_two(left, left_words, right, right_words):
    score = f_score(Probe.of(left, left_words), Probe.of(right, right_words))
    assert -1 - 1e-5 <= score.total <= 2 + 1e-5
    assert 0 <= score.jaccard <= 1


def test_a_page_exactly_at_theta_opens_a_segment(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 green milk cup pot")
    memory.add("🚲 black milk cup pot")  # cosine 0 + Jaccard 3/5
    memory.add("🌙")
    assert [view.cube.payload.pages for view in memory.segments.list()] == [1, 1]


def test_a_page_just_above_theta_joins(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 green milk cup pot jug")
    memory.add("🚲 black milk cup pot jug")  # cosine 0 + Jaccard 4/6
    memory.add("🌙")
    assert [view.cube.payload.pages for view in memory.segments.list()] == [2]


def test_theta_is_a_setting(world: World):
    memory = world.open(short_term_capacity=1, segment_threshold=0.7)
    memory.add("🍵 green milk cup pot jug")
    memory.add("🚲 black milk cup pot jug")
    memory.add("🌙")
    assert len(memory.segments.list()) == 2


def test_a_page_joins_the_best_sum_not_the_best_cosine(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🌙 eclipse")
    memory.add("🍵 milk cup")
    page = memory.add("🌙🌙🌙🌙🍵🍵🍵 milk cup")  # 0.8 + 0 against 0.6 + 1
    memory.add("🚂")
    home = next(view for view in memory.segments.list() if page in view.page_ids)
    assert "milk" in home.keywords
    assert "eclipse" not in home.keywords


def test_chinese_pages_of_one_topic_share_a_segment(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🌧 今天北京天气很好")
    memory.add("🌙 昨天北京天气很好")
    memory.add("🚂 火车票")
    memory.add("🍵")
    assert sorted(view.cube.payload.pages for view in memory.segments.list()) == [1, 2]


@given(st.lists(st.tuples(vectors, keyword_sets), min_size=1, max_size=8), vectors, keyword_sets, st.integers(1, 9))
def test_the_best_come_first_and_of_equal_ones_the_earlier(segments, vector, words, limit):
    probes = [Probe.of(*segment) for segment in segments]
    shelf = Shelf({str(number): probe for number, probe in enumerate(probes)})
    scores = shelf.f_scores(Probe.of(vector, words))
    totals = [scores[index].total for index in range(len(probes))]
    ranked = sorted(range(len(probes)), key=lambda index: -totals[index])  # stable
    assert scores.best(limit) == ranked[:limit]
