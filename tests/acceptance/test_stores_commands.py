"""Backing up, restoring, copying and verifying by command: real processes, real files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import same_process

PAGES = ["I keep bees behind the old mill.", "我住在成都。", "My boat is called Aurora."]


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, COLUMNS="160", **variables)

    return call


@pytest.fixture
def store(run):
    for page in PAGES:
        assert run("add", page).returncode == 0
    return "memoryos.db"


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_was_lost_comes_back(run, store, tmp_path):
    made = document(run("backup", "backup.db", "--json"))
    assert made["tables"]["cubes"]["rows"] >= len(PAGES)
    assert made["store"].endswith("memoryos.db")
    (tmp_path / store).unlink()
    assert run("search", "boat").returncode == 2
    assert document(run("restore", "backup.db", store, "--json"))["rows"] > 0
    assert "Aurora" in document(run("search", "boat", "--json"))["hits"][0]["text"]


def test_erasures_since_the_backup_are_counted_and_those_that_are_not_noted_are_named(run, store, tmp_path):
    for name in ("one.backup", "two.backup"):
        run("backup", name)
    (tmp_path / "two.backup.forgotten").mkdir()
    told = run("forget", "--yes", "--user", "default")
    assert "two.backup brings it back: it was not noted there (Is a directory)" in " ".join(told.stdout.split())
    assert "one.backup" not in told.stdout
    assert document(run("restore", "one.backup", "1.db", "--json"))["forgotten_again"] == 1
    assert "Applied 1 erasure again." in run("restore", "one.backup", "2.db").stdout
    refused = run("restore", "two.backup", "3.db")
    assert (refused.returncode, "two.backup.forgotten" in refused.stderr) == (1, True)


def test_a_copy_is_found_at_its_place(run, store):
    assert "Copied" in run("copy", store, "other.db").stdout
    assert "成都" in document(run("search", "成都", "--db", "other.db", "--json"))["hits"][0]["text"]
    again = run("copy", store, "other.db")
    assert again.returncode == 2
    assert "holds memory already" in again.stderr


def test_damage_is_told_by_an_exit_code_and_repaired_on_demand(run, store, tmp_path):
    sound = run("verify")
    assert (sound.returncode, "is consistent" in sound.stdout) == (0, True)
    with closing(sqlite3.connect(tmp_path / store)) as connection:
        connection.execute("DELETE FROM passages")
        connection.commit()
    broken = run("verify", store)
    assert broken.returncode == 1
    assert "passages" in broken.stdout
    assert "--repair" in broken.stdout
    found = run("verify", store, "--json")
    assert found.returncode == 1
    assert [damage["fault"] for damage in json.loads(found.stdout)["damages"]] == ["passages"] * len(PAGES)
    assert document(run("verify", store, "--repair", "--json"))["repaired"] == len(PAGES)
    assert document(run("verify", store, "--json"))["sound"]


def test_mistakes_are_told_in_a_line(run, store, tmp_path):
    (tmp_path / "empty.db").touch()
    for arguments, said in (
        (("backup", store), "exists already"),
        (("restore", store, "x.db"), "is not a backup"),
        (("copy", "absent.db", "x.db"), "does not exist"),
        (("verify", "absent.db"), "does not exist"),
        (("scrub", "absent.db"), "does not exist"),
        (("verify", "empty.db"), "holds no MemoryOS store"),
        (("search", "bees", "--db", "empty.db"), "holds no MemoryOS store"),
        (("verify", "mysql://host/db"), "no back end"),
    ):
        result = run(*arguments)
        assert result.returncode == 2
        assert said in result.stderr
        assert len(result.stderr.strip().splitlines()[-1]) > 0
        assert "Traceback" not in result.stderr


def test_a_store_is_scrubbed_of_what_was_deleted(run, store, tmp_path):
    with closing(sqlite3.connect(tmp_path / store)) as connection:  # as an older program deleted
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE other AS SELECT 'plimpsofrag' AS word")
        connection.execute("DROP TABLE other")
    assert b"plimpsofrag" in (tmp_path / store).read_bytes()
    scrubbed = document(run("scrub", store, "--json"))
    assert (scrubbed["complete"], scrubbed["done"], scrubbed["refused"]) == (True, ["file", "log"], [])
    assert scrubbed["nbytes_after"] <= scrubbed["nbytes_before"]
    assert b"plimpsofrag" not in (tmp_path / store).read_bytes()
    assert document(run("verify", store, "--json"))["sound"]
    again = run("scrub")  # the store of the settings, for people
    assert (again.returncode, "Rewrote 2 parts" in again.stdout) == (0, True)


def test_what_could_not_be_scrubbed_is_named_and_makes_the_command_fail(run, store, tmp_path):
    with closing(sqlite3.connect(tmp_path / store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM cubes").fetchone()  # its snapshot is of before
        refused = run("scrub", store, "--json")
        told = run("scrub", store)
    said = json.loads(refused.stdout)
    assert (refused.returncode, said["complete"]) == (1, False)
    assert any("another connection is in a transaction" in one for one in said["refused"])
    assert (told.returncode, "not done: " in told.stdout) == (1, True)
    assert document(run("scrub", store, "--json"))["complete"]


def test_a_store_that_another_process_writes_is_busy(run, store, tmp_path):
    with closing(sqlite3.connect(tmp_path / store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        for command in (("scrub", store), ("add", "hello")):
            refused = run(*command, "--json", MEMORYOS_BUSY_TIMEOUT_SECONDS="0.2")
            assert (refused.returncode, json.loads(refused.stdout)["error"]["type"]) == (1, "StoreBusy")
