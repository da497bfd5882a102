"""The audit log as a whole: whole stores, refusals by their action, keys that lack what is stated, chains that went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from memoryos import Caller, MemoryOS, Scope, load_settings, stores
from memoryos.caller import acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, InvalidInput, OnHold, PermissionDenied
from memoryos.infrastructure.vault.audit_entry import AuditEntry
from memoryos.models.hashing import Hashing

ANN, BEN = Scope(user="ann"), Scope(user="贝恩", tenant="acme")
ON = load_settings(audit=True, embedder="hashing")
KIM = Caller("kim", frozenset({"administrator"}), purpose="the nightly copy")


@pytest.fixture
def store(vault, clock) -> Iterator[MemoryOS]:
    settings = load_settings(audit=True, jobs="worker")
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock))) as store:
        yield store


def told(entries: list[AuditEntry]) -> list[tuple]:
    return [(one.operation, one.caller, one.decision, one.reason, one.context.get("place")) for one in entries]


def of_stores(store: MemoryOS) -> list[tuple]:
    return told([one for one in store.audit.list(limit=None) if one.operation.startswith("stores.")])


# Whole stores


def test_what_is_done_with_a_whole_store_is_noted_in_it(place, clock, tmp_path):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
    backup, copy = tmp_path / "backup.db", tmp_path / "copy.db"
    stores.backup(place, backup, settings=ON, clock=clock)
    acting(KIM, lambda: stores.copy(place, copy, settings=ON, clock=clock))
    with pytest.raises(InvalidInput):
        stores.backup(place, backup, settings=ON, clock=clock)
    assert stores.verify(place, settings=ON, clock=clock).is_sound
    stores.scrub(place, settings=ON, clock=clock)
    assert stores.verify(backup, settings=ON, clock=clock).is_sound  # still as it was made
    stores.restore(backup, tmp_path / "restored.db", settings=ON, embedder=Hashing(), clock=clock)
    made = ("stores.backup", "tests", "allowed", None, str(backup))
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        assert of_stores(store) == [
            made,
            ("stores.copy", "kim", "allowed", None, str(copy)),
            made,
            ("stores.backup", "tests", "failed", "InvalidInput", str(backup)),
            ("stores.verify", "tests", "allowed", None, None),
            ("stores.scrub", "tests", "allowed", None, None),
        ]
        (by_kim,) = store.audit.list(operation="stores.copy")
        assert (by_kim.action, by_kim.scope, by_kim.context["purpose"]) == ("administer", None, "the nightly copy")
        assert store.audit.verify().is_sound
    for other, last in ((copy, "stores.copy"), (tmp_path / "restored.db", "stores.restore")):
        with MemoryOS.open(other, settings=ON, embedder=Hashing(), clock=clock) as store:
            assert of_stores(store)[0] == made
            assert of_stores(store)[-1][0] == last
            assert store.audit.verify().is_sound


def test_without_the_log_nothing_is_noted_of_a_whole_store(place, clock, tmp_path):
    off = load_settings(embedder="hashing")
    with MemoryOS.open(place, settings=off, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
        stores.backup(place, tmp_path / "backup.db", settings=off, clock=clock)
        assert stores.verify(place, settings=off, clock=clock).is_sound
        assert store.audit.list() == []


# Refusals


def test_a_refused_change_is_noted_as_a_change_and_not_only_as_a_read(store):
    memory = store.of(ANN)
    frozen, held = memory.add("I keep bees.", "Nice."), memory.add("I keep wasps.", "Oh.")
    memory.governance.freeze(frozen)
    memory.governance.hold(reason="a case", memory=held)
    for refused in (lambda: memory.delete(frozen), lambda: memory.update(frozen, "No."), lambda: memory.delete(held)):
        with pytest.raises((CubeProtected, OnHold)):
            refused()
    found = [(one.operation, one.action, one.reason, one.cubes[0].id) for one in store.audit.list(decision="refused")]
    assert found == [
        ("memory.delete", "delete", "CubeProtected", frozen),
        ("memory.update", "write", "CubeProtected", frozen),
        ("memory.delete", "delete", "OnHold", held),
    ]


def test_what_a_key_lacks_and_its_holder_states_is_noted(store):
    key = store.keys.create("lee", purposes=["treatment"], session="visit 7").key
    wrong = [{"purpose": "研究"}, {"session": "visit 8"}, {"application": "ward"}]
    for stated in wrong:
        with pytest.raises(PermissionDenied):
            store.keys.caller(key, **{"purpose": "treatment", **stated})
    assert store.keys.caller(key).purpose == "treatment"
    found = store.audit.list(decision="refused")
    assert {(one.operation, one.caller, one.reason, one.scope) for one in found} == {
        ("keys.caller", "lee", "PermissionDenied", None)
    }
    assert [one.context["purpose"] for one in found] == ["研究", "treatment", "treatment"]
    assert found[1].context["session"] == "visit 8"
    assert found[2].context["application"] == "ward"
    assert key not in "".join(one.to_json() for one in found)


# Chains that went


def tamper(vault, *statements: str) -> None:
    with vault.change() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.mark.each
@pytest.mark.parametrize("owner", [ANN, BEN])
def test_the_chain_of_an_owner_that_went_with_its_head_is_missed(store, vault, owner):
    for scope in (ANN, BEN):
        store.of(scope).search("bees")  # a read begins the chain, too
        store.of(scope).add("I keep bees.")
    assert store.audit.verify().is_sound
    begun = store.audit.list(operation="audit.begin")
    assert {(one.context["tenant"], one.context["user_id"]) for one in begun} == {("default", "ann"), ("acme", "贝恩")}
    tamper(vault, *(f"DELETE FROM {table} WHERE user_id = '{owner.user}'" for table in ("audit", "audit_heads")))
    (broken,) = store.audit.verify().broken
    assert (broken.scope, broken.number, broken.problem) == (owner, 1, "all entries are missing")
    store.of(owner).add("I keep wasps.")  # a chain that began anew is not the one that was there
    (broken,) = store.audit.verify().broken
    assert (broken.scope, broken.number) == (owner, 1)


def test_a_first_write_tells_the_store_before_anything_else_is_noted(store, vault):
    memory = store.of(ANN)
    memory.add("I keep bees.")
    memory.add("I keep wasps.")
    (begun,) = store.audit.list(operation="audit.begin")
    first = store.audit.list(user="ann", limit=1)[0]
    assert (begun.caller, begun.context["hash"], begun.scope) == ("memoryos", first.hash, None)
    assert not store.audit.access("memoryos")
    assert begun not in store.audit.permissions()
