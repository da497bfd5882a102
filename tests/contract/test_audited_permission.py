"""The audit log of a store with policies and keys: what was refused is told, and the log opens nothing to anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryos import Caller, Decision, MemoryOS, Scope, load_settings
from memoryos.engine import Engine
from memoryos.errors import NotFound, PermissionDenied
from memoryos.models.hashing import Hashing
from memoryos.operation.calls import audit_trail
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

ANN = Scope(user="ann")
OWNER, NURSE = Caller("ann"), Caller("nurse-kim", frozenset({"nurse"}))
OFFICER = Caller("officer", frozenset({"officer"}))

CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };
permit (principal in Role::"reader", action, resource is Cube);
permit (principal in Role::"writer", action in [Action::"read", Action::"write"], resource is Cube)
when { resource.sensitivity.isEmpty() };
permit (principal in Role::"clerk", action == Action::"write", resource is Cube);
permit (principal in Role::"sharer", action == Action::"share", resource is Cube);
permit (principal in Role::"officer", action == Action::"administer", resource);
permit (principal in Role::"officer", action == Action::"read", resource is Cube);
permit (principal in Role::"administrator", action, resource);
"""


@pytest.fixture
def store(vault, clock, tmp_path: Path) -> Iterator[MemoryOS]:
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    settings = load_settings(audit=True, jobs="worker")
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, gate=gate))) as store:
        yield store


def told(store: MemoryOS, **only) -> list[tuple[str, str, Decision, str | None, list[str]]]:
    return [
        (one.operation, one.action.value, one.decision, one.reason, [cube.id for cube in one.cubes])
        for one in store.audit.list(limit=None, **only)
    ]


def test_the_log_does_not_widen_what_a_caller_sees(store):
    ann = store.of(ANN, OWNER)
    plain = ann.add("The bees sting.")
    secret = ann.add("The bees made it an allergy.", sensitivity=["diagnosis"])
    nurse = store.of(ANN, NURSE)
    assert [hit.cube.id for hit in nurse.search("bees").hits] == [plain]
    with pytest.raises(NotFound):
        nurse.get(secret)
    assert told(store, caller="nurse-kim", operation="memory.search") == [
        ("memory.search", "read", Decision.ALLOWED, None, [plain])
    ]


def test_a_refusal_about_one_memory_names_it(store):
    plain = store.of(ANN, OWNER).add("The bees sting.")
    secret = store.of(ANN, OWNER).add("The bees made it an allergy.", sensitivity=["diagnosis"])
    writer = Caller("kim", frozenset({"writer", "nurse"}))
    reader = Caller("lee", frozenset({"nurse"}))
    with pytest.raises(PermissionDenied):
        store.of(ANN, writer).add("Also wasps.", sensitivity=["diagnosis"])
    refused = told(store, caller="kim", decision="refused")
    assert [(operation, reason) for operation, _, _, reason, _ in refused] == [("memory.add", "PermissionDenied")]
    with pytest.raises(PermissionDenied):
        store.of(ANN, reader).delete(plain)
    refused = told(store, caller="lee", decision="refused")
    assert ("memory.delete", "delete", Decision.REFUSED, "PermissionDenied", [plain]) in refused
    assert secret not in str(told(store, caller="lee"))


def test_what_a_key_does_not_open_is_a_refusal(store):
    made = store.keys.create("bot", roles=["reader"], actions=["read"])
    store.of(ANN, OWNER).add("I keep bees.")
    bot = store.of(ANN, store.keys.caller(made.key))
    bot.search("bees")
    with pytest.raises(PermissionDenied):
        bot.add("I am a bot.")
    store.keys.revoke(made.info.id)
    with pytest.raises(PermissionDenied):
        bot.search("bees")
    assert [(one[0], one[2]) for one in told(store, caller="bot")] == [
        ("memory.search", Decision.ALLOWED),
        ("memory.add", Decision.REFUSED),
        ("memory.search", Decision.REFUSED),
    ]


