"""A branch on every door: what is asked for in it is of it, and the memory itself stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import memoryos
import same_process
from mcp_session import over_http
from memoryos import MemoryOS, Scope, load_settings
from memoryos.errors import NotFound
from memoryos.interface.cli.app import _OF_A_BRANCH
from memoryos.interface.mcp.http_door import PATH, mcp_app
from memoryos.models.hashing import Hashing
from served import serving

pytestmark = [pytest.mark.once, pytest.mark.file]

SETTINGS = load_settings(embedder="hashing", jobs="worker")
NAME = "如果 / what?"  # any text may be the name of a branch


@dataclass(frozen=True)
class Jo:
    """Jo's memory, a branch of it, and the copy of its page there."""

    store: MemoryOS
    folder: Path
    page: str
    copy: str

    def run(self, *arguments: str, branch: str | None = NAME) -> tuple[int, Any]:
        """The exit code and the document of a command, in the branch."""
        before = [] if branch is None else ["--branch", branch]
        done = same_process.memoryos(
            *before, *arguments, "--user", "jo", "--json", cwd=self.folder, MEMORYOS_EMBEDDER="hashing"
        )
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def jo(tmp_path: Path) -> Iterator[Jo]:
    with MemoryOS.open(tmp_path / "memoryos.db", settings=SETTINGS, embedder=Hashing()) as store:
        memory = store.memory("jo")
        page = memory.add("The ferry leaves at nine.", tags=["trip"])
        memory.facts.add("Jo lives in Rome")
        made = memory.branches.create(NAME)
        yield Jo(store, tmp_path, page, made.id_of(page))


def everything(store: MemoryOS) -> list[str]:
    memory = store.memory("jo")
    found = [*memory.pages.list(), *memory.facts.list(), *memory.proposals.list()]
    return sorted(f"{one.id} {one.text} {one.version.number}" for one in found)


def test_commands_work_on_a_branch_and_never_on_the_memory(jo: Jo) -> None:
    before = everything(jo.store)
    changes = {
        "add": ["The bus leaves at ten."],
        "update": [jo.copy, "The ferry sank."],
        "facts": ["add", "Jo lives in Oslo"],
        "profile": ["set", "motto", "slowly"],
        "proposals": ["publish", "The harbour is closed", "--source", "port"],
        "documents": ["add", str(jo.folder / "notes.txt")],
    }
    (jo.folder / "notes.txt").write_text("The harbour opens at six.")
    reads = [
        *((name,) for name in ("show", "stats", "digest")),
        *((name, "ferry") for name in ("search", "context")),
        *((name, jo.copy) for name in ("get", "history")),
        *((noun, verb) for noun in ("pages", "facts") for verb in ("list", "count")),
        *(("duplicates", "list"), ("log", "events"), ("pages", "attachments", jo.copy)),
    ]
    for name, rest in [*changes.items(), ("add", changes["add"])]:
        code, told = jo.run(name, *rest)
        assert code == 0, (name, told)
    for words in reads:
        code, told = jo.run(*words)
        assert code == 0, (words, told)
        assert told != jo.run(*words, branch=None)[1], words
    for name in ("search", "context"):
        assert "sank" in json.dumps(jo.run(name, "ferry")[1])
    assert [jo.run("get", one)[0] for one in (jo.copy, jo.page)] == [0, 3]  # each has ids of its own
    assert jo.run("delete", jo.copy, "--yes")[0] == 0
    assert everything(jo.store) == before
    others = {"respond", "chat", "mcp", "delete", "segments"}  # which need a model, a client, or more pages
    assert {*changes, *(name for name, *_ in reads), *others} == _OF_A_BRANCH


def test_what_has_no_branch_is_refused(jo: Jo) -> None:
    before = everything(jo.store)
    for name, *rest in (("forget", "--yes"), ("governance", "erase", jo.page, "--yes"), ("export", "x.jsonl")):
        code, told = jo.run(name, *rest)
        assert (code, told["error"]["message"].partition(" Leave")[0]) == (2, f"--branch: has no meaning for `{name}`.")
    assert jo.run("users", "list")[0] == 2
    assert jo.run("mcp", "--http")[0] == 2
    code, told = jo.run("search", "ferry", branch="none")
    assert (code, told["error"]["type"]) == (3, "NotFound")
    assert everything(jo.store) == before


def test_a_program_opens_a_branch(jo: Jo) -> None:
    opened = partial(memoryos.open, jo.folder / "memoryos.db", user="jo", settings=SETTINGS, embedder=Hashing())
    with opened(branch=NAME) as branch:
        branch.add("Only here.")
        assert branch.pages.count() == 2
    assert jo.store.memory("jo").pages.count() == 1
    with pytest.raises(NotFound, match="no branch 'none'"):
        opened(branch="none")


def test_requests_name_a_branch(jo: Jo) -> None:
    before = everything(jo.store)
    with serving(jo.store) as served:
        ask = partial(served.ask, user="jo", branch=NAME)
        assert ask("PATCH", f"/memories/{jo.copy}", {"text": "The ferry sank."}).status_code == 200
        assert ask("POST", "/facts", {"text": "Jo lives in Oslo"}).status_code == 201
        assert "sank" in ask("POST", "/search", {"query": "ferry"}).text
        assert "sank" in ask("GET", "/export").text
        assert ask("GET", f"/memories/{jo.page}").status_code == 404
        assert served.ask("GET", "/pages", user="jo", branch="none").status_code == 404
        assert ask("POST", "/branches", {"name": "of a branch"}).status_code == 422
        assert "sank" not in served.ask("POST", "/search", {"query": "ferry"}, user="jo").text
    address = f"{PATH}?user=jo&branch={quote(NAME)}"
    with (
        serving(jo.store, partial(mcp_app, default=Scope("jo"))) as mcp,
        over_http(f"{mcp.url}{address}") as client,
    ):
        assert "sank" in client.text("search", query="ferry")
    assert everything(jo.store) == before
