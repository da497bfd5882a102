"""The audit log: who did what to which memory, in which context, with which decision; and what tampering leaves."""

from __future__ import annotations

import csv
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import StringIO

import pytest

from memoryos import Action, Attachment, Caller, Kind, Memory, MemoryOS, Mount, Scope, load_settings
from memoryos.caller import acting
from memoryos.engine import Engine
from memoryos.errors import CubeProtected, InvalidInput, NotFound, PermissionDenied, StoreBusy
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.audit_entry import AuditEntry, Decision
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing
from memoryos.nouns.audit import PERMISSION_OPERATIONS
from memoryos.operation.calls import audit_trail

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
BOB = Scope(user="bob", tenant="globex")
DOCTOR = Caller("dr-lee", frozenset({"doctor"}), purpose="treatment", session="s1", application="ward", network="lan")
CLUB = Scope(user="bob", namespace=("context",))
IMPOSTER = Caller("memoryos")  # calls himself what the work behind the calls is called
PATIENCE = 60.0  # seconds


class Rules:
    """Admits everybody but whom it names."""

    def __init__(self) -> None:
        self.refused: set[Caller] = set()

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        if caller in self.refused:
            raise PermissionDenied(f"{caller.identity} may not {action}")


class Script:
    """A model that always says the same."""

    def answer(self, messages) -> Answer:
        return Answer("Yes.", Usage(), "script")

    def stream(self, messages) -> Iterator[str]:
        yield "Yes."


@pytest.fixture
def rules() -> Rules:
    return Rules()


@contextmanager
def opened(vault, clock, **options) -> Iterator[MemoryOS]:
    settings = load_settings(audit=True, jobs="worker")
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, **options))) as store:
        yield store


@pytest.fixture
def store(vault, clock, rules) -> Iterator[MemoryOS]:
    with opened(vault, clock, gate=rules, chat=Script()) as store:
        yield store


@pytest.fixture
def doctor(store) -> Memory:
    return store.of(ANN, DOCTOR)


def entries(store: MemoryOS, **only) -> list[AuditEntry]:
    return store.audit.list(limit=None, **only)


def told(entry: AuditEntry) -> tuple:
    return entry.action.value, entry.operation, entry.change, [cube.id for cube in entry.cubes], entry.decision.value


def test_a_write_is_in_the_log_with_its_caller_and_context(store, doctor, clock):
    page = doctor.add("I keep bees.")
    (entry,) = entries(store, caller="dr-lee")
    assert told(entry) == ("write", "memory.add", "add", [page], "allowed")
    assert (entry.scope, entry.number, entry.at, entry.caller, entry.roles) == (ANN, 1, clock(), "dr-lee", ("doctor",))
    assert entry.context == {"purpose": "treatment", "session": "s1", "application": "ward", "network": "lan"}
    assert [(cube.kind, cube.version) for cube in entry.cubes] == [("page", 1)]


def test_reads_are_in_the_log_with_the_memories_that_they_returned(store, doctor):
    page = doctor.add("I keep bees.")
    fact = doctor.facts.add("has bees")
    doctor.search("bees")
    doctor.get(page)
    doctor.facts.list()
    doctor.context("bees")
    doctor.governance.transitions(page)
    doctor.respond("bees")
    read = {entry.operation: {cube.id for cube in entry.cubes} for entry in entries(store, action="read")}
    assert read == {
        "memory.search": {page, fact},
        "memory.get": {page},
        "facts.list": {fact},
        "memory.context": {page, fact},
        "governance.transitions": {page},
        "memory.respond": {page, fact},
    }


def test_what_the_gate_refuses_is_in_the_log(store, doctor, rules):
    rules.refused = {DOCTOR}
    with pytest.raises(PermissionDenied):
        doctor.add("I keep bees.")
    with pytest.raises(PermissionDenied):
        doctor.search("bees")
    assert [told(entry) for entry in entries(store, caller="dr-lee")] == [
        ("write", "memory.add", None, [], "refused"),
        ("read", "memory.search", None, [], "refused"),
    ]
    assert {entry.reason for entry in entries(store, decision="refused")} == {"PermissionDenied"}


