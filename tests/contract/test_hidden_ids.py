"""No id of a memory that a caller may not read reaches it: in no result, and in no error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope
from memoryos.caller import SYSTEM, acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, NotFound, OnHold
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path):
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    with MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate)) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


@pytest.fixture
def nurse(store) -> Memory:
    return store.of(ANN, Caller("kim", frozenset({"nurse"})))


def succession(ann, clock, hidden):
    """Three facts, each of which replaced the one before; of the hidden one the number is given."""
    ids = []
    for number, city in enumerate(("Boston", "Chicago", "Paris")):
        ids.append(ann.facts.add(f"lives in {city}", sensitivity=["diagnosis"] if number == hidden else []))
        clock.advance(minutes=5)
    return ids


@pytest.mark.parametrize("hidden", [0, 1, 2])
def test_a_fact_names_no_hidden_one_that_it_replaced_or_that_replaced_it(ann, nurse, clock, hidden):
    ids = succession(ann, clock, hidden)
    secret = ids.pop(hidden)
    versions = [ann.get(one).version for one in ids]
    assert hidden == 0 or secret in {one.superseded_by for one in versions}
    told = [
        *(nurse.get(one) for one in ids),
        *(nurse.history(one) for one in ids),
        *(nurse.governance.provenance(one).to_dict() for one in ids),
        *(nurse.governance.transitions(one) for one in ids),
        *(nurse.facts.list(as_of=clock.now) for _ in range(1)),
        nurse.facts.list(),
        nurse.search("lives in"),
        nurse.search("lives in", as_of="2026-06-01T00:06:00Z"),
        nurse.log.events(),
        [nurse.governance.freeze(one) for one in ids],
        [nurse.governance.thaw(one) for one in ids],
        nurse.update(ids[0], "lived somewhere"),
    ]
    assert [number for number, one in enumerate(told) if secret in repr(one)] == []
    after = [ann.get(one).version for one in ids]
    assert [one.superseded_by for one in after] == [one.superseded_by for one in versions]  # what is stored stays


def label(vault: Vault, hidden: str) -> None:
    with vault.write(ANN) as writer:
        cube = writer.get([hidden])[hidden]
        labelled = replace(cube, governance=replace(cube.governance, sensitivity=("diagnosis",)))
        writer.update([Entry(labelled)], Operation.REFRESH)


@pytest.mark.parametrize("keeper", ["frozen", "hold"])
@pytest.mark.parametrize("way", ["delete", "update", "erase"])
def test_what_keeps_a_memory_from_going_is_not_named_if_it_is_hidden(ann, nurse, keeper, way):
    page = ann.add("I am allergic to nuts. I live in Boston.")
    ann.consolidate()
    (fact, *_) = [one for one in ann.facts.list() if page in one.descriptive.provenance]
    hidden = fact.id
    acting(SYSTEM, lambda: label(ann._engine.vault, hidden))
    if keeper == "frozen":
        ann.governance.freeze(hidden)
    else:
        ann.governance.hold(reason="the case of Zorb", memory=hidden)
    calls = {
        "delete": lambda memory: memory.delete(page),
        "update": lambda memory: memory.update(page, "I live in Rome."),
        "erase": lambda memory: memory.governance.erase(page),
    }
    with pytest.raises(CubeProtected) as refusal:
        calls[way](nurse)
    assert hidden not in str(refusal.value)
    assert "Zorb" not in str(refusal.value)
    assert refusal.value.memory_id is None
    assert type(refusal.value) is CubeProtected
    with pytest.raises(CubeProtected, match=hidden) as told:
        calls[way](ann)
    assert isinstance(told.value, OnHold) is (keeper == "hold")
    with pytest.raises(NotFound):
        nurse.get(hidden)
