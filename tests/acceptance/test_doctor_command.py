"""`memoryos doctor`: it finds what is missing or broken, tells how to fix it, and changes nothing."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

import memoryos
import same_process
from memoryos import MemoryOS, diagnosis, load_settings
from memoryos.diagnosis import EXTRAS, Health, diagnose

pytestmark = pytest.mark.once

SECRET = "sk-0123456789-of-the-test"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def db(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=load_settings(embedder="hashing")) as memory:
        memory.add("I keep bees in Porto.")
    return tmp_path / "memory.db"


def found(db, *, online=False, **values):
    """The findings by their check."""
    settings = load_settings(**{"embedder": "hashing", **values})
    seen = diagnose(db, settings=settings, online=online)
    assert SECRET not in seen.to_json()
    assert "Porto" not in seen.to_json()
    return {one.check: one for one in seen.findings}


def told(finding):
    return f"{finding.health.value}: {finding.text} {finding.fix}"


def test_a_healthy_store_is_looked_at_and_left_as_it_is(db):
    before = {path.name: path.read_bytes() for path in db.parent.iterdir()}
    seen = found(db)
    assert {one.health for one in seen.values()} <= {Health.OK, Health.OFF}
    assert "schema 0021 of 0021, embedder hashing" in seen["store"].text
    assert {path.name: path.read_bytes() for path in db.parent.iterdir()} == before


def test_no_store_is_made(tmp_path):
    assert found(tmp_path / "new.db")["store"].health is Health.OFF
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(tmp_path):
    assert told(found(tmp_path / "no" / "new.db")["store"]).startswith("broken: the folder ")


def test_the_folder_of_pipelines_is_checked(tmp_path):
    db, folder = tmp_path / "new.db", tmp_path / "own"
    assert found(db)["pipelines"].health is Health.OFF
    assert "does not exist" in told(found(db, pipelines=folder)["pipelines"])
    folder.mkdir()
    (folder / "mine.json").write_text('{"name": "mine", "steps": [{"list": {}}]}')
    assert told(found(db, pipelines=folder)["pipelines"]) == "ok: 1 files, nothing wrong "
    (folder / "bad.json").write_text("{}")
    assert told(found(db, pipelines=folder)["pipelines"]).startswith("broken: bad.json: name: is missing")


def test_the_extras_are_those_of_the_package(monkeypatch, db):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert EXTRAS.keys() == extras.keys() - {"all"}
    monkeypatch.setattr(diagnosis, "find_spec", lambda name: None)
    seen = found(db, llm_model="m", llm_api_key=SECRET, policies="nowhere.cedar")
    assert told(seen["extra llm"]).startswith(
        "broken: missing, and the chat model or embedder needs it pip install 'mem"
    )
    assert (seen["extra governance"].health, seen["extra mcp"].health) == (Health.BROKEN, Health.OFF)


def test_what_is_wrong_with_the_store_is_found(db, tmp_path):
    assert told(found(db, embedder="static")["vectors"]).startswith("broken: made by hashing")
    db.chmod(0o644)
    assert told(found(db)["permissions"]) == f"warning: others may read {db} (644) chmod 600 {db}"
    with MemoryOS.open(db, settings=load_settings(embedder="hashing")) as store:
        store.memory("ann").add("I keep hens.")
        store.memory("ann").wait()  # its own background writes, too
        with closing(sqlite3.connect(db)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            assert found(db)["lock"].health is Health.WARNING
            writer.rollback()
        assert found(db)["lock"].health is Health.OK
    with closing(sqlite3.connect(db)) as writer:
        writer.execute("UPDATE jobs SET state = 'dead'")
        writer.commit()
    assert told(found(db)["jobs"]).startswith("warning: ")
    (tmp_path / "other.db").write_bytes(b"no database" * 1_000)
    assert found(tmp_path / "other.db")["store"].health is Health.BROKEN
    (tmp_path / "empty.db").touch()
    assert "is empty" in found(tmp_path / "empty.db")["store"].text
    assert found(tmp_path)["store"].health is Health.BROKEN


def test_keys_and_policies_are_checked(db, tmp_path):
    key = tmp_path / "key"
    key.write_text(SECRET * 2, "utf-8")
    encrypted = tmp_path / "encrypted.db"
    settings = load_settings(embedder="hashing", encryption_key_file=key)
    with memoryos.open(encrypted, user="ann", settings=settings) as memory:
        memory.add("I keep bees.")
    assert told(found(encrypted)["encryption"]).startswith("broken: the store is encrypted, and no key is set Set ")
    seen = found(encrypted, encryption_key_file=key)
    assert (seen["encryption"].health, seen["store"].health) == (Health.OK, Health.OK)
    assert found(db, encryption_key=SECRET * 2)["store"].health is Health.BROKEN
    policies = tmp_path / "policies.cedar"
    policies.write_text("permit(principal, action, resource);", "utf-8")
    assert told(found(db, policies=policies)["policies"]).startswith("ok: 1 policies")
    policies.write_text("permit(principal", "utf-8")
    assert found(db, policies=policies)["policies"].health is Health.BROKEN


class Listing(BaseHTTPRequestHandler):
    """A server that answers a request for its models with a status, and keeps what it was sent."""

    status = 200
    paths: ClassVar[list[str]] = []

    def do_GET(self):
        self.paths.append(self.path)
        self.send_response(self.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        """Keep the test output clean."""


def test_endpoints_are_asked_only_when_that_is_wanted_and_get_no_content(db):
    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        Thread(target=server.serve_forever).start()
        known = {"llm_model": "m", "llm_api_key": SECRET, "llm_base_url": f"http://127.0.0.1:{server.server_port}/v1"}
        assert told(found(db, **known)["model"]) == "ok: m: not asked; --online does "
        assert Listing.paths == []
        answers = {200: Health.OK, 404: Health.OK, 401: Health.BROKEN, 500: Health.BROKEN}  # 404: it has no list
        for Listing.status, health in answers.items():
            assert found(db, online=True, **known)["model"].health is health
        assert Listing.paths == ["/v1/models"] * 4
        server.shutdown()
    assert "refused" in found(db, online=True, **known)["model"].text
    assert found(db, llm_model="m")["model"].text == "no key and no URL of the chat model"
    assert found(db, request_reader="model")["model"].health is Health.BROKEN


def test_a_server_that_does_not_answer_is_told_with_what_to_do(db):
    away = "http://127.0.0.1:9/v1"
    known = {"embedder": "openai:e", "llm_model": "m", "llm_api_key": SECRET, "llm_base_url": away, "upstream": away}
    seen = found(db, online=True, **known)
    variables = {"embedder": "EMBEDDER_BASE_URL", "model": "LLM_BASE_URL", "upstream": "UPSTREAM"}
    for check, variable in variables.items():
        assert seen[check].health is Health.BROKEN
        assert "refused" in seen[check].text
        assert f"MEMORYOS_{variable}" in seen[check].fix
    seen |= {"store": found("postgresql://127.0.0.1:9/none")["store"]}
    assert (seen["store"].health, "--db" in seen["store"].fix) == (Health.BROKEN, True)
    assert not [one for one in seen.values() if "nothing was" in one.text]
    assert told(found(db, upstream=away)["upstream"]) == "ok: not asked; --online does "


def test_the_server_behind_the_proxy_is_asked(db):
    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        Thread(target=server.serve_forever).start()
        known = {"upstream": f"http://127.0.0.1:{server.server_port}/v1"}
        keyed = {**known, "upstream_api_key": SECRET}
        for Listing.status, without, with_key in (
            (200, Health.OK, Health.OK),
            (401, Health.OK, Health.BROKEN),  # without a key of its own, it passes on those of its callers
            (500, Health.BROKEN, Health.BROKEN),
        ):
            assert found(db, online=True, **known)["upstream"].health is without
            assert found(db, online=True, **keyed)["upstream"].health is with_key
        server.shutdown()


def test_the_command_tells_and_exits_with_one_if_something_is_broken(db):
    def run(*arguments, **variables):
        return same_process.memoryos("doctor", "--db", str(db), *arguments, cwd=db.parent, **variables)

    healthy = run("--json", MEMORYOS_EMBEDDER="hashing", MEMORYOS_LLM_API_KEY=SECRET)
    told = json.loads(healthy.stdout)
    assert (healthy.returncode, told["is_healthy"]) == (0, True)
    assert "llm_api_key (hidden)" in {one["check"]: one["text"] for one in told["findings"]}["settings"]
    assert SECRET not in healthy.stdout
    broken = run(MEMORYOS_EMBEDDER="static")
    assert (broken.returncode, "broken" in broken.stdout) == (1, True)
    unreadable = run(MEMORYOS_EMBEDDER="hashing", MEMORYOS_SHORT_TERM_CAPACITY="many")
    assert (unreadable.returncode, "short_term_capacity" in unreadable.stdout) == (1, True)


def test_a_misspelt_variable_is_named_with_the_right_name_and_without_its_value(db):
    def run(*arguments):
        misspelt = {"MEMORYOS_LLM_MODLE": SECRET, "MEMORYOS_XYZ": SECRET, "MEMORYOS_PORT_80_TCP": "of Kubernetes"}
        known = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_LLM": "local:nowhere", "MEMORYOS_SESSION": "s"}
        return same_process.memoryos(*arguments, "--db", str(db), cwd=db.parent, **misspelt, **known)

    ran = run("doctor", "--json")
    findings = [one for one in json.loads(ran.stdout)["findings"] if one["check"] == "environment"]
    assert [(one["health"], one["text"], one["fix"]) for one in findings] == [
        ("warning", "no setting is read from MEMORYOS_LLM_MODLE", "Did you mean MEMORYOS_LLM_MODEL?"),
        ("warning", "no setting is read from MEMORYOS_XYZ", "Unset it, or correct its name"),
    ]
    assert SECRET not in ran.stdout + ran.stderr


def test_misspelt_variables_are_logged_once(db, monkeypatch, caplog):
    monkeypatch.setenv("MEMORYOS_RECAL_PAGES", SECRET)
    monkeypatch.setenv("MEMORYOS_KEEY", SECRET)
    for _ in range(2):
        load_settings()
    told = "MEMORYOS_KEEY (did you mean MEMORYOS_KEY?), MEMORYOS_RECAL_PAGES (did you mean MEMORYOS_RECALL_PAGES?)"
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("WARNING", f"No setting is read from these environment variables: {told}")
    ]
