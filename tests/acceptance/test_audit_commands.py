"""`memoryos audit` as a process: what was done is told, exported and checked."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import same_process

ON = {"MEMORYOS_AUDIT": "true", "MEMORYOS_EMBEDDER": "hashing"}


@pytest.fixture
def run(tmp_path):
    def call(*arguments, code=0, **variables):
        result = same_process.memoryos(*arguments, cwd=tmp_path, **{**ON, **variables})
        assert result.returncode == code, result.stderr
        return result.stdout

    return call


@pytest.fixture
def page(run) -> str:
    """A page that was added, searched for, and frozen."""
    page = json.loads(run("add", "I keep bees.", "--json"))["id"]
    run("search", "bees")
    run("governance", "freeze", page)
    return page


def test_entries_are_listed_the_latest_first(run, page):
    told = json.loads(run("audit", "list", "--user", "default", "--caller", "default", "--json"))
    called = [entry["operation"] for entry in told["entries"]]
    assert called[-1] == "memory.add"
    assert called[0] == "governance.freeze"
    assert told["entries"][-1]["cubes"] == [{"id": page, "kind": "page", "version": 1}]
    lines = run("audit", "list", "--operation", "memory.search", "--action", "read").splitlines()
    assert len(lines) == 1
    assert (
        f"default: memory.search (read) allowed, user default with agent default in tenant default [page {page}]"
        in lines[0]
    )


def test_a_log_that_is_off_is_told_with_the_setting(run):
    run("add", "I keep bees.", MEMORYOS_AUDIT="false")
    assert run("audit", "list", MEMORYOS_AUDIT="false").endswith("off: MEMORYOS_AUDIT=true switches it on.\n")
    assert run("audit", "list", "--user", "nobody") == "The audit log has no such entry.\n"


def test_a_list_goes_on_at_its_cursor(run, page):
    first = json.loads(run("audit", "list", "--oldest", "--limit", "1", "--caller", "default", "--json"))
    second = run(
        "audit", "list", "--oldest", "--limit", "1", "--caller", "default", "--cursor", first["cursor"], "--json"
    )
    assert [one["operation"] for one in first["entries"]] == ["memory.add"]
    assert [one["operation"] for one in json.loads(second)["entries"]] == ["memory.search"]


def test_a_line_has_the_tenant_the_namespace_and_what_was_stated(run):
    run("add", "I keep bees.", "--tenant", "acme", "--user", "贝恩", MEMORYOS_PURPOSE="the\nnight")
    lines = run("audit", "list", "--operation", "memory.add", "--tenant", "acme").splitlines()
    assert lines
    assert all("user 贝恩 with agent default in tenant acme" in one for one in lines)
    assert any(r'purpose="the\nnight"' in one for one in lines)


def test_a_name_ends_no_line(run):
    names = ["贝恩", "ann\n2026-05-01T00:00:00+00:00 ben: memory.forget (delete) allowed", "c\u2028\x1b[2J\tarl"]
    for name in names:
        run("add", "I keep bees.", "--user", name)
    shown = [name.replace("\n", r"\n").replace("\u2028\x1b[2J\t", r"\u2028\x1b[2J\t") for name in names]
    told = run("users", "list")
    assert all(name in told for name in shown)
    assert len(told.splitlines()) == 5 + len(names)  # a title and the lines of the table
    lines = run("audit", "list", "--operation", "memory.add").splitlines()
    assert all(line.startswith("20") and ": memory.add (" in line for line in lines)
    assert all(any(f" user {name} with" in line for line in lines) for name in shown)


def test_operations_on_the_whole_store_are_noted_with_who_has_the_key(run, page):
    key = json.loads(run("keys", "create", "kim", "--action", "administer", "--json"))["key"]
    run("backup", "copy.db", MEMORYOS_KEY=key)
    run("verify")
    lines = run("audit", "list", "--oldest", MEMORYOS_KEY=key).splitlines()
    told = [line.split(" ", 1)[1] for line in lines if "stores." in line]
    assert [one.partition(",")[0] for one in told] == [
        "kim: stores.backup (administer) allowed",
        "operator: stores.verify (administer) allowed",
    ]
    assert "copy.db" in told[0]
    run("scrub", code=5, MEMORYOS_KEY=key, MEMORYOS_PURPOSE="research")
    (refused,) = run("audit", "list", "--decision", "refused").splitlines()
    assert 'kim: keys.caller (administer) refused (PermissionDenied), the store purpose="research"' in refused


# What is done with a whole store, by operation.
WHOLE = {
    "stores.backup": "backup new.db",
    "stores.copy": "copy memoryos.db new.db",
    "stores.verify": "verify",
    "stores.scrub": "scrub",
    "stores.reembed": "reembed --embedder static",
    "stores.encrypt": "encryption encrypt",
    "stores.decrypt": "encryption decrypt",
    "stores.reencrypt": "encryption reencrypt",
    "stores.rotate_encryption_key": "encryption rotate --new-key-file new.key",
}


def test_a_refusal_is_noted_as_what_was_refused(run, page, tmp_path):
    key = json.loads(run("keys", "create", "李", "--action", "read", "--application", "ward", "--json"))["key"]
    (tmp_path / "new.key").write_text("k" * 40)
    for command in WHOLE.values():
        run(*command.split(), code=5, MEMORYOS_KEY=key)
    told = json.loads(run("audit", "list", "--oldest", "--decision", "refused", "--json"))["entries"]
    assert [one["operation"] for one in told] == list(WHOLE)
    assert {(one["caller"], one["reason"], one["context"]["application"]) for one in told} == {
        ("李", "PermissionDenied", "ward")
    }
    run("scrub", code=5, MEMORYOS_KEY=key, MEMORYOS_APPLICATION="kitchen")
    (refused,) = run("audit", "list", "--operation", "keys.caller").splitlines()
    assert 'application="kitchen"' in refused
    assert run("audit", "list", "--operation", "stores.rotate_encryption_key")


def test_a_refused_restore_leaves_the_backup_as_it_is(run, page, tmp_path):
    key = json.loads(run("keys", "create", "lee", "--action", "read", "--json"))["key"]
    run("backup", "backup.db")
    before = (tmp_path / "backup.db").read_bytes()
    run("restore", "backup.db", "new.db", code=5, MEMORYOS_KEY=key)
    assert (tmp_path / "backup.db").read_bytes() == before
    assert not (tmp_path / "new.db").exists()


def test_the_log_is_exported(run, page, tmp_path):
    told = json.loads(run("audit", "export", "log.jsonl", "--caller", "default", "--json"))
    lines = (tmp_path / "log.jsonl").read_text("utf-8").splitlines()
    assert told == {"file": "log.jsonl", "entries": len(lines)}
    assert json.loads(lines[0])["operation"] == "memory.add"
    table = run("audit", "export", "-", "--format", "csv", "--operation", "memory.add").splitlines()
    assert table[0].startswith("at,tenant,user")
    assert len(table) == 2


def test_reports_tell_who_used_what_and_who_changed_permissions(run, page):
    told = json.loads(run("audit", "access", "--user", "default", "--json"))
    assert {one["caller"] for one in told["access"]} == {"default", "memoryos"}
    assert "default: " in run("audit", "access", "--user", "default")
    assert "no entry about nobody" in run("audit", "access", "--user", "nobody")
    told = json.loads(run("audit", "permissions", "--json"))
    assert {one["operation"] for one in told["entries"]} == {"governance.freeze"}


def test_a_log_that_was_edited_is_named(run, page, tmp_path):
    heads = run("audit", "verify", "--json")
    assert json.loads(heads)["sound"]
    (tmp_path / "heads.json").write_text(heads, "utf-8")
    assert "as it was written" in run("audit", "verify", "--heads", "heads.json")
    with closing(sqlite3.connect(tmp_path / "memoryos.db")) as connection, connection:
        connection.execute("UPDATE audit SET caller = 'somebody' WHERE user_id = 'default' AND number = 2")
    assert "Entry 2 of user default with agent default in tenant default: it was changed" in run(
        "audit", "verify", code=1
    )
    told = json.loads(run("audit", "verify", "--json", code=1))
    assert [one["number"] for one in told["broken"]] == [2]


def test_a_file_that_is_no_report_is_refused(run, page, tmp_path):
    (tmp_path / "heads.json").write_text("[]", "utf-8")
    told = json.loads(run("audit", "verify", "--heads", "heads.json", "--json", code=2))
    assert told["error"]["message"].startswith("--heads: heads.json is not a report")
