"""Adapters, and what they told, go in the transaction that changes or removes a memory that they know."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memoryos.built_memory import AdapterStage, Parameter
from memoryos.cube import Fact, Mention
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault.records import Entry, JobKind, JobState, Link, LinkKind, Operation
from memoryos.kinds import Origin, State, Subject


@pytest.fixture
def built(vault, cube):
    """A fact, an adapter that was trained on it, and a fact that the adapter told."""
    fact = cube(Fact(subject=Subject.USER, text="User lives in Oslo."))
    told = cube(Fact(subject=Subject.USER, text="User lives in the north."))
    told = replace(told, descriptive=replace(told.descriptive, origin=Origin.FINETUNING))
    trained = Parameter(
        model="tiny", method="lora", modules=("q_proj",), rank=8, name="home", stage=AdapterStage.REFUSED, refused="why"
    )
    adapter = cube(trained)
    with vault.write(fact.scope) as writer:
        writer.insert([Entry(fact), Entry(told), Entry(adapter)])
        writer.link([Link(one.id, LinkKind.COMPUTED_FROM, fact.id) for one in (adapter, told)])
    return fact, adapter, told


def left(vault, *cubes) -> list[bool]:
    with vault.read(cubes[0].scope) as reader:
        known = reader.kinds(one.id for one in cubes)
        return [one.id in known for one in cubes]


def trains(vault, scope) -> bool:
    with vault.read(scope) as reader:
        return any(job.kind == JobKind.TRAIN for job in reader.jobs(JobState.QUEUED))


def test_they_go_when_the_memory_is_deleted(vault, built):
    fact, adapter, told = built
    with vault.write(fact.scope) as writer:
        writer.delete([fact.id])
    assert left(vault, fact, adapter, told) == [False, False, False]
    assert trains(vault, fact.scope)


@pytest.mark.parametrize(
    "change",
    [
        {"payload": Fact(subject=Subject.USER, text="User lives in Bergen.")},
        {"state": State.EXPIRED},
    ],
    ids=["words", "end"],
)
def test_they_go_when_the_memory_changes(vault, built, change):
    fact, adapter, told = built
    with vault.write(fact.scope) as writer:
        writer.update([Entry(replace(fact, **change))], Operation.REFRESH)
    assert left(vault, fact, adapter, told) == [True, False, False]
    assert trains(vault, fact.scope)


def test_they_stay_when_the_memory_is_only_used_or_written_as_it_was(vault, built):
    fact, adapter, told = built
    with vault.write(fact.scope) as writer:
        writer.update([Entry(fact.visited(1, fact.at))], Operation.VISIT)
        writer.update([Entry(fact.visited(2, fact.at))], Operation.REFRESH)
    assert left(vault, fact, adapter, told) == [True, True, True]
    assert not trains(vault, fact.scope)


def test_the_memory_stays_when_the_adapter_goes_and_nothing_is_trained(vault, built):
    fact, adapter, told = built
    with vault.write(fact.scope) as writer:
        writer.delete([adapter.id])
    assert left(vault, fact, adapter, told) == [True, False, True]
    assert not trains(vault, fact.scope)


def test_a_memory_under_a_frozen_adapter_stays(vault, built):
    fact, adapter, told = built
    with vault.write(fact.scope) as writer:
        writer.update([Entry(replace(adapter, state=State.FROZEN))], Operation.REFRESH)
    with pytest.raises(CubeProtected), vault.write(fact.scope) as writer:
        writer.delete([fact.id])
    assert left(vault, fact, adapter, told) == [True, True, True]


@pytest.mark.parametrize("how", ["stated", "read", "corrected"])
def test_a_told_fact_that_somebody_said_later_stays(vault, built, page, how):
    fact, _, told = built
    later = told.descriptive.recorded_at + timedelta(seconds=1)
    changes = {
        "stated": {"mentions": (Mention(said=later, source="x", at=later),)},
        "read": {},
        "corrected": {"origin": Origin.USER_INPUT},
    }
    known = replace(told, descriptive=replace(told.descriptive, **changes[how]))
    heard = page()
    with vault.write(fact.scope) as writer:
        writer.update([Entry(known)], Operation.REFRESH)
        if how == "read":
            writer.insert([Entry(heard)])
            writer.link([Link(told.id, LinkKind.DERIVED_FROM, heard.id)])
    with vault.write(fact.scope) as writer:
        writer.delete([fact.id])
    assert left(vault, fact, known) == [False, True]


def test_a_told_fact_with_words_that_only_the_adapter_knows_goes(vault, built):
    fact, _, told = built
    later = told.descriptive.recorded_at + timedelta(seconds=1)
    described = replace(told.descriptive, mentions=(Mention(said=later, source="x", at=later),))
    known = replace(told, descriptive=described, payload=replace(told.payload, wordings=("User lives north.",)))
    with vault.write(fact.scope) as writer:
        writer.update([Entry(known)], Operation.REFRESH)
        writer.delete([fact.id])
    assert left(vault, fact, known) == [False, False]
