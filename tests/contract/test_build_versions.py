"""Adapters and KV states have the doors of versions that pages have; each build is a memory of its own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from uuid_utils.compat import uuid7

from built_cubes import put_built
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.operation.training import pinning
from memoryos.operation.training.pinning import stop_training
from memoryos.operation.training.wanted_adapter import WantedAdapter, want, wanted_adapters


@pytest.fixture
def built(open_memory, clock):
    """A memory with a KV state, and an adapter that was trained three times."""
    memory = open_memory()
    page = memory.add("Tom likes tea.")
    state, first = put_built(memory._engine.vault, memory.get(page), clock)
    adapters = [first]
    with memory._engine.vault.write(memory.scope) as writer:
        for number in (2, 3):
            payload = replace(first.payload, number=number, rank=8 * number, blob=None)
            adapters.append(replace(first, id=str(uuid7()), payload=payload))
        writer.insert([Entry(one) for one in adapters[1:]])
        writer.link([Link(one.id, LinkKind.COMPUTED_FROM, page) for one in adapters[1:]])
        want(writer, WantedAdapter("home", last=3))
    return memory, state, adapters


def test_the_history_of_an_adapter_has_the_versions_that_stand(built):
    memory, _, adapters = built
    assert [one.id for one in memory.history(adapters[2].id)] == [one.id for one in adapters]
    assert [one.to_dict()["version"] for one in memory.history(adapters[2].id)] == [1, 2, 3]
    assert [one.id for one in memory.history(adapters[0].id)] == [adapters[0].id]
    memory.delete(adapters[1].id)
    assert [one.number for one in memory.history(adapters[2].id)] == [1, 3]


def test_versions_of_an_adapter_are_compared(built):
    memory, _, adapters = built
    found = memory.governance.diff(adapters[2].id)
    assert (found.older, found.newer) == (2, 3)
    assert {one.field: (one.before, one.after) for one in found.changes}["rank"] == ("16", "24")
    assert memory.governance.diff(adapters[2].id, 1, 2).newer == 2
    with pytest.raises(NotFound, match="version 7"):
        memory.governance.diff(adapters[2].id, 1, 7)
    with pytest.raises(NotFound, match="no version before"):
        memory.governance.diff(adapters[0].id)


def test_an_earlier_version_of_an_adapter_is_used_again_and_the_log_says_why(built):
    memory, _, adapters = built
    assert memory.adapters.get("home").used == 3
    found = memory.governance.rollback(adapters[2].id, 1, reason="it forgot the tea")
    assert found.id == adapters[0].id
    assert memory.adapters.get("home").used == 1
    told = [json.loads(one.detail) for one in memory.log.events() if one.operation is Operation.REFRESH and one.detail]
    (event,) = (one for one in told if "restored" in one)
    assert (event["by"], event["call"], event["restored"]) == ("tom", "governance.rollback", 1)
    assert event["reason"] == "it forgot the tea"
    assert memory.adapters.rollback("home", 2).used == 2
    with pytest.raises(NotFound):
        memory.governance.rollback(adapters[0].id, 9)
    with memory._engine.vault.read(memory.scope) as reader:
        assert wanted_adapters(reader)["home"].pinned == 2


def test_a_change_of_an_adapter_meanwhile_stays(built, monkeypatch):
    memory, _, adapters = built

    def meanwhile(*given) -> None:
        with memory._engine.vault.write(memory.scope) as writer:
            (stored,) = writer.get([adapters[0].id]).values()
            told = replace(stored.descriptive, tags=("kitchen",))
            writer.update([Entry(replace(stored, descriptive=told))], Operation.REFRESH)
        stop_training(*given)

    monkeypatch.setattr(pinning, "stop_training", meanwhile)
    memory.governance.rollback(adapters[2].id, 1)
    assert memory.get(adapters[0].id).descriptive.tags == ("kitchen",)


def test_a_kv_state_has_the_history_of_its_builds_and_says_why_none_comes_back(built):
    memory, state, _ = built
    assert [one.id for one in memory.history(state.id)] == [state.id]
    with pytest.raises(NotFound, match="no version before"):
        memory.governance.diff(state.id)
    with pytest.raises(InvalidInput, match=r"holds what its memories say now.*activations\.build\('me'"):
        memory.governance.rollback(state.id, 1)
    version, payload = replace(state.version, number=2), replace(state.payload, tokens=9)
    later = replace(state, id=str(uuid7()), version=version, payload=payload)
    with memory._engine.vault.write(memory.scope) as writer:  # as beside one that is frozen
        writer.insert([Entry(later)])
    assert [one.number for one in memory.history(later.id)] == [1, 2]
    assert [one.field for one in memory.governance.diff(later.id).changes] == ["tokens"]
