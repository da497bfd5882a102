"""A store and its memories: who owns what, and what closing one does."""

from __future__ import annotations

import pytest

import memoryos
from memoryos import AsyncMemory, Memory, MemoryOS, Scope, Subject
from memoryos.errors import InvalidInput, StorageError
from public import store_of


def test_memories_of_one_store_are_apart(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store:
        store.memory("ann").add("I keep bees.")
        store.memory("bob", agent="coder").add("I keep hens.")
        assert [page.text for page in store.memory("ann").pages.list()] == ["user: I keep bees."]
        assert store.memory("bob").pages.list() == []
        assert store.memory("bob", agent="coder").search("hens").hits


def test_closing_a_memory_of_a_store_leaves_the_store_open(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store:
        with store.memory("ann") as memory:
            memory.add("I keep bees.")
        memory.close()
        assert store.memory("ann").search("bees").hits


def test_a_memory_that_was_opened_at_once_closes_its_store(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        memory.add("I keep bees.")
    with pytest.raises(StorageError, match="closed"):
        memory.search("bees")


def test_another_owner_of_the_same_store_is_a_scope_away(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann", session="monday") as memory:
        bob = memory.of(Scope(user="bob"))
        bob.add("I keep hens.")
        bob.close()
        assert memory.scope == Scope(user="ann", session="monday")
        assert bob.scope == Scope(user="bob")
        assert memory.search("hens").hits == ()
        assert bob.search("hens").hits


@pytest.mark.parametrize("user", ["", " ", None, 5, "\x00"])
def test_a_user_that_is_none_is_refused_before_a_store_is_made(tmp_path, user):
    with pytest.raises(InvalidInput, match=r"scope\.user"):
        memoryos.open(tmp_path / "a.db", user=user)
    assert not (tmp_path / "a.db").exists()


def test_facts_are_listed_by_whom_they_are_about(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        memory.facts.add("likes jazz")
        memory.facts.add("is called Max", subject=Subject.AGENT)
        assert [fact.text for fact in memory.facts.list()] == ["likes jazz"]
        assert [fact.text for fact in memory.facts.list(subject="agent")] == ["is called Max"]
        assert memory.profile.get().user.facts == tuple(memory.facts.list())


def test_the_store_knows_its_owners(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        memory.add("I keep bees.")
        assert store_of(memory).admin.scopes() == [Scope(user="ann")]
        assert store_of(memory).settings is memory.settings


def test_what_is_opened_says_so_when_it_is_made():
    for kind, says in ((Memory, r"memoryos\.open"), (MemoryOS, r"MemoryOS\.open"), (AsyncMemory, r"AsyncMemory\.open")):
        with pytest.raises(InvalidInput, match=says):
            kind("x.db")


def test_a_repr_names_the_owner_and_the_store(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store:
        assert repr(store) == f"MemoryOS(store={str(tmp_path / 'a.db')!r})"
        ann, ben = store.memory("ann"), store.memory("ben", session="tea")
        assert repr(ann) == f"Memory(user='ann', agent='default', store={str(tmp_path / 'a.db')!r})"
        assert "session='tea'" in repr(ben)
        assert repr(AsyncMemory(ann)) == f"Async{ann!r}"
