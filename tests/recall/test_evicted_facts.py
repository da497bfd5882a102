"""What the resident part of a memory knows of facts that left LPM for lack of room."""

from __future__ import annotations

import numpy as np
import pytest

from memoryos.cube import Fact, MemCube
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Subject
from memoryos.operation.index.evicted_facts import EvictedFacts

QUESTION = np.array([1, 0], dtype=np.float32)


@pytest.fixture
def fact(cube):
    def make(text: str, vector: list[float] | None, subject: Subject = Subject.USER) -> Entry:
        told: MemCube = cube(Fact(text=text, subject=subject))
        return Entry(told, None if vector is None else np.array(vector, dtype=np.float32))

    return make


def test_the_nearest_come_first_and_those_without_a_vector_count_as_unlike(fact):
    facts = EvictedFacts(2)
    far, blank, near = fact("far", [-1, 0]), fact("blank", None), fact("near", [1, 0])
    for one in (far, blank, near):
        facts.put(one)
    assert list(facts.nearest(Subject.USER, QUESTION, {})) == [near, blank, far]
    assert list(facts.nearest(Subject.AGENT, QUESTION, {})) == []
    named = {far.cube.id: 2.5, "of another subject": 9.0}
    assert list(facts.nearest(Subject.USER, QUESTION, named)) == [far, near, blank]


def test_each_change_is_seen(fact):
    facts = EvictedFacts(2)
    one, other = fact("one", [1, 0]), fact("other", [0, 1], Subject.AGENT)
    facts.put(one)
    assert list(facts.nearest(Subject.USER, QUESTION, {})) == [one]
    facts.put(other)
    assert list(facts.nearest(Subject.AGENT, QUESTION, {})) == [other]
    facts.drop(one.cube.id)
    assert list(facts.nearest(Subject.USER, QUESTION, {})) == []
    assert len(facts) == 1
    facts.clear()
    assert len(facts) == 0
    assert list(facts.nearest(Subject.AGENT, QUESTION, {})) == []
