"""`memoryos digest`, as a person and a program use it."""

from __future__ import annotations

import json

import pytest

import same_process


@pytest.fixture
def run(tmp_path):
    def call(*arguments):
        return same_process.memoryos(*arguments, "--db", "m.db", cwd=tmp_path)

    return call


def test_a_person_reads_lines_and_a_program_a_document(run):
    for day, text in enumerate(("I adopted a parrot.", "The [red] ferry was late.", "我在花园里看见蜜蜂。"), 1):
        assert run("add", text, "--at", f"2026-05-0{day}T10:00:00+00:00").returncode == 0
    told = run("digest")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == [
        "[2026-05-01] user: I adopted a parrot.",
        "[2026-05-02] user: The [red] ferry was late.",
        "[2026-05-03] user: 我在花园里看见蜜蜂。",
    ]
    some = json.loads(run("digest", "--since", "2026-05-02T00:00Z", "--until", "2026-05-03T00:00Z", "--json").stdout)
    assert set(some) == {"text", "tokens", "turns", "days", "covered", "resolved", "lines", "hint"}
    assert (some["turns"], some["days"], some["covered"], some["resolved"]) == (1, 1, 1, 1)
    assert [line["start"] for line in some["lines"]] == ["2026-05-02T10:00:00+00:00"]
    assert len(some["lines"][0]["ids"]) == 1
    short = run("digest", "--tokens", "34", "--query", "parrot", "--json")
    assert json.loads(short.stdout)["tokens"] <= 34


def test_what_cannot_be_told_is_said(run):
    assert run("digest").returncode == 2  # there is no store
    run("add", "I adopted a parrot.")
    assert run("digest", "--until", "2000-01-01T00:00Z").stdout == "Nothing was said in this period.\n"
    assert "raise --tokens" in run("digest", "--tokens", "1").stdout
    wrong = run("digest", "--since", "yesterday", "--json")
    assert wrong.returncode == 2
    assert "since" in json.loads(wrong.stdout)["error"]["message"]