def test_what_a_frozen_memory_refuses_is_in_the_log_with_its_id(store, doctor):
    page = doctor.add("I keep bees.")
    doctor.governance.freeze(page)
    with pytest.raises(CubeProtected):
        doctor.delete(page)
    with pytest.raises(CubeProtected):
        doctor.update(page, "I keep hens.")
    refused = entries(store, decision="refused")
    assert {(entry.operation, entry.reason, entry.cubes[0].id) for entry in refused} == {
        ("memory.delete", "CubeProtected", page),
        ("memory.update", "CubeProtected", page),
    }


def test_what_fails_is_in_the_log_without_what_was_asked_for(store, doctor):
    with pytest.raises(NotFound):
        doctor.get("a guess at a secret")
    (entry,) = entries(store, decision="failed")
    assert told(entry) == ("read", "memory.get", None, [], "failed")
    assert entry.reason == "NotFound"


def test_a_write_that_is_admitted_and_writes_nothing_is_in_the_log(store, doctor):
    with pytest.raises(InvalidInput):
        doctor.jobs.add("unheard of")
    doctor.consolidate()
    found = {entry.operation: told(entry) for entry in entries(store, caller="dr-lee", action="write")}
    assert found["memory.consolidate"] == ("write", "memory.consolidate", None, [], "allowed")


def test_the_work_behind_the_calls_is_in_the_log_with_what_it_changed_alone(store):
    for number in range(20):
        store.of(ANN).add(f"I have {number} hives.")
    store.of(ANN).segments.list()
    behind = [entry for entry in entries(store, caller="memoryos") if entry.operation != "audit.begin"]
    assert {entry.action for entry in behind} == {Action.WRITE}
    assert {entry.operation for entry in behind} == {"background"}
    assert all(entry.cubes and entry.change for entry in behind)


def test_who_calls_himself_the_system_is_noted_all_the_same(store):
    store.of(ANN, IMPOSTER).search("bees")
    assert [told(entry) for entry in entries(store, caller="memoryos", operation="memory.search")] == [
        ("read", "memory.search", None, [], "allowed")
    ]


def test_every_change_of_the_events_is_in_the_log(store, doctor):
    pages = [doctor.add(f"I have {number} hives.") for number in range(20)]
    doctor.update(pages[3], "I have no hives.")
    doctor.delete(pages[4])
    doctor.facts.add("has bees")
    doctor.search("hives")
    store.wait()
    changes = {
        (event.operation.value, event.cube_id, event.version)
        for event in doctor.log.events()
        if event.cube_id is not None
    }
    logged = {(entry.change, cube.id, cube.version) for entry in entries(store) for cube in entry.cubes if entry.change}
    assert logged == changes


def test_a_transaction_that_is_rolled_back_leaves_no_write(store, doctor, vault):
    with pytest.raises(RuntimeError), vault.write(ANN) as writer:
        writer.write_note("key", "value")
        raise RuntimeError
    assert entries(store, user="ann") == []


def test_operations_on_the_whole_store_are_in_a_chain_of_their_own(store):
    store.admin.users()
    store.mounts.add(Mount("club", scope=CLUB))
    first, second, *_ = entries(store)
    assert [(first.scope, told(first)), (second.scope, told(second))] == [
        (None, ("administer", "admin.users", None, [], "allowed")),
        (None, ("administer", "mounts.add", None, [], "allowed")),
    ]
    assert (first.number, second.number) == (1, 2)


def test_a_mounted_memory_is_read_in_its_own_chain(store, doctor):
    page = store.of(CLUB).add("I keep bees.")
    store.mounts.add(Mount("club", scope=CLUB))
    doctor.search("bees")
    (entry,) = entries(store, user="bob", caller="dr-lee")
    assert told(entry) == ("read", "memory.search", None, [page], "allowed")


SECRETS = ("apricot", "杏子", "zebrafish", "quince", "walnut", "medlar", "sorrel", "fennel")


