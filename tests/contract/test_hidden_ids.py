"""No id of a memory that a caller may not read reaches it: in no result, and in no error."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, NotFound, OnHold
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry, JobState, Operation
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


def clinic(vault: Vault, clock, folder: Path, **settings: str) -> MemoryOS:
    (folder / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(folder / "clinic.cedar"), clock)
    return MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate, settings=load_settings(**settings)))


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path):
    with clinic(vault, clock, tmp_path) as opened:
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


def test_jobs_about_hidden_memories_and_those_of_the_program_are_neither_listed_nor_retried(vault, clock, tmp_path):
    with clinic(vault, clock, tmp_path, jobs="worker") as store:  # there is none: the jobs wait
        ann, nurse = store.of(ANN, Caller("ann")), store.of(ANN, Caller("kim", frozenset({"nurse"})))
        store.admin.register_job("letter", lambda _scope, _job: None)
        seen, secret = ann.facts.add("likes tea"), ann.facts.add("has an allergy", sensitivity=["diagnosis"])
        ann.add("I like tea.")
        ann.wait()
        jobs = [ann.jobs.add("letter", about=about) for about in (seen, secret, None)]
        acting(SYSTEM, lambda: kill_jobs(vault))
        kinds = {job.kind for job in ann.jobs.list(JobState.DEAD)}
        assert {"letter", "read_recent"} <= kinds
        assert [job.id for job in nurse.jobs.list()] == jobs[:1]
        assert nurse.stats().jobs_dead == 1
        with pytest.raises(NotFound, match=jobs[1]):
            nurse.jobs.retry(jobs[1])
        assert nurse.jobs.retry() == 1
        assert ann.jobs.retry() > 2


def kill_jobs(vault: Vault) -> None:
    """Let each waiting job of Ann fail for the last time."""
    with vault.write(ANN) as writer:
        while jobs := writer.lease(lasting=timedelta(hours=1)):
            writer.fail(jobs[0], "no", retry_at=None)
