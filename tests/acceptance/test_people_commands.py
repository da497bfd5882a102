"""Exporting, forgetting and importing a person by command: real processes, real files."""

from __future__ import annotations

import json

import pytest

import same_process


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, COLUMNS="160", **variables)

    return call


@pytest.fixture
def alice(run):
    for session, text in (("spring", "I keep bees behind the old mill."), ("autumn", "我住在成都。")):
        assert run("add", text, "--user", "alice", "--session", session).returncode == 0
    return "alice"


def document(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_person_moves_to_another_store(run, alice, tmp_path):
    exported = document(run("export", "alice.jsonl", "--user", alice, "--json"))
    assert exported["memories"]["page"] == 2
    assert "成都" in (tmp_path / "alice.jsonl").read_text("utf-8")
    forgotten = document(run("forget", "--user", alice, "--yes", "--json"))
    assert forgotten["is_complete"] is True
    assert forgotten["memories"]["page"] == 2
    assert document(run("search", "bees", "--user", alice, "--json"))["hits"] == []
    assert document(run("import", "export", "alice.jsonl", "--db", "other.db", "--json"))["memories"]["page"] == 2
    assert "bees" in document(run("search", "bees", "--user", alice, "--db", "other.db", "--json"))["hits"][0]["text"]
    assert "were there already" in run("import", "export", "alice.jsonl", "--db", "other.db").stdout


def test_an_export_goes_to_standard_output(run, alice):
    lines = run("export", "-", "--user", alice).stdout.splitlines()
    assert json.loads(lines[0])["format"] == "memoryos-export"
    assert json.loads(lines[-1])["end"] == len(lines) - 2


def test_a_session_is_forgotten(run, alice):
    done = run("forget", "--user", alice, "--session", "spring", "--yes")
    assert "Forgot session spring of alice: 1 page" in done.stdout
    assert document(run("search", "bees", "--user", alice, "--json"))["hits"][0]["text"].endswith("我住在成都。")


def test_nothing_goes_without_a_yes(run, alice):
    refused = run("forget", "--user", alice)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert len(document(run("search", "bees", "--user", alice, "--json"))["hits"]) == 2


def test_somebody_unknown_is_not_found(run, alice):
    for command in (["forget", "--yes"], ["export", "nobody.jsonl"]):
        refused = run(*command, "--user", "nobody")
        assert refused.returncode == 3
        assert "'nobody' has no memory" in refused.stderr


def test_what_was_taken_along_is_counted_by_name(run):
    run("add", "My name is Alice, I live in Oslo and I'm a plumber.", "Hello!", "--user", "alice")
    run("jobs", "run", "--user", "alice")
    assert " profile fields" in run("export", "alice.jsonl", "--user", "alice").stdout
    forgotten = run("forget", "--user", "alice", "--yes").stdout
    assert " profile fields" in forgotten
    assert "profiles" not in forgotten
