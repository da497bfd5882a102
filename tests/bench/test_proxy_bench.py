"""`memoryos bench proxy`: three processes, and the time to the first words in each way."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

import forked
from memoryos.bench import proxy_overhead
from memoryos.bench.scripted_server import WORDS, events
from memoryos.interface.cli.app import app


def test_the_ways_to_ask_are_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    monkeypatch.setattr(proxy_overhead, "WARM_UP", 1)
    monkeypatch.setattr(sys, "executable", forked.executable())
    done = CliRunner().invoke(app, ["bench", "proxy", "--pages", "20", "--requests", "2", "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["sizes"]
    assert found.pop("pages") == 20
    assert found.keys() == {"direct", "off", "read", "on"}
    assert found["direct"]["overhead_ms"] == 0.0
    for one in found.values():
        assert 0 < one["first_ms"]["p50"] <= one["first_ms"]["p95"]


def test_the_scripted_server_says_a_whole_answer():
    *told, done = (event.removeprefix(b"data: ").strip() for event in events())
    deltas = [json.loads(event)["choices"][0]["delta"].get("content", "") for event in told]
    assert ("".join(deltas).split(), done) == (WORDS, b"[DONE]")
