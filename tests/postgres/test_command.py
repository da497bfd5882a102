"""The memoryos command on a PostgreSQL store of a real server."""

from __future__ import annotations

import json

import pytest

import forked
import same_process
from contract import server

PASSWORD = "hunter2-geheim"


@pytest.fixture
def run(tmp_path):
    place = server.new_database().set(password=PASSWORD).render_as_string(hide_password=False)

    def call(*arguments, by=same_process.memoryos, **variables):
        settings = {"COLUMNS": "160", "MEMORYOS_DB": place, "MEMORYOS_EMBEDDER": "static", **variables}
        return by(*arguments, cwd=tmp_path, **settings)

    return call


def test_one_process_finds_what_another_one_added(run, tmp_path):
    assert run("add", "I keep bees behind the old mill.", by=forked.memoryos).returncode == 0
    found = run("search", "bees", "--json", by=forked.memoryos)
    assert "old mill" in found.stdout, found.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_changes_its_embedder_is_named_without_the_password(run):
    run("add", "I keep bees behind the old mill.")
    changed = run("reembed", "--embedder", "hashing")
    assert "postgresql://memoryos@" in changed.stdout, changed.stderr
    refused, found = run("search", "bees"), run("search", "bees", "--json", MEMORYOS_EMBEDDER="hashing")
    assert refused.returncode == 1
    assert json.loads(found.stdout)["hits"]
    assert not any(PASSWORD in said for done in (changed, refused) for said in (done.stdout, done.stderr))


def test_a_url_that_is_none_is_the_callers_mistake(run):
    wrong = run("add", "x", "--db", "mysql://tom@host/db")
    assert wrong.returncode == 2
    assert "postgresql://user" in wrong.stderr


@pytest.fixture
def may_checkpoint():
    with server.administrator() as connection:
        connection.execute(f"GRANT pg_checkpoint TO {server.ROLE}")
    yield
    with server.administrator() as connection:
        connection.execute(f"REVOKE pg_checkpoint FROM {server.ROLE}")


def test_a_store_is_scrubbed_as_far_as_its_role_may(run):
    run("add", "I keep bees behind the old mill.")
    scrubbed = run("scrub", "--json")
    said = json.loads(scrubbed.stdout)
    assert (scrubbed.returncode, said["complete"]) == (1, False), scrubbed.stderr
    assert any(name.startswith("cubes_") for name in said["done"])
    assert [one.split(":")[0] for one in said["refused"]] == ["checkpoint"]
    told = run("scrub")
    assert (told.returncode, "GRANT pg_checkpoint" in told.stdout) == (1, True)


def test_a_store_is_scrubbed_whole_by_a_role_that_may_checkpoint(run, may_checkpoint):
    run("add", "I keep bees behind the old mill.")
    scrubbed = run("scrub", "--json")
    assert (scrubbed.returncode, json.loads(scrubbed.stdout)["refused"]) == (0, []), scrubbed.stderr
    assert json.loads(scrubbed.stdout)["done"][-1] == "checkpoint"
    assert json.loads(run("search", "bees", "--json").stdout)["hits"]
