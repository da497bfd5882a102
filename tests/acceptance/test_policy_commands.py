"""Policies by command: checked, explained, and in force for every command."""

from __future__ import annotations

import json

import pytest

import same_process
from memoryos.policy.policy_schema import SCHEMA

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
        return same_process.memoryos(*arguments, cwd=tmp_path, **variables)

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
    assert error["message"].startswith("PATHS: wrong.cedar:2: ")
    assert run("policy", "schema").stdout == SCHEMA.strip() + "\n"  # it is saved as a file: no line is broken
    assert max(map(len, SCHEMA.splitlines())) > 80
    assert "action read" in document(run("policy", "schema", "--json"))["schema"]


def test_a_wrong_policy_is_told_in_its_own_words(run, tmp_path):
    """Its attributes may have the names of settings and options."""
    wrong = "permit (principal, action, resource) when { resource.user == principal && resource.tag == 1 };"
    (tmp_path / "wrong.cedar").write_text(wrong)
    message = document(run("policy", "check", "wrong.cedar", "--json"), 2)["error"]["message"]
    assert "attribute 'user' on entity type 'Cube' not found" in message
    assert "MEMORYOS" not in message


def test_decisions_are_explained(run):
    page = document(run("add", "The result is in.", "--user", "ann", "--sensitivity", "diagnosis", "--json"))["id"]
    sealed = document(run("add", "The letter is sealed.", "--user", "ann", "--tag", "sealed", "--json"))["id"]
    explain = ("governance", "explain", page, "--user", "ann", "--policies", "clinic.cedar")
    doctor = ("--caller", "dr-lee", "--role", "doctor")
    told = document(run(*explain, *doctor, "--purpose", "treatment", "--json"))
    assert document(run("policy", *explain[1:], *doctor, "--purpose", "treatment", "--json")) == told
    assert (told["allowed"], told["policies"], told["action"]) == (True, ["doctors"], "read")
    assert f"dr-lee may not read {page}: no policy permits it." in run(*explain, *doctor).stdout
    told = document(run(*explain, "--caller", "ann", "--action", "delete", "--json"))
    assert (told["allowed"], told["reason"]) == (True, "permitted by owners")
    of_sealed = ("governance", "explain", sealed, "--user", "ann", "--caller", "ann", "--json")
    assert document(run(*of_sealed, MEMORYOS_POLICIES="clinic.cedar"))["reason"] == "forbidden by sealed"
    assert document(run(*of_sealed), 2)["error"]["message"].startswith("--policies: are not set")
    assert document(run("governance", "explain", "nothing", *of_sealed[3:], "--policies", "."), 3)


def test_the_setting_puts_policies_in_force(run):
    sealed = document(run("add", "The letter is sealed.", "--tag", "sealed", "--json"))["id"]
    open_ = document(run("add", "The letter is open.", "--access", "shared", "--json"))["id"]
    with_policies = {"MEMORYOS_POLICIES": "clinic.cedar"}
    found = document(run("search", "letter", "--json", **with_policies))
    assert [hit["id"] for hit in found["hits"]] == [open_]
    assert document(run("get", sealed, "--json", **with_policies), 3)["error"]["type"] == "NotFound"
    refused = document(run("add", "Sealed, too.", "--tag", "sealed", "--json", **with_policies), 5)
    assert refused["error"]["type"] == "PermissionDenied"


def test_keys_are_created_used_rotated_and_revoked(run):
    run("add", "The letter is open.", "--user", "ann")
    made = document(run("keys", "create", "bot", "--role", "reader", "--action", "read", "--ttl", "1h", "--json"))
    assert made["key"].startswith("mos_")
    as_bot = {"MEMORYOS_KEY": made["key"]}
    search = ("search", "letter", "--user", "ann", "--json")
    assert len(document(run(*search, **as_bot))["hits"]) == 1
    assert document(run("add", "No.", "--user", "ann", "--json", **as_bot), 5)["error"]["type"] == "PermissionDenied"
    listed = run("keys", "list")
    assert made["id"] in listed.stdout
    assert made["key"] not in listed.stdout
    second = document(run("keys", "rotate", made["id"], "--json"))
    assert document(run(*search, **as_bot), 5)["error"]["message"] == "the key is not valid"
    assert len(document(run(*search, MEMORYOS_KEY=second["key"]))["hits"]) == 1
    assert document(run("keys", "revoke", second["id"], "--json")) == {"revoked": second["id"]}
    assert document(run(*search, MEMORYOS_KEY=second["key"]), 5)
    keys = document(run("keys", "list", "--json"))["keys"]
    assert [one["revoked_at"] is None for one in keys] == [False, False]
    assert "Keep it" in run("keys", "create", "other").stdout


