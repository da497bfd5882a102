"""Delegation: a caller lets another one do what it may do itself, for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope
from memoryos.config import load_settings
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.models.hashing import Hashing

POLICIES = """
@id("owners")
permit (principal, action, resource is Cube) when { resource.owner == principal };
@id("doctors")
permit (principal in Role::"doctor", action in [Action::"read", Action::"share"], resource)
when { !resource.tags.contains("sealed") };
@id("banned")
forbid (principal == User::"eve", action, resource is Cube);
@id("operators")
permit (principal == User::"operator", action == Action::"administer", resource);
"""
ANN = Scope(user="ann")
BEN, EVE, DOCTOR = Caller("ben"), Caller("eve"), Caller("dr-lee", frozenset({"doctor"}))

Open = Callable[[], MemoryOS]


@pytest.fixture
def opened(place, tmp_path: Path, clock) -> Iterator[Open]:
    policies = tmp_path / "rules.cedar"
    policies.write_text(POLICIES)
    settings = load_settings(embedder="hashing")
    with ExitStack() as stack:

        def call() -> MemoryOS:
            store = MemoryOS.open(place, policies=policies, settings=settings, embedder=Hashing(), clock=clock)
            stack.callback(store.close)
            return store

        yield call


@pytest.fixture
def store(opened: Open) -> MemoryOS:
    store = opened()
    store.of(ANN).add("I keep bees.")
    store.of(ANN).add("The letter about bees is sealed.", tags=["sealed"])
    return store


def found(memory: Memory) -> int:
    return len(memory.search("bees").hits)


def refused(call: Callable[[], object]) -> bool:
    with pytest.raises(PermissionDenied):
        call()
    return True


def test_a_right_that_is_passed_on_ends(store, opened, clock):
    ben = store.of(ANN, BEN)
    assert refused(lambda: found(ben))
    made = store.of(ANN).governance.delegate("ben", ttl=60)
    assert found(ben) == found(opened().of(ANN, BEN)) == 2
    assert refused(lambda: ben.add("No."))
    assert store.of(ANN).governance.delegations() == [made]
    clock.advance(seconds=59)
    assert found(ben) == 2
    clock.advance(seconds=1)
    assert refused(lambda: found(ben))
    assert store.of(ANN).governance.delegations() == []


def test_a_right_that_is_taken_back_is_gone_in_every_process(store, opened):
    other = opened()
    made = store.of(ANN).governance.delegate("ben", ["read", "write"], ttl=3600)
    page = other.of(ANN, BEN).add("Ben was here, with bees.")
    assert found(store.of(ANN, BEN)) == 3
    assert refused(lambda: store.of(ANN, BEN).delete(page))
    other.of(ANN).governance.revoke(made.id)
    for one in (store, other):
        assert refused(lambda one=one: found(one.of(ANN, BEN)))
    with pytest.raises(NotFound):
        store.of(ANN).governance.revoke(made.id)


def test_it_is_no_larger_than_the_right_of_who_passes_it_on(store):
    store.of(ANN, DOCTOR).governance.delegate("ben", ["read", "write"], ttl=3600)
    assert found(store.of(ANN, BEN)) == found(store.of(ANN, DOCTOR)) == 1
    assert refused(lambda: store.of(ANN, BEN).add("No."))
    store.of(ANN).governance.delegate("ben", ttl=3600)
    assert found(store.of(ANN, BEN)) == 2


def test_it_is_about_the_memories_of_one_user(store):
    carl = Scope(user="carl")
    store.of(carl).add("I keep bees, too.")
    store.of(ANN, DOCTOR).governance.delegate("ben", ttl=3600)
    for scope in (carl, Scope(user="ann", tenant="other")):
        assert refused(lambda scope=scope: found(store.of(scope, BEN)))
    with pytest.raises(NotFound):
        store.of(carl).governance.revoke(store.of(ANN).governance.delegations()[0].id)


def test_what_a_policy_forbids_stays_forbidden(store):
    store.of(ANN).governance.delegate("eve", ttl=3600)
    assert found(store.of(ANN, EVE)) == 0
    page = store.of(ANN).pages.list()[0]
    with pytest.raises(NotFound):
        store.of(ANN, EVE).get(page.id)


def test_it_cannot_be_passed_on_again(store):
    store.of(ANN).governance.delegate("ben", ["read", "share"], ttl=3600)
    made = store.of(ANN, BEN).governance.delegate("zoe", ttl=3600)
    assert made.by == "ben"
    assert refused(lambda: found(store.of(ANN, Caller("zoe"))))


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("ttl", {"to": "ben"}),
        ("ttl", {"to": "ben", "ttl": 0}),
        ("to", {"to": " ", "ttl": 60}),
        ("actions", {"to": "ben", "ttl": 60, "actions": ["fly"]}),
    ],
)
def test_a_wrong_delegation_is_refused(store, field, values):
    with pytest.raises(InvalidInput) as caught:
        store.of(ANN).governance.delegate(**values)
    assert caught.value.field == field
    assert store.of(ANN).governance.delegations() == []


def test_who_may_not_share_passes_nothing_on(store):
    for use in (
        lambda governance: governance.delegate("ben", ttl=60),
        lambda governance: governance.delegations(),
        lambda governance: governance.revoke("x"),
    ):
        assert refused(lambda use=use: use(store.of(ANN, BEN).governance))
