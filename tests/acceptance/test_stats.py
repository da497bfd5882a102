"""`memoryos stats` tells the values that a memory is run by, and why."""

from __future__ import annotations

import json

import pytest

import same_process

NAMES = ["segment_threshold", "heat_threshold", "recall_segments", "recall_pages", "keyword_weight"]


@pytest.fixture
def stats(tmp_path):
    """stats(argument, ...): what the command prints about a memory of one exchange."""

    def run(*arguments, **variables):
        variables["MEMORYOS_DB"] = str(tmp_path / "memory.db")
        done = same_process.memoryos(*arguments, cwd=tmp_path, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run("add", "I live in Porto.")
    return lambda *rest, **variables: run("stats", *rest, **variables)


def test_as_data(stats):
    told = json.loads(stats("--json"))["tuning"]
    assert [one["name"] for one in told] == NAMES
    assert [one["value"] for one in told] == [one["default"] for one in told] == [0.6, 5, 5, 10, 0]
    assert all(one["low"] <= one["value"] <= one["high"] for one in told)
    assert all("paper's value" in one["reason"] for one in told)


def test_what_is_set_by_hand_is_told_so(stats):
    theta, *others = json.loads(stats("--json", MEMORYOS_SEGMENT_THRESHOLD="0.7"))["tuning"]
    assert (theta["value"], theta["default"], theta["reason"]) == (0.7, 0.6, "set by hand")
    assert all(one["reason"] != "set by hand" for one in others)


def test_one_switch(stats):
    told = json.loads(stats("--json", MEMORYOS_SELF_TUNING="false"))["tuning"]
    assert {one["reason"] for one in told} == {"the paper's value: self-tuning is off"}


def test_as_a_table(stats):
    table = stats()
    assert all(name in table for name in NAMES)
    assert "0.35–0.85" in table
