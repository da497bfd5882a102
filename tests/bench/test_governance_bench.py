"""The cost of governance, timed: each variant, beside a store without any."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from memoryos import load_settings
from memoryos.bench import governance_cost
from memoryos.bench.governance_cost import measure_governance
from memoryos.interface.cli.app import app


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(governance_cost, "WARM_UP", 1)
    monkeypatch.setattr(governance_cost, "COUNT", 3)


def test_each_variant_is_measured():
    found = measure_governance(5, load_settings(embedder="hashing"), count=3)
    assert found.keys() == {"plain", "audit"}
    for one in found.values():
        assert 0 < one.add_ms["p50"] <= one.add_ms["p95"]
        assert 0 < one.search_ms["p50"] <= one.search_ms["p95"]


def test_the_command_prints_ratios():
    options = ["bench", "governance", "--pages", "5", "--embedder", "hashing"]
    told = json.loads(CliRunner().invoke(app, [*options, "--json"]).stdout)
    assert told["pages"] == 5
    assert told["variants"]["plain"]["add_ratio"] == told["variants"]["plain"]["search_ratio"] == 1
    assert told["variants"]["audit"]["add_ratio"] > 0
    assert "audit" in CliRunner().invoke(app, options).stdout
