"""What was learned from pages with an end ends with the last of them, also after a correction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from memoryos import Memory, MemoryOS, load_settings
from memoryos.models.hashing import Hashing

HOUR = timedelta(hours=1)


@pytest.fixture
def open_memory(place, clock) -> Iterator[Callable[..., Memory]]:
    opened: list[MemoryOS] = []

    def open_one(**more: object) -> Memory:
        settings = load_settings(short_term_capacity=1, **more)
        opened.append(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock))
        return opened[-1].memory("ann")

    yield open_one
    for one in opened:
        one.close()


def end_of_the_fact(memory: Memory, word: str) -> object:
    """When what was learned with a word ends."""
    (fact,) = (one for one in memory.facts.list() if word in one.text)
    return fact.governance.lifespan.expires_at


@pytest.mark.each
@pytest.mark.parametrize("sharing", ["pair", "user"])
def test_what_is_learned_again_from_a_corrected_page_ends_with_it(open_memory, clock, sharing):
    memory = open_memory(persona_sharing=sharing)
    page = memory.add("I work in Bern.", "ok", ttl=HOUR)
    memory.consolidate()
    assert end_of_the_fact(memory, "Bern") == clock.now + HOUR
    memory.update(page, "I work in Basel.")
    assert end_of_the_fact(memory, "Basel") == clock.now + HOUR
    memory.update(page, tags=["work"])
    assert end_of_the_fact(memory, "Basel") == clock.now + HOUR


@pytest.mark.each
@pytest.mark.parametrize("change", ["correct", "delete"])
def test_what_keeps_only_a_page_with_an_end_ends_with_it(open_memory, clock, change):
    memory = open_memory()
    first = memory.add("I work in Bern.", "ok")
    memory.add("I work in Bern.", "Yes.", ttl=HOUR)
    memory.consolidate()
    assert end_of_the_fact(memory, "Bern") is None
    if change == "correct":
        memory.update(first, "I like tea.")
    else:
        memory.delete(first)
    assert end_of_the_fact(memory, "Bern") == clock.now + HOUR
