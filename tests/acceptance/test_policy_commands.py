"""Policies by command: checked, explained, and in force for every command."""

from __future__ import annotations

import json

import pytest

import forked

CLINIC = """
@id("owners")
permit (principal, action, resource is Cube) when { resource.owner == principal };
@id("doctors")
permit (principal in Role::"doctor", action == Action::"read", resource)
when { context has purpose && context.purpose == "treatment" };
@id("sealed")
forbid (principal, action, resource is Cube) when { resource.tags.contains("sealed") };
"""


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return forked.memoryos(*arguments, cwd=tmp_path, **variables)

    (tmp_path / "clinic.cedar").write_text(CLINIC)
    return call


def document(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_policies_are_checked(run, tmp_path):
    assert document(run("policy", "check", "clinic.cedar", "--json")) == {
        "policies": {"clinic.cedar": ["owners", "doctors", "sealed"]}
    }
    assert "3 policies, nothing wrong" in run("policy", "check", ".").stdout
    (tmp_path / "wrong.cedar").write_text("\npermit (principal, action, resource) when { resource.owner = 1 };")
    error = document(run("policy", "check", ".", "--json"), 2)["error"]
    assert error["type"] == "InvalidInput"
    assert "wrong.cedar:2: " in error["message"]
    assert "sensitivity: Set<String>" in run("policy", "schema").stdout
    assert "action read" in document(run("policy", "schema", "--json"))["schema"]


def test_decisions_are_explained(run):
    page = document(run("add", "The result is in.", "--user", "ann", "--sensitivity", "diagnosis", "--json"))["id"]
    sealed = document(run("add", "The letter is sealed.", "--user", "ann", "--tag", "sealed", "--json"))["id"]
    explain = ("policy", "explain", page, "--user", "ann", "--policies", "clinic.cedar")
    doctor = ("--caller", "dr-lee", "--role", "doctor")
    told = document(run(*explain, *doctor, "--purpose", "treatment", "--json"))
    assert (told["allowed"], told["policies"], told["action"]) == (True, ["doctors"], "read")
    assert f"dr-lee may not read {page}: no policy permits it." in run(*explain, *doctor).stdout
    told = document(run(*explain, "--caller", "ann", "--action", "delete", "--json"))
    assert (told["allowed"], told["reason"]) == (True, "permitted by owners")
    of_sealed = ("policy", "explain", sealed, "--user", "ann", "--caller", "ann", "--json")
    assert document(run(*of_sealed, MEMORYOS_POLICIES="clinic.cedar"))["reason"] == "forbidden by sealed"
    assert document(run(*of_sealed), 2)["error"]["message"].startswith("--policies: are not set")
    assert document(run("policy", "explain", "nothing", *of_sealed[3:], "--policies", "."), 3)


def test_the_setting_puts_policies_in_force(run):
    sealed = document(run("add", "The letter is sealed.", "--tag", "sealed", "--json"))["id"]
    open_ = document(run("add", "The letter is open.", "--access", "shared", "--json"))["id"]
    with_policies = {"MEMORYOS_POLICIES": "clinic.cedar"}
    found = document(run("search", "letter", "--json", **with_policies))
    assert [hit["id"] for hit in found["hits"]] == [open_]
    assert document(run("get", sealed, "--json", **with_policies), 3)["error"]["type"] == "NotFound"
    refused = document(run("add", "Sealed, too.", "--tag", "sealed", "--json", **with_policies), 5)
    assert refused["error"]["type"] == "PermissionDenied"
