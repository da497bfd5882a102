"""A call that is repeated with its key changes nothing, on every back end."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

import forked
from memoryos import AsyncMemory, Role, Scope, Turn
from memoryos.errors import InvalidInput, KeyReused
from memoryos.models.hashing import Hashing

TESTS = Path(__file__).parents[1]
KEY = "message-17"
TALK = [
    Turn(role=Role.USER, text="I keep bees."),
    Turn(role=Role.ASSISTANT, text="How many hives?"),
    Turn(role=Role.USER, text="我住在杭州。"),
]


class Counting(Hashing):
    """Counts the texts that it was given."""

    texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


def test_a_repeated_add_returns_the_same_page_and_changes_nothing(open_memory, clock):
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    page = memory.add("I keep bees.", "How many hives?", tags=["pets"], idempotency_key=KEY)
    memory.wait()
    before, jobs, texts = memory.log.events(), memory.jobs.list(), embedder.texts
    clock.advance(hours=3)
    assert memory.add("I keep bees.", "How many hives?", tags=["pets"], idempotency_key=KEY) == page
    memory.wait()
    assert (memory.log.events(), memory.jobs.list(), embedder.texts) == (before, jobs, texts)
    assert [cube.id for cube in memory.pages.list()] == [page]


def test_a_repeated_add_may_be_awaited(open_memory):
    memory = open_memory()

    async def tell():
        awaited = AsyncMemory(memory)
        pages = await awaited.add_many(TALK, idempotency_key=KEY)
        return {await awaited.add("Good night!", idempotency_key="night") for _ in range(2)}, pages

    (night,), pages = asyncio.run(tell())
    assert memory.add_many(TALK, idempotency_key=KEY) == pages
    assert [cube.id for cube in memory.pages.list()] == [*pages, night]


def test_another_key_or_none_is_another_page(open_memory):
    memory = open_memory()
    pages = [memory.add("Good morning!", idempotency_key=key) for key in (KEY, KEY + "8", None, None)]
    assert [cube.id for cube in memory.pages.list()] == pages
    assert len(set(pages)) == 4


def test_a_repeated_dialogue_has_the_same_pages_in_the_same_order(open_memory, clock):
    memory = open_memory()
    pages = memory.add_many(TALK, idempotency_key=KEY)
    clock.advance(minutes=1)
    assert memory.add_many(TALK, idempotency_key=KEY) == pages
    assert [cube.id for cube in memory.pages.list()] == pages == sorted(pages)
    assert len(pages) == 2


def test_nothing_can_be_added_again_and_again(open_memory):
    memory = open_memory()
    assert memory.add_many([], idempotency_key=KEY) == memory.add_many([], idempotency_key=KEY) == []
    with pytest.raises(InvalidInput, match="idempotency_key"):
        memory.add_many(TALK, idempotency_key=KEY)
    assert memory.pages.list() == []


def test_a_repeated_add_takes_back_no_correction(open_memory):
    memory = open_memory()
    page = memory.add("I keep bees.", idempotency_key=KEY)
    memory.update(page, "I keep hens.")
    memory.update(page, "I keep geese.")
    before = memory.log.events()
    assert memory.add("I keep bees.", idempotency_key=KEY) == page
    assert memory.log.events() == before
    assert "geese" in memory.get(page).text
    with pytest.raises(InvalidInput, match="idempotency_key"):
        memory.add("I keep geese.", idempotency_key=KEY)


def test_a_repeated_add_brings_nothing_back_that_was_deleted(open_memory):
    memory = open_memory()
    first, second = memory.add_many(TALK, idempotency_key=KEY)
    memory.delete(first)
    assert memory.add_many(TALK, idempotency_key=KEY) == [first, second]
    memory.delete(second)
    assert memory.add_many(TALK, idempotency_key=KEY) == [first, second]
    assert memory.pages.list() == []
    assert memory.search("bees").hits == ()


@pytest.mark.parametrize(
    "other",
    [
        {"query": "I keep hens."},
        {"response": "How nice!"},
        {"response": None},
        {"tags": ["work"]},
        {"at": "2026-05-01T10:00:00+00:00"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_key_that_was_used_for_something_else_is_refused(open_memory, other):
    memory = open_memory()
    call = {"query": "I keep bees.", "response": "How many hives?", "idempotency_key": KEY}
    page = memory.add(**call)
    with pytest.raises(KeyReused, match=r"belongs to another call.*key of its own") as caught:
        memory.add(**{**call, **other})
    assert caught.value.field == "idempotency_key"
    assert [cube.id for cube in memory.pages.list()] == [page]


@pytest.mark.parametrize("turns", [TALK[:2], [*TALK, *TALK], TALK[::-1]])
def test_a_key_that_was_used_for_another_dialogue_is_refused(open_memory, turns):
    memory = open_memory()
    pages = memory.add_many(TALK, idempotency_key=KEY)
    with pytest.raises(InvalidInput, match="idempotency_key"):
        memory.add_many(turns, idempotency_key=KEY)
    assert [cube.id for cube in memory.pages.list()] == pages


def test_a_time_that_was_stated_is_part_of_the_call(open_memory, clock):
    memory = open_memory()
    page = memory.add("I keep bees.", at="2026-05-01T10:00:00+00:00", idempotency_key=KEY)
    clock.advance(days=1)
    assert memory.add("I keep bees.", at="2026-05-01T12:00:00+02:00", idempotency_key=KEY) == page
    with pytest.raises(InvalidInput, match="idempotency_key"):
        memory.add("I keep bees.", at="2026-05-02T10:00:00+00:00", idempotency_key=KEY)


def test_a_key_belongs_to_its_owner(open_memory):
    scopes = [
        Scope(user="tom"),
        Scope(user="ana"),
        Scope(user="tom", tenant="acme"),
        Scope(user="tom", agent="coder"),
        Scope(user="tom", namespace=("team", "support")),
    ]
    memory = open_memory()
    pages = [memory.of(scope).add(f"I am number {n}.", idempotency_key=KEY) for n, scope in enumerate(scopes)]
    assert len(set(pages)) == len(scopes)
    for number, scope in enumerate(scopes):
        assert memory.of(scope).add(f"I am number {number}.", idempotency_key=KEY) == pages[number]
        assert [cube.id for cube in memory.of(scope).pages.list()] == [pages[number]]


def test_a_key_that_was_used_in_another_session_is_refused(open_memory):
    memory = open_memory()
    memory.add("I keep bees.", idempotency_key=KEY)
    with pytest.raises(KeyReused, match="belongs to another call"):
        memory.of(Scope(user="tom", session="tuesday")).add("I keep bees.", idempotency_key=KEY)


def test_a_key_outlives_the_memory_and_a_rebuild(open_memory):
    first = open_memory()
    pages = first.add_many(TALK, idempotency_key=KEY)
    first.upkeep.rebuild()
    first.close()
    assert open_memory().add_many(TALK, idempotency_key=KEY) == pages


@pytest.mark.parametrize("key", ["", "  ", "k" * 257, "a\nb", "a\x00b", "\ud800", 17, b"key"])
def test_a_key_that_is_none_is_refused_with_the_way_to_make_one(open_memory, key):
    memory = open_memory()
    with pytest.raises(InvalidInput) as caught:
        memory.add("I keep bees.", idempotency_key=key)
    assert caught.value.field == "idempotency_key"
    assert "UUID" in caught.value.fix
    assert memory.pages.list() == []


@pytest.mark.parametrize("key", ["k" * 256, "钥匙 🔑", "../x", "'; DROP TABLE notes; --", "calibration", "%s"])
def test_any_other_text_is_a_key(open_memory, key):
    memory = open_memory()
    assert memory.add("I keep bees.", idempotency_key=key) == memory.add("I keep bees.", idempotency_key=key)
    assert len(memory.pages.list()) == 1


RACER = """
import sys
import memoryos
from memoryos.models.hashing import Hashing

memory = memoryos.open(sys.argv[1], user="tom", embedder=Hashing())
for number in range(int(sys.argv[2])):
    print("ready", flush=True)
    sys.stdin.readline()
    print(memory.add(f"I am told number {number}.", idempotency_key=f"key {number}"), flush=True)
memory.close()
"""


def test_processes_that_add_the_same_at_the_same_moment_add_one_page(open_memory, place):
    memory, rounds = open_memory(), 8
    command = [forked.executable(), "-c", RACER, place, str(rounds)]
    start = lambda: subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=TESTS, env=os.environ)  # noqa: E731
    racers = [start() for _ in range(3)]
    pages = []
    for _ in range(rounds):
        assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 3
        for racer in racers:
            racer.stdin.write("go\n")
            racer.stdin.flush()
        (page,) = {racer.stdout.readline().strip() for racer in racers}
        pages.append(page)
    for racer in racers:
        racer.communicate()
        assert racer.returncode == 0
    assert [cube.id for cube in memory.pages.list()] == pages
