"""`memoryos governance ...`, and receipts of `memoryos forget`, each as a process of its own."""

from __future__ import annotations

import json
import stat

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


def test_rules_are_made_listed_and_removed(run, told):
    page = told("add", "The code is 4711.", "--tag", "code")["id"]
    rule = told("governance", "retain", "codes", "--ttl", "30d", "--kind", "page", "--tag", "code")
    ends = {"ttl_seconds": 2_592_000, "until": None, "half_life_seconds": None, "tenant": None, "namespace": None}
    assert rule == {"name": "codes", "kinds": ["page"], "tags": ["code"]} | ends
    assert told("get", page)["expires_at"] is not None
    told("governance", "retain", "all", "--until", "2999-01-01")
    assert [one["name"] for one in told("governance", "retention")["rules"]] == ["all", "codes"]
    assert "2,592,000 s after it was stored" in run("governance", "retention").stdout
    assert told("governance", "retain", "fading", "--half-life", "10d")["half_life_seconds"] == 864_000
    assert "half-life 864,000 s" in run("governance", "retention").stdout
    assert "--half-life" in run("governance", "retain", "fading", "--half-life", "soon").stderr
    for name in ("all", "codes", "fading"):
        told("governance", "unretain", name)
    assert told("get", page)["expires_at"] is None
    assert "no retention rules" in run("governance", "retention").stdout
    assert run("governance", "unretain", "codes").returncode == 3


def test_rules_of_a_tenant_are_made_listed_and_removed(run, told):
    page = told("add", "The code is 4711.")["id"]
    rule = told("retention", "add", "all", "--ttl", "30d", "--kind", "page", "--namespace", "private", "--yes")
    assert (rule["tenant"], rule["namespace"], rule["kinds"]) == ("default", ["private"], ["page"])
    assert told("get", page)["expires_at"] is not None
    assert told("governance", "retention") == told("retention", "list") == {"rules": [rule]}
    shown = " ".join(run("retention", "list").stdout.split())
    assert "tenant default, namespace private" in shown
    assert "2,592,000 s" in shown
    told("retention", "remove", "all")
    assert told("get", page)["expires_at"] is None
    assert "no retention rules" in run("retention", "list", "--tenant", "other").stdout
    assert run("retention", "remove", "all").returncode == 3
    assert "--namespace" in run("retention", "add", "x", "--ttl", "1d", "--namespace", "", "--yes").stderr
    assert "--yes: is missing" in run("retention", "add", "x", "--ttl", "1d").stderr


def test_a_rule_names_the_option_that_is_wrong(run):
    run("add", "I keep bees.")
    assert "--kind" in run("governance", "retain", "x", "--ttl", "1d", "--kind", "segment").stderr
    assert "--ttl" in run("governance", "retain", "x").stderr
    assert "--ttl" in run("governance", "retain", "x", "--ttl", "0").stderr


def test_a_hold_refuses_until_it_is_released(run, told):
    page = told("add", "I keep bees.")["id"]
    hold = told("governance", "hold", "--reason", "the case of Smith", "--memory", page)
    assert (hold["on"], hold["subject"], hold["reason"]) == ("memory", page, "the case of Smith")
    refused = run("delete", page, "--yes")
    assert refused.returncode != 0
    assert hold["id"] in refused.stderr
    assert [one["id"] for one in told("governance", "holds")["holds"]] == [hold["id"]]
    assert "the case of Smith" in run("governance", "holds").stdout
    assert "is released" in run("governance", "release", hold["id"]).stdout
    assert "no legal holds" in run("governance", "holds").stdout
    assert run("delete", page, "--yes").returncode == 0
    assert run("governance", "release", hold["id"]).returncode == 3


def test_the_provenance_of_a_memory_is_a_tree(run, told):
    page = told("add", "My name is Olga and I live in Lisbon.", "Hello Olga!")["id"]
    run("consolidate")
    field = told("profile", "get")
    found = told("governance", "provenance", page)
    assert (found["id"], found["trust"], found["derived_from"]) == (page, "stated", [])
    assert found["derived"], field
    shown = run("governance", "provenance", found["derived"][0]).stdout
    assert "trust: inferred, origin: inference" in shown
    assert f"page {page}" in shown
    assert "by memoryos, background, job read_recent" in shown
    assert run("governance", "provenance", "nothing").returncode == 3


