"""The sweep: how segments agree with sessions, and what its command reports."""

from __future__ import annotations

import json

import pytest

from memoryos import load_settings
from memoryos.bench.sweep import PAPER, Point, sweep
from memoryos.errors import InvalidInput


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
        if Point(**{name: point[name] for name in ("theta", "tau", "m", "k", "w")}) == best(found)
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
        if Point(point["theta"], point["tau"], point["m"], point["k"], point["w"]) == PAPER
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
