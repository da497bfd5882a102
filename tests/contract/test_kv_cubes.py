"""KV states as cubes: they go with what they hold, and with nothing less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from built_cubes import put_built
from memoryos.cube import Fact
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State, Subject


@pytest.fixture
def built(vault, cube, clock):
    """A fact and the KV state that has its words."""
    fact = cube(Fact(subject=Subject.USER, text="用户住在奥斯陆。"))
    with vault.write(fact.scope) as writer:
        writer.insert([Entry(fact)])
    return fact, put_built(vault, fact, clock)[0]


def stays(vault, state) -> bool:
    with vault.read(state.scope) as reader:
        return state.id in reader.kinds([state.id])


def test_a_first_visit_of_a_source_leaves_its_state(vault, built):
    fact, state = built
    seen = fact.visited(1, fact.at)
    assert (fact.state, seen.state) == (State.GENERATED, State.ACTIVATED)
    with vault.write(fact.scope) as writer:
        writer.update([Entry(seen)], Operation.VISIT)
    for after in (State.ARCHIVED, State.ACTIVATED, State.FROZEN):
        with vault.write(fact.scope) as writer:
            writer.update([Entry(replace(seen, state=after))], Operation.MOVE)
    assert stays(vault, state)


@pytest.mark.parametrize("end", [State.EXPIRED, State.MERGED])
def test_a_source_that_is_over_ends_its_state(vault, built, end):
    fact, state = built
    with vault.write(fact.scope) as writer:
        writer.update([Entry(replace(fact, state=end))], Operation.MOVE)
    assert not stays(vault, state)


def test_only_a_source_that_is_told_otherwise_ends_its_state(vault, built, cube):
    fact, state = built
    other = cube(Fact(subject=Subject.USER, text="User likes tea."))
    with vault.write(fact.scope) as writer:
        writer.insert([Entry(other)])
    with vault.write(fact.scope) as writer:
        writer.update([Entry(fact), Entry(replace(other, state=State.EXPIRED))], Operation.MOVE)
    assert stays(vault, state)
    with vault.write(fact.scope) as writer:
        writer.update([Entry(fact)], Operation.REFRESH)
    assert stays(vault, state)
    told = replace(fact, descriptive=replace(fact.descriptive, tags=("home",)))
    with vault.write(fact.scope) as writer:
        writer.update([Entry(told)], Operation.REFRESH)
    assert not stays(vault, state)


@pytest.mark.once
def test_a_shared_persona_is_in_no_prefix(open_memory):
    memory = open_memory(persona_sharing="user")
    fact, page = memory.facts.add("Tom likes tea."), memory.add("Hello.")
    for wrong in ({}, {"kinds": ["fact"]}, {"kinds": ["profile"], "ids": [page]}):
        with pytest.raises(InvalidInput, match="kinds: names the persona that all agents share"):
            memory.activations.build("me", **wrong)
    with pytest.raises(InvalidInput, match="ids: names the persona"):
        memory.activations.build("me", kinds=[], ids=[page, fact])
    assert memory.activations.list() == []
    assert memory.activations.build("me", kinds=[], ids=[page])
    assert [one.name for one in memory.activations.list()] == ["me"]


@pytest.mark.once
def test_a_prefix_is_built_again_without_what_is_gone_and_a_new_one_needs_all_that_it_names(open_memory):
    memory = open_memory()
    page, other = memory.add("Hello."), memory.add("Good morning.")
    memory.activations.build("me", kinds=[], ids=[page, other])
    memory.delete(page)
    assert memory.forms.transform("me").job
    with pytest.raises(NotFound, match=page):
        memory.activations.build("me", kinds=[], ids=[page, other])
    assert [one.name for one in memory.activations.list()] == ["me"]