def test_a_receipt_is_written_and_verified(run, told, tmp_path):
    told("add", "I keep bees.", "--user", "hana")
    done = told("forget", "--user", "hana", "--yes", "--receipt", "receipt.json")
    assert done["receipt"] == json.loads((tmp_path / "receipt.json").read_text())
    assert stat.S_IMODE((tmp_path / "receipt.json").stat().st_mode) == 0o600
    assert told("verify-receipt", "receipt.json") == {"valid": True, "receipt": done["receipt"]}
    assert "user hana" in run("verify-receipt", "receipt.json").stdout
    (tmp_path / "changed.json").write_text((tmp_path / "receipt.json").read_text().replace("hana", "bob"))
    changed = run("verify-receipt", "changed.json")
    assert changed.returncode != 0
    assert "was changed after it was signed" in changed.stderr
    assert "cannot be read" in run("verify-receipt", "nothing.json").stderr
    told("add", "I keep bees.", "--user", "hana")
    assert "exists already" in run("forget", "--user", "hana", "--yes", "--receipt", "receipt.json").stderr
    assert "cannot be written" in run("forget", "--user", "hana", "--yes", "--receipt", "nowhere/new.json").stderr
    assert "I keep bees." in run("pages", "list", "--user", "hana").stdout
    assert run("forget", "--user", "nobody", "--yes", "--receipt", "new.json").returncode == 3
    assert not (tmp_path / "new.json").exists()


def test_a_tenant_is_forgotten_after_consent_with_a_receipt(run, told, tmp_path):
    for user, tenant in (("ann", "acme"), ("ben", "acme"), ("ann", "globex")):
        told("add", "I keep bees.", "--user", user, "--tenant", tenant)
    for flags in ((), ("--json",)):
        asked = run("tenants", "forget", "acme", *flags)
        assert (asked.returncode, "--yes: is missing" in asked.stdout + asked.stderr) == (2, True)
    hold = told("governance", "hold", "--reason", "the case of Smith", "--user", "ben", "--tenant", "acme")
    assert run("tenants", "forget", "acme", "--yes", "--receipt", "receipt.json").returncode == 5
    assert not (tmp_path / "receipt.json").exists()
    told("governance", "release", hold["id"], "--user", "ben", "--tenant", "acme")
    assert len(told("users", "list", "--tenant", "acme")["users"]) == 2
    done = told("tenants", "forget", "acme", "--yes", "--receipt", "receipt.json")
    assert (done["memories"]["page"], done["is_complete"], done["receipt"]["subject"]["user"]) == (2, True, None)
    assert told("verify-receipt", "receipt.json") == {"valid": True, "receipt": done["receipt"]}
    assert "forgotten were tenant acme." in run("verify-receipt", "receipt.json").stdout
    assert told("users", "list", "--tenant", "acme")["users"] == []
    assert run("tenants", "forget", "acme", "--yes").returncode == 3
    last = run("tenants", "forget", "globex", "--yes").stdout
    assert last.startswith("Forgot everything of all users of tenant globex: 1 page")


def test_a_version_is_expected_compared_and_brought_back(run, told):
    page = told("add", "I live in Oslo.")["id"]
    assert told("update", page, "I live in Rome.", "--expected-version", "1")["version"] == 2
    stale = run("update", page, "I live in Paris.", "--expected-version", "1")
    assert stale.returncode == 5
    assert "has version 2, not 1, and nothing was changed: read it again" in stale.stderr
    assert "update it with --expected-version of what was read" in stale.stderr
    change = {
        "field": "turns[0].text",
        "before": "I live in Oslo.",
        "after": "I live in Rome.",
        "unified": ["@@ -1,4 +1,4 @@", " I", " live", " in", "-Oslo.", "+Rome."],
    }
    assert told("governance", "diff", page) == {"memory_id": page, "older": 1, "newer": 2, "changes": [change]}
    assert "-Oslo.\n+Rome.\n" in run("governance", "diff", page, "--older", "1", "--newer", "2").stdout
    assert "Both say the same." in run("governance", "diff", page, "--older", "2", "--newer", "2").stdout
    assert told("update", page, "It is warm.", "--append")["turns"][0]["text"] == "I live in Rome.\nIt is warm."
    assert told("governance", "rollback", page, "1", "--reason", "a typo")["text"] == "user: I live in Oslo."
    assert run("governance", "rollback", page, "2").stdout == "Version 5: user: I live in Rome.\n"
    assert run("governance", "rollback", page, "9").returncode == 3
    assert run("governance", "diff", page, "--newer", "9").returncode == 3
    for option in ("--older", "--newer"):
        assert f"{option}: " in run("governance", "diff", page, option, "0").stderr
    merged = told("update", page, "i live in Rome\nThe sun shines.", "--merge", "--tag", "weather")
    assert merged["turns"][0]["text"].endswith("I live in Rome.\nThe sun shines.")
    assert merged["tags"] == ["weather"]
    assert "--merge: is passed together with --append" in run("update", page, "x", "--merge", "--append").stderr
    assert "--expected-version: " in run("update", page, "x", "--expected-version", "0").stderr
    assert "--at: has no meaning without --merge. " in run("update", page, "x", "--at", "2026-05-01").stderr
    tagged = told("update", page, "--tag", "rome")
    assert (tagged["text"], tagged["tags"]) == (merged["text"], ["weather", "rome"])
    assert "TEXT: is missing, and so are tags" in run("update", page).stderr


