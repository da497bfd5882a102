"""Heat = alpha N_visit + beta L_interaction + gamma exp(-dt / mu), for the moment asked."""

from __future__ import annotations

from datetime import timedelta
from math import exp

import pytest

from memoryos import load_settings
from memoryos.cube import Behaviour
from memoryos.operation.hierarchy.heat import heat, recency

from .world import START, World

MU = 1e7


@pytest.mark.parametrize(
    ("visits", "interactions", "seconds", "expected"),
    [
        (2, 3, MU, 5 + exp(-1)),
        (0, 0, 0, 1),
        (0, 4, 0, 5),
        (1, 0, 2 * MU, 1 + exp(-2)),
        (0, 0, 1000 * MU, 0),
    ],
)
def test_worked_numbers(visits, interactions, seconds, expected):
    behaviour = Behaviour(last_access=START, visits=visits, interactions=interactions)
    now = START + timedelta(seconds=seconds)
    assert heat(behaviour, now, load_settings()) == pytest.approx(expected)


def test_the_weights_are_settings():
    settings = load_settings(heat_visits=10, heat_interactions=100, heat_recency=1000, recency_seconds=60)
    behaviour = Behaviour(last_access=START, visits=2, interactions=3)
    now = START + timedelta(seconds=60)
    assert heat(behaviour, now, settings) == pytest.approx(20 + 300 + 1000 * exp(-1))


def test_a_clock_that_ran_backwards_counts_as_no_time():
    assert recency(START, START - timedelta(days=9), MU) == 1


def test_heat_decays_while_nothing_happens(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    memory.add("🚲 bike")
    assert memory.segments.list()[0].heat == pytest.approx(2)
    world.clock.advance(seconds=MU)
    assert memory.segments.list()[0].heat == pytest.approx(1 + exp(-1))


def test_imported_history_is_as_old_as_it_says(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea", at=START - timedelta(seconds=MU))
    memory.add("🚲 bike")
    assert memory.segments.list()[0].heat == pytest.approx(1 + exp(-1))


def test_a_segment_of_old_pages_stays_old_as_it_grows(world: World):
    memory = world.open(short_term_capacity=1)
    for _ in range(2):
        memory.add("🍵 tea", at=START - timedelta(seconds=MU))
    memory.add("🚲 bike")
    assert memory.segments.list()[0].heat == pytest.approx(2 + exp(-1))


def test_an_older_page_does_not_make_a_segment_look_older(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    memory.add("🍵 tea", at=START - timedelta(seconds=MU))
    memory.add("🚲 bike")
    assert memory.segments.list()[0].heat == pytest.approx(3)


def test_a_visit_warms_a_segment(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    memory.add("🚲 bike")
    world.clock.advance(seconds=MU)
    memory.search("🍵")
    memory.consolidate()  # writes the visit, resets L
    assert memory.segments.list()[0].heat == pytest.approx(1 + 0 + 1)


def test_a_store_survives_a_clock_that_runs_backwards(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 tea")
    world.clock.advance(days=-30)
    memory.add("🍵 tea again")
    memory.search("🍵")
    memory.add("🚲 bike")
    (segment,) = memory.segments.list()
    assert segment.cube.payload.pages == 2
    assert segment.heat <= segment.cube.behaviour.visits + 2 + 1
