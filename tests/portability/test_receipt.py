"""Receipts of `forget`: what went, what is left, which copies may hold it, and a signature that holds."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryos import Action, Caller, Mount, Scope, stores
from memoryos.errors import InvalidInput, NotFound, OnHold, StorageError
from memoryos.infrastructure.vault.erasure_part import ErasurePart

from .conftest import Open, live


def test_a_receipt_counts_what_went_from_where(open_store: Open):
    with open_store("memory") as store:
        memory = store.memory("alice")
        live(memory)
        with store._engine.vault.read(memory.scope) as reader:
            before = reader.remains()
        done = memory.forget()
        told = done.receipt
        assert (told.memories, told.left, told.by) == (done.memories, {}, "alice")
        assert told.places["cubes"] == before["cubes"] == sum(done.memories.values())
        assert {"events", "notes"} <= set(told.places)
        assert told.places["notes"] == before["notes"]
        assert told.subject == {
            "tenant": "default",
            "user": "alice",
            "agent": "default",
            "session": None,
            "memory": None,
        }
        assert told.advice
        assert "scrub" in told.advice[0]


def test_each_kind_of_forgetting_names_its_subject(open_store: Open):
    with open_store("memory") as store:
        memory = store.memory("alice", session="monday")
        page = memory.add("I like tea.", "Noted.")
        memory.add("I like cake.", "Noted.")
        store.memory("alice", agent="coder").add("Use tabs.")
        store.memory("bob", tenant="acme").add("Hello.")
        store.memory("cleo", tenant="acme").add("Hello.")
        one = memory.governance.erase(page)
        assert (one.memories["page"], one.receipt.subject["memory"]) == (1, page)
        with pytest.raises(NotFound):
            memory.governance.erase(page)
        assert memory.forget().receipt.subject["session"] == "monday"
        person = store.admin.forget("alice").receipt
        assert (person.subject["user"], person.subject["agent"], person.by) == ("alice", None, "operator")
        tenant = store.admin.forget_tenant("acme")
        assert (tenant.memories, tenant.receipt.subject["user"]) == ({"page": 2}, None)
        assert tenant.is_complete
        assert list(store.admin.users(tenant="acme")) == []
        with pytest.raises(NotFound, match="'acme' has no memory"):
            store.admin.forget_tenant("acme")


def test_what_others_delete_meanwhile_is_not_in_the_receipt(open_store: Open):
    with open_store("memory") as store:
        memory, other = store.memory("alice"), store.memory("alice", caller=Caller("bob"))
        mine, theirs = memory.add("The tea is hot."), memory.add("The cake is cold.")  # of which no fact is learned
        store.wait()
        between = Between(lambda: other.delete(theirs))
        store._engine.vault.gate = between
        done = memory.governance.erase(mine)
        assert between.is_done
        assert (done.memories, done.places, done.left) == ({"page": 1}, {"cubes": 1}, {})
        assert memory.pages.list() == []


def test_facts_of_a_shared_persona_that_go_with_an_agent_are_counted(open_store: Open):
    with open_store("memory", persona_sharing="user") as store:
        memory = store.memory("alice")
        memory.add("I have a cello.")
        memory.consolidate()
        assert memory.facts.count() == 1
        done = memory.forget()
        assert memory.facts.list() == []
        assert done.memories["fact"] == 1
        assert done.places["cubes"] == sum(done.memories.values())


class Between:
    """A gate that has something done before it admits the first deletion of alice."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do
        self.is_done = False

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        if caller.identity == "alice" and action is Action.DELETE and not self.is_done:
            self.is_done = True
            self._do()


def test_an_erased_memory_is_of_the_owner_and_not_of_the_callers_session(open_store: Open):
    with open_store("memory") as store:
        page = store.memory("alice", session="monday").add("I like tea.")
        receipt = store.memory("alice", session="friday").governance.erase(page).receipt
        assert (receipt.subject["memory"], receipt.subject["session"]) == (page, None)


def test_a_tenant_is_forgotten_to_the_end_after_a_crash(open_store: Open):
    """A crash may leave a user without memories, and with other rows."""
    with open_store("memory") as store:
        memory = store.memory("bob", tenant="acme")
        memory.add("Hello.")
        memory.governance.retain("short", ttl=60)
        with store._engine.vault.write(memory.scope) as writer:
            writer.discard([one.id for one in writer.placed()], rows=1_000, characters=10**6)
        assert list(store.admin.users(tenant="acme")) == []
        done = store.admin.forget_tenant("acme")
        assert done.is_complete
        assert done.places["notes"] >= 1
        with pytest.raises(NotFound):
            store.admin.forget_tenant("acme")


