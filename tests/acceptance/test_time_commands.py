"""`memoryos snapshots`, `branches`, `duplicates`, `archiving` and `verify-mark`, each as a process of its own."""

from __future__ import annotations

import json

import pytest

import same_process


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        return same_process.memoryos(*arguments, cwd=tmp_path)

    return call


@pytest.fixture
def told(run):
    def call(*arguments):
        result = run(*arguments, "--json")
        assert (result.returncode, result.stderr) == (0, ""), result.stdout
        return json.loads(result.stdout)

    return call


def test_a_snapshot_is_searched_read_and_removed(run, told):
    page = told("add", "The ferry leaves at nine.")["id"]
    made = told("snapshots", "create", "before", "--ttl", "30d")
    assert [one["name"] for one in told("snapshots", "list")["snapshots"]] == [made["name"]] == ["before"]
    told("update", page, "The ferry leaves at ten.", "--tag", "boat")
    assert told("get", page, "--as-of", "before")["text"] == "user: The ferry leaves at nine."
    assert [one["version"] for one in told("history", page, "--as-of", "before")["versions"]] == [1]
    assert [one["text"] for one in told("pages", "list", "--as-of", "before")["pages"]] == [
        "user: The ferry leaves at nine."
    ]
    assert told("search", "ferry", "--as-of", "before")["hits"][0]["text"] == "user: The ferry leaves at nine."
    assert told("profile", "get", "--as-of", "before")["user"]["profile"] == {}
    assert told("tagged", "boat")["hits"] != told("tagged", "boat", "--as-of", "before")["hits"] == []
    assert "nine" in told("digest", "--as-of", "before")["text"]
    assert told("pages", "count", "--as-of", "before")["count"] == 1
    assert told("segments", "list", "--as-of", "before")["segments"] == []  # the page is in STM
    told("snapshots", "remove", "before")
    assert "no snapshots" in run("snapshots", "list").stdout
    assert run("snapshots", "remove", "before").returncode == 3


def test_a_branch_is_made_compared_and_discarded(run, told):
    page = told("add", "The ferry leaves at nine.")["id"]
    assert told("branches", "create", "try", "--ttl", "2d")["is_whole"]
    assert [one["name"] for one in told("branches", "list")["branches"]] == ["try"]
    told("update", page, "The ferry leaves at ten.")
    (change,) = told("branches", "diff", "try")["changed"]
    assert (change["id"], change["changes"][0]["after"]) == (page, "The ferry leaves at nine.")
    assert "-ten." in run("branches", "diff", "try").stdout
    told("branches", "discard", "try")
    assert "no branches" in run("branches", "list").stdout


def test_duplicates_are_listed_merged_and_given_back(run, told):
    ids = [told("add", "The ferry leaves at nine from pier 4.")["id"] for _ in range(2)]
    (group,) = told("duplicates", "list")["groups"]
    assert (group["is_exact"], [one["id"] for one in group["memories"]]) == (True, ids)
    assert told("duplicates", "merge", *ids) == {"id": ids[0], "merged": ids[1:]}
    assert "no duplicates" in run("duplicates", "list").stdout
    assert told("duplicates", "unmerge", ids[1]) == {"id": ids[1], "state": "activated"}
    assert "equal:" in run("duplicates", "list").stdout


def test_archiving_rules_are_added_listed_and_removed(run, told):
    told("add", "The ferry leaves at nine.")
    rule = told("archiving", "add", "idle", "--unused", "90d", "--visits", "2", "--tag", "chat")
    assert rule == {"name": "idle", "unused_seconds": 7_776_000, "visits": 2, "kinds": ["page"], "tags": ["chat"]}
    assert told("archiving", "list")["rules"] == [rule]
    assert "at most 2 times, tagged chat" in run("archiving", "list").stdout
    told("archiving", "remove", "idle")
    assert "no archiving rules" in run("archiving", "list").stdout


def test_a_mark_is_checked(run, told, tmp_path):
    told("add", "The ferry leaves at nine.")
    told("export", "all.jsonl", "--user", "default")
    report = told("verify-mark", "all.jsonl")
    assert (report["is_whole"], report["user"]) == (True, "default")
    text = (tmp_path / "all.jsonl").read_text()
    (tmp_path / "all.jsonl").write_text(text.replace("nine", "ten"))
    changed = run("verify-mark", "all.jsonl")
    assert (changed.returncode, "Altered (line 2" in changed.stdout) == (1, True)
    assert json.loads(run("verify-mark", "all.jsonl", "--json").stdout)["altered"][0] == 2
