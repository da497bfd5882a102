"""The sweep: how segments agree with sessions, and what its command reports."""

from __future__ import annotations

import json

import pytest

from memoryos import load_settings
from memoryos.bench.locomo_recall import load_corpus
from memoryos.bench.sweep import PAPER, Formed, Result, SweepPoint, Swept, sweep
from memoryos.errors import InvalidInput

from .talk import talk


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
        if SweepPoint(**{name: point[name] for name in ("theta", "tau", "m", "k", "w")}) == best(found)
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
        if SweepPoint(point["theta"], point["tau"], point["m"], point["k"], point["w"]) == PAPER
    )
    assert {name: paper[name] for name in found["locomo"]["self_tuned"]} == found["locomo"]["self_tuned"]


def best(found) -> SweepPoint:
    return SweepPoint(**found["gvd"]["best"])


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


def swept(theirs: dict[SweepPoint, list[float]], ours: list[float]) -> Swept:
    """F1 of pairs in three conversations, and nothing asked."""

    def result(f1: list[float]) -> Result:
        return Result(Formed(f1, [1.0] * 3, [1.0] * 3, [0.0] * 3), None)

    points = {point: result(f1) for point, f1 in theirs.items()}
    return Swept(points, result(ours), ["Ann", "Ben", "Cid"], [], "hashing")


def test_what_is_best_elsewhere_was_not_chosen_by_what_it_is_measured_on():
    lucky, steady = SweepPoint(theta=0.4), SweepPoint(theta=0.8)
    found = swept({lucky: [1.0, 0.2, 0.2], steady: [0.4, 0.4, 0.4]}, ours=[0.4, 0.4, 0.4])
    assert found.best == lucky  # 0.47 against 0.4, by Ann's alone
    assert found.ahead(found.best)["f1"].mean == pytest.approx(-0.2 / 3)
    # Without Ann steady is best and gets 0.4 of hers; without Ben or Cid lucky is, and gets 0.2 of theirs.
    assert found.ahead_elsewhere()["f1"].mean == pytest.approx(0.4 / 3)


def test_the_best_by_cosine_gives_keywords_no_weight():
    found = swept({SweepPoint(w=1): [0.9] * 3, SweepPoint(theta=0.4): [0.5] * 3, PAPER: [0.4] * 3}, ours=[0.6] * 3)
    assert found.best == SweepPoint(w=1)
    assert found.best_by_cosine == SweepPoint(theta=0.4)
    assert found.ahead_elsewhere(by_cosine=True)["f1"].mean == pytest.approx(0.1)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[Swept, dict[str, list[tuple[int, int]]]]:
    """What is found of one conversation, and what is told meanwhile."""
    path = tmp_path_factory.mktemp("alone") / "locomo.json"
    path.write_text(json.dumps([talk()]), "utf-8")
    corpus, told = load_corpus(path), {}

    def tell(what: str, done: int, total: int) -> None:
        told.setdefault(what, []).append((done, total))

    return sweep(corpus.conversations, corpus, load_settings(embedder="hashing"), tell), told


def test_one_conversation_has_no_elsewhere(alone):
    found, _ = alone
    assert found.ahead_elsewhere() == {}
    assert set(found.ahead(found.best)) == {"f1", "small", "large", "hybrid"}


def test_progress_ends_where_it_was_said_to_end(alone):
    _, told = alone
    assert len(told) == 2
    for steps in told.values():
        assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
