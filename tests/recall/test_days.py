"""Times without a zone and plain days, wherever one is asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import memoryos
from memoryos import Memory, load_settings
from memoryos.errors import InvalidInput

DAYS = ["2024-01-01T23:30:00Z", "2024-01-02T12:00:00Z", "2024-01-02T23:30:00Z", "2024-01-03T12:00:00Z"]


def opened(folder: Path, zone: str) -> Memory:
    settings = load_settings(embedder="hashing", time_zone=zone)
    return memoryos.open(folder / "memory.db", user="ann", settings=settings)


def numbers(found) -> set[str]:
    return {hit.cube.payload.turns[0].text[-1] for hit in found.hits}


@pytest.mark.parametrize(("zone", "expected"), [("UTC", {"1", "2"}), ("Europe/Berlin", {"0", "1"})])
def test_a_day_is_all_of_it_in_the_zone_of_the_settings(tmp_path: Path, zone: str, expected: set[str]) -> None:
    with opened(tmp_path, zone) as memory:
        for number, at in enumerate(DAYS):
            memory.add(f"Tea number {number}", at=at)
        assert numbers(memory.search("tea", since="2024-01-02", until="2024-01-02")) == expected
        assert numbers(memory.search("tea", since=date(2024, 1, 2), until=date(2024, 1, 2))) == expected
        assert numbers(memory.search("tea", as_of="2024-01-02")) == expected | {"0"}
        assert {hit.id for hit in memory.search("tea", since="2024-01-02T00:00:00", until="2024-01-02").hits}


@pytest.mark.parametrize(("zone", "at"), [("UTC", 0), ("Asia/Shanghai", -8)])
def test_a_page_is_dated_in_that_zone(tmp_path: Path, zone: str, at: int) -> None:
    with opened(tmp_path, zone) as memory:
        for value in ("2024-05-02T10:00:00", datetime(2024, 5, 2, 10)):
            page = memory.get(memory.add("Tea at ten.", at=value))
            assert page.descriptive.event_at == datetime(2024, 5, 2, 10 + at, tzinfo=UTC)
        memory.facts.add("Ann likes tea.", at="2024-05-02T10:00:00")
        (fact,) = memory.facts.list()
        assert fact.descriptive.event_at == datetime(2024, 5, 2, 10 + at, tzinfo=UTC)


def test_an_unknown_zone_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="'Mars/Olympus' is not a time zone") as caught:
        load_settings(time_zone="Mars/Olympus")
    assert caught.value.field == "time_zone"
