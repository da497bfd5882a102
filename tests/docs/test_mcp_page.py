"""The settings of MCP clients on their page: each is what the client reads, and starts a server that answers."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from mcp_session import over_stdio
from memoryos.interface.cli.app import command
from memoryos.interface.cli.mcp_command import _PORT
from memoryos.interface.mcp.http_door import HEADER, PATH
from memoryos.interface.mcp.mcp_resources import RECALL, RESOURCES
from memoryos.interface.mcp.mcp_tools import TOOLS
from memoryos.interface.mcp.memory_text import LONGEST

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text("utf-8")
SNIPPETS = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
LINE = re.search(r"^\$ (claude mcp add .*)$", PAGE, re.MULTILINE)[1]


def servers():
    for snippet in SNIPPETS:
        ((outer, inner),) = snippet.items()
        assert outer in ("mcpServers", "servers")
        ((name, entry),) = inner.items()
        assert name == "memoryos"
        yield entry
    _, _, told = LINE.partition(" -- ")
    program, *arguments = shlex.split(told)
    yield {"command": program, "args": arguments}


STARTED = [entry for entry in servers() if "command" in entry]


def test_each_client_has_its_settings():
    assert [*SNIPPETS[0], *SNIPPETS[1], *SNIPPETS[2]] == ["mcpServers", "mcpServers", "servers"]
    for client in ("Claude Desktop", "Claude Code", "Cursor", "VS Code"):
        assert client in PAGE
    (served,) = (entry for entry in servers() if "command" not in entry)
    assert served["url"] == f"http://127.0.0.1:{_PORT}{PATH}?user=ann"
    assert {*served} == {"type", "url", "headers"}


@pytest.mark.parametrize("entry", STARTED, ids=lambda entry: " ".join(entry["args"]))
def test_what_a_client_starts_answers(tmp_path, entry):
    assert entry["command"] == "memoryos"
    first, *arguments = (str(tmp_path / "memory.db") if one == "/path/to/memory.db" else one for one in entry["args"])
    variables = {
        name: str(tmp_path / "memory.db") if name == "MEMORYOS_DB" else one
        for name, one in entry.get("env", {}).items()
    }
    assert first == "mcp"
    with over_stdio(tmp_path, *arguments, MEMORYOS_EMBEDDER="hashing", **variables) as mcp:
        assert mcp.told("add", query="I keep bees.")["ids"]
    assert (tmp_path / "memory.db").exists()


def test_the_page_names_what_there_is():
    numbers = {16: "sixteen"}
    assert f"{numbers[len(TOOLS)]} tools" in PAGE
    assert all(f"`{one.uri}`" in PAGE for one in RESOURCES)
    assert f"`{RECALL.name}`" in PAGE
    assert f"{LONGEST:,} characters" in PAGE
    assert f"`{HEADER}user`" in PAGE.lower()
    found = command()
    options = {name for one in found.get_command(None, "mcp").params for name in one.opts}
    assert {*re.findall(r"--(?:user|agent|session|tenant|http|db)\b", PAGE)} <= options
