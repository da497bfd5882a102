"""Receipts of `forget`: what went, what is left, which copies may hold it, and a signature that holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoryos import Mount, Scope, stores
from memoryos.errors import InvalidInput, NotFound, OnHold

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
        for wrong in ("no JSON", "[]", "{}", json.dumps({**told, "more": 1}), "[" * 100_000):
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
        assert [page.text for page in restored.memory("alice").pages.list()] == ["user: I like tea."]


def test_mounts_are_named(open_store: Open, tmp_path: Path):
    with open_store("memory") as store:
        store.memory("alice").add("I like tea.")
        store.mounts.add(Mount("team", scope=Scope(user="team")))
        assert store.memory("alice").forget().receipt.mounts == ("team",)
