"""`memoryos requests`: what a person asks of the memory, on the command line and over HTTP."""

from __future__ import annotations

import json

import pytest

import memoryos
import same_process
from memoryos import MemoryOS, load_settings
from served import serving

pytestmark = pytest.mark.once

ASKED = "Forget what I told you about my old job."


@pytest.fixture
def folder(tmp_path):
    with memoryos.open(tmp_path / "memoryos.db", user="ann", settings=load_settings(embedder="hashing")) as memory:
        memory.add("My old job was at a bank.\x1b[2J")
        memory.add("I keep bees.")
    return tmp_path


def test_a_request_is_shown_first_and_done_with_its_token(folder):
    def run(*arguments, verb="do"):
        words = ("requests", verb, *arguments, "--user", "ann")
        return same_process.memoryos(*words, cwd=folder, MEMORYOS_EMBEDDER="hashing")

    shown = run(ASKED)
    assert shown.returncode == 6  # a script must not take it for done
    assert shown.stdout.startswith("1 page, 1 fact would go for good.\n")
    assert "My old job was at a bank.\\x1b[2J" in shown.stdout
    token = shown.stdout.rpartition("--confirm ")[2].strip()
    wrong = run(ASKED, "--confirm", "9-x")
    assert (wrong.returncode, "has changed since its preview" in wrong.stderr) == (5, True)
    as_json = run(ASKED, "--json")
    told = json.loads(as_json.stdout)
    assert as_json.returncode == 6
    assert (told["is_done"], told["preview"]["confirm"]) == (False, token)
    assert "operation: forget" in run(ASKED, verb="read").stdout
    assert json.loads(run(ASKED, "--json", verb="preview").stdout)["confirm"] == token
    previewed = run(ASKED, verb="preview").stdout
    assert previewed.startswith("1 page, 1 fact would go for good.\n")
    assert f"`memoryos requests do` with --confirm {token}" in previewed
    assert "--confirm" not in run("What do I keep?", verb="preview").stdout
    done = run(ASKED, "--confirm", token)
    assert (done.returncode, done.stdout) == (0, "Removed for good: 1 page, 1 fact.\n")
    assert run("forget my bees", "--yes").stdout.startswith("Removed for good: 1 page")
    assert run("Remember that I keep wasps.").stdout.startswith("Stored as ")
    assert "wasps" in run("What do I keep?").stdout
    assert "Nothing was asked" in run("I forgot my keys.").stdout
    assert run("What do you know about me?").returncode == 0


def test_requests_over_http(tmp_path):
    settings = load_settings(embedder="hashing")
    with MemoryOS.open(tmp_path / "memory.db", settings=settings) as store, serving(store) as api:
        store.memory("ann").add("My old job was at a bank.")
        store.wait()  # a fact that is extracted later changes what would go, and the token with it
        call = api("POST", "/requests/read", {"text": ASKED})
        assert (call["operation"], call["query"], call["intent"]) == ("forget", "my old job", "delete")
        preview = api("POST", "/requests/preview", {"text": ASKED})
        first = api("POST", "/requests", {"text": ASKED})
        assert (first["is_done"], first["preview"]["confirm"]) == (False, preview["confirm"])
        conflict = api.ask("POST", "/requests", {"text": ASKED, "confirm": "1-x"})
        assert (conflict.status_code, conflict.json()["title"]) == (409, "RequestChanged")
        assert api("POST", "/requests", {"text": ASKED, "confirm": preview["confirm"]})["is_done"] is True
        assert api.ask("POST", "/requests", {"text": ASKED}).status_code == 404
        assert api.ask("POST", "/requests", {"text": ""}).status_code == 422
        assert api.ask("POST", "/requests", {"text": {"operation": "forget"}}).status_code == 422
        assert "I keep bees." in api("POST", "/requests", {"text": "Remember that I keep bees."})["call"]["content"]
