"""What governance does, it does for each kind of memory: states, lineage, holds, the log, rights, erasure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from built_cubes import put_built
from memoryos import Caller, Kind, MemCube, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.errors import CubeProtected, NotFound, TransitionRefused
from memoryos.kinds import State
from memoryos.models.hashing import Hashing

ANN, OWNER, NURSE = Scope(user="ann"), Caller("ann"), Caller("kim", frozenset({"nurse"}))
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action, resource is Cube) when { resource.tags.contains("public") };
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""


@pytest.fixture
def kept(place, clock, tmp_path) -> Iterator[tuple[MemoryOS, list[MemCube]]]:
    """A store that has a memory of each kind, in an order in which the end of one ends none of the next."""
    (tmp_path / "all.cedar").write_text(POLICIES)
    settings = load_settings(short_term_capacity=1, heat_threshold=0, audit=True, policies=str(tmp_path / "all.cedar"))
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as store:
        ann = store.of(ANN, OWNER)
        first = ann.add("I live in Oslo, and I love hiking in the mountains.", "Nice.", tags=["private"])
        page = ann.add("I went hiking again.", "Good.", tags=["private"])
        name = ann.profile.set("name", "Ann")
        ann.consolidate()
        ann.wait()
        built = acting(SYSTEM, lambda: put_built(store._engine.vault, ann.get(first), clock))
        known = [ann.get(name), ann.profile.get().user.traits[0], ann.facts.list()[0], ann.get(page)]
        yield store, [*built, *known, ann.segments.list()[0].cube]


def test_each_kind_is_frozen_traced_held_hidden_noted_and_erased(kept, back_end, long):
    store, cubes = kept
    ann, nurse = store.of(ANN, OWNER), store.of(ANN, NURSE)
    assert {cube.kind for cube in cubes} == set(Kind)
    some = cubes if back_end == "sqlite" or long else cubes[::3]  # it is the guard of each vault, whatever the kind
    for kind, memory in [(cube.kind, cube.id) for cube in some]:
        governance = ann.governance
        governance.freeze(memory, reason="a court asked")
        for change in (ann.delete, governance.erase, governance.expire):
            with pytest.raises((CubeProtected, TransitionRefused), match="frozen"):
                change(memory)
        governance.thaw(memory)
        told = [(one.after, one.by, one.cause) for one in governance.transitions(memory)]
        assert told[-2] == (State.FROZEN, "ann", "a court asked"), kind
        tree = governance.provenance(memory)
        assert (tree.kind, json.loads(tree.to_json())["id"]) == (kind, memory)
        assert [one.id for one in ann.history(memory)] == [memory]
        hold = governance.hold(reason="case 7", memory=memory)
        with pytest.raises(CubeProtected, match="hold"):
            ann.delete(memory)
        governance.release(hold.id)
        for hidden in (nurse.get, nurse.governance.provenance, nurse.history, nurse.delete):
            with pytest.raises(NotFound):
                hidden(memory)
        assert not governance.explain(memory, NURSE, "read").allowed
        assert {one.operation for one in store.audit.list(memory_id=memory)} >= {"governance.freeze", "memory.delete"}
        receipt = governance.erase(memory).receipt
        assert receipt is not None and receipt.memories[kind.value] == 1
        with pytest.raises(NotFound):
            ann.get(memory)
