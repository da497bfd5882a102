"""The audit log as a whole: whole stores, refusals by their action, keys that lack what is stated, chains that went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from memoryos import Action, Caller, MemoryOS, Scope, load_settings, stores
from memoryos.caller import acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, InvalidInput, NotFound, OnHold, PermissionDenied, StorageError, StoreCorrupt
from memoryos.infrastructure.vault.audit_entry import AuditEntry, Deed
from memoryos.infrastructure.vault.audit_part import AuditSelection
from memoryos.infrastructure.vault.damage import Fault
from memoryos.models.hashing import Hashing
from memoryos.operation.calls import audit_trail
from memoryos.operation.calls.audit_trail import AuditTrail

ANN, BEN = Scope(user="ann"), Scope(user="贝恩", tenant="acme")
ON, OFF = load_settings(audit=True, embedder="hashing"), load_settings(embedder="hashing")
KIM = Caller("kim", frozenset({"administrator"}), purpose="the nightly copy")


@pytest.fixture
def store(vault, clock) -> Iterator[MemoryOS]:
    settings = load_settings(audit=True, jobs="worker")
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock))) as store:
        yield store


def tamper(vault, *statements: str) -> None:
    with vault.change() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


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
    with MemoryOS.open(place, settings=OFF, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
        stores.backup(place, tmp_path / "backup.db", settings=OFF, clock=clock)
        assert stores.verify(place, settings=OFF, clock=clock).is_sound
        assert store.audit.list() == []


@pytest.mark.file
def test_a_backup_that_is_verified_stays_as_it_is_to_the_last_byte(place, clock, tmp_path):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
    backup = tmp_path / "备份.db"
    stores.backup(place, backup, settings=ON, clock=clock)
    before = backup.read_bytes()
    assert stores.verify(backup, settings=ON, clock=clock).is_sound
    assert backup.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir() if one.name.startswith("备份")} == {"备份.db"}


def lose_the_head(place, clock) -> None:
    """Let the chain of the store take no entry: its next one would have the number of one that is there."""
    with MemoryOS.open(place, settings=OFF, embedder=Hashing(), clock=clock) as store:
        tamper(store._engine.vault, "DELETE FROM audit_heads WHERE tenant = ''")


def test_a_store_whose_audit_log_takes_no_entry_is_repaired(place, clock, caplog):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
    lose_the_head(place, clock)
    with MemoryOS.open(place, settings=OFF, embedder=Hashing(), clock=clock) as store:
        tamper(store._engine.vault, "DELETE FROM passages")
    report = stores.verify(place, repair=True, embedder=Hashing(), settings=ON, clock=clock)
    assert report.repaired == 1
    assert [damage.fault for damage in report.damages] == [Fault.AUDIT]
    assert "audit log not written: StoreCorrupt" in caplog.text


def test_a_copy_is_not_made_without_its_entry(place, clock, tmp_path):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
    lose_the_head(place, clock)
    with pytest.raises(StoreCorrupt):
        stores.backup(place, tmp_path / "backup.db", settings=ON, clock=clock)
    assert not (tmp_path / "backup.db").exists()


@pytest.mark.parametrize("error", [NotFound, KeyboardInterrupt])
def test_an_interrupted_backup_is_noted_and_its_error_is_not_hidden(place, clock, tmp_path, caplog, error):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")

    def fail(_done, _total):
        raise error

    def fail_without_a_log(done, total):
        lose_the_head(place, clock)
        fail(done, total)

    for progress in (fail, fail_without_a_log):
        with pytest.raises(error):
            stores.backup(place, tmp_path / "backup.db", settings=ON, clock=clock, progress=progress)
    assert "audit log not written: StoreCorrupt" in caplog.text
    with MemoryOS.open(place, settings=OFF, embedder=Hashing(), clock=clock) as store:
        told = [(one.decision, one.reason) for one in store.audit.list(operation="stores.backup")]
    assert told == [("allowed", None), ("failed", error.__name__), ("allowed", None)]


@pytest.mark.file
def test_a_report_is_returned_if_the_file_is_gone_meanwhile(place, clock, caplog):
    with MemoryOS.open(place, settings=ON, embedder=Hashing(), clock=clock) as store:
        store.of(ANN).add("I keep bees.")
    assert stores.verify(place, settings=ON, clock=clock, progress=lambda _done, _total: Path(place).unlink()).is_sound
    assert "audit log not written: InvalidInput" in caplog.text


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


# Chains that began


class Watched:
    """An audit log that fails when it is told to, and keeps what it wrote about the store itself."""

    def __init__(self, log) -> None:
        self.log = log
        self.fails = False
        self.of_store = list[int]()

    def batches(self, deeds):
        return self.log.batches(deeds)

    def write(self, batch):
        if batch[0].scope is None:
            if self.fails:
                raise StorageError
            self.of_store.append(len(batch))
        return self.log.write(batch)


@pytest.mark.each
def test_the_chains_that_begin_together_are_told_in_one_transaction(vault, clock, monkeypatch):
    monkeypatch.setattr(audit_trail, "WRITE_AFTER", 600.0)  # the test alone writes
    log = Watched(vault.audit)
    reads = [
        Deed(Scope(user=f"安{number}", tenant=f"t{number % 2}"), clock(), KIM, Action.READ, "memory.search")
        for number in range(8)
    ]
    with closing(AuditTrail(log, clock)) as trail:
        for deed in reads[:5]:
            trail.keep(deed)
        trail.flush()
        for deed in reads[5:]:
            trail.keep(deed)
        log.fails = not vault.is_one_writer
        with pytest.raises(StorageError) if log.fails else nullcontext():
            trail.flush()
        log.fails = False  # what could not be written waits, and `close` writes it
    assert log.of_store == ([] if vault.is_one_writer else [5, 3])
    begun = vault.audit.entries(AuditSelection(operations=("audit.begin",)), is_latest=False)
    assert sorted(entry.context["user_id"] for _, entry in begun) == [f"安{number}" for number in range(8)]
    assert vault.audit.report().is_sound


# Chains that went


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