def test_deletions_and_passed_on_rights_are_told_as_such(store):
    ann = store.of(ANN, OWNER)
    page = ann.add("I keep bees.")
    passed = ann.governance.delegate("ben", ttl=60)
    ann.governance.revoke(passed.id)
    ann.delete(page)
    made = store.keys.create("bot")
    store.keys.revoke(store.keys.rotate(made.info.id).info.id)
    assert [(one.operation, one.change) for one in store.audit.list(action="delete", operation="memory.delete")] == [
        ("memory.delete", "delete")
    ]
    assert sorted(one.operation for one in store.audit.permissions() if one.caller != "memoryos") == [
        "governance.delegate",
        "governance.revoke",
        "keys.create",
        "keys.revoke",
        "keys.rotate",
    ]


def test_who_may_only_administer_sets_rules_and_holds(store):
    page = store.of(ANN, OWNER).add("I keep bees.")
    officer = store.of(ANN, OFFICER)
    officer.governance.retain("short", ttl=3600)
    officer.governance.unretain("short")
    held = officer.governance.hold(reason="a case", memory=page)
    officer.governance.release(held.id)
    with pytest.raises(PermissionDenied):
        officer.add("Wasps, too.")
    with pytest.raises(PermissionDenied):
        officer.governance.erase(page)
    with pytest.raises(PermissionDenied):
        store.of(ANN, NURSE).governance.hold(reason="a case")
    assert store.of(ANN, OWNER).governance.erase(page).memories == {"page": 1}


def test_who_may_write_and_not_read_states_facts(store):
    clerk = store.of(ANN, Caller("clerk", frozenset({"clerk"})))
    fact = clerk.facts.add("keeps bees")
    with pytest.raises(PermissionDenied):
        clerk.facts.list()
    assert [one.id for one in store.of(ANN, OWNER).facts.list()] == [fact]
    assert told(store, caller="clerk", decision="allowed") == [("facts.add", "write", Decision.ALLOWED, None, [fact])]


def test_who_may_not_read_the_proposals_publishes_nothing(store):
    clerk = store.of(ANN, Caller("clerk", frozenset({"clerk", "sharer"})))
    with pytest.raises(PermissionDenied, match="may not read"):
        clerk.proposals.publish(["The office opens at nine."], source="handbook")
    assert store.of(ANN, OWNER).facts.list() == []


def test_changed_policies_are_in_the_report_of_permissions(store, vault, clock, tmp_path):
    (first,) = store.audit.permissions(caller="memoryos")
    assert (first.operation, first.action.value, first.scope, first.decision) == (
        "policies.change",
        "administer",
        None,
        Decision.ALLOWED,
    )
    file = tmp_path / "clinic.cedar"
    store.of(ANN, OWNER).add("The bees sting.")
    assert len(store.audit.permissions(operation="policies.change")) == 1
    file.write_text(CLINIC + '\npermit (principal in Role::"guest", action == Action::"read", resource);')
    store.of(ANN, OWNER).search("bees")
    file.write_text(CLINIC)
    store.of(ANN, OWNER).search("bees")
    prints = [one.context["purpose"] for one in store.audit.permissions(operation="policies.change")]
    assert prints == [prints[0], prints[1], prints[0]]
    assert prints[0] != prints[1]
    gate = PolicyGate(PolicyFiles(file), clock)
    again = Engine(vault, Hashing(), settings=load_settings(audit=True, jobs="worker"), clock=clock, gate=gate)
    assert len(MemoryOS(again).audit.permissions(operation="policies.change")) == 3  # they are those of before
    again.trail.close()
    assert "bees" not in "".join(entry.to_json() for entry in store.audit.list())
    assert store.audit.verify().is_sound


def test_each_change_of_permissions_is_told_once(store, monkeypatch):
    monkeypatch.setattr(audit_trail, "WRITE_AFTER", 60)  # a call that takes longer is told when it begins, too
    ann = store.of(ANN, Caller("boss", frozenset({"administrator"})))
    ann.archiving.add("idle", unused=60)
    ann.archiving.remove("idle")
    ann.governance.retain("short", ttl=60)
    page = ann.add("The bees sting.")
    ann.governance.hold(reason="a case", memory=page)
    ann.governance.freeze(page)
    ann.governance.thaw(page)
    made = [one.operation for one in store.audit.permissions(caller="boss")]
    assert sorted(made) == [
        "archiving.add",
        "archiving.remove",
        "governance.freeze",
        "governance.hold",
        "governance.retain",
        "governance.thaw",
    ]
