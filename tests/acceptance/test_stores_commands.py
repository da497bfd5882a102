"""Backing up, restoring, copying and verifying by command: real processes, real files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import forked

PAGES = ["I keep bees behind the old mill.", "我住在成都。", "My boat is called Aurora."]


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        return forked.memoryos(*arguments, cwd=tmp_path, COLUMNS="160")

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


def test_a_copy_is_found_at_its_place(run, store):
    assert "Copied" in run("copy", store, "other.db").stdout
    assert "成都" in document(run("search", "成都", "--db", "other.db", "--json"))["hits"][0]["text"]
    again = run("copy", store, "other.db")
    assert again.returncode == 2
    assert "holds memory already" in again.stderr


def test_damage_is_told_by_an_exit_code_and_repaired_on_demand(run, store, tmp_path):
    sound = run("verify")
    assert (sound.returncode, "fits together" in sound.stdout) == (0, True)
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


def test_mistakes_are_told_in_a_line(run, store):
    for arguments, said in (
        (("backup", store), "exists already"),
        (("restore", store, "x.db"), "is no backup"),
        (("copy", "absent.db", "x.db"), "does not exist"),
        (("verify", "absent.db"), "does not exist"),
        (("verify", "mysql://host/db"), "no back end"),
    ):
        result = run(*arguments)
        assert result.returncode == 2
        assert said in result.stderr
        assert len(result.stderr.strip().splitlines()[-1]) > 0
        assert "Traceback" not in result.stderr