def test_no_content_gets_into_the_log(store, doctor, vault):
    picture = Attachment(uri="file:///fennel.png", caption="sorrel", media_type="image/png")
    page = doctor.add("apricot 杏子", "zebrafish", tags=["quince"], metadata={"walnut": "walnut"}, title="medlar")
    doctor.add("Look", attachments=[picture])
    doctor.search("apricot zebrafish", tags=["quince"])
    doctor.context("apricot")
    doctor.update(page, "walnut apricot")
    doctor.profile.set("name", "zebrafish")
    doctor.facts.add("eats quince")
    doctor.tagged("quince")
    doctor.respond("Is there an apricot?")
    for wrong, argument in (
        (doctor.get, "apricot"),
        (doctor.jobs.add, "quince"),
        (doctor.pages.attachments, "medlar"),
        (lambda said: store.audit.list(operation=said), "quince"),
    ):
        with pytest.raises((NotFound, InvalidInput)):
            wrong(argument)
    doctor.delete(page)
    store.audit.list(user="apricot", memory_id="zebrafish")
    store.wait()
    entries(store)
    with vault.snapshot() as connection:
        rows = [str(tuple(row)) for row in connection.execute(tables.audit.select())]
    assert len(rows) > 20
    assert [word for word in SECRETS if word in "".join(rows)] == []


def test_entries_are_found_by_time_caller_type_and_operation(store, doctor, clock):
    page = doctor.add("I keep bees.")
    store.wait()
    clock.advance(hours=1)
    fact = store.of(ANN).facts.add("has bees")
    store.wait()
    clock.advance(hours=1)
    store.of(BOB).add("I keep hens.")
    hour = entries(store, since="2026-06-01T01:00:00+00:00", until="2026-06-01T01:00:00+00:00")
    assert [told(entry)[1] for entry in hour] == ["facts.add"]
    assert {entry.caller for entry in entries(store, caller="dr-lee")} == {"dr-lee"}
    assert [entry.cubes[0].id for entry in entries(store, kind="fact", action="write")] == [fact]
    assert [entry.cubes[0].id for entry in entries(store, memory_id=page, caller="dr-lee")] == [page]
    assert [entry.scope for entry in entries(store, operation="memory.add", tenant="globex")] == [BOB]
    assert entries(store, kind=Kind.TRAIT) == entries(store, decision=Decision.REFUSED) == []


def test_a_list_comes_in_parts(store, doctor):
    for number in range(7):
        doctor.add(f"I have {number} hives.")
    everything = entries(store, caller="dr-lee")
    for latest in (False, True):
        cursor, parts = None, []
        while cursor is not None or not parts:
            part = store.audit.list(limit=2, cursor=cursor, latest=latest, caller="dr-lee")
            parts += part
            cursor = part.cursor
        assert parts == (everything[::-1] if latest else everything)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("limit", {"limit": 0}),
        ("cursor", {"cursor": "x"}),
        ("action", {"action": "steal"}),
        ("kind", {"kind": "thing"}),
        ("decision", {"decision": "perhaps"}),
        ("since", {"since": "yesterday"}),
        ("user", {"user": ""}),
    ],
)
@pytest.mark.once
def test_a_filter_that_is_none_is_refused(store, field, options):
    with pytest.raises(InvalidInput) as caught:
        store.audit.list(**options)
    assert caught.value.field == field


@pytest.fixture
def five(store, vault, entry) -> Callable[[], None]:
    """five(): five entries in the chain of Ann, and five in that of Bob; nothing follows them."""

    def insert(scope: Scope) -> None:
        with vault.write(scope) as writer:
            writer.insert([entry(scope=scope)])

    def write() -> None:
        for _ in range(5):
            acting(DOCTOR, lambda: insert(ANN))
            acting(DOCTOR, lambda: insert(BOB))

    return write


def tamper(vault, *statements: str) -> None:
    """Change the store behind the program's back."""
    with vault.change() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


REST = "at, caller, context, action, operation, change, cubes, decision, reason, hash"
THREE = "user_id = 'ann' AND number = 3"

