"""Roles that identities were granted, and the users of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from memoryos import Action, Caller, MemoryOS, Scope
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.infrastructure.vault import role_part
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.statements import ask
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

ANN = Scope(user="ann")
OTHER = Scope(user="ann", tenant="other")
LEE = Caller("lee")
CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
@id("doctors read")
permit (principal in Role::"doctor", action == Action::"read", resource);
@id("wardens administer")
permit (principal in Role::"warden", action == Action::"administer", resource is Store);
@id("suspended do nothing")
forbid (principal in Role::"suspended", action, resource);
permit (principal == User::"operator", action == Action::"administer", resource);
"""


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path) -> Iterator[MemoryOS]:
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    with MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate)) as opened:
        opened.of(ANN, Caller("ann")).add("I keep bees.")
        yield opened


def reads(store: MemoryOS, scope: Scope = ANN, caller: Caller = LEE) -> bool:
    try:
        return bool(store.of(scope, caller).search("bees").hits)
    except PermissionDenied:
        return False


def test_an_identity_has_the_roles_that_it_was_granted_until_they_are_revoked(store):
    assert not reads(store)
    made = store.roles.grant("lee", ["doctor"], name="ward 3")
    assert (made.roles, made.name, made.granted_by, made.expires_at) == ({"doctor"}, "ward 3", "operator", None)
    assert reads(store)
    assert not reads(store, caller=Caller("Lee"))
    assert store.roles.list() == store.roles.list(identity="lee") == [made]
    assert store.roles.list(identity="kim") == []
    store.roles.revoke(made.id)
    assert not reads(store)
    assert store.roles.list() == []


def test_a_grant_counts_in_every_process_at_once(store, vault, clock, tmp_path):
    other = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)  # with a memory of its own
    other.rights = vault.roles.rights

    def admitted() -> bool:
        try:
            other.admit(LEE, Action.READ, ANN)
        except PermissionDenied:
            return False
        return True

    assert not admitted()
    made = store.roles.grant("lee", "doctor")
    assert admitted()
    store.roles.revoke(made.id)
    assert not admitted()


def test_a_grant_ends_in_time(store, clock):
    made = store.roles.grant("lee", ["doctor"], ttl=60)
    clock.advance(seconds=59)
    assert reads(store)
    clock.advance(seconds=1)
    assert not reads(store)
    assert store.roles.list() == []
    with pytest.raises(InvalidInput, match="in the past"):
        store.roles.grant("lee", ["doctor"], expires_at=made.expires_at)


def test_several_grants_add_up_and_one_may_forbid(store):
    store.roles.grant("lee", ["nurse", "clerk"])
    assert not reads(store)
    store.roles.grant("lee", ["doctor"])
    assert reads(store)
    suspended = store.roles.grant("lee", ["suspended"])
    assert not reads(store)
    store.roles.revoke(suspended.id)
    assert reads(store)


def test_a_grant_counts_for_the_memories_of_its_tenant(store):
    store.of(OTHER, Caller("ann")).add("I keep bees, too.")
    made = store.roles.grant("lee", ["doctor"], tenant="other")
    assert (reads(store), reads(store, OTHER)) == (False, True)
    with pytest.raises(NotFound):
        store.roles.revoke(made.id)
    store.roles.revoke(made.id, tenant="other")
    assert not reads(store, OTHER)


@pytest.mark.file
def test_a_check_reads_no_rights_of_others(store, vault, monkeypatch):
    """It finds those of the identity with an index, however many there are."""
    plans: list[str] = []

    def explained(connection, query, values):
        cursor = connection.connection.cursor()
        text = str(query.compile(dialect=sqlite.dialect(paramstyle="named")))
        plans.extend(detail for *_, detail in cursor.execute(f"EXPLAIN QUERY PLAN {text}", values))
        return ask(connection, query, values)

    monkeypatch.setattr(role_part, "ask", explained)
    assert not reads(store)
    searched = [one for one in plans if "role_grants" in one or "delegations" in one]
    assert len(searched) >= 2
    assert all("tenant=? AND" in one and one.startswith("SEARCH") for one in searched), searched


def test_a_role_may_open_the_store(store):
    lee = MemoryOS(store._engine, LEE)
    with pytest.raises(PermissionDenied):
        lee.users.list()
    store.roles.grant("lee", ["warden"], tenant="other")
    with pytest.raises(PermissionDenied):  # the store is not of that tenant
        lee.users.list()
    store.roles.grant("lee", ["warden"])
    assert [one.user for one in lee.users.list()] == ["ann"]


def test_a_key_still_limits_what_its_identity_may_do(store):
    key = store.keys.create("lee", actions=["read"], users=["bob"])
    store.roles.grant("lee", ["doctor"])
    assert not reads(store, caller=store.keys.caller(key.key))
    wide = store.keys.create("lee", actions=["read"])
    assert reads(store, caller=store.keys.caller(wide.key))


