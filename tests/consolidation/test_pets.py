"""A pet that died: what was told of it by its name is over, and what is told of others stays."""

from __future__ import annotations

import pytest

import memoryos
from memoryos.models.hashing import Hashing

from .told import told

REX = "My dog Rex loves the beach."
ENDED = [
    (REX, "Rex died last week."),
    (REX, "Sadly, Rex passed away yesterday."),
    (REX, "My dog Rex died last week."),
    (REX, "We had to put Rex down on Monday."),
    (REX, "Rex is no longer with us."),
    ("I have a dog named Rex.", "Rex died two years ago."),
    ("I own a cat called Misty.", "Misty has passed away."),
]
KEPT = [
    (REX, "Max died last week."),
    (REX, "Rex nearly died last week."),
    (REX, "Rex died of laughter when he saw it."),
    (REX, "If Rex died, I would cry."),
    (REX, "Did Rex die last week?"),
    (REX, "My neighbour's dog Rex died last week."),
    ("My sister Anna lives in Oslo.", "Anna died last week."),
]


def facts_of(*said: str) -> list[str]:
    """The facts that hold after each was said."""
    with memoryos.open(":memory:", user="tom", embedder=Hashing()) as memory:
        for text in said:
            memory.add(text, "I see.")
            memory.wait()
        return [fact.text for fact in memory.facts.list()]


@pytest.mark.parametrize(("alive", "dead"), ENDED)
def test_what_was_told_of_a_pet_ends_with_it(alive, dead):
    before, after = facts_of(alive), facts_of(alive, dead)
    assert len(before) == 1 and after
    assert before[0] not in after


@pytest.mark.parametrize(("alive", "said"), KEPT)
def test_nothing_ends_where_no_pet_of_that_name_died(alive, said):
    before = facts_of(alive)
    assert before and before == facts_of(alive, said)[:1]


def test_all_that_was_told_of_it_ends_and_its_time_finds_it():
    with memoryos.open(":memory:", user="tom", embedder=Hashing()) as memory:
        memory.add("I have a dog named Rex.", at="2024-03-01T12:00Z")
        memory.add(REX, at="2024-04-01T12:00Z")
        memory.add("Rex died yesterday.", at="2025-05-02T12:00Z")
        memory.wait()
        assert [fact.text for fact in memory.facts.list()] == ["Rex died yesterday (1 May 2025)."]
        then = memory.search("Rex", as_of="2024-06-01T00:00Z").user_facts
        assert {hit.text for hit in then} == {"User has a dog named Rex.", "User's dog Rex loves the beach."}


@pytest.mark.parametrize("said", ["Elvis died in 1977.", "Rex died last week."])
def test_a_death_is_no_fact_where_nothing_is_known_of_a_pet_of_that_name(said):
    assert facts_of(said) == []


def test_a_death_by_name_is_told_in_the_third_person():
    assert told("We had to put Rex down on Monday.") == (["Rex was put down on Monday."], {})
    assert told("Rex died last week.") == (["Rex died last week (week of 1 May 2023)."], {})