TAMPERING = {
    "who": (3, f"UPDATE audit SET caller = 'somebody' WHERE {THREE}"),
    "when": (3, f"UPDATE audit SET at = at + 1 WHERE {THREE}"),
    "why": (3, f"UPDATE audit SET context = NULL WHERE {THREE}"),
    "action": (3, f"UPDATE audit SET action = 'read' WHERE {THREE}"),
    "operation": (3, f"UPDATE audit SET operation = 'memory.search' WHERE {THREE}"),
    "change": (3, f"UPDATE audit SET change = NULL WHERE {THREE}"),
    "which": (3, f"UPDATE audit SET cubes = NULL WHERE {THREE}"),
    "decision": (3, f"UPDATE audit SET decision = 'refused' WHERE {THREE}"),
    "reason": (3, f"UPDATE audit SET reason = 'NotFound' WHERE {THREE}"),
    "hash": (3, f"UPDATE audit SET hash = 'abc' WHERE {THREE}"),
    "the first removed": (1, "DELETE FROM audit WHERE user_id = 'ann' AND number = 1"),
    "one in the middle removed": (3, f"DELETE FROM audit WHERE {THREE}"),
    "the end cut off": (4, "DELETE FROM audit WHERE user_id = 'ann' AND number > 3"),
    "the end cut off, and the record of it changed": (
        3,
        "DELETE FROM audit WHERE user_id = 'ann' AND number > 3",
        "UPDATE audit_heads SET number = 3 WHERE user_id = 'ann'",
    ),
    "all removed": (1, "DELETE FROM audit WHERE user_id = 'ann'"),
    "the record of the end removed": (5, "DELETE FROM audit_heads WHERE user_id = 'ann'"),
    "two exchanged": (
        2,
        "UPDATE audit SET number = 0 WHERE user_id = 'ann' AND number = 2",
        f"UPDATE audit SET number = 2 WHERE {THREE}",
        "UPDATE audit SET number = 3 WHERE user_id = 'ann' AND number = 0",
    ),
    "removed, and the rest numbered anew": (
        3,
        f"DELETE FROM audit WHERE {THREE}",
        f"UPDATE audit SET number = 3 WHERE {THREE.replace('3', '4')}",
        f"UPDATE audit SET number = 4 WHERE {THREE.replace('3', '5')}",
    ),
    "one added at the end": (
        6,
        f"INSERT INTO audit SELECT tenant, user_id, agent_id, namespace, 6, {REST} FROM audit WHERE {THREE}",
    ),
}


ON_BOTH_STORES = {"which", "the end cut off", "all removed", "two exchanged"}  # the others differ in one column or row
TAMPERED = [name if name in ON_BOTH_STORES else pytest.param(name, marks=pytest.mark.once) for name in TAMPERING]


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_shows_and_the_first_broken_entry_is_named(store, vault, five, what):
    five()
    number, *statements = TAMPERING[what]
    assert store.audit.verify().is_sound
    tamper(vault, *statements)
    (broken,) = store.audit.verify().broken
    assert (broken.scope, broken.number) == (ANN, number)


def test_a_sound_log_is_sound_and_has_its_heads(store, five):
    five()
    report = store.audit.verify()
    assert report.is_sound
    assert report.entries >= 10
    last = {entry.scope: (entry.number, entry.hash) for entry in entries(store)}
    heads = {head.scope: (head.number, head.hash) for head in report.heads}
    assert heads[ANN] == last[ANN]
    assert heads[BOB] == last[BOB]


def test_each_byte_of_an_entry_counts(store, vault, five):
    """An entry with a value of another type is as broken as one with another value."""
    five()
    tamper(vault, f"UPDATE audit SET operation = operation || ' ' WHERE {THREE}")
    assert [broken.number for broken in store.audit.verify().broken] == [3]


