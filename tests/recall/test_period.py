"""A period bounds every kind: what was said outside of it is not found, be it a turn or what was derived from one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import opening_on
from memoryos import Kind, Memory, Mount, Recall, Scope, load_settings

EARLIER, LATER = "2024-05-06T10:00Z", "2025-05-06T10:00Z"
OUTSIDE = [{"since": "2030-01-01"}, {"until": "2020-01-01"}, {"since": "2024-06-01", "until": "2025-04-30"}]
QUESTION = "What about Bergen?"


@pytest.fixture(scope="module", params=["pair", "user"])
def memory(tmp_path_factory: pytest.TempPathFactory, back_end: str, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """Facts, a profile and traits of 2024 and 2025, in LPM and in the archive; stated and derived."""
    path = tmp_path_factory.mktemp("period") / "memory.db"
    knobs = load_settings(embedder="hashing", knowledge_capacity=2, persona_sharing=request.param)
    with opening_on(back_end):
        opened = memoryos.open(path, user="ann", agent="coder", settings=knobs)
    with opened:
        opened.add("I live in Bergen. I love hiking in Bergen.", "Nice!", at=EARLIER)
        for number in range(3):
            opened.facts.add(f"Ann has seen harbour {number} of Bergen", at=EARLIER)
        opened.add("I love rowing in Bergen.", "Nice!", at=LATER)
        opened.facts.add("The agent speaks Norwegian", subject="agent", at=EARLIER)
        opened.profile.set("hobby", "rowing in Bergen")
        opened.consolidate()
        opened.wait()
        yield opened


def found(recall: Recall) -> set[Kind]:
    return {hit.cube.kind for hit in recall.ranked} | {cube.kind for cube in (*recall.profile, *recall.traits)}


def facts(recall: Recall) -> set[str]:
    return {hit.text for hit in (*recall.user_facts, *recall.agent_facts)}


def test_without_a_period_all_of_it_is_found(memory: Memory) -> None:
    recall = memory.search(QUESTION, facts=50)
    assert {Kind.PAGE, Kind.FACT, Kind.PROFILE} <= found(recall)
    assert "archive" in {hit.cube.tier.value for hit in recall.user_facts}


@pytest.mark.parametrize("period", OUTSIDE)
@pytest.mark.parametrize("strategy", ["hybrid", "two_stage"])
def test_nothing_of_another_time_is_found(memory: Memory, period: dict[str, str], strategy: str) -> None:
    recall = memory.search(QUESTION, strategy=strategy, archive=True, facts=50, **period)
    assert found(recall) == set()
    context = memory.context(QUESTION, **period)
    assert "Bergen" not in context.text
    assert "Norwegian" not in context.text


def test_facts_are_bounded_by_when_they_were_said(memory: Memory) -> None:
    early = facts(memory.search(QUESTION, facts=50, since="2024-05-06", until="2024-05-06"))
    assert {f"Ann has seen harbour {number} of Bergen" for number in range(3)} < early
    assert "The agent speaks Norwegian" in early
    assert not [text for text in early if "rowing" in text]
    late = facts(memory.search(QUESTION, facts=50, since="2025-05-06", until="2025-05-06"))
    assert late
    assert all("rowing" in text for text in late)


def test_a_profile_field_is_bounded_by_when_it_was_said_or_set(memory: Memory) -> None:
    early = memory.search(QUESTION, until="2024-12-31")
    assert [cube.text for cube in early.profile] == ["location: Bergen"]
    now = memory.search(QUESTION, since="2025-12-31")
    assert [cube.text for cube in now.profile] == ["hobby: rowing in Bergen"]


def test_a_fact_that_was_said_twice_is_found_in_both_periods(tmp_path: Path, back_end: str) -> None:
    with opening_on(back_end):
        opened = memoryos.open(tmp_path / "a.db", user="bob", settings=load_settings(embedder="hashing"))
    with opened as memory:
        for at in (EARLIER, LATER):
            memory.add("I have a dog called Rolf.", "Nice!", at=at)
            memory.consolidate()
        assert len(memory.facts.list()) == 1
        for day in ("2024-05-06", "2025-05-06"):
            assert facts(memory.search("Which dog?", since=day, until=day))
        assert not facts(memory.search("Which dog?", since="2024-06-01", until="2025-05-01"))


def test_what_was_moved_to_long_ago_was_not_said_then(tmp_path: Path, back_end: str) -> None:
    with opening_on(back_end):
        opened = memoryos.open(tmp_path / "a.db", user="bob", settings=load_settings(embedder="hashing"))
    with opened as memory:
        memory.add("I moved to Bergen in 2010.", "Nice!", at=LATER)
        memory.consolidate()
        assert found(memory.search(QUESTION, since="2025-01-01", kinds=["fact", "profile"]))
        assert not found(memory.search(QUESTION, until="2012-12-31", kinds=["fact", "profile"]))


def test_a_tag_and_a_period_bound_together(tmp_path: Path, back_end: str) -> None:
    with opening_on(back_end):
        opened = memoryos.open(tmp_path / "a.db", user="bob", settings=load_settings(embedder="hashing"))
    with opened as memory:
        memory.add("I have a dog called Rolf.", "Nice!", at=EARLIER, tags=["pet"])
        memory.add("I have a boat called Anna.", "Nice!", at=LATER, tags=["boat"])
        memory.consolidate()
        assert facts(memory.search("What do I have?", tags=["pet"], until="2024-12-31"))
        assert not facts(memory.search("What do I have?", tags=["pet"], since="2025-01-01"))


def test_a_period_holds_in_mounted_memories(tmp_path: Path, back_end: str) -> None:
    knobs = load_settings(embedder="hashing")
    with opening_on(back_end):
        opened = memoryos.open(tmp_path / "a.db", user="bob", settings=knobs)
    with opened as memory:
        team = Scope(user="team", agent=None, namespace=("context", "ward-3"))
        memory.of(team).facts.add("The team meets in Bergen", at=EARLIER)
        memory.mounts.add(Mount("team", scope=team))
        assert memory.search(QUESTION, until="2024-12-31").knowledge
        assert not memory.search(QUESTION, since="2030-01-01").knowledge


TOWNS = {"2020-01-01": "Porto", "2021-01-01": "Lisbon", "2022-01-01": "Faro", "2023-01-01": "Braga"}


@pytest.mark.parametrize(
    ("period", "town"),
    [
        ({"until": "2021-06-01"}, "Lisbon"),
        ({"until": "2021-01-01"}, "Lisbon"),
        ({"since": "2021-06-01", "until": "2022-06-01"}, "Faro"),
        ({"until": "2021-06-01", "as_of": "2022-06-01"}, "Lisbon"),
        ({"since": "2021-06-01"}, "Braga"),
        ({"since": "2020-06-01", "until": "2020-12-01"}, None),
        ({"until": "2019-12-31"}, None),
    ],
)
def test_a_field_has_the_value_that_was_said_last_in_the_period(
    towns: Memory, period: dict[str, str], town: str | None
) -> None:
    expected = [f"location: {town}"] if town else []
    assert [cube.text for cube in towns.search("Where do I live?", **period).profile] == expected
    told = towns.context("Where do I live?", tokens=300, **period).text
    assert {one for one in TOWNS.values() if f"location: {one}" in told} == ({town} if town else set())


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory, back_end: str) -> Iterator[Memory]:
    """A home that changes each year."""
    with opening_on(back_end):
        opened = memoryos.open(
            tmp_path_factory.mktemp("towns") / "m.db", user="ann", settings=load_settings(embedder="hashing")
        )
    with opened:
        for day, town in TOWNS.items():
            opened.add(f"I live in {town} now.", at=day)
        opened.wait()
        yield opened


def test_a_field_that_a_program_set_has_the_value_that_it_had_by_the_end_of_the_period(tmp_path: Path) -> None:
    now = datetime(2026, 6, 1, 12, tzinfo=UTC)
    opened = memoryos.open(tmp_path / "m.db", user="ann", settings=load_settings(embedder="hashing"), clock=lambda: now)
    with opened as memory:
        first = now
        for hobby in ("rowing", "chess", "golf"):
            memory.profile.set("hobby", hobby)
            if hobby == "chess":
                memory.snapshots.create("both")
            now += timedelta(hours=1)
        for known in ({}, {"as_of": "both"}):
            recalled = memory.search("Hobby?", until=first + timedelta(minutes=5), **known)
            assert [cube.text for cube in recalled.profile] == ["hobby: rowing"]


@pytest.mark.parametrize("later", ["I joined Bosch.", "I no longer work at Siemens."])
def test_until_finds_the_facts_that_held_by_then(tmp_path: Path, back_end: str, later: str) -> None:
    with opening_on(back_end):
        opened = memoryos.open(tmp_path / "memory.db", user="ann", settings=load_settings(embedder="hashing"))
    with opened as memory:
        memory.add("I work at Siemens.", "Nice!", at=EARLIER)
        memory.add(later, "I see.", at=LATER)
        memory.wait()
        memory.consolidate()
        before, after = (facts(memory.search("Where do I work?", until=day)) for day in ("2024-12-31", "2025-12-31"))
        assert before == {"User works at Siemens."}
        assert "User works at Siemens." not in after
        assert memory.context("Where do I work?", tokens=100, until="2024-12-31", kinds=["fact"]).found
