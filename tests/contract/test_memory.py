"""What a caller does with a memory, on every back end: the same calls, the same answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import forked
import memoryos
from memoryos import stores
from memoryos.infrastructure.vault.compiled import SHARED
from memoryos.models.hashing import Hashing

TESTS = Path(__file__).parents[1]
TALK = [
    ("I keep bees behind the old mill.", "How many hives do you have?"),
    ("My sister Ana lives in Lisbon.", "Do you visit her often?"),
    ("My name is Tom and I work as a carpenter.", "What do you build?"),
    ("I am allergic to peanuts.", "I will remember that."),
    ("我叫小明，住在杭州。", "杭州很美。"),
    ("我喜欢喝龙井茶。", "今年的新茶好吗？"),
    ("The hives were robbed by wasps in August.", "That is a pity."),
    ("Ana will come in spring.", "How nice."),
    ("I have ordered oak for a table.", "For whom?"),
]


def talk(memory, clock):
    for query, response in TALK:
        memory.add(query, response)
        clock.advance(hours=5)
    memory.wait()


def words(found):
    return [hit.cube.text for hit in found.hits]


def test_what_was_said_is_found_and_packed(open_memory, clock):
    memory = open_memory()
    talk(memory, clock)
    assert "wasps" in words(memory.search("Who robbed the hives?"))[0]
    assert "龙井茶" in words(memory.search("我喜欢喝什么茶？"))[0]
    assert "Lisbon" in memory.context("Where does Ana live?").text


def test_consolidation_learns_the_profile(open_memory, clock):
    memory = open_memory()
    talk(memory, clock)
    memory.consolidate()
    assert any("peanuts" in hit.cube.text for hit in memory.search("allergic to peanuts").hits)
    assert "小明" in [field.payload.value for field in memory.profile.get().user.profile]
    assert len(memory.pages.list()) == len(TALK)


def test_who_opens_a_store_again_compiles_nothing_again(open_memory, clock):
    def use() -> int:
        with open_memory() as memory:
            memory.add("I keep bees.", "How many hives?")
            memory.consolidate()
            memory.delete(memory.pages.list()[0].id)
        return len(SHARED["compiled_cache"])

    compiled = use()
    assert compiled
    assert use() == compiled


def known(memory):
    """What is known of the user and the agent, without what its use changes."""
    told = memory.profile.get()
    cubes = [cube for one in (told.user, told.agent) for cube in (*one.profile, *one.traits, *one.facts)]
    return [(cube.id, cube.payload, cube.descriptive) for cube in cubes]


def test_a_memory_that_is_opened_again_knows_everything(open_memory, clock):
    first = open_memory()
    talk(first, clock)
    first.consolidate()
    before, told = words(first.search("hives")), known(first)
    assert told
    first.close()
    again = open_memory()
    assert words(again.search("hives")) == before
    assert known(again) == told


def test_another_memory_follows_what_the_first_writes_and_deletes(open_memory):
    one, two = open_memory(), open_memory()
    assert words(two.search("bees")) == []
    page = one.add("I keep bees behind the old mill.")
    assert len(words(two.search("bees"))) == 1
    one.update(page, "I keep hens.")
    assert "hens" in words(two.search("bees hens"))[0]
    one.delete(page)
    assert words(two.search("bees hens")) == []


def test_another_process_reads_and_writes_the_same_memory(open_memory, place):
    memory = open_memory()
    memory.add("I keep bees behind the old mill.")
    program = (
        "import sys; import memoryos; from memoryos.models.hashing import Hashing\n"
        "with memoryos.open(sys.argv[1], user='tom', embedder=Hashing()) as memory:\n"
        "    assert len(memory.search('bees').hits) == 1\n"
        "    memory.add('And hens from Lisbon.')"
    )
    subprocess.run([forked.executable(), "-c", program, place], check=True, cwd=TESTS, env=os.environ)
    assert "hens" in words(memory.search("hens"))[0]


def test_tenants_and_users_are_apart(open_memory, clock):
    open_memory().add("I keep bees.")
    open_memory(tenant="acme").add("I keep hens.")
    open_memory(user="ana").add("I keep cats.")
    everyone = {"default": "bees", "acme": "hens"}
    for tenant, animal in everyone.items():
        assert words(open_memory(tenant=tenant).search("what do I keep")) == [f"user: I keep {animal}."]
    assert words(open_memory(user="ana").search("what do I keep")) == ["user: I keep cats."]


def test_a_rebuild_gives_the_same_segments(open_memory, clock):
    memory = open_memory()
    talk(memory, clock)
    memory.consolidate()
    before = words(memory.search("hives"))
    memory.upkeep.rebuild()
    assert words(memory.search("hives")) == before


def test_a_store_changes_to_another_embedder(open_memory, place, clock):
    open_memory().add("I keep bees behind the old mill.")

    class Other(Hashing):
        name = "other"

    stores.reembed(place, Other(), clock=clock)
    with memoryos.open(place, user="tom", embedder=Other(), clock=clock) as memory:
        assert len(memory.search("bees").hits) == 1