def test_a_log_that_is_made_anew_shows_beside_an_earlier_report(store, vault, five):
    five()
    known = store.audit.verify().heads
    assert store.audit.verify(known=known).is_sound
    tamper(vault, "DELETE FROM audit WHERE user_id = 'ann'", "DELETE FROM audit_heads WHERE user_id = 'ann'")
    for told in (store.audit.verify(), store.audit.verify(known=known)):  # the chain of the store names its first entry
        assert [(one.scope, one.number) for one in told.broken] == [(ANN, 1)]
    tamper(vault, "DELETE FROM audit WHERE tenant = ''", "DELETE FROM audit_heads WHERE tenant = ''")
    store_chain = [one for one in known if one.scope is None]
    mine = [one for one in known if one.scope == ANN]
    assert store.audit.verify().is_sound  # who knows of that, too, leaves nothing that tells
    assert [one.scope for one in store.audit.verify(known=store_chain).broken] == [None]
    five()
    (broken,) = store.audit.verify(known=mine).broken
    assert (broken.scope, broken.number) == (ANN, 5)
    tamper(vault, "DELETE FROM audit WHERE user_id = 'ann' AND number > 2")
    second = "SELECT hash FROM audit WHERE user_id = 'ann' AND number = 2"
    tamper(vault, f"UPDATE audit_heads SET number = 2, hash = ({second}) WHERE user_id = 'ann'")
    assert store.audit.verify().is_sound
    (broken,) = store.audit.verify(known=mine).broken
    assert (broken.scope, broken.number) == (ANN, 3)


@pytest.mark.file
def test_bytes_that_are_changed_in_the_file_show(tmp_path, clock):
    path = tmp_path / "a.db"
    settings = load_settings(audit=True, embedder="hashing")
    with MemoryOS.open(path, settings=settings, clock=clock) as store:
        for number in range(5):
            page = store.of(ANN).add(f"I have {number} hives.")
        (entry, *_) = entries(store, memory_id=page)
    written = path.read_bytes()
    changed = written.replace(f'["{page}","page",1]'.encode(), f'["{page[:-1]}x","page",1]'.encode())
    assert changed != written
    path.write_bytes(changed)
    with MemoryOS.open(path, settings=settings, clock=clock) as store:
        assert [(one.scope, one.number) for one in store.audit.verify().broken] == [(ANN, entry.number)]


def test_a_log_is_exported_as_json_lines(store, doctor):
    page = doctor.add("I keep bees.")
    out = StringIO()
    assert store.audit.export(out, user="ann", operation="memory.add") == 1  # a job may have learned from it
    (line,) = out.getvalue().splitlines()
    assert json.loads(line) == entries(store, user="ann", operation="memory.add")[0].to_dict()
    assert json.loads(line)["cubes"] == [{"id": page, "kind": "page", "version": 1}]


def test_a_log_is_exported_as_csv_without_formulas(store):
    page = store.of(ANN, Caller("=HYPERLINK(1)")).add("I keep bees.")
    out = StringIO()
    assert store.audit.export(out, format="csv", user="ann", operation="memory.add") == 1
    (row,) = csv.DictReader(StringIO(out.getvalue()))
    assert row["caller"] == "'=HYPERLINK(1)"
    assert (row["user"], row["operation"], row["memories"], row["decision"]) == ("ann", "memory.add", page, "allowed")


def test_an_access_report_names_who_used_the_memories_of_a_person(store, doctor, rules, clock):
    page = doctor.add("I keep bees.")
    clock.advance(hours=1)
    store.of(ANN).search("bees")
    store.of(BOB, DOCTOR).add("I keep hens.")
    rules.refused = {Caller("mallory")}
    clock.advance(hours=1)
    with pytest.raises(PermissionDenied):
        store.of(ANN, Caller("mallory")).get(page)
    by_caller = {one.caller: one for one in store.audit.access("ann")}
    came = [one for one in by_caller if one != "memoryos"]
    assert came == ["mallory", "ann", "dr-lee"]  # the last one first
    assert by_caller.keys() - {"memoryos"} == {"dr-lee", "ann", "mallory"}
    assert (by_caller["dr-lee"].writes, by_caller["dr-lee"].memories) == (1, 1)
    assert (by_caller["ann"].reads, by_caller["ann"].operations) == (1, ("memory.search",))
    assert by_caller["mallory"].refused == 1
    assert "dr-lee" in {one.caller for one in store.audit.access("bob", tenant="globex")}
    assert list(store.audit.access("nobody")) == []


def test_a_report_tells_the_changes_of_what_may_be_done(store, doctor, clock):
    page = doctor.add("I keep bees.")
    doctor.governance.freeze(page)
    doctor.update(doctor.add("I keep hens."), "I keep ducks.")
    doctor.governance.thaw(page)
    clock.advance(hours=1)
    store.mounts.add(Mount("club", scope=CLUB))
    told_of = [(entry.operation, entry.caller) for entry in store.audit.permissions()]
    assert told_of[0] == ("governance.freeze", "dr-lee")
    assert {operation for operation, _ in told_of} == {"governance.freeze", "governance.thaw", "mounts.add"}
    of_ann = {entry.operation for entry in store.audit.permissions(user="ann")}
    assert of_ann == {"governance.freeze", "governance.thaw"}