def test_nothing_is_removed_when_no_receipt_can_be_signed(open_store: Open, monkeypatch: pytest.MonkeyPatch):
    with open_store("memory") as store:
        memory = store.memory("alice")
        page = memory.add("I like tea.")

        def full(_: ErasurePart) -> bytes:
            raise StorageError("the disk is full")

        monkeypatch.setattr(ErasurePart, "make_signing_key", full)
        for remove in (memory.forget, lambda: memory.governance.erase(page), lambda: store.admin.forget("alice")):
            with pytest.raises(StorageError):
                remove()
        assert [one.id for one in memory.pages.list()] == [page]


def test_a_tenant_on_hold_is_not_forgotten_in_part(open_store: Open):
    with open_store("memory") as store:
        store.memory("bob", tenant="acme").add("Hello.")
        cleo = store.memory("cleo", tenant="acme")
        cleo.add("Hello.")
        hold = cleo.governance.hold(reason="a case")
        with pytest.raises(OnHold, match=hold.id):
            store.admin.forget_tenant("acme")
        assert list(store.admin.users(tenant="acme")) == ["bob", "cleo"]


def test_a_signature_holds_in_this_store_alone_and_for_nothing_else(open_store: Open):
    with open_store("memory") as store, open_store("other") as other:
        for one in (store, other):
            one.memory("alice").add("I like tea.")
        text = store.memory("alice").forget().receipt.to_json()
        told = json.loads(text)
        assert store.admin.verify_receipt(text) == told
        with pytest.raises(InvalidInput, match="signed by another store"):
            other.admin.verify_receipt(text)
        other.memory("alice").forget()
        with pytest.raises(InvalidInput, match="signed by another store"):
            other.admin.verify_receipt(text)
        for name, value in told.items():
            if name == "signature":
                changed = {**told, name: ("0" if value[0] != "0" else "1") + value[1:]}
            else:
                changed = {**told, name: {"x": 1} if value != {"x": 1} else {}}
            with pytest.raises(InvalidInput, match="receipt"):
                store.admin.verify_receipt(json.dumps(changed))
        odd = [json.dumps({**told, "signature": one}) for one in ("é", "\ud800", None, 1)]
        for wrong in ("no JSON", "[]", "{}", json.dumps({**told, "more": 1}), "[" * 100_000, *odd):
            with pytest.raises(InvalidInput, match="receipt"):
                store.admin.verify_receipt(wrong)
        assert store.admin.verify_receipt(json.dumps(told, indent=2)) == told


def test_the_key_survives_and_the_store_keeps_no_receipt(open_store: Open, tmp_path: Path):
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")
        receipt = store.memory("alice").forget().receipt
    with open_store("memory") as store:
        store.admin.verify_receipt(receipt.to_json())
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert receipt.signature.encode() not in held


@pytest.mark.file
def test_backups_and_copies_are_named_while_they_are_there(open_store: Open, tmp_path: Path):
    place = tmp_path / "memory.db"
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")
        store.memory("bob").add("I like tea.")
    for name in ("one.backup", "two.backup"):
        stores.backup(place, tmp_path / name)
    stores.copy(place, tmp_path / "copy.db")
    stores.backup(tmp_path / "one.backup", tmp_path / "three.backup")
    assert stores.verify(tmp_path / "one.backup").is_sound
    (tmp_path / "two.backup").unlink()
    with open_store("memory") as store:
        receipt = store.memory("alice").forget().receipt
        assert [Path(one.place).name for one in receipt.copies] == ["copy.db", "one.backup"]
        assert all(one.made_at <= receipt.at for one in receipt.copies)
    stores.restore(tmp_path / "one.backup", tmp_path / "restored.db")
    with open_store("restored") as restored:
        assert restored.memory("alice").pages.list() == [], "it was forgotten since"
        receipt = restored.memory("bob").forget().receipt
        assert [Path(one.place).name for one in receipt.copies] == ["one.backup"], "it still holds the memories"
    with open_store("copy") as copy:
        receipt = copy.memory("bob").forget().receipt
        assert [Path(one.place).name for one in receipt.copies] == ["one.backup"], "and not itself"


@pytest.mark.file
def test_a_copy_that_was_interrupted_is_named(open_store: Open, tmp_path: Path):
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stores.copy(tmp_path / "memory.db", tmp_path / "copy.db", progress=interrupt)
    with open_store("memory") as store:
        receipt = store.memory("alice").forget().receipt
        assert [Path(one.place).name for one in receipt.copies] == ["copy.db"]


@pytest.mark.file
def test_files_of_another_machine_may_be_there(open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        stores.backup(tmp_path / "memory.db", tmp_path / "one.backup")
    (tmp_path / "one.backup").unlink()
    stores.backup(tmp_path / "memory.db", tmp_path / "two.backup")
    with open_store("memory") as store:
        copies = store.memory("alice").forget().receipt.copies
        named = {Path(one.place).name: one.machine for one in copies}
        assert named == {"one.backup": "elsewhere", "two.backup": socket.gethostname()}


def test_mounts_are_named(open_store: Open, tmp_path: Path):
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")
        store.mounts.add(Mount("team", scope=Scope(user="team")))
        assert store.memory("alice").forget().receipt.mounts == ("team",)
