"""The async side has what the sync side has: the same nouns and verbs, with the same parameters and docs."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from memoryos import AsyncMemory, AsyncMemoryOS, Memory, MemoryOS
from public import function_of, methods_of, nouns_of

TWINS = [(Memory, AsyncMemory), (MemoryOS, AsyncMemoryOS)]
CASES = [(sync, awaited, name) for sync, awaited in TWINS for name in methods_of(sync)]
AT_ONCE = {"memory", "of", "by", "respond_stream"}  # they ask for nothing yet, and are not awaited


@pytest.mark.parametrize(("sync", "awaited"), TWINS)
def test_both_sides_have_the_same_verbs(sync, awaited):
    assert methods_of(awaited) == methods_of(sync)
    assert nouns_of(awaited).keys() == nouns_of(sync).keys()


@pytest.mark.parametrize(("sync", "awaited", "name"), CASES)
def test_a_verb_has_the_same_parameters_and_docs(sync, awaited, name):
    one, other = function_of(sync, name), function_of(awaited, name)
    parameters = [inspect.signature(function).parameters for function in (one, other)]
    assert [*parameters[0].values()][1:] == [*parameters[1].values()][1:]
    assert inspect.getdoc(one) == inspect.getdoc(other)


@pytest.mark.parametrize(("sync", "awaited", "name"), CASES)
def test_a_verb_is_awaited(sync, awaited, name):
    function = function_of(awaited, name)
    is_awaited = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    assert is_awaited is (name not in AT_ONCE)


def test_a_noun_without_a_twin_is_told_with_the_files_that_lack_it():
    with pytest.raises(AssertionError, match=r"AsyncMemory has no noun 'sizes': add its class to async_nouns\.py"):
        function_of(AsyncMemory, "sizes.list")


@pytest.mark.parametrize(("sync", "awaited"), [(MemoryOS.open, AsyncMemoryOS.open)])
def test_opening_takes_the_same(sync, awaited):
    assert inspect.signature(sync).parameters.keys() == inspect.signature(awaited).parameters.keys()


def test_a_memory_is_used_from_a_coroutine(tmp_path):
    async def use() -> list[str]:
        async with await AsyncMemory.open(tmp_path / "a.db", user="ann") as memory:
            await memory.add("My boat is called Aurora.")
            await memory.facts.add("The user has a boat.")
            found = await memory.search("What is my boat called?")
            return [hit.text for hit in found.hits] + [fact.text for fact in await memory.facts.list()]

    assert asyncio.run(use()) == ["user: My boat is called Aurora.", "The user has a boat."]


def test_a_store_is_used_from_a_coroutine(tmp_path):
    async def use() -> list[str]:
        async with await AsyncMemoryOS.open(tmp_path / "a.db") as store:
            await store.memory("ann").add("I keep bees.")
            await store.memory("bob").add("I keep hens.")
            return [scope.user for scope in await store.admin.scopes()]

    assert asyncio.run(use()) == ["ann", "bob"]
