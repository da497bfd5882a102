"""STM: the latest pages, first in, first out, with everything that was said."""

from __future__ import annotations

import pytest

from memoryos import Attachment, Role, Scope, Tier, Turn

from .world import World, texts


def test_the_eighth_page_moves_exactly_the_oldest(world: World):
    memory = world.open()
    ids = [memory.add(f"🍵 page {number}", "fine") for number in range(7)]
    assert memory.segments.list() == []
    ids.append(memory.add("🍵 page 7", "fine"))
    assert [page.id for page in memory.pages.list(tier=Tier.STM)] == ids[1:]
    assert [page.id for page in memory.pages.list(tier=Tier.MTM)] == ids[:1]


def test_pages_leave_in_the_order_they_came(world: World):
    memory = world.open(short_term_capacity=2)
    ids = [memory.add(f"🍵 page {number}") for number in range(6)]
    assert list(memory.segments.list()[0].page_ids) == ids[:4]


def test_add_many_fills_it_like_single_adds(world: World):
    memory = world.open(short_term_capacity=3)
    ids = memory.add_many([Turn(role=Role.USER, text=f"🍵 page {number}") for number in range(8)])
    assert [page.id for page in memory.pages.list(tier=Tier.STM)] == ids[-3:]
    assert [page.id for page in memory.pages.list(tier=Tier.MTM)] == ids[:5]


def test_order_survives_reopening(world: World):
    memory = world.open()
    ids = [memory.add(f"第{number}页") for number in range(9)]
    memory.close()
    again = world.open()
    assert [page.id for page in again.pages.list(tier=Tier.STM)] == ids[2:]
    again.add("最新的一页")
    assert [page.id for page in again.pages.list(tier=Tier.MTM)] == ids[:3]


def test_a_smaller_capacity_moves_the_rest_at_the_next_add(world: World):
    memory = world.open()
    ids = [memory.add(f"🍵 page {number}") for number in range(5)]
    memory.close()
    smaller = world.open(short_term_capacity=2)
    ids.append(smaller.add("🍵 page 5"))
    assert [page.id for page in smaller.pages.list(tier=Tier.STM)] == ids[-2:]
    assert [page.id for page in smaller.pages.list()] == ids


def test_each_scope_has_its_own(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 mine")
    memory.of(Scope(user="bob")).add("🍵 not mine")
    assert texts(memory.pages.list()) == ["🍵 mine"]
    assert memory.segments.list() == []


HALVES = [({"query": "🍵 where is my cup"}, Role.USER), ({"response": "🍵 the cup is in the sink"}, Role.ASSISTANT)]


@pytest.mark.parametrize(("half", "role"), HALVES)
def test_half_an_exchange_reaches_mtm_and_search(world: World, half, role):
    memory = world.open(short_term_capacity=1)
    page = memory.add(**half)
    memory.add("🚲 something else")
    hit = memory.search("🍵 cup").hits[0]
    assert (hit.id, hit.cube.tier) == (page, Tier.MTM)
    assert [turn.role for turn in hit.cube.payload.turns] == [role]


def test_system_and_tool_messages_stay_with_their_page(world: World):
    memory = world.open(short_term_capacity=1)
    said = [
        Turn(role=Role.SYSTEM, text="🍵 be brief"),
        Turn(role=Role.USER, text="how hot"),
        Turn(role=Role.TOOL, text="thermometer says ninety"),
        Turn(role=Role.ASSISTANT, text="ninety degrees"),
    ]
    (page,) = memory.add_many(said)
    memory.add("🚲 something else")
    (hit,) = memory.search("thermometer", strategy="bm25").hits
    assert (hit.id, hit.cube.tier) == (page, Tier.MTM)
    assert [(turn.role, turn.text) for turn in hit.cube.payload.turns] == [(turn.role, turn.text) for turn in said]


@pytest.mark.parametrize("words", [{"query": "🍵 look"}, {"response": "🍵 look"}, {}])
def test_an_attachment_is_found_by_its_caption(world: World, words):
    memory = world.open(short_term_capacity=1)
    photo = Attachment(caption="一只黑猫 on a windowsill", uri="cat.jpg", media_type="image/jpeg")
    page = memory.add(**words, attachments=[photo])
    memory.add("🚲 something else")
    for question in ("windowsill", "黑猫"):
        (hit,) = memory.search(question, strategy="bm25").hits
        assert hit.id == page
        assert hit.cube.payload.turns[0].attachments == (photo,)
        assert "windowsill" in hit.text
