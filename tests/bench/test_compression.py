"""How much of a conversation a text covers: figures that can be checked by hand."""

from __future__ import annotations

import pytest

from memoryos import load_settings
from memoryos.bench.compression import BUDGETS, Method, measure_compression, quoted
from memoryos.bench.locomo_recall import load_corpus
from memoryos.bench.plot import plot_compression
from memoryos.errors import InvalidInput


@pytest.fixture
def report(locomo):
    return measure_compression(load_corpus(locomo()), load_settings(embedder="hashing"), budgets=(16, 64, 4096))


def test_every_method_has_a_point_for_each_budget(report):
    assert list(report.points) == list(Method)
    assert {tuple(point.budget for point in points) for points in report.points.values()} == {(16, 64, 4096)}
    assert (report.conversations, report.questions, report.embedder) == (1, 3, "hashing-384-v1")
    assert report.tokens > 100


def test_a_budget_is_kept_and_a_share_is_one(report):
    for points in report.points.values():
        for point in points:
            assert 0 <= point.tokens <= point.budget
            assert 0 <= point.told <= point.covered <= 1
            assert 0 <= point.recall <= 1


def test_with_enough_tokens_everything_is_told(report):
    for points in report.points.values():
        assert (points[-1].told, points[-1].covered, points[-1].recall) == (1, 1, 1)
        assert points[-1].recall_per_thousand == pytest.approx(1000 / points[-1].tokens)
        assert points[-1].told_per_thousand == pytest.approx(1000 / points[-1].tokens)


def test_with_few_tokens_a_digest_covers_what_the_latest_turns_do_not(report):
    latest, digest = (report.points[method][1] for method in (Method.LATEST, Method.DIGEST))
    assert (latest.covered, digest.covered) == (0.5, 1)
    assert digest.tokens > 0


def test_with_no_room_nothing_is_told(report):
    recalled = {method: points[0].recall for method, points in report.points.items()}
    assert recalled.pop(Method.CONTEXT) > 0, "a short turn has room in 16 tokens"
    assert list(recalled.values()) == [0, 0, 0]
    assert [report.points[Method.DIGEST][0].tokens, report.points[Method.DIGEST][0].recall_per_thousand] == [0, 0]


def test_the_budgets_grow():
    assert sorted(BUDGETS) == list(BUDGETS)


@pytest.mark.parametrize(
    ("words", "text", "share"),
    [
        ("A bee.", "[2023] Ann: A bee. More.", 1),
        ("A bee. A bug!", "Ann: A bug!", 0.5),
        ("A  bee\nA bug.", "A bee A bug.", 1),
        ("蜜蜂。花园！", "今天花园！", 0.5),
        ("A bee.", "a bee", 0),
        ("", "anything", 0),
    ],
)
def test_what_is_quoted_of_a_turn(words, text, share):
    assert quoted(words, text) == pytest.approx(share)


def test_a_picture_can_be_drawn(report, tmp_path):
    path = tmp_path / "compression.svg"
    plot_compression(path, report.points)
    drawing = path.read_text("utf-8")
    assert all(f"<!-- {method.value} -->" in drawing for method in Method)
    with pytest.raises(InvalidInput, match="--plot"):
        plot_compression(tmp_path / "nowhere" / "compression.svg", report.points)