def test_a_search_waits_for_no_write(store, doctor, vault):
    doctor.add("I keep bees.")
    store.wait()
    with vault.write(ANN) as writer:
        asking = threading.Thread(target=doctor.search, args=("bees",))
        asking.start()
        asking.join(PATIENCE)
        assert not asking.is_alive()
        writer.write_note("key", "value")
    assert [entry.operation for entry in entries(store, action="read")] == ["memory.search"]


def test_a_read_is_written_without_another_call(store, doctor, vault):
    assert 2 * audit_trail.WRITE_AFTER <= 1.0  # seconds of reads that a crash can lose
    doctor.search("bees")
    deadline = time.monotonic() + PATIENCE
    while "memory.search" not in logged(vault):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def logged(vault) -> list[str]:
    with vault.snapshot() as connection:
        return list(connection.execute(tables.audit.select()).scalars(tables.audit.c.operation.key))


def test_reads_of_a_long_call_are_written_while_it_goes_on(store, doctor, vault):
    class Slow(StringIO):
        def writelines(self, lines) -> None:
            deadline = time.monotonic() + PATIENCE
            for line in lines:
                self.write(line)
                while "I keep bees." in line and "memory.export" not in logged(vault):
                    assert time.monotonic() < deadline
                    time.sleep(0.02)

    doctor.add("I keep bees.")
    doctor.export(Slow())
    assert "memory.export" in {entry.operation for entry in entries(store, action="read")}


def at(place: str, clock, **settings) -> MemoryOS:
    knobs = load_settings(**{"audit": True, "embedder": "hashing", **settings})
    return MemoryOS.open(place, settings=knobs, clock=clock)


def test_closing_writes_what_waits(place, clock):
    with at(place, clock) as store:
        store.of(ANN, DOCTOR).search("bees")
    with at(place, clock) as store:
        assert [entry.operation for entry in entries(store, user="ann")] == ["memory.search"]


def test_without_the_setting_nothing_is_noted_and_what_was_noted_stays(place, clock):
    with at(place, clock) as store:
        store.of(ANN, DOCTOR).add("I keep bees.")
    with at(place, clock, audit=False) as store:
        store.of(ANN, DOCTOR).add("I keep hens.")
        store.of(ANN, DOCTOR).search("bees")
        assert [entry.number for entry in entries(store, caller="dr-lee")] == [1]
        assert store.audit.verify().is_sound


