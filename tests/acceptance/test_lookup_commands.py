"""One memory by its id, facts and profile fields, attachments and periods, by command; ids can be copied."""

from __future__ import annotations

import json

import pytest

import same_process
from memoryos.interface.cli.memory_command import Searched
from memoryos.operation.recall.filters import SEARCHABLE


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, **{"COLUMNS": "80", **variables})

    return call


def document(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_a_fact_is_stated_shown_corrected_and_has_a_history(run):
    fact = document(run("facts", "add", "Ann keeps [bold] bees", "--tag", "hobby", "--at", "2024-05-06", "--json"))[
        "id"
    ]
    assert "Stored as" in run("facts", "add", "Ann likes tea").stdout
    shown = run("get", fact).stdout
    assert "Ann keeps [bold] bees" in shown
    assert f"id: {fact}" in shown
    assert "tags: hobby" in shown
    told = document(run("get", fact, "--json"))
    assert (told["id"], told["kind"], told["at"][:10], told["tags"]) == (fact, "fact", "2024-05-06", ["hobby"])
    run("update", fact, "Ann keeps ten hives")
    versions = document(run("history", fact, "--json"))["versions"]
    assert [version["text"] for version in versions] == ["Ann keeps [bold] bees", "Ann keeps ten hives"]
    table = run("history", fact).stdout
    assert table.count(fact) == 2
    assert "Ann keeps [bold] bees" in table


@pytest.mark.parametrize("command", ["get", "history"])
def test_an_id_that_is_unknown_exits_with_three(run, command):
    run("add", "I keep bees.")
    assert document(run(command, "0198", "--json"), code=3)["error"]["type"] == "NotFound"


def test_the_profile_is_set_and_shown(run):
    assert "Set name: Carla" in run("profile", "set", "name", "Carla").stdout
    assert document(run("profile", "set", "role", "a guide", "--subject", "agent", "--json"))["id"]
    told = document(run("profile", "get", "--json"))
    assert (told["user"]["profile"], told["agent"]["profile"]) == ({"name": "Carla"}, {"role": "a guide"})
    assert "name: Carla" in run("profile", "get").stdout
    assert "There is no memory of user nobody" in run("profile", "get", "--user", "nobody").stdout


def test_files_and_urls_are_attached(run, tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    page = document(run("add", "Look!", "--attach", "a.png", "--attach", "https://x.org/b.jpg?s=1", "--json"))["id"]
    (turn,) = document(run("get", page, "--json"))["turns"]
    first, second = turn["attachments"]
    assert (first["caption"], first["media_type"], first["uri"][:5]) == ("a.png", "image/png", "blob:")
    assert (second["caption"], second["media_type"], second["uri"]) == (
        "b.jpg",
        "image/jpeg",
        "https://x.org/b.jpg?s=1",
    )


def test_a_file_that_cannot_be_attached_is_refused(run, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"x" * 100)
    told = document(run("add", "Look!", "--attach", "nowhere.png", "--json"), code=2)
    assert "--attach" in told["error"]["message"]
    told = document(run("add", "x", "--attach", "a.bin", "--json", MEMORYOS_MAX_ATTACHMENT_BYTES="10"), code=2)
    assert "has more than 10 bytes" in told["error"]["message"]
    assert document(run("pages", "count", "--json"))["count"] == 0


def test_a_period_bounds_a_context(run):
    run("add", "I live in Bergen.", "--at", "2024-05-06")
    assert "Bergen" in run("context", "Where?", "--since", "2024-05-06", "--until", "2024-05-06").stdout
    assert "Bergen" not in run("context", "Where?", "--since", "2030-01-01").stdout


def test_only_kinds_that_can_be_searched_are_offered():
    assert {kind.value for kind in Searched} == {kind.value for kind in SEARCHABLE}


def test_ids_are_whole_in_every_table(run):
    page = document(run("add", "I live in Bergen and keep bees.", "Nice!", "--json"))["id"]
    (job,) = document(run("jobs", "list", "--json"))["jobs"]
    for command in (["jobs", "list"], ["pages", "list"], ["search", "bees"], ["history", page]):
        told = run(*command).stdout
        assert page in told, command
    assert job["id"] in run("jobs", "list").stdout
