"""What somebody said of a fact beside its words stays with it, also when pages say it and it is derived again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memoryos import Memory, Tier
from memoryos.cube import MemCube

from .world import World

LABELS: dict[str, Any] = {
    "tags": ["care"],
    "sensitivity": ["diagnosis"],
    "metadata": {"ward": 7},
    "ttl": timedelta(days=400),
    "title": "Chart",
    "source": "chart.pdf",
    "access": "shared",
}


def labels(fact: MemCube) -> tuple[object, ...]:
    known, governance = fact.descriptive, fact.governance
    ends = governance.lifespan.expires_at
    return known.tags, governance.sensitivity, fact.metadata, ends, known.title, known.source, governance.access.mode


def fact(memory: Memory, said: str) -> MemCube:
    tiers = (Tier.LPM, Tier.ARCHIVE)
    (found,) = [one for tier in tiers for one in memory.facts.list(tier=tier) if said in one.text]
    return found


def again(memory: Memory, page: str, how: str) -> None:
    if how == "rebuild":
        memory.upkeep.rebuild()
    elif how == "delete":
        memory.delete(page)
    elif how == "update":
        memory.update(page, "It rains.")
    memory.consolidate()
    memory.wait()


SAID = ["I have a dog.", "I live in Oslo."]  # one that excludes no other, and one that fills a slot


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("how", ["rebuild", "delete", "update"])
@pytest.mark.parametrize("is_first", [True, False], ids=["stated first", "stated last"])
def test_labels_stay_when_a_fact_is_derived_again(world: World, said: str, how: str, *, is_first: bool) -> None:
    memory = world.open(recent_within_seconds=0)
    text = None
    if not is_first:
        page = memory.add(said)
        memory.wait()
        (text,) = [one.text for one in memory.facts.list()]
        world.clock.advance(days=1)
        memory.facts.add(text, **LABELS)
    else:
        text = "User has a dog." if "dog" in said else "User lives in Oslo."
        memory.facts.add(text, **LABELS)
        world.clock.advance(days=1)
        page = memory.add(said)
        memory.wait()
    before = labels(fact(memory, text))
    assert before[:2] == (("care",), ("diagnosis",))
    world.clock.advance(days=1)
    again(memory, page, how)
    assert labels(fact(memory, text)) == before


@pytest.mark.parametrize("how", ["rebuild", "delete"])
def test_labels_stay_when_the_fact_that_gave_way_is_derived_again(world: World, how: str) -> None:
    memory = world.open(recent_within_seconds=0)
    memory.add("I live in Oslo.")
    memory.wait()
    (text,) = [one.text for one in memory.facts.list()]
    world.clock.advance(days=1)
    memory.facts.add(text, **LABELS)
    world.clock.advance(days=30)
    page = memory.add("I live in Rome.")
    memory.wait()
    for proposal in memory.proposals.list():
        memory.proposals.accept(proposal.id)
    before = labels(fact(memory, text))
    again(memory, page, how)
    assert labels(fact(memory, text)) == before