def test_two_programs_write_one_chain(place, clock):
    with at(place, clock) as one, at(place, clock) as other:

        def use(store: MemoryOS) -> None:
            for number in range(10):
                store.of(ANN, DOCTOR).add(f"I have {number} hives.")
                store.of(ANN, DOCTOR).search("hives")

        threads = [threading.Thread(target=use, args=(store,)) for store in (one, other, one)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other.audit.list()
        found = entries(one, user="ann", caller="dr-lee")
        assert [entry.operation for entry in found].count("memory.add") == 30
        # A search that takes longer than half a second tells in a second entry what it found.
        assert [entry.operation for entry in found].count("memory.search") >= 30
        assert one.audit.verify().is_sound


def test_reads_beyond_what_may_wait_are_counted_and_wait_for_no_write(place, clock, monkeypatch):
    """They waited for the lock, and then raised StoreBusy."""
    monkeypatch.setattr(audit_trail, "MOST_WAITING", 3)
    with at(place, clock, busy_timeout_seconds=600) as store, at(place, clock) as other:
        store.of(ANN, DOCTOR).search("bees")  # what is read for the first time, such as the index
        store.audit.list()

        def read() -> None:
            for _ in range(20):
                store.of(ANN, DOCTOR).search("bees")

        reader = threading.Thread(target=read)
        with other._engine.vault.write(ANN):
            reader.start()
            reader.join(PATIENCE)
            assert not reader.is_alive()
        before = len(entries(store, operation="memory.search"))
        counted = entries(store, operation="audit.unrecorded")
        assert {(entry.scope, entry.caller, entry.action, entry.cubes) for entry in counted} == {
            (ANN, "memoryos", "read", ())
        }
        assert before - 1 + sum(int(entry.context["times"]) for entry in counted) == 20
        store.of(ANN, DOCTOR).search("bees")
        assert len(entries(store, operation="memory.search")) == before + 1
        assert store.audit.verify().is_sound


def unrecorded(store):
    """How many reads are only counted."""
    return sum(int(entry.context["times"]) for entry in entries(store, operation="audit.unrecorded"))


def test_what_is_no_read_raises_beyond_what_may_wait(place, clock, monkeypatch):
    """No refusal goes by that no log can tell; a read that finds nothing is one that is counted."""
    monkeypatch.setattr(audit_trail, "MOST_WAITING", 0)
    with at(place, clock, busy_timeout_seconds=0.2) as store, at(place, clock) as other:
        memory = store.of(ANN, DOCTOR)
        page = memory.add("I keep bees.")
        memory.wait()  # what moves it holds the lock, too
        memory.governance.freeze(page)
        before = unrecorded(store)
        with other._engine.vault.write(ANN), pytest.raises(NotFound):
            memory.get("nothing")
        assert unrecorded(store) == before + 1
        with other._engine.vault.write(ANN), pytest.raises(StoreBusy):
            memory.update(page, "I keep wasps.")
        assert entries(store, operation="memory.get") == []
        assert store.audit.verify().is_sound


def test_what_could_not_be_written_is_written_once_later(place, clock):
    with at(place, clock, busy_timeout_seconds=0.2) as store, at(place, clock) as other:
        store.of(ANN, DOCTOR).search("bees")
        with other._engine.vault.write(ANN) as writer, pytest.raises(StoreBusy):
            writer.write_note("key", "value")
            store.audit.list()
        assert [entry.operation for entry in entries(store, user="ann", action="read")] == ["memory.search"]


def test_a_forgotten_user_leaves_ids_in_the_log_and_nothing_else(store):
    page = store.of(ANN).add("I keep bees.")
    store.of(ANN).search("bees")
    assert not store.admin.forget("ann").left
    assert store.admin.users() == []
    with pytest.raises(NotFound):
        store.admin.forget("ann")
    assert page in {cube.id for entry in entries(store, user="ann", operation="admin.forget") for cube in entry.cubes}
    assert store.audit.verify().is_sound


def test_an_export_of_many_memories_is_one_entry(store, doctor):
    for number in range(5):
        doctor.add(f"I have {number} hives.")
    doctor.export(StringIO())
    assert [told(entry) for entry in entries(store, action="read")] == [("read", "memory.export", None, [], "allowed")]


def test_more_memories_than_one_entry_takes_go_into_several(store, doctor, monkeypatch):
    monkeypatch.setattr("memoryos.infrastructure.vault.audit_entry.CUBES_AT_MOST", 3)
    pages = [doctor.add(f"I have {number} hives.") for number in range(7)]
    doctor.pages.list()
    listed = entries(store, operation="pages.list")
    assert [len(entry.cubes) for entry in listed] == [3, 3, 1]
    assert [cube.id for entry in listed for cube in entry.cubes] == pages
    assert store.audit.verify().is_sound


@pytest.mark.once
def test_a_store_that_is_only_read_keeps_no_log(place, clock):
    at(place, clock).close()
    with pytest.raises(InvalidInput) as caught:
        MemoryOS.open(place, settings=load_settings(audit=True, embedder="hashing"), read_only=True)
    assert caught.value.field == "audit"


@pytest.mark.once
def test_an_operation_that_does_not_exist_is_refused_with_names(store):
    for wrong, says in (
        ("search", r"one of: memory\.search$"),
        ("memory.serch", "memory.search"),
        ("quince", "admin."),
    ):
        with pytest.raises(InvalidInput, match=says):
            store.audit.list(operation=wrong)
    for known in (*PERMISSION_OPERATIONS, "memory.search", "pages.list", "background"):
        store.audit.list(operation=known)
