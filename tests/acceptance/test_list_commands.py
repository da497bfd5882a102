"""Listing, counting, correcting and deleting by command: real processes, real files."""

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
def ann(run):
    for number, tag in enumerate(["home", "work", "home"]):
        assert run("add", f"Note {number} [bold] 红.", "--tag", tag, "--user", "ann").returncode == 0
    return "ann"


def document(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_pages_are_listed_page_by_page(run, ann):
    first = document(run("pages", "list", "--user", ann, "--limit", "2", "--json"))
    second = document(run("pages", "list", "--user", ann, "--limit", "2", "--cursor", first["cursor"], "--json"))
    assert [page["text"] for page in (*first["pages"], *second["pages"])] == [
        f"user: Note {number} [bold] 红." for number in range(3)
    ]
    assert second["cursor"] is None
    shown = run("pages", "list", "--user", ann, "--limit", "1").stdout
    assert "Note 0 [bold] 红." in shown
    assert "--cursor" in shown


def test_filters_say_what_is_listed_and_counted(run, ann):
    found = document(run("pages", "list", "--user", ann, "--no-tag", "work", "--json"))
    assert [page["tags"] for page in found["pages"]] == [["home"], ["home"]]
    assert document(run("pages", "count", "--user", ann, "--tag", "work", "--json"))["count"] == 1
    assert document(run("pages", "count", "--user", ann, "--role", "assistant", "--json"))["count"] == 0


@pytest.mark.parametrize("what", ["pages", "facts", "segments"])
def test_each_kind_is_listed_and_counted(run, ann, what):
    listed = document(run(what, "list", "--user", ann, "--json"))[what]
    assert document(run(what, "count", "--user", ann, "--json"))["count"] == len(listed)


def test_users_are_listed_and_counted(run, ann):
    assert [one["user"] for one in document(run("users", "list", "--json"))["users"]] == [ann]
    assert document(run("users", "count", "--json"))["count"] == 1
    assert run("users", "count").stdout == "1 user\n"


def test_who_is_unknown_is_told_with_those_who_are_there(run, ann):
    told = run("pages", "list", "--user", "nobody")
    assert told.returncode == 0
    assert "In this store: user ann" in told.stdout


OF_ONE_USER = {
    "search": ("search", "Where?"),
    "context": ("context", "Where?"),
    "digest": ("digest",),
    "show": ("show",),
    "stats": ("stats",),
    "profile": ("profile", "get"),
    "pages list": ("pages", "list"),
    "facts count": ("facts", "count"),
}


@pytest.mark.parametrize("command", OF_ONE_USER)
def test_who_is_unknown_is_told_to_programs_too(run, ann, command):
    told = document(run(*OF_ONE_USER[command], "--user", "nobody", "--json"))["hint"]
    assert told == "There is no memory of user nobody with agent default. In this store: user ann with agent default."
    assert document(run(*OF_ONE_USER[command], "--user", ann, "--json"))["hint"] is None


def test_the_facts_that_were_replaced_are_in_the_archive(run):
    run("facts", "add", "I live in Oslo", "--at", "2026-01-01")
    run("facts", "add", "I live in Bergen", "--at", "2026-02-01")
    assert [one["text"] for one in document(run("facts", "list", "--json"))["facts"]] == ["I live in Bergen"]
    assert document(run("facts", "count", "--tier", "archive", "--json"))["count"] == 1
    assert document(run("facts", "count", "--subject", "agent", "--json"))["count"] == 0


def test_a_filter_that_does_not_hold_is_refused(run, ann):
    refused = document(run("facts", "list", "--speaker", "Ann", "--json"), code=2)
    assert "--speaker" in refused["error"]["message"]
    assert document(run("pages", "list", "--cursor", "nonsense", "--json"), code=2)["error"]["type"] == "InvalidInput"


def test_a_memory_is_corrected_and_deleted(run, ann):
    page = document(run("pages", "list", "--user", ann, "--limit", "1", "--json"))["pages"][0]["id"]
    assert document(run("update", page, "Note zero.", "--user", ann, "--json"))["text"] == "user: Note zero."
    assert run("delete", page, "--user", ann).returncode == 2
    assert document(run("delete", page, "--user", ann, "--json"), code=2)["error"]["type"] == "InvalidInput"
    assert document(run("delete", page, "--user", ann, "--yes", "--json")) == {"deleted": [page]}
    assert document(run("pages", "count", "--user", ann, "--json"))["count"] == 2


def test_what_is_not_there_is_no_reason_to_delete_the_others(run, ann):
    page = document(run("pages", "list", "--user", ann, "--json"))["pages"][0]["id"]
    assert document(run("delete", page, "nothing", "--user", ann, "--yes", "--json"), code=3)
    assert document(run("update", "nothing", "New.", "--user", ann, "--json"), code=3)
    assert document(run("pages", "count", "--user", ann, "--json"))["count"] == 3


def test_a_search_for_what_was_never_said_finds_nothing(run):
    for said in ("My sailing boat is called Aurora.", "We baked a cake for my sister.", "I keep bees."):
        assert run("add", said).returncode == 0
    found = document(run("search", "Which dentist repaired my broken tooth?", "--min-score", "0.5", "--json"))
    assert found["hits"] == found["ranked"] == []
    assert document(run("search", "What is my sailing boat called?", "--min-score", "0.5", "--json"))["hits"]


def test_an_empty_store_is_told_as_such(run, ann):
    assert run("forget", "--user", ann, "--yes").returncode == 0
    assert run("users", "list").stdout == "There are no users.\n"
    assert "In this store: nobody yet" in run("pages", "list").stdout
    assert run("users", "list", "--tenant", "other").stdout == "There are no users.\n"
