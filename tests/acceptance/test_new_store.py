"""The first command on a store that does not exist: one that writes makes it, one that reads says what to do."""

from __future__ import annotations

import json

import pytest

from generation.scripted_model import says, scripted_model
from same_process import memoryos

pytestmark = pytest.mark.file

WRITES = {
    "add": ["I live in Oslo.", "Nice."],
    "requests do": ["Remember that I live in Oslo.", "--yes"],
    "governance retain": ["old", "--ttl", "30d"],
    "governance hold": ["--reason", "case of Smith"],
    "governance delegate": ["bob", "--ttl", "1d"],
    "archiving add": ["old", "--unused", "30d"],
    "retention add": ["old", "--ttl", "30d", "--yes"],
    "roles grant": ["bob", "reader"],
    "snapshots create": ["monday"],
    "branches create": ["trial"],
    "pipelines run": ["add.json"],
}
READS = {
    "search": ["Oslo"],
    "pages list": [],
    "stats": [],
    "requests preview": ["Forget my job."],
    "requests read": ["Forget my job."],
    "governance holds": [],
    "pipelines run": ["add.json", "--dry-run"],
    "update": ["1", "I live in Rome."],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "add.json").write_text(json.dumps({"name": "add", "steps": [{"add": {"query": "I live in Oslo."}}]}))
    return tmp_path


@pytest.mark.parametrize("command", WRITES)
def test_what_writes_makes_the_store(folder, command):
    made = memoryos(*command.split(), *WRITES[command], "--json", cwd=folder)
    assert (made.returncode, made.stderr) == (0, "")
    assert (folder / "memoryos.db").exists()


def test_so_does_an_answer(folder):
    with scripted_model() as model:
        model.will(says("Hello."))
        chosen = {
            "MEMORYOS_LLM_MODEL": "m",
            "MEMORYOS_LLM_API_KEY": "sk-of-the-test",
            "MEMORYOS_LLM_BASE_URL": model.url,
        }
        told = memoryos("respond", "Who are you?", "--json", cwd=folder, **chosen)
    assert json.loads(told.stdout)["answer"] == "Hello."
    pages = json.loads(memoryos("pages", "list", "--json", cwd=folder).stdout)
    assert "Who are you?" in str(pages)


@pytest.mark.parametrize("command", READS)
def test_what_reads_says_what_to_do_and_makes_nothing(folder, command):
    refused = memoryos(*command.split(), *READS[command], "--json", cwd=folder)
    message = json.loads(refused.stdout)["error"]["message"]
    assert message.startswith("--db: memoryos.db does not exist. Add or import something first (`memoryos add TEXT`)")
    assert refused.returncode != 0
    assert not (folder / "memoryos.db").exists()
