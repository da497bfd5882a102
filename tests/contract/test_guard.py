"""What a vault refuses to write: changes of frozen and read-only cubes, and states that may not follow each other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryos.caller import SYSTEM, Action, Caller, acting, doing
from memoryos.cube import Access, MemCube
from memoryos.errors import CubeProtected, TransitionRefused
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import AccessMode, State, Tier
from memoryos.lifecycle import TRANSITIONS, Actor
from memoryos.scope import Scope

ALICE = Scope(user="alice")
CALLERS = {Actor.CALLER: Caller("alice"), Actor.PROGRAM: SYSTEM}


def update(vault, cube: MemCube, operation: Operation = Operation.REFRESH, actor: Actor = Actor.CALLER, **more) -> None:
    def write() -> None:
        with vault.write(ALICE) as writer:
            writer.update([Entry(cube)], operation, **more)

    acting(CALLERS[actor], write)


def stored(vault, cube_id: str) -> MemCube:
    with vault.read(ALICE) as reader:
        return reader.get([cube_id])[cube_id]


def frozen(vault, store) -> MemCube:
    cube = replace(store("The jar is on the shelf.").cube, state=State.FROZEN)
    update(vault, cube)
    return cube


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(State), st.sampled_from(Actor)), max_size=12))
def test_states_follow_each_other_as_the_table_says_and_each_change_is_recorded(vault, store, steps):
    cube = store().cube
    made = []
    for state, actor in steps:
        allowed = state is cube.state or actor in TRANSITIONS.get((cube.state, state), ())
        try:
            doing(Action.ADMINISTER, partial(update, vault, replace(cube, state=state), actor=actor, cause="a test"))
        except TransitionRefused:
            assert not allowed
            assert stored(vault, cube.id) == cube
        else:
            assert allowed
            made += [(cube.state, state, CALLERS[actor].identity, "a test")] if state is not cube.state else []
            cube = replace(cube, state=state)
    with vault.read(ALICE) as reader:
        assert [(one.before, one.after, one.by, one.cause) for one in reader.transitions(cube.id)] == made


def test_every_state_is_reached_and_what_has_expired_stays_so():
    assert {after for _, after in TRANSITIONS} == set(State)
    assert not [before for before, _ in TRANSITIONS if before is State.EXPIRED]


@pytest.mark.parametrize("actor", Actor)
@pytest.mark.parametrize("operation", Operation)
def test_what_a_frozen_cube_says_is_changed_by_no_operation(vault, store, operation, actor):
    cube = frozen(vault, store)
    for changed in (
        replace(cube, descriptive=replace(cube.descriptive, tags=("new",))),
        replace(cube, payload=replace(cube.payload, turns=())),
        replace(cube, version=replace(cube.version, number=2)),
        replace(cube, tier=Tier.ARCHIVE),
    ):
        with pytest.raises(CubeProtected, match=cube.id):
            update(vault, changed, operation, actor)
    assert stored(vault, cube.id) == cube


@pytest.mark.parametrize("state", [one for one in State if one is not State.FROZEN])
@pytest.mark.parametrize("actor", Actor)
def test_only_what_is_asked_as_administer_thaws(vault, store, state, actor):
    cube = frozen(vault, store)
    with pytest.raises((CubeProtected, TransitionRefused), match=cube.id):
        update(vault, replace(cube, state=state), actor=actor)
    assert stored(vault, cube.id) == cube


@pytest.mark.parametrize(("remove", "bounds"), [("delete", {}), ("discard", {"rows": 100, "characters": 10_000})])
def test_a_frozen_cube_is_not_deleted_and_neither_are_those_beside_it(vault, store, remove, bounds):
    other, cube = store("another").cube, frozen(vault, store)
    with pytest.raises(CubeProtected, match=cube.id), vault.write(ALICE) as writer:
        getattr(writer, remove)([other.id, cube.id], **bounds)
    assert {stored(vault, one.id).id for one in (other, cube)} == {other.id, cube.id}


def test_the_notes_of_the_program_beside_a_frozen_cube_change(vault, store):
    cube = frozen(vault, store)
    moved = replace(cube.moved(Tier.MTM), payload=replace(cube.payload, chain_summary="so far"))
    update(vault, moved, Operation.MOVE, Actor.PROGRAM)
    visited = moved.visited(2, moved.behaviour.last_access)
    update(vault, visited, Operation.VISIT, Actor.PROGRAM)
    assert stored(vault, cube.id) == visited
    assert visited.state is State.FROZEN


def test_a_read_only_cube_keeps_its_words(vault, store):
    cube = store().cube
    kept = replace(cube, governance=replace(cube.governance, access=Access(mode=AccessMode.READ_ONLY)))
    update(vault, kept)
    changed = replace(kept, payload=replace(kept.payload, turns=()), version=replace(kept.version, number=2))
    with pytest.raises(CubeProtected, match="read-only"):
        update(vault, changed, Operation.REVISE)
    assert stored(vault, cube.id) == kept


def test_a_change_that_is_refused_leaves_the_rest_of_its_transaction_unwritten(vault, store):
    other, cube = store("another").cube, frozen(vault, store)
    tagged = replace(other, descriptive=replace(other.descriptive, tags=("new",)))
    changed = replace(cube, descriptive=replace(cube.descriptive, tags=("new",)))
    with pytest.raises(CubeProtected), vault.write(ALICE) as writer:
        writer.update([Entry(tagged)], Operation.REFRESH)
        writer.update([Entry(changed)], Operation.REFRESH)
    assert stored(vault, other.id) == other
