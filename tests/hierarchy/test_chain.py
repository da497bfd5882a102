"""Dialogue chains: what continues what, and the summary that grows along."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memoryos import Memory, Role, Scope, Turn
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.operation.hierarchy.redescribe import FOLLOWERS, rewrite_chain

from .world import START, World


def summary(memory: Memory, page: str) -> str:
    return memory.get(page).payload.chain_summary


def test_a_close_page_continues_the_one_before_it(world: World):
    memory = world.open()
    first = memory.add("🍵 I bought a kettle.")
    second = memory.add("🍵 The kettle whistles loudly.")
    third = memory.add("🍵 Neighbours complained about noise.")
    assert (world.chain(first), world.chain(second), world.chain(third)) == ([], [first], [second])
    assert summary(memory, first) == "🍵 I bought a kettle."
    for said in ("kettle", "Neighbours complained"):
        assert said in summary(memory, third)


def test_a_new_topic_after_a_long_pause_starts_a_chain(world: World):
    memory = world.open()
    memory.add("🍵 I bought a kettle.")
    world.clock.advance(hours=20)
    page = memory.add("🚲 My tyre is flat.")
    assert world.chain(page) == []
    assert summary(memory, page) == "🚲 My tyre is flat."


def test_a_short_pause_makes_a_loose_page_continue(world: World):
    loose = "🍵🍵🚲🚲🚲🚲 and then"  # cosine 0.447: too little by itself
    memory = world.open()
    first = memory.add("🍵 tea")
    at_once = memory.add(loose, at=START)
    assert world.chain(at_once) == [first]
    other = world.open("other.db")
    other.add("🍵 tea", at=START - timedelta(days=2))
    assert world.chain(other.add(loose, at=START)) == []


def test_another_session_starts_a_chain(world: World):
    memory = world.open()
    memory.of(Scope(user="ann", session="monday")).add("🍵 tea")
    page = memory.of(Scope(user="ann", session="tuesday")).add("🍵 tea")
    same = memory.of(Scope(user="ann", session="tuesday")).add("🍵 tea")
    assert (world.chain(page), world.chain(same)) == ([], [page])


@pytest.mark.parametrize(("speaker", "linked"), [("Ann", True), (None, True), ("Zoë", False)])
def test_other_people_start_a_chain(world: World, speaker, linked):
    memory = world.open()
    (first,) = memory.add_many([Turn(role=Role.USER, text="🍵 tea", speaker="Ann")])
    (second,) = memory.add_many([Turn(role=Role.USER, text="🍵 tea", speaker=speaker)])
    assert world.chain(second) == ([first] if linked else [])


def test_a_chain_goes_on_after_a_restart(world: World):
    memory = world.open()
    first = memory.add("🍵 I bought a kettle.")
    memory.close()
    again = world.open()
    second = again.add("🍵 It whistles loudly.")
    assert world.chain(second) == [first]
    assert "kettle" in summary(again, second)


def test_a_chain_goes_on_when_its_pages_reach_mtm(world: World):
    memory = world.open(short_term_capacity=1)
    pages = [memory.add(f"🍵 我喜欢喝茶，第{number}次。") for number in range(4)]
    assert [world.chain(page) for page in pages] == [[], pages[:1], pages[1:2], pages[2:3]]


def test_a_long_chain_keeps_a_short_summary(world: World):
    memory = world.open()
    pages = [memory.add(f"🍵 Kettle number {number} has colour {number * 7} and smells.") for number in range(30)]
    assert 0 < len(summary(memory, pages[-1])) <= 280


def test_what_a_model_wrote_of_a_chain_is_extended(world: World):
    memory = world.open()
    first = memory.get(memory.add("🍵 I bought a kettle."))
    words = "Ann has a new kettle."
    payload = replace(first.payload, chain_summary=words, chain_written=words)
    with world.vault.write(first.scope) as writer:
        writer.update([Entry(replace(first, payload=payload))], Operation.REFRESH)
    second = memory.add("🍵 The kettle whistles loudly.")
    third = memory.add("🍵 A kettle.")
    assert summary(memory, second).split("\n") == [words, "🍵 The kettle whistles loudly."]
    assert summary(memory, third) == summary(memory, second), "nothing new was said"
    memory.update(first.id, "🍵 I bought a samovar.")
    assert "Ann has" not in summary(memory, third)


def rewrite(world: World, memory: Memory, page: str, words: str) -> None:
    with world.vault.write(memory.get(page).scope) as writer:
        rewrite_chain(writer, page, words)


def test_what_a_model_wrote_of_later_pages_outlasts_what_it_writes_of_earlier_ones(world: World):
    memory = world.open()
    said = ("🍵 I bought a kettle.", "🍵 It whistles.", "🍵 Grandfather painted it.", "🍵 It broke.", "🍵 I wept.")
    pages = [memory.add(text) for text in said]
    rewrite(world, memory, pages[2], "A painted kettle.")
    assert summary(memory, pages[4]).split("\n") == ["A painted kettle.", "🍵 It broke.", "🍵 I wept."]
    rewrite(world, memory, pages[0], "A kettle.")
    assert [summary(memory, page).split("\n")[0] for page in pages] == [
        *("A kettle.", "A kettle.", "A painted kettle.", "A painted kettle.", "A painted kettle."),
    ]
    rewrite(world, memory, pages[2], "Grandfather's kettle.")
    assert summary(memory, pages[4]).split("\n") == ["Grandfather's kettle.", "🍵 It broke.", "🍵 I wept."]


def test_what_a_model_wrote_reaches_the_pages_that_wait_and_goes_from_all_of_them(world: World):
    memory = world.open()
    pages = [memory.add(f"🍵 Kettle number {number}.") for number in range(FOLLOWERS + 3)]
    rewrite(world, memory, pages[0], "Ann collects kettles.")
    reached = ["Ann" in summary(memory, page) for page in pages]
    assert reached == [True] * (FOLLOWERS + 1) + [False] * 2
    rewrite(world, memory, pages[FOLLOWERS], "Ann sells kettles.")
    assert ["sells" in summary(memory, page) for page in pages[-3:]] == [True] * 3
    memory.delete(pages[0])
    assert not [page for page in pages[1:] if "Ann" in summary(memory, page)]