def test_to_explain_knows_granted_roles(store):
    page = store.of(ANN, Caller("ann")).pages.list()[0].id
    asked = store.of(ANN, Caller("operator"))
    store.roles.grant("operator", ["doctor"])
    assert not asked.governance.explain(page, LEE).allowed
    store.roles.grant("lee", ["doctor"])
    told = asked.governance.explain(page, LEE)
    assert told.allowed
    assert told.policies == ("doctors read",)


def test_granted_roles_are_not_passed_on(store):
    store.roles.grant("ann", ["warden"])
    store.of(ANN, Caller("ann")).governance.delegate("kim", ["administer"], ttl=60)
    with pytest.raises(PermissionDenied):
        MemoryOS(store._engine, Caller("kim")).users.list()


@pytest.mark.once
@pytest.mark.parametrize("wrong", [{"roles": []}, {"roles": [""]}, {"identity": ""}, {"tenant": ""}, {"name": " "}])
def test_what_is_no_grant_is_refused(store, wrong):
    with pytest.raises(InvalidInput):
        store.roles.grant(**{"identity": "lee", "roles": ["doctor"], **wrong})
    assert store.roles.list() == []


def test_without_policies_no_grant_is_asked_for(vault, clock, monkeypatch):
    with MemoryOS(Engine(vault, Hashing(), clock=clock)) as store:
        asked = []
        monkeypatch.setattr(type(vault.roles), "rights", lambda *told: asked.append(told))
        store.of(ANN, LEE).add("I keep bees.")
        assert reads(store)
        assert asked == []


# Users


def test_users_are_listed_with_counts_and_last_activity(store, clock):
    store.wait()
    clock.advance(hours=1)
    store.of(Scope(user="bob"), Caller("bob")).add("I keep hens.")
    store.of(Scope(user="bob", agent="desk"), Caller("bob")).facts.add("has hens")
    store.of(OTHER, Caller("ann")).add("I keep bees, too.")
    first, second = store.users.list()
    assert (first.user, first.tenant, dict(first.memories), first.scopes) == ("ann", "default", {"page": 1}, 1)
    assert (second.user, dict(second.memories)) == ("bob", {"fact": 1, "page": 1})
    assert first.last_activity < second.last_activity
    part = store.users.list(limit=1)
    assert [one.user for one in (*part, *store.users.list(limit=1, cursor=part.cursor))] == ["ann", "bob"]
    assert [one.tenant for one in store.users.list(tenant="other")] == ["other"]


def test_agents_are_listed_with_their_users_and_memories(store, clock):
    store.wait()
    clock.advance(hours=1)
    store.of(Scope(user="bob"), Caller("bob")).add("早上好。")
    store.of(Scope(user="bob", agent="客服"), Caller("bob")).add("Good morning.")
    store.of(Scope(user="bob", agent=None), Caller("bob")).facts.add("has hens")
    store.of(OTHER, Caller("ann")).add("Good evening.")
    store.wait()
    shared, own, desk = store.agents.list()
    assert (shared.agent, shared.users, dict(shared.memories)) == (None, 1, {"fact": 1})
    assert (own.agent, own.tenant, own.users, dict(own.memories)) == ("default", "default", 2, {"page": 2})
    assert (desk.agent, desk.users, dict(desk.memories)) == ("客服", 1, {"page": 1})
    (ann,) = store.agents.list(user="ann")
    assert (ann.agent, ann.users, dict(ann.memories)) == ("default", 1, {"page": 1})
    assert ann.last_activity < own.last_activity
    assert [one.tenant for one in store.agents.list(tenant="other")] == ["other"]
    assert store.agents.list(user="nobody") == store.agents.list(tenant="nobody") == []
    parts, cursor = [], None
    while parts == [] or cursor:
        parts += (part := store.agents.list(limit=1, cursor=cursor))
        cursor = part.cursor
    assert parts == [shared, own, desk]
    with pytest.raises(PermissionDenied):
        MemoryOS(store._engine, Caller("ann")).agents.list()
    with pytest.raises(InvalidInput, match="cursor"):
        store.agents.list(cursor=store.users.list(limit=1).cursor)


def test_one_user_is_shown_and_forgotten(store):
    assert store.users.show("ann").memories == {"page": 1}
    with pytest.raises(NotFound):
        store.users.show("ann", tenant="other")
    with pytest.raises(PermissionDenied):
        MemoryOS(store._engine, Caller("ann")).users.show("ann")


@pytest.mark.once
def test_to_forget_a_user_gives_a_receipt(vault, clock):
    with MemoryOS(Engine(vault, Hashing(), clock=clock)) as store:
        store.of(ANN).add("I keep bees.")
        done = store.users.forget("ann")
        assert done.is_complete
        assert done.receipt is not None
        with pytest.raises(NotFound):
            store.users.show("ann")
