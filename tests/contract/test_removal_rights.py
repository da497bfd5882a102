"""Who may end a memory, and who sees what is on hold."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope
from memoryos.engine import Engine
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

ANN = Scope(user="ann")
WARD = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"writer", action in [Action::"read", Action::"write"], resource);
permit (principal in Role::"clerk", action in [Action::"read", Action::"delete"], resource);
permit (principal in Role::"sweeper", action == Action::"delete", resource) when { resource.tags.contains("scrap") };
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };
permit (principal in Role::"warden", action in [Action::"read", Action::"administer"], resource)
when { resource has tags };
forbid (principal in Role::"warden", action == Action::"read", resource is Cube)
when { !resource.sensitivity.isEmpty() };
"""


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path):
    (tmp_path / "ward.cedar").write_text(WARD)
    gate = PolicyGate(PolicyFiles(tmp_path / "ward.cedar"), clock)
    with MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate)) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


def caller(store: MemoryOS, *roles: str) -> Memory:
    return store.of(ANN, Caller("kim", frozenset(roles)))


def test_to_let_a_memory_expire_takes_the_right_to_write_and_to_delete(store, ann):
    page = ann.add("I keep bees.")
    for role in ("writer", "clerk"):
        with pytest.raises(PermissionDenied):
            caller(store, role).governance.expire(page)
    with pytest.raises(PermissionDenied, match="may not delete the memory"):
        caller(store, "writer", "sweeper").governance.expire(page)
    assert ann.get(page).state.value == "generated"
    scrap = ann.add("And hens.", tags=["scrap"])
    assert caller(store, "writer", "sweeper").governance.expire(scrap).state.value == "expired"
    assert caller(store, "writer", "clerk").governance.expire(page).state.value == "expired"


def test_a_topic_expires_only_for_who_may_delete_its_pages(store, ann, clock):
    for number in range(12):
        clock.advance(hours=30)
        ann.add(f"I planted tulips in bed {number}.", tags=[] if number == 4 else ["scrap"])
    topic = next(view for view in ann.segments.list() if len(view.page_ids) > 1)
    with pytest.raises(PermissionDenied, match="may not delete"):
        caller(store, "writer", "sweeper").governance.expire(topic.cube.id)
    assert caller(store, "writer", "clerk").governance.expire(topic.cube.id).state.value == "expired"


def test_who_may_not_delete_a_fact_does_not_let_it_end(store, ann, clock):
    lasting, ending = ann.facts.add("has bees"), ann.facts.add("has hens", ttl=3600)
    writer = caller(store, "writer")
    for said, ttl in (("has bees", 60), ("has hens", 60)):
        with pytest.raises(PermissionDenied, match="may not delete"):
            writer.facts.add(said, ttl=ttl)
    assert [ann.get(one).governance.lifespan.expires_at for one in (lasting, ending)] == [
        None,
        clock() + timedelta(hours=1),
    ]
    assert writer.facts.add("has hens", ttl=7200) == ending  # a later end removes nothing
    assert writer.facts.add("has ducks", ttl=60)
    assert caller(store, "writer", "clerk").facts.add("has bees", ttl=60) == lasting


@pytest.mark.once
def test_a_key_without_delete_ends_nothing(vault, clock):
    with MemoryOS(Engine(vault, Hashing(), clock=clock)) as store:
        known = store.of(ANN).facts.add("has bees")
        key = store.of(ANN, store.keys.caller(store.keys.create("kim").key))
        with pytest.raises(PermissionDenied):
            key.facts.add("has bees", ttl=60)
        with pytest.raises(PermissionDenied):
            key.governance.expire(known)
        assert store.of(ANN).get(known).governance.lifespan.expires_at is None


def test_a_hold_is_listed_for_who_may_read_all_that_is_on_hold(store, ann):
    page, secret = ann.add("I keep bees."), ann.add("I have zorbitis.", sensitivity=["diagnosis"])
    mixed = ann.of(Scope(user="ann", session="mixed"))
    mixed.add("I keep hens.")
    mixed.add("They gave me zorbitis.", sensitivity=["diagnosis"])
    ann.of(Scope(user="ann", session="open")).add("I keep ducks.")
    holds = [
        ann.governance.hold(reason="on a page", memory=page),
        ann.governance.hold(reason="zorbitis", memory=secret),
        ann.governance.hold(reason="zorbitis", session="mixed"),
        ann.governance.hold(reason="on a session", session="open"),
        ann.governance.hold(reason="zorbitis", session="nothing yet"),
        ann.governance.hold(reason="zorbitis at court"),
    ]
    assert ann.governance.holds() == holds
    assert caller(store, "writer").governance.holds() == holds
    assert [hold.reason for hold in caller(store, "nurse").governance.holds()] == ["on a page", "on a session"]
    assert caller(store, "warden").governance.holds() == holds  # administers all of it
