"""The cost of governance, timed: the audit log and policies, beside a store without any."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from memoryos import load_settings
from memoryos.bench import audit_cost, policy_cost
from memoryos.bench.audit_cost import measure_audit
from memoryos.bench.policy_cost import measure_policies
from memoryos.interface.cli.app import app

OPTIONS = ["bench", "governance", "--pages", "100", "--embedder", "hashing"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_cost, "WARM_UP", 1)
    monkeypatch.setattr(audit_cost, "COUNT", 3)
    monkeypatch.setattr(policy_cost, "WARM_UP", 1)
    monkeypatch.setattr(policy_cost, "SEARCHES", 3)
    monkeypatch.setattr(policy_cost, "FACTS", 5)
    monkeypatch.setattr(policy_cost, "AT_A_TIME", 10)


def test_the_audit_log_and_encryption_are_measured():
    found = measure_audit(5, load_settings(embedder="hashing"), count=3)
    assert found.keys() == {"plain", "audit", "encrypted"}
    for one in found.values():
        assert 0 < one.add_ms["p50"] <= one.add_ms["p95"]
        assert 0 < one.search_ms["p50"] <= one.search_ms["p95"]


def test_policies_are_measured():
    (found,) = measure_policies([100], load_settings(embedder="hashing"))
    assert found.pages == 100
    assert found.classes == 10  # one for each tag; two of the ten are sensitive
    assert found.guest_pages == 80
    for times in (found.bare_ms, found.ungoverned_ms, found.owner_ms, found.guest_ms):
        assert 0 < times["p50"] <= times["p95"]


def test_the_command_prints_ratios():
    (told,) = json.loads(CliRunner().invoke(app, [*OPTIONS, "--json"]).stdout)["sizes"]
    assert told["pages"] == told["policies"]["pages"] == 100
    assert told["audit"]["plain"]["add_ratio"] == told["audit"]["plain"]["search_ratio"] == 1
    assert told["audit"]["audit"]["add_ratio"] > 0
    assert told["audit"]["encrypted"]["search_ratio"] > 0
    assert told["policies"]["guest_ratio"] > 0
    ungoverned, bare = (told["policies"][f"{one}_ms"]["p50"] for one in ("ungoverned", "bare"))
    assert told["policies"]["ungoverned_ratio"] == pytest.approx(ungoverned / bare, rel=0.02)
    alone = [*OPTIONS, "--part", "policies", "--searches", "2", "--json"]
    (told,) = json.loads(CliRunner().invoke(app, alone).stdout)["sizes"]
    assert told.keys() == {"pages", "policies"}
    assert told["policies"]["owner_ratio"] > 0
    printed = CliRunner().invoke(app, OPTIONS).stdout
    assert "audit" in printed
    assert "guest" in printed
