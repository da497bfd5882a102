"""What the profile says after somebody moved, changed work or told an age, however it was put."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from memoryos import Memory
from memoryos.operation.consolidation.extractor import RuleExtractor

from .world import World


def live(world: World, *lines: str) -> Memory:
    """A memory of what was said, a month apart."""
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    for line in (*lines, "🚲 end"):
        world.clock.advance(days=30)
        memory.add(line, "ok")
        world.extract(RuleExtractor())
    return memory


def profile(memory: Memory) -> Mapping[str, str]:
    """The fields of the user's profile."""
    return memory.profile.get().user.fields


@pytest.mark.once
@pytest.mark.parametrize(
    ("home", "moved", "now"),
    [
        ("I live in Hamburg.", "I moved to Lisbon.", "Lisbon"),
        ("I live in Hamburg.", "I moved to Lisbon last week!", "Lisbon"),
        ("I live in Hamburg.", "I moved from Hamburg to Lisbon in March.", "Lisbon"),
        ("I live in Hamburg.", "I left Hamburg and moved to Lisbon.", "Lisbon"),
        ("I live in Hamburg.", "I used to live in Hamburg, but I moved to Lisbon.", "Lisbon"),
        ("I live in Hamburg.", "I moved to Lisbon in 2015.", "Hamburg"),
        ("I live in Hamburg.", "My sister moved to Lisbon.", "Hamburg"),
        ("I live in Hamburg.", "I moved to Zoom.", "Hamburg"),
        ("我住在北京。", "我上个月搬到了上海。", "上海"),
        ("我住在北京。", "我2015年搬到了上海。", "北京"),
    ],
)
def test_the_home_is_where_somebody_moved_last(world: World, home: str, moved: str, now: str) -> None:
    memory = live(world, home, "The weather is nice.", moved)
    assert profile(memory)["location"] == now
    assert f"location: {now}" in memory.context("Where do I live?").text


def test_of_two_old_moves_the_later_counts(world: World) -> None:
    memory = live(world, "In 2019 I moved to Porto.", "I moved to Lisbon in 2015.")
    assert profile(memory)["location"] == "Porto"


def test_new_work_takes_the_place_of_the_old(world: World) -> None:
    memory = live(world, "I work as a nurse.", "I quit my job, I work as a teacher now.")
    assert profile(memory)["occupation"] == "teacher"


@pytest.mark.parametrize(
    ("lines", "year"),
    [
        (["I'm 34, born in July 1991 in Graz."], "1991"),
        (["I was born in 1991.", "I'm 34."], "1991"),
        (["I'm 34.", "I was born in 1991."], "1991"),
        (["I was born in 1991. I'm 34."], "1991"),
        (["I was born in 1991.", "I was born in 1990."], "1990"),
        (["我今年34岁，1991年7月出生。", "我34岁。"], "1991"),
    ],
)
def test_a_birth_year_that_was_said_wins_over_one_that_was_computed(world: World, lines: list[str], year: str) -> None:
    assert profile(live(world, *lines))["birth_year"] == year
