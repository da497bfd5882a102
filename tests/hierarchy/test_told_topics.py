"""Between the end of a page and its removal, which a hold puts off, nothing that tells of its topic has its words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Kind, Memory, Strategy, Tier
from memoryos.errors import NotFound, ObjectsUnreachable
from memoryos.infrastructure.cold.packs import Packs
from memoryos.operation.activation.prefix import chosen
from memoryos.operation.activation.recipe import Recipe
from memoryos.operation.hierarchy import told_topics
from memoryos.operation.maintenance import cooler

from .world import World

HOUR = timedelta(hours=1)
SMALL = {"short_term_capacity": 1, "heat_threshold": 10**6}


def hiked(memory: Memory) -> tuple[str, str]:
    """A page that ends in an hour and is on hold, and the topic that it is in with others."""
    for day in ("Monday", "Tuesday"):
        memory.add(f"🎲 We hiked in the mountains of Norway on {day}.", "🎲 Norway is nice.")
    page = memory.add("🎲 We hiked in the mountains of Norway to Zanzibarquux, Zanzibarquux.", "🎲 Norway.", ttl=HOUR)
    for day in ("Friday", "Sunday"):
        memory.add(f"🎲 We hiked in the mountains of Norway on {day}.", "🎲 Norway is nice.")
    memory.governance.hold(reason="a case", memory=page)
    (topic,) = (one.id for one in memory.segments.list() if page in one.page_ids)
    return page, topic


def ended(memory: Memory, world: World) -> str:
    """A topic of which all pages have expired and are on hold."""
    for day in ("Monday", "Tuesday", "Friday"):
        page = memory.add(f"🎲 We hiked in the mountains of Norway on {day}.", "🎲 Norway is nice.", ttl=HOUR)
        memory.governance.hold(reason="a case", memory=page)
    memory.add("🍵 I like tea.", "🍵 Tea.")
    (topic,) = (one.id for one in memory.segments.list())
    world.clock.advance(hours=2)
    memory.jobs.run()
    return topic


def told(memory: Memory, topic: str) -> str:
    """All that reads tell of the topics, by every way."""
    found = [
        memory.search("🎲 hiking in Norway", kinds=["segment", "page"], strategy=one, explain=True) for one in Strategy
    ]
    return repr(
        [
            memory.segments.list(),
            memory.segments.list(limit=10),
            memory.segments.list(as_of="then"),
            memory.segments.list(since="2000-01-01"),
            memory.get(topic),
            memory.get(topic, as_of="then"),
            memory.history(topic),
            memory.history(topic, as_of="then"),
            *((one.segments, one.to_dict()) for one in found),
            memory.context("🎲 hiking in Norway").text,
            memory.digest().text,
            memory.governance.provenance(topic),
        ]
    ).lower()


def test_the_words_of_an_expired_page_are_told_by_no_read_of_its_topic(world: World) -> None:
    memory = world.open(**SMALL)
    page, topic = hiked(memory)
    memory.update(topic, "They went to Zanzibarquux.", reason="shorter")
    memory.governance.rollback(topic, 1)
    memory.snapshots.create("then")
    assert told(memory, topic).count("zanzibarquux") > 6
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert page in {cube.id for cube in world.cubes(Kind.PAGE)}
    assert "zanzibarquux" not in told(memory, topic)
    with pytest.raises(NotFound):
        memory.governance.diff(topic, 1)
    assert {hit.topic for hit in memory.search("🎲 hiking in Norway").hits} <= {"", "recent"}
    (view,) = (one for one in memory.segments.list() if one.id == topic)
    assert (page in view.page_ids, view.cube.payload.pages) == (False, len(view.page_ids))
    assert "Norway" in view.summary
    (hold,) = memory.governance.holds()
    memory.governance.release(hold.id)
    memory.jobs.run()
    assert page not in {cube.id for cube in world.cubes(Kind.PAGE)}
    assert all(hit.topic for hit in memory.search("🎲 hiking in Norway").hits)
    assert "zanzibarquux" not in told(memory, topic)


def test_a_topic_of_which_all_pages_have_expired_is_not_there(world: World) -> None:
    memory = world.open(**SMALL)
    topic = ended(memory, world)
    assert list(memory.segments.list()) == []
    assert (memory.segments.count(), memory.segments.count(archive=True), memory.stats().mtm_segments) == (0, 0, 0)
    assert memory.search("🎲 hiking in Norway", kinds=["segment"]).segments == ()
    for read in (memory.get, memory.history):
        with pytest.raises(NotFound):
            read(topic)


def test_a_large_topic_is_told_by_some_of_its_pages(world: World, monkeypatch) -> None:
    monkeypatch.setattr(told_topics, "MOST_PAGES", 2)
    memory = world.open(**SMALL)
    _, topic = hiked(memory)
    before = memory.get(topic).payload.pages
    world.clock.advance(hours=2)
    found = memory.get(topic)
    assert (found.payload.pages, "sunday" in found.text.lower() or "friday" in found.text.lower()) == (before - 1, True)


def unreachable(_: str) -> bytes:
    raise ObjectsUnreachable("there is no answer")


@pytest.mark.parametrize("warm", [(), ("Tuesday",)])
def test_a_topic_with_cold_pages_is_told_without_reading_them(world: World, tmp_path, monkeypatch, warm) -> None:
    monkeypatch.setattr(cooler, "PACK_PAGES", 1)
    memory = world.open(**SMALL, mid_term_capacity=1)
    packs = memory._engine.vault.packs
    packs._objects = Packs(tmp_path.as_uri())._objects
    page, topic = hiked(memory)
    for number in range(6):
        memory.add(f"🍵 I like tea {number}.", "🍵 Tea.")
        memory.search("🍵 tea")
    memory.add("🌧 It rains.", "🌧 Rain.")
    memory.jobs.run()
    assert topic in {one.id for one in memory.segments.list(archive=True)}
    assert memory._engine.cooler.cool(memory.scope.owner, 0).pages > 0
    back = [one.id for one in memory.pages.list(tier=Tier.ARCHIVE) if any(day in one.text for day in warm)]
    assert memory._engine.cooler.bring_back(memory.scope.owner, back) == set()
    world.clock.advance(hours=2)
    packs._held.clear()
    monkeypatch.setattr(packs._objects, "get", unreachable)
    (listed,) = (one for one in memory.segments.list(archive=True) if one.id == topic)
    (version,) = memory.history(topic)
    for cube in (listed.cube, memory.get(topic), version):
        assert "zanzibarquux" not in repr(cube).lower()
        assert ("Tuesday" in cube.text, cube.payload.pages) == (bool(warm), 4)
    assert page not in listed.page_ids


def test_what_changes_a_topic_with_an_expired_page_returns_none_of_its_words(world: World) -> None:
    memory = world.open(**SMALL)
    _, topic = hiked(memory)
    world.clock.advance(hours=2)
    memory.jobs.run()
    number = memory.get(topic).number
    changes = {
        "freeze": lambda: memory.governance.freeze(topic),
        "thaw": lambda: memory.governance.thaw(topic),
        "update": lambda: memory.update(topic, "They went to Norway."),
        "rollback": lambda: memory.governance.rollback(topic, number),
    }
    for name, change in changes.items():
        told = change()
        assert (name, "zanzibarquux" in repr(told).lower(), told.id) == (name, False, topic)
        number = told.number
    with memory._engine.vault.view(memory.scope) as reader:
        recipe = Recipe(name="trips", kinds=(), ids=(topic,), role="a guide")
        prefix = chosen(reader, recipe, world.clock(), lambda cube: cube)
    assert ("zanzibarquux" in prefix.text.lower(), "norway" in prefix.text.lower()) == (False, True)
    (hold,) = memory.governance.holds()
    memory.governance.release(hold.id)
    assert "zanzibarquux" not in repr(memory.governance.expire(topic)).lower()


def test_a_frozen_topic_of_which_all_pages_have_expired_is_there_without_words_until_it_is_thawed(world: World) -> None:
    """It could not be thawed, so its owner could not be forgotten."""
    memory = world.open(**SMALL)
    for day in ("Monday", "Tuesday", "Friday"):
        memory.add(f"🎲 We hiked in the mountains of Norway on {day}.", "🎲 Norway is nice.", ttl=HOUR)
    memory.add("🍵 I like tea.", "🍵 Tea.")
    (topic,) = (one.id for one in memory.segments.list())
    memory.governance.freeze(topic)
    world.clock.advance(hours=2)
    memory.jobs.run()
    (shown,) = memory.segments.list()
    assert (shown.id, shown.cube.text, memory.segments.count()) == (topic, "", memory.stats().mtm_segments)
    assert "Norway" not in memory.get(topic).text + memory.governance.thaw(topic).text
    memory.jobs.run()
    assert (memory.segments.list(), memory.stats().mtm_segments) == ([], 0)
    assert memory.forget().left == {}


def test_nothing_changes_a_topic_of_which_all_pages_have_expired(world: World) -> None:
    memory = world.open(**SMALL)
    topic = ended(memory, world)
    for change in (
        memory.governance.freeze,
        memory.governance.thaw,
        memory.governance.expire,
        memory.governance.provenance,
        lambda one: memory.governance.hold(reason="a case", memory=one),
        lambda one: memory.update(one, "They went."),
        lambda one: memory.governance.rollback(one, 1),
        lambda one: memory.governance.relabel(one, access="shared"),
    ):
        with pytest.raises(NotFound):
            change(topic)
