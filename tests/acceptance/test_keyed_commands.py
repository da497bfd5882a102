"""MEMORYOS_KEY: every command does what the key permits, and nothing else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import memoryos
import same_process
from acceptance.test_cli import LOCOMO
from acceptance.test_every_command import EVERY, GROUPS
from memoryos import MemoryOS, load_settings
from memoryos.stores import backup

pytestmark = pytest.mark.file

SECRETS = ("zorbitis", "quixana", "hidden-user", "the case of smith", "fine words")
POLICIES = "permit (principal, action, resource);"

# By command, the rest of its arguments; FILE is a new file, and the other words in capitals are of the store.
COMMANDS: dict[str, str] = {
    "add": "hello",
    "search": "zorbitis",
    "mounts list": "",
    "tagged": "illness",
    "context": "zorbitis",
    "digest": "",
    "respond": "zorbitis",
    "show": "",
    "stats": "",
    **{f"{noun} {verb}": "" for noun in ("pages", "segments", "facts") for verb in ("list", "count")},
    "get": "PAGE",
    "history": "PAGE",
    "update": "PAGE new",
    "delete": "PAGE",
    "worker": "--once",
    "log usage": "",
    "log events": "",
    "upkeep repair": "",
    "upkeep undo": "1",
    "upkeep rebuild": "",
    "cold": "",
    "reembed": "--embedder static",
    "backup": "FILE",
    "restore": "BACKUP FILE",
    "copy": "DB FILE",
    "verify": "",
    "scrub": "",
    "documents add": "POLICIES",
    "consolidate": "",
    "pages attachments": "PAGE",
    "pages attachment": "PAGE picture FILE",
    **{f"requests {verb}": "remember-zorbitis" for verb in ("read", "preview", "do")},
    "pipelines run": "tidy-old --param until=2026-01-01",
    "pipelines list": "",
    "pipelines show": "tidy-old",
    "pipelines check": "tidy-old",
    "duplicates merged": "PAGE",
    "proposals publish": "new --source hr",
    "facts add": "new",
    "profile get": "",
    "profile set": "name Bob",
    "jobs list": "",
    "jobs retry": "1",
    "jobs run": "",
    "proposals list": "",
    "proposals accept": "PAGE",
    "proposals reject": "PAGE",
    "governance freeze": "PAGE",
    "governance thaw": "PAGE",
    "governance expire": "PAGE",
    "governance relabel": "PAGE --access private --sensitivity diagnosis",
    "governance transitions": "PAGE",
    "governance diff": "PAGE",
    "governance rollback": "PAGE 1",
    "governance provenance": "PAGE",
    "governance retain": "rule --ttl 1d",
    "governance retention": "",
    "governance unretain": "rule",
    "governance hold": "--reason why",
    "governance holds": "",
    "governance release": "HOLD",
    "governance erase": "PAGE --yes",
    "governance delegate": "friend --ttl 1h",
    "governance delegations": "",
    "governance revoke": "DELEGATION",
    "snapshots create": "before",
    "snapshots list": "",
    "snapshots remove": "before",
    **dict.fromkeys(("transform", "forms transform"), "me"),
    "forms outcome": "me",
    "forms cool": "",
    "forms list": "",
    "activations build": "me",
    "activations list": "",
    "activations get": "me",
    "activations delete": "me",
    "activations answer": "me tea?",
    "branches create": "trial",
    "branches list": "",
    "branches diff": "trial",
    "branches discard": "trial",
    **{f"adapters {verb}": "home" for verb in "train get load unload withdraw delete retire ask recollect".split()},
    "adapters list": "",
    "adapters rollback": "home 1",
    "adapters export": "home FILE",
    "adapters add": "FOLDER",
    "duplicates list": "",
    "duplicates merge": "PAGE PAGE",
    "duplicates unmerge": "PAGE",
    **dict.fromkeys(("schedule explain", "schedule decide"), "Where?"),
    **dict.fromkeys(("schedule log", "schedule moves"), ""),
    "archiving add": "rule --unused 30d",
    "archiving list": "",
    "archiving remove": "rule",
    "retention add": "rule --ttl 1d --yes",
    "retention list": "",
    "retention remove": "rule",
    "audit list": "",
    "audit export": "FILE",
    "audit access": "--user ann",
    "audit permissions": "",
    "audit verify": "",
    "encryption encrypt": "",
    "encryption decrypt": "",
    "encryption reencrypt": "",
    "encryption rotate": "--new-key-file NEW_KEY",
    **dict.fromkeys(("governance explain", "policy explain"), "PAGE --caller ann --policies POLICIES"),
    "keys create": "eve",
    "keys list": "",
    "keys rotate": "KEY",
    "keys revoke": "KEY",
    "agents list": "",
    "users list": "",
    "users count": "",
    "users show": "ann",
    "users forget": "ann --yes",
    "tenants forget": "default --yes",
    "roles grant": "eve doctor",
    "roles list": "",
    "roles revoke": "GRANT",
    "governance reveal": "FILE",
    "export": "FILE",
    "forget": "--yes",
    "verify-receipt": "RECEIPT",
    "verify-mark": "EXPORT",
    "import locomo": "LOCOMO",
    "import gvd": "GVD",
    "import memoryos": "FOLDER",
    "import export": "EXPORT",
}
WITHOUT_STORE = {  # and benches; the status of encryption is read of the head of the file, and tells no more
    "serve",  # asks each of its callers for a key of their own
    "mcp",  # checks the key at each call of a tool
    "chat",  # checks the key at each line
    "doctor",  # tells who has the file what state it is in, and nothing of what is stored
    *("demo", "policy check", "policy schema", "privacy find", "encryption new-key", "encryption status"),
}
NO_USER = (
    "mounts",
    "worker",
    "cold",
    "reembed",
    "verify",
    "verify-receipt",
    "verify-mark",
    "backup",
    "restore",
    "copy",
    "scrub",
)

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keyed")


@pytest.fixture(scope="module")
def known(folder: Path) -> dict[str, str]:
    """The words of the store: a memory of ann with something of each kind, and keys."""
    path = folder / "memoryos.db"
    with MemoryOS.open(path, settings=load_settings(embedder="hashing")) as store:
        ann = store.memory("ann")
        page = ann.add("My name is Quixana, and I have zorbitis.", "Fine words.", tags=["illness"])
        gone = store.memory("carl").add("Bye.")
        hold = ann.governance.hold(reason="the case of Smith", memory=page)
        ann.consolidate()
        store.memory("hidden-user").add("zorbitis, too.")
        assert gone
        delegation = ann.governance.delegate("friend", ttl=10**6)
        receipt = store.admin.forget("carl").receipt
        store.admin.export(folder / "export.jsonl", user="hidden-user")
        none = store.keys.create("nobody", tenant="other", actions=["share"])
        keys = {
            "NONE": none.key,
            "GRANT": store.roles.grant("lee", ["doctor"]).id,
            "KEY": store.keys.create("victim").info.id,
            "READ": store.keys.create("reader", actions=["read"], users=["ann"]).key,
            "ALL": store.keys.create("boss", actions=["read", "write", "share", "delete", "administer"]).key,
        }
    assert receipt is not None
    (folder / "receipt.json").write_text(receipt.to_json())
    (folder / "new.key").write_text("k" * 40)
    (folder / "all.cedar").write_text(POLICIES)
    (folder / "locomo.json").write_text(json.dumps(LOCOMO))
    days = {"2023-04-27": [{"query": "I like tea.", "response": "Noted."}]}
    (folder / "gvd.json").write_text(json.dumps({"Linda": {"name": "Linda", "history": days}}))
    (folder / "legacy" / "users" / "ann").mkdir(parents=True)
    said = {"user_input": "Tea?", "agent_response": "Tea!", "timestamp": "2024-05-01 09:00:00"}
    (folder / "legacy" / "users" / "ann" / "short_term.json").write_text(json.dumps([said]))
    backup(path, folder / "backup.db")
    places = {"DB": "memoryos.db", "BACKUP": "backup.db", "RECEIPT": "receipt.json", "EXPORT": "export.jsonl"}
    places |= {
        "POLICIES": "all.cedar",
        "LOCOMO": "locomo.json",
        "GVD": "gvd.json",
        "FOLDER": "legacy",
        "NEW_KEY": "new.key",
    }
    return {**keys, **places, "PAGE": page, "HOLD": hold.id, "DELEGATION": delegation.id}


@pytest.fixture
def run(folder: Path, known: dict[str, str], tmp_path: Path) -> Run:
    def call(name: str, *more: str, key: str, json_too: bool = False) -> CompletedProcess[str]:
        (tmp_path / "text").write_text("hello")
        (tmp_path / "new").unlink(missing_ok=True)
        new = str(tmp_path / ("text" if name == "governance reveal" else "new"))
        words = [new if one == "FILE" else known.get(one, one) for one in COMMANDS[name].split()]
        of_store = ("keys", "users", "tenants", "roles", "retention", "audit", "import", "encryption")
        takes_user = name.split()[0] not in (*NO_USER, *of_store)
        user = ["--user", "ann"] if takes_user and "--user" not in more else []
        flags = ["--json"] if json_too else []
        variables = {"MEMORYOS_KEY": known.get(key, key), "MEMORYOS_EMBEDDER": "hashing"}
        variables |= {"MEMORYOS_LLM_MODEL": "none", "MEMORYOS_LLM_BASE_URL": "http://127.0.0.1:9"}
        return same_process.memoryos(*name.split(), *words, *user, *more, *flags, cwd=folder, **variables)

    return call


def content(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "memoryos.db")) as connection:
        return list(connection.iterdump())


def test_each_command_is_known_here():
    found = {" ".join(path) for path, _ in EVERY if path not in GROUPS}
    assert {one for one in found if not one.startswith("bench")} == COMMANDS.keys() | WITHOUT_STORE


@pytest.mark.parametrize("name", COMMANDS)
def test_a_key_that_permits_nothing_reveals_and_changes_nothing(run, folder, tmp_path, name):
    before = content(folder)
    done = run(name, key="NONE", json_too=name != "export")
    said = (done.stdout + done.stderr).lower()
    assert done.returncode != 0, said
    assert "PermissionDenied" in done.stdout or "may not" in done.stderr, said
    assert not [secret for secret in SECRETS if secret in said]
    assert content(folder) == before
    assert not (tmp_path / "new").exists() or not (tmp_path / "new").stat().st_size


@pytest.mark.parametrize(
    "name", ["search", "stats", "backup", "verify", "reembed", "import locomo", "governance explain"]
)
def test_a_key_that_is_none_opens_nothing(run, folder, name):
    before = content(folder)
    done = run(name, key="mos_0123456789abcdef_" + "x" * 43)
    assert done.returncode == 5
    assert "the key is not valid" in done.stderr
    assert content(folder) == before


READS = ["search", "show", "stats", "pages list", "pages count", "get", "history", "profile get", "export"]
REFUSED = [
    "add",
    "forget",
    "tenants forget",
    "upkeep rebuild",
    "keys list",
    "audit list",
    "backup",
    "verify",
    "facts add",
    "governance explain",
]


@pytest.mark.parametrize("name", READS)
def test_a_key_that_reads_one_user_reads_that_user(run, tmp_path, name):
    more = ["--agent", "default"] if name == "export" else []
    done = run(name, *more, key="READ", json_too=True)
    assert done.returncode == 0, done.stderr + done.stdout
    said = done.stdout + ((tmp_path / "new").read_text("utf-8") if name == "export" else "")
    assert "hidden-user" not in said
    if name not in ("pages count", "stats"):
        assert "zorbitis" in said or "Quixana" in said
    done = run(name, *more, "--user", "hidden-user", key="READ", json_too=True)
    assert done.returncode == 5, done.stdout
    assert "zorbitis" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_a_key_that_reads_does_nothing_else(run, folder, name):
    before = content(folder)
    assert run(name, key="READ").returncode == 5
    assert content(folder) == before


@pytest.mark.parametrize("name", ["keys list", "audit list", "verify", "backup", "governance explain", "worker"])
def test_a_key_that_administers_does_what_is_about_the_store(run, name):
    done = run(name, key="ALL", json_too=True)
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_store_that_is_opened_with_a_key_is_used_by_its_caller(folder: Path, known: dict[str, str]) -> None:
    settings: Any = load_settings(embedder="hashing")
    with MemoryOS.open(folder / "memoryos.db", settings=settings, key=known["READ"]) as store:
        assert store.memory("ann").caller.identity == "reader"
        assert store.memory("ann", caller=memoryos.Caller("ann")).caller.identity == "ann"
        assert store.memory("ann").pages.count() == 1
        for refused in (store.admin.users, store.memory("hidden-user").pages.count, store.memory("ann").forget):
            with pytest.raises(memoryos.errors.PermissionDenied):
                refused()
    with pytest.raises(memoryos.errors.PermissionDenied, match="the key is not valid"):
        MemoryOS.open(folder / "memoryos.db", settings=settings, key="mos_nothing")
