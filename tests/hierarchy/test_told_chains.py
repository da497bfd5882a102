"""Between the end of a page and its removal, which a hold puts off, no page that continues it tells its words."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoryos import Memory, Tier
from memoryos.infrastructure.vault import told_reader

from .world import World

HOUR = timedelta(hours=1)
WORD = "zanzibarquux"


def talked(memory: Memory) -> tuple[str, list[str]]:
    """A page that ends in an hour and is on hold, and those that continue its chain."""
    memory.add("🎲 We hiked in Norway.", "🎲 Norway is nice.")
    page = memory.add("🎲 We hiked to Zanzibarquux, Zanzibarquux.", "🎲 Norway.", ttl=HOUR)
    later = [memory.add(f"🎲 We hiked on {day}.", "🎲 It is nice.") for day in ("Friday", "Sunday", "Monday")]
    memory.governance.hold(reason="a case", memory=page)
    return page, later


def told(memory: Memory, page: str) -> Iterator[tuple[str, str]]:
    """All that is told of a page, by every read and change."""
    yield "get", repr(memory.get(page))
    yield "then", repr(memory.get(page, as_of="then"))
    yield "history", repr(memory.history(page))
    yield "list", repr(memory.pages.list())
    yield "list then", repr(memory.pages.list(limit=3, as_of="then"))
    found = memory.search("🎲 hiking", explain=True)
    yield "search", repr((found.hits, found.recent, found.to_dict()))
    yield "context", memory.context("🎲 hiking").text
    yield "digest", memory.digest().text
    yield "update", repr(memory.update(page, "🎲 We hiked on Friday or so."))
    yield "relabel", repr(memory.governance.relabel(page, sensitivity=["private"]))
    yield "freeze", repr(memory.governance.freeze(page))
    yield "thaw", repr(memory.governance.thaw(page))


@pytest.mark.parametrize("settings", [{}, {"short_term_capacity": 1, "heat_threshold": 10**6}])
def test_no_page_tells_the_words_of_an_expired_one_that_it_continues(world: World, settings) -> None:
    memory = world.open(**settings)
    _, later = talked(memory)
    memory.snapshots.create("then")
    assert all(WORD in memory.get(one).payload.chain_summary.lower() for one in later)
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert [way for one in later for way, said in told(memory, one) if WORD in said.lower()] == []
    joined = memory.add("🎲 We hiked on Tuesday.", "🎲 It is nice.", at=world.clock() - HOUR)
    assert (world.chain(joined), WORD in repr(memory.get(joined)).lower()) == ([later[-1]], False)
    (hold,) = memory.governance.holds()
    memory.governance.release(hold.id)
    memory.jobs.run()
    assert all(memory.get(one).payload.chain_summary for one in later)
    assert [way for way, said in told(memory, later[0]) if WORD in said.lower()] == []


def test_pages_before_the_expired_one_keep_their_summaries(world: World) -> None:
    memory = world.open()
    first = memory.add("🎲 We hiked in Norway.", "🎲 Norway is nice.")
    page = memory.add("🎲 We hiked to Zanzibarquux.", "🎲 Norway.", ttl=HOUR)
    assert world.chain(page) == [first]
    before = memory.get(first)
    memory.governance.hold(reason="a case", memory=page)
    world.clock.advance(hours=2)
    assert memory.get(first) == before
    assert before.payload.chain_summary


def test_no_page_has_a_summary_while_very_many_have_expired(world: World, monkeypatch) -> None:
    memory = world.open()
    _, later = talked(memory)
    world.clock.advance(hours=2)
    monkeypatch.setattr(told_reader, "_MOST", 0)
    assert {cube.payload.chain_summary for cube in memory.pages.list()} == {""}
    assert memory.get(later[-1]).payload.turns


def test_expired_facts_take_no_summaries(world: World, monkeypatch) -> None:
    memory = world.open()
    _, later = talked(memory)
    memory.governance.release(next(iter(memory.governance.holds())).id)
    for number in range(3):
        memory.governance.hold(reason="a case", memory=memory.facts.add(f"Bees like clover {number}.", ttl=HOUR))
    world.clock.advance(hours=2)
    memory.jobs.run()
    monkeypatch.setattr(told_reader, "_MOST", 2)
    assert all(memory.get(one).payload.chain_summary for one in later)


def test_no_page_has_a_summary_while_a_long_chain_follows_an_expired_one(world: World, monkeypatch) -> None:
    memory = world.open()
    _, later = talked(memory)
    world.clock.advance(hours=2)
    monkeypatch.setattr(told_reader, "_MOST", len(later))
    assert {cube.payload.chain_summary for cube in memory.pages.list()} == {""}


def test_an_export_has_no_summary_of_an_expired_page(world: World) -> None:
    memory = world.open()
    memory.add("🎲 We hiked in Norway.", "🎲 Norway is nice.")
    memory.add("🎲 We hiked to Zanzibarquux, Zanzibarquux.", "🎲 Norway.", ttl=HOUR)
    later = memory.add("🎲 We hiked on Friday.", "🎲 It is nice.")
    assert WORD in memory.get(later).payload.chain_summary.lower()
    world.clock.advance(hours=2)
    lines = io.StringIO()
    lines.writelines(memory._engine.exporter([memory.scope.owner]).lines())
    assert WORD not in lines.getvalue().lower()
    assert memory.pages.count(tier=Tier.STM) == 2


def test_a_prompt_has_no_summary_of_an_expired_page(world: World) -> None:
    memory = world.open()
    talked(memory)
    with memory._engine.vault.view(memory.scope) as reader:
        (last,) = reader.cubes(memory.pages.list()[0].kind, last=1)
        assert WORD in last.payload.chain_summary.lower()
    world.clock.advance(hours=2)
    with memory._engine.vault.view(memory.scope) as reader:
        assert WORD not in repr(reader.cubes(last.kind, last=1)).lower()
    with memory._engine.vault.read(memory.scope) as reader:
        assert WORD in repr(reader.cubes(last.kind, last=1)).lower()  # what the program describes anew
