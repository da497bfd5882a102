"""`memoryos privacy` and the policy by environment variables, as a person and a program use them."""

from __future__ import annotations

import json

import pytest

import same_process

KEY = "a key of thirty-two characters or more"


@pytest.fixture
def run(tmp_path):
    def call(*arguments, **variables):
        return same_process.memoryos(*arguments, cwd=tmp_path, **variables)

    return call


def test_find_prints_kinds_and_places_and_the_words_only_on_demand(run, tmp_path):
    (tmp_path / "note.txt").write_text("Mail a.b@mailbox.org\nor [b] 10.0.3.7.\n", "utf-8")
    told = run("privacy", "find", "note.txt")
    assert (told.returncode, told.stderr) == (0, "")
    assert "email" in told.stdout and "mailbox" not in told.stdout
    assert "a.b@mailbox.org" in run("privacy", "find", "note.txt", "--show").stdout
    document = json.loads(run("privacy", "find", "note.txt", "--json").stdout)
    assert document == {
        "found": [
            {"kind": "email", "start": 5, "end": 20, "line": 1},
            {"kind": "ip", "start": 28, "end": 36, "line": 2},
        ]
    }


def test_find_without_a_finding_or_a_file(run, tmp_path):
    (tmp_path / "note.txt").write_text("Nothing.", "utf-8")
    assert run("privacy", "find", "note.txt").stdout == "Nothing was found.\n"
    missing = run("privacy", "find", "gone.txt", "--json")
    assert missing.returncode == 2
    assert json.loads(missing.stdout)["error"]["message"].startswith("FILE: gone.txt: No such file")


def test_a_policy_by_environment_masks_refuses_and_reveals(run, tmp_path):
    text = "Mail a.b@mailbox.org."
    assert run("add", text, "--db", "a.db", MEMORYOS_PRIVACY_ON_WRITE="mask").returncode == 0
    assert "Mail [email]." in run("pages", "list", "--db", "a.db").stdout
    refused = run("add", text, "--db", "a.db", "--json", MEMORYOS_PRIVACY_ON_WRITE="refuse")
    assert refused.returncode == 2
    error = json.loads(refused.stdout)["error"]
    assert error["type"] == "PrivacyRefused"
    assert error["message"].startswith("QUERY: holds email")
    assert "mailbox" not in refused.stdout + refused.stderr


def test_a_pseudonym_is_turned_back_by_whoever_has_the_key(run, tmp_path):
    hidden = {"MEMORYOS_PRIVACY_ON_WRITE": "pseudonym", "MEMORYOS_PRIVACY_KEY": KEY}
    stored = json.loads(run("add", "Mail a.b@mailbox.org.", "--db", "a.db", "--json", **hidden).stdout)
    page = json.loads(run("get", stored["id"], "--db", "a.db", "--json").stdout)
    (tmp_path / "page.txt").write_text(page["turns"][0]["text"], "utf-8")
    assert "mailbox" not in page["turns"][0]["text"]
    told = run("governance", "reveal", "page.txt", "--db", "a.db", MEMORYOS_PRIVACY_KEY=KEY)
    assert told.stdout == "Mail a.b@mailbox.org.\n"
    keyless = run("governance", "reveal", "page.txt", "--db", "a.db")
    assert keyless.returncode == 2
    assert "MEMORYOS_PRIVACY_KEY: is not set" in keyless.stderr
    assert (
        run("governance", "reveal", "page.txt", "--db", "a.db", "--user", "bob", MEMORYOS_PRIVACY_KEY=KEY).returncode
        == 2
    )