def test_labels_and_the_end_of_a_stored_memory_are_changed(run, told):
    page = told("add", "The code is 4711.")["id"]
    new = (
        "--sensitivity",
        "home",
        "--sensitivity",
        "code",
        "--access",
        "shared",
        "--ttl",
        "12h",
        "--reason",
        "moved in",
    )
    known = told("governance", "relabel", page, *new)
    assert (known["access"], known["sensitivity"], known["version"]) == ("shared", ["home", "code"], 2)
    (change,) = told("governance", "provenance", page)["labels"]
    assert change["added"] == ["sensitivity:home", "sensitivity:code", "access:shared"]
    assert change["ends_after"] == known["expires_at"]
    assert "moved in" in run("governance", "provenance", page).stdout
    shown = run("governance", "relabel", page, "--access", "private", "--endless").stdout
    assert shown == "Version 3: private, home, code; has no end.\n"
    assert "ends at 2999-01-01" in run("governance", "relabel", page, "--expires-at", "2999-01-01").stdout
    assert "--ttl: " in run("governance", "relabel", page, "--ttl", "soon").stderr
    assert "--endless: " in run("governance", "relabel", page, "--ttl", "1h", "--endless").stderr
    assert "--sensitivity: is missing" in run("governance", "relabel", page).stderr
    stale = run("governance", "relabel", page, "--access", "shared", "--expected-version", "1")
    assert "has version 4, not 1" in stale.stderr


def test_a_merged_memory_is_not_changed_and_the_command_that_gives_it_back_is_named(run, told):
    first, again = (told("add", "The ferry leaves at nine.")["id"] for _ in range(2))
    told("duplicates", "merge", first, again)
    for change in (("update", again, "At ten."), ("governance", "rollback", again, "1")):
        refused = run(*change)
        assert refused.returncode == 5
        assert "`memoryos duplicates unmerge`" in refused.stderr


def test_a_memory_is_erased_with_a_receipt(run, told, tmp_path):
    page = told("add", "The code is 4711. 量子茶壶")["id"]
    refused = run("governance", "erase", page)
    assert refused.returncode != 0
    assert "--yes" in refused.stderr
    done = told("governance", "erase", page, "--yes", "--receipt", "receipt.json")
    assert (done["memories"]["page"], done["is_complete"]) == (1, True)
    assert told("verify-receipt", "receipt.json")["receipt"]["subject"]["memory"] == page
    assert run("governance", "erase", page, "--yes").returncode == 3
    other = told("add", "I keep bees.")["id"]
    assert f"Erased {other}: " in run("governance", "erase", other, "--yes").stdout
    assert (
        "exists already"
        in run("governance", "erase", told("add", "Tea.")["id"], "--yes", "--receipt", "receipt.json").stderr
    )


def test_rights_are_passed_on_listed_and_revoked(run, told):
    told("add", "I keep bees.")
    made = told("governance", "delegate", "ben", "--ttl", "12h", "--action", "read", "--action", "write")
    assert (made["by"], made["to"], sorted(made["actions"])) == ("default", "ben", ["read", "write"])
    assert [one["id"] for one in told("governance", "delegations")["delegations"]] == [made["id"]]
    assert "ben" in run("governance", "delegations").stdout
    assert f"Revoked {made['id']}" in run("governance", "revoke", made["id"]).stdout
    assert "No rights were passed on" in run("governance", "delegations").stdout
    assert run("governance", "revoke", made["id"]).returncode == 3
    assert "--action" in run("governance", "delegate", "ben", "--ttl", "1h", "--action", "fly").stderr
    assert "may read until" in run("governance", "delegate", "ben", "--ttl", "1h").stdout
