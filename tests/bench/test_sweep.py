"""The sweep: how segments agree with sessions, and what its command reports."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import load_settings
from memoryos.bench.agreement import pair_f1, purity
from memoryos.bench.sweep import PAPER, Point, sweep
from memoryos.errors import InvalidInput

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def bank(users=("Ann", "Ben")):
    """A memory bank of GVD: two days of four exchanges each."""
    days = {"2023-04-27": "parrot", "2023-04-28": "ferry"}
    history = {
        day: [{"query": f"The {word} again, {number}.", "response": f"Tell me of the {word}."} for number in range(4)]
        for day, word in days.items()
    }
    return {user: {"name": user, "history": history} for user in users}


@pytest.fixture
def gvd(tmp_path):
    path = tmp_path / "bank.json"
    path.write_text(json.dumps(bank()), "utf-8")
    return path


@pytest.mark.parametrize(
    ("found", "f1", "pure"),
    [
        ("aabb", 1, 1),
        ("aaaa", 2 * 2 / (6 + 2), 1 / 2),
        ("abcd", 0, 1),
        ("abab", 0, 1 / 2),
        ("aaab", 2 * 1 / (3 + 2), 3 / 4),
    ],
)
def test_worked_numbers(found, f1, pure):
    pairs = list(zip(found, "xxyy", strict=True))
    assert pair_f1(pairs) == pytest.approx(f1)
    assert purity(pairs) == pytest.approx(pure)


def test_nothing_to_group_is_no_disagreement():
    assert (pair_f1([]), purity([])) == (1, 1)
    assert pair_f1([("a", "x")]) == 1


@given(labels)
def test_agreement_is_a_share_and_f1_does_not_care_which_is_which(pairs):
    assert 0 <= pair_f1(pairs) <= 1
    assert 0 < purity(pairs) <= 1
    assert pair_f1(pairs) == pytest.approx(pair_f1([(real, found) for found, real in pairs]))


def test_what_somebody_set_is_not_swept():
    with pytest.raises(InvalidInput, match="MEMORYOS_RECALL_PAGES"):
        sweep([], None, load_settings(recall_pages=3))


def test_the_command_reports_every_point_and_who_is_ahead(bench, locomo, gvd):
    result = bench("sweep", "--data", locomo(), "--gvd", gvd, "--embedder", "hashing", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert set(found) == {"locomo", "gvd"}
    points = found["gvd"]["points"]
    thetas = [point["theta"] for point in points]
    assert len(set(thetas)) > 2
    assert max(point["f1"] for point in points) == next(
        point["f1"]
        for point in points
        if Point(**{name: point[name] for name in ("theta", "tau", "m", "k")}) == best(found)
    )
    assert set(found["gvd"]["ahead_of_best"]) == {"f1"}
    assert set(found["locomo"]["ahead_of_paper"]) == {"f1", "small", "large", "hybrid"}
    assert all(0 <= point["large"] <= 1 for point in found["locomo"]["points"])
    low, high = found["locomo"]["ahead_of_best"]["large"]["interval"]
    assert low <= found["locomo"]["ahead_of_best"]["large"]["mean"] <= high
    # Too little to calibrate on: what is self-tuned is what the paper has.
    paper = next(
        point
        for point in found["locomo"]["points"]
        if Point(point["theta"], point["tau"], point["m"], point["k"]) == PAPER
    )
    assert {name: paper[name] for name in found["locomo"]["self_tuned"]} == found["locomo"]["self_tuned"]


def best(found) -> Point:
    return Point(**found["gvd"]["best"])


def test_the_table_names_the_best_and_the_paper(bench, gvd):
    result = bench("sweep", "--gvd", gvd, "--embedder", "hashing", COLUMNS="160")
    assert result.returncode == 0, result.stderr
    assert "(best)" in result.stdout
    assert "self-tuned" in result.stdout
    assert "Self-tuned less the paper's" in result.stdout


def test_nothing_to_sweep_is_a_mistake(bench):
    result = bench("sweep")
    assert result.returncode == 2
    assert "--gvd" in result.stderr
    assert "Traceback" not in result.stderr
