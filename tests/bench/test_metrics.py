from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.bench.metrics import (
    MEASURES,
    SESSION_COUNTS,
    TOKEN_BUDGETS,
    TURN_COUNTS,
    Candidate,
    Measure,
    first_sessions,
    recall,
    scores,
    within_tokens,
)


def alone(evidence):
    """Each turn as a group of its own."""
    return [(turn,) for turn in evidence]


def measured(ranking, evidence):
    return dict(zip(MEASURES, scores(ranking, alone(evidence)), strict=True))


def turns(*tokens, session="session_1"):
    return [Candidate(f"{session}:{number}", session, cost) for number, cost in enumerate(tokens, 1)]


def test_a_turn_that_does_not_fit_is_passed_over():
    ranking = turns(200, 100, 56, 1)
    assert within_tokens(ranking, 256) == [ranking[0], ranking[2]]
    assert within_tokens(ranking, 257) == [ranking[0], ranking[2], ranking[3]]


def test_a_budget_may_be_filled_exactly():
    assert len(within_tokens(turns(128, 128), 256)) == 2
    assert len(within_tokens(turns(128, 129), 256)) == 1


def test_more_tokens_can_find_less_because_a_long_turn_fits_now():
    ranking = turns(300, 150, 100)
    assert measured(ranking, ranking[1:])[Measure("tokens", 256)] == 1
    assert measured(ranking, ranking[1:])[Measure("tokens", 512)] == 0.5


def test_recall_by_hand():
    one, two = turns(200, 400, 30), turns(20, 20, 20, session="session_2")
    ranking = [one[0], two[0], one[1], two[1], two[2], one[2]]  # 200 20 400 20 20 30
    missing = Candidate("session_3:1", "session_3", 10)
    found = measured(ranking, [one[1], two[0], two[1], missing])

    # 256: 200 20 - 20 - -, so session_2:1 and session_2:2 of four; 512: the same and 20 30; 1,024: everything.
    assert [found[Measure("tokens", budget)] for budget in TOKEN_BUDGETS] == [0.5, 0.5, 0.75, 0.75, 0.75]
    assert [found[Measure("turns", count)] for count in TURN_COUNTS] == [0.75] * 4
    assert [found[Measure("sessions", count)] for count in SESSION_COUNTS] == [2 / 3] * 2
    assert not any(found[measure] for measure in MEASURES if measure.name.startswith("all_"))


def test_all_evidence_is_all_of_it():
    ranking = turns(*[100] * 12)
    found = measured(ranking, [ranking[0], ranking[5]])
    assert [found[Measure("all_tokens", budget)] for budget in TOKEN_BUDGETS] == [0, 0, 1, 1, 1]
    assert [found[Measure("all_turns", count)] for count in TURN_COUNTS] == [0, 1, 1, 1]
    assert found[Measure("turns", 5)] == 0.5


def test_sessions_count_once_in_the_order_they_first_appear():
    ranking = [Candidate(str(number), name, 1) for number, name in enumerate("aabacdbe")]
    assert first_sessions(ranking, 3) == ["a", "b", "c"]
    assert first_sessions(ranking, 9) == ["a", "b", "c", "d", "e"]


def test_an_empty_ranking_finds_nothing():
    assert set(scores([], alone(turns(5)))) == {0.0}


def test_recall_ignores_what_was_not_wanted_and_repeats():
    assert recall(["x", "a", "a"], [["a"], ["b"]]) == 0.5


pool = st.builds(
    lambda number, cost: Candidate(f"D{number % 7}:{number}", f"session_{number % 7}", cost),
    st.integers(0, 60),
    st.integers(1, 700),
)
some = st.lists(pool, max_size=60, unique_by=lambda turn: turn.id)
wanted = st.lists(pool, min_size=1, max_size=8, unique_by=lambda turn: turn.id)


@given(some, wanted)
def test_every_score_is_a_fraction_and_all_is_never_more_than_some(ranking, evidence):
    found = measured(ranking, evidence)
    assert all(0 <= value <= 1 for value in found.values())
    for name in ("tokens", "turns"):
        for measure in (measure for measure in MEASURES if measure.name == name):
            assert found[Measure(f"all_{name}", measure.level)] == (found[measure] == 1)


@given(some, wanted)
def test_more_turns_and_more_sessions_never_find_less(ranking, evidence):
    found = measured(ranking, evidence)
    for name, counts in (("turns", TURN_COUNTS), ("all_turns", TURN_COUNTS), ("sessions", SESSION_COUNTS)):
        values = [found[Measure(name, count)] for count in counts]
        assert values == sorted(values)


@given(some, wanted, st.integers(1, 400))
def test_more_tokens_never_find_less_when_all_turns_cost_the_same(ranking, evidence, cost):
    found = measured([Candidate(turn.id, turn.session, cost) for turn in ranking], evidence)
    for name in ("tokens", "all_tokens"):
        values = [found[Measure(name, budget)] for budget in TOKEN_BUDGETS]
        assert values == sorted(values)


@given(some, st.integers(0, 5000))
def test_a_context_stays_in_its_budget_and_leaves_out_only_what_did_not_fit(ranking, budget):
    taken = within_tokens(ranking, budget)
    room = budget - sum(turn.tokens for turn in taken)
    assert room >= 0
    assert all(turn.tokens > room for turn in ranking if turn not in taken)


@given(some, wanted.flatmap(lambda evidence: st.tuples(st.just(evidence), st.permutations(evidence))))
def test_the_order_of_the_evidence_does_not_matter(ranking, evidence):
    given, shuffled = evidence
    assert scores(ranking, alone(given)) == pytest.approx(scores(ranking, alone(shuffled)))
