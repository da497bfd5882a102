"""What one person has, nobody else gets by any public method: not by its id, nor by search, links, counts or errors.

The methods are found by reflection, so a new one is attacked from its first day.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from memoryos import MemoryOS, Scope
from memoryos.errors import PermissionDenied

from . import governed
from .governed import ANN, METHODS, NURSE, OWNER, UNKNOWN, World, leaked, outcome, statements_in

AMONG = 3  # attackers, who try all words together

TAKING = [name for name in METHODS if governed.takes_names(name) and name not in ("of", "forget")]


@pytest.fixture(scope="module")
def world(back_end: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with governed.world(tmp_path_factory.mktemp("governed"), back_end) as made:
        yield made


@pytest.fixture
def before(world: World) -> dict[str, Any]:
    return world.fingerprint()


def some(words: list[str], number: int, long: bool) -> list[str]:
    """The words that one attacker uses: each word is used by some of them, and by all of them in a long attack."""
    return words if long else words[number % AMONG :: AMONG] or words[:1]


def test_the_owner_gets_it(world, before):
    ann = world.store.of(ANN, OWNER)
    assert len(world.ids) == 7, "a secret of each kind"
    assert leaked(outcome(ann, "facts.list", "")[1])  # a search would count visits
    for name in ("get", "history", "governance.provenance"):
        assert leaked(outcome(ann, name, world.ids["page"])[1])
    assert before["cubes"], "the rows of the victim are compared"


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("forget", "of")])
def test_no_method_gives_another_persons_memory_away_or_changes_it(world, before, name, long):
    words = world.words(name) if name in TAKING else ["zyloprim"]
    for number, (who, memory) in enumerate(world.attackers.items()):
        is_shut_out = memory.scope.owner == ANN.owner
        for word in words[:1] if is_shut_out else some(words, number, long):
            kind, said = outcome(memory, name, word)
            assert not leaked(said), (who, name, word, said)
            assert kind or not is_shut_out or name in ("wait", "of"), (who, name, word)
    assert world.changed(before) == {}


@pytest.mark.parametrize("name", [name for name in TAKING if name not in governed.NAMES])
def test_another_persons_name_is_as_unknown_as_one_that_nothing_has(world, name, long):
    with_own = {who: one for who, one in world.attackers.items() if one.scope.owner != ANN.owner}
    for number, (who, memory) in enumerate(with_own.items()):  # the others are refused, whatever they name
        expected = outcome(memory, name, UNKNOWN)
        is_ann = (memory.scope.tenant, memory.scope.user) == (ANN.tenant, ANN.user)  # may end what she passed on
        words = [word for kind, word in world.ids.items() if not (is_ann and kind == "delegation")]
        for word in some(words, number, long):
            found = outcome(memory, name, word)
            assert found[0] == expected[0], (who, name, word, found)
            assert found[0] == "" or found[1] == expected[1], (who, name, word)


@pytest.mark.parametrize("name", [name for name in TAKING if name not in governed.NAMES])
def test_a_hidden_id_takes_as_many_statements_as_one_that_nothing_has(world, name):
    """Who may read a part of a memory learns from neither words nor work that there is more."""
    nurse = world.store.of(ANN, NURSE)
    wanted = {kind: word for kind, word in world.ids.items() if kind in ("page", "fact", "segment")}
    expected = outcome(nurse, name, UNKNOWN)
    if expected[0] not in ("NotFound", "PermissionDenied"):
        return  # what it is given is no id: a text, or the name of something new
    outcome(nurse, name, UNKNOWN)
    work = statements_in(lambda: outcome(nurse, name, UNKNOWN))
    assert work
    for kind, word in wanted.items():
        assert outcome(nurse, name, word) == expected, (name, kind)
        assert statements_in(lambda word=word: outcome(nurse, name, word)) == work, (name, kind)


@pytest.mark.parametrize("who", [0, 1, 2, 5])
def test_who_forgets_its_own_memory_forgets_nothing_of_others(back_end, tmp_path, who):
    with governed.world(tmp_path, back_end) as own:
        before = own.fingerprint()
        memory = list(own.attackers.values())[who]
        kind, said = outcome(memory, "forget", "")
        assert not leaked(said)
        assert bool(kind) == (who > 3)
        after = own.fingerprint()
        mine = {name: [row for row in rows if row not in after[name]] for name, rows in before.items()}
        same_user = memory.scope.user == ANN.user and memory.scope.tenant == ANN.tenant and who < 4
        assert same_user or not any(mine.values())
        assert all("zorb" not in row.lower() for rows in mine.values() for row in rows)


def test_a_refused_export_writes_nothing_not_even_its_signed_head(world):
    for who, memory in world.attackers.items():
        if memory.scope.owner == ANN.owner:
            with pytest.raises(PermissionDenied):
                memory.export(stream := StringIO())
            assert stream.getvalue() == "", who


UNGATED = {  # refused when used; no verb; they take the secret of a key; what a server asks before it has a caller
    *("close", "of", "by", "memory", "wait", "keys.caller", "keys.info", "keys.exist", "keys.is_valid"),
}


@pytest.mark.parametrize("identity", ["mallory", "memoryos", "ANN", "аnn", "ann ", "doctor"])
def test_the_verbs_about_the_store_are_refused(world, before, identity):
    from attack.arguments import plain
    from memoryos import Caller
    from public import function_of, method_of, methods_of

    store = MemoryOS(world.store._engine, Caller(identity))
    for name in methods_of(MemoryOS):
        if name in UNGATED:
            continue
        positional, named = plain(function_of(MemoryOS, name))
        with pytest.raises(PermissionDenied):
            pytest.fail(f"{name} told {method_of(store, name)(*positional, **named)!r}")
    assert world.changed(before) == {}


def test_a_mount_of_anothers_memory_shows_nothing_to_who_may_not_read_it(world):
    from memoryos import Mount

    operator = world.store
    operator.mounts.add(Mount("ward", None, Scope(user="ann", namespace=("private",))))
    try:
        strangers = {who: one for who, one in world.attackers.items() if one.caller.identity != "ann"}
        for who, memory in strangers.items():
            for name in ("search", "context", "tagged", "respond", "digest"):
                said = outcome(memory, name, "zyloprim")[1]
                assert not leaked(said), (who, name, said)
    finally:
        operator.mounts.remove("ward")