def test_granted_roles_are_known_to_both_and_users_are_told(run):
    page = document(run("add", "The result is in.", "--user", "ann", "--json"))["id"]
    explain = ("governance", "explain", page, "--user", "ann", "--policies", "clinic.cedar", "--caller", "lee")
    explain = (*explain, "--purpose", "treatment", "--json")
    assert not document(run(*explain))["allowed"]
    made = document(run("roles", "grant", "lee", "doctor", "porter", "--name", "ward 3", "--ttl", "1d", "--json"))
    assert (made["identity"], made["roles"], made["name"]) == ("lee", ["doctor", "porter"], "ward 3")
    assert document(run("roles", "list", "--json"))["roles"] == [made]
    assert "ward 3" in run("roles", "list", "--identity", "lee").stdout
    assert document(run(*explain))["allowed"]
    checked = document(run("policy", "check", "clinic.cedar", "--db", "memoryos.db", "--json"))
    assert checked["roles_in_no_policy"] == ["porter"]
    assert "The role porter was granted" in run("policy", "check", "clinic.cedar", "--db", "memoryos.db").stdout
    assert document(run("roles", "revoke", made["id"], "--json")) == {"revoked": made["id"]}
    assert run("roles", "revoke", made["id"]).returncode == 3
    assert not document(run(*explain))["allowed"]
    (listed,) = document(run("users", "list", "--json"))["users"]
    assert (listed["user"], listed["memories"], listed["scopes"]) == ("ann", {"page": 1}, 1)
    assert document(run("users", "show", "ann", "--json")) == {**listed, "roles": []}
    assert "ann: 1 page; 1 scope; last activity" in run("users", "show", "ann").stdout
    assert "ann" in run("users", "list").stdout
    assert document(run("users", "forget", "ann", "--yes", "--json"))["is_complete"]
    assert run("users", "show", "ann").returncode == 3


CASES = """
permit (principal, action, resource is Cube) when { resource.owner == principal && resource.agent == "default" };
permit (principal in Role::"doctor", action == Action::"read", resource);
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };
permit (principal in Role::"manager", action == Action::"read", resource) when { resource.tags.contains("policy") };
permit (principal in Role::"parent", action, resource is Cube)
when { resource.owner == principal && resource.agent == "family" };
permit (principal in Role::"editor", action == Action::"read", resource) when { resource.access == "read_only" };
permit (principal == User::"operator", action == Action::"administer", resource is Store);
"""


def test_who_has_a_key_sees_by_command_what_its_role_may(run, tmp_path):
    (tmp_path / "clinic.cedar").write_text(CASES)
    ruled = {"MEMORYOS_POLICIES": "clinic.cedar", "MEMORYOS_EMBEDDER": "hashing"}

    def key(identity, role):
        made = document(run("keys", "create", identity, "--role", role, "--json", **ruled))
        return {**ruled, "MEMORYOS_KEY": made["key"]}

    def found(user, as_whom, *more):
        result = run("search", "the note", "--user", user, *more, "--json", **as_whom)
        return {hit["text"] for hit in document(result)["hits"]} if result.returncode == 0 else result.returncode

    for text, *labels in (
        ("The note about the weather.",),
        ("The note with the diagnosis.", "--sensitivity", "diagnosis"),
        ("The note of the policy.", "--tag", "policy", "--sensitivity", "company"),
        ("The note that is a draft.", "--access", "read_only", "--sensitivity", "draft"),
    ):
        document(run("add", text, "--user", "ann", *labels, "--json", **ruled))
    assert len(found("ann", key("lee", "doctor"))) == 4
    assert found("ann", key("kim", "nurse")) == {"user: The note about the weather."}
    assert found("ann", key("max", "manager")) == {"user: The note of the policy."}
    editor = key("ed", "editor")
    assert found("ann", editor) == {"user: The note that is a draft."}
    assert run("add", "No.", "--user", "ann", "--json", **editor).returncode == 5
    assert found("ann", key("eve", "visitor")) == 5
    parent, family = key("ann", "parent"), ("--agent", "family")
    document(run("add", "The note for the school.", "--user", "ann", *family, "--json", **parent))
    assert found("ann", parent, *family) == {"user: The note for the school."}
    assert found("ann", key("ann", "worker"), *family) == 5
