"""Filters come before the ranking: they change what may be found, never how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoryos import MemoryOS, load_settings
from memoryos.cube import Role, Turn
from memoryos.errors import InvalidInput

START = datetime(2024, 1, 1, tzinfo=UTC)
DAYS = 400


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryOS]:
    """A page a day about tea, most of them better matches than the few in March."""
    path = tmp_path_factory.mktemp("filters") / "memory.db"
    with MemoryOS.open(path, user="ann", settings=load_settings(embedder="hashing", mid_term_capacity=20)) as opened:
        days = [START + timedelta(days=day) for day in range(DAYS)]
        opened.add_many(
            Turn(role=Role.USER, text="We had tea" if day.month == 3 else "Green tea, black tea, tea!", at=day)
            for day in days
        )
        yield opened


@pytest.mark.parametrize("strategy", ["hybrid", "bm25", "dense", "rrf", "linear"])
def test_a_period_is_searched_as_if_there_were_nothing_else(memory: MemoryOS, strategy: str) -> None:
    found = memory.search("tea", strategy=strategy, since="2024-03-01T00:00Z", until="2024-03-31T00:00Z", pages=20)
    assert len(found.hits) == 20
    assert {hit.at.month for hit in found.hits} == {3}


def test_both_ends_belong_to_the_period(memory: MemoryOS) -> None:
    day = START + timedelta(days=70)
    assert [hit.at for hit in memory.search("tea", since=day, until=day).hits] == [day]


def test_a_period_without_a_turn_finds_none(memory: MemoryOS) -> None:
    assert memory.search("tea", since="2030-01-01T00:00Z").hits == ()


@pytest.mark.parametrize(
    ("period", "field"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "2024-03-01"}, "until"),
        ({"since": "2024-03-02T00:00Z", "until": "2024-03-01T00:00Z"}, "until"),
        ({"since": "2024-03-02T00:00Z", "strategy": "two_stage"}, "strategy"),
    ],
)
def test_a_bad_period_is_refused(memory: MemoryOS, period: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.search("tea", **period)
    assert caught.value.field == field


class Shortest:
    """Likes short texts."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return [-len(text) / (1 + question.count("tea")) for text in texts]


@pytest.mark.parametrize("strategy", ["hybrid", "two_stage"])
def test_a_reranker_has_the_last_word(tmp_path: Path, strategy: str) -> None:
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(tmp_path / "memory.db", user="ann", settings=settings, reranker=Shortest()) as memory:
        for text in ("tea tea tea", "tea and much else, all day long", "tea"):
            memory.add(text)
        found = memory.search("tea", strategy=strategy)
    assert [hit.text for hit in found.hits] == [
        "user: tea",
        "user: tea tea tea",
        "user: tea and much else, all day long",
    ]
    assert [turn.parts["rerank"] for turn in found.turns] == [turn.score for turn in found.turns]
    assert all(turn.parts["found"] > 0 for turn in found.turns)
