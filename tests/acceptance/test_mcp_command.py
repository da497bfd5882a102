"""`memoryos mcp`: a real process, from the first line of the protocol to what ends it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing

import pytest

import forked
from mcp_session import over_http, over_stdio
from memoryos.interface.mcp.stdin_lines import MOST_BYTES, MOST_VALUES

SOON = 60.0  # seconds; nobody waits that long when all is well
HERE = {"MEMORYOS_DB": "memory.db", "MEMORYOS_EMBEDDER": "hashing"}
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def calling(number, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.fixture
def start(tmp_path):
    """Start the server; it is asked in raw lines."""
    with ExitStack() as ended:

        def begin(*arguments, python=None, **more):
            process = subprocess.Popen(
                [*(python or (forked.executable(), "-m", "memoryos", "mcp")), *arguments],
                env=forked.settings(**HERE | more),
                cwd=tmp_path,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            ended.enter_context(process)
            ended.callback(process.kill)
            return process

        yield begin


def ask(process, *messages):
    """Send messages, and return the next answer."""
    process.stdin.write("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in messages))
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def memoryos_json(folder, *arguments):
    done = forked.memoryos(*arguments, "--json", cwd=folder, **HERE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_servers_and_the_command_use_one_store_at_once(tmp_path):
    with (
        over_stdio(tmp_path, "--user", "ann", **HERE) as first,
        over_stdio(tmp_path, MEMORYOS_USER="ann", **HERE) as second,
    ):
        assert len(first.tools()) == len(second.tools()) == 16
        assert not (tmp_path / "memory.db").exists()  # a list of tools opens no store
        (page,) = first.told("add", query="我住在成都，我养了一只猫。")["ids"]
        added = memoryos_json(tmp_path, "add", "I keep bees.", "--user", "ann")
        assert "user: 我住在成都，我养了一只猫。" in second.text("context", query="我住在哪里？")
        assert "I keep bees." in first.text("get", memory_id=added["ids"][0] if "ids" in added else added["id"])
        assert second.told("update", memory_id=page, text="我住在北京。")["version"] == 2
        assert memoryos_json(tmp_path, "get", page, "--user", "ann")["text"] == "user: 我住在北京。"
        assert second.refused("get", memory_id="nowhere").startswith("NotFound: ")
    lines = [json.loads(line) for line in (tmp_path / "log.txt").read_text("utf-8").splitlines()]
    assert {one["mcp"] for one in lines} == {"add", "context", "get", "update"}
    assert [one["error"] for one in lines if one["error"]] == ["NotFound"]


def test_standard_output_has_the_protocol_alone_until_the_input_ends(start, tmp_path):
    server = start("--user", "ann", "--session", "s1")
    assert ask(server, BEGIN)["result"]["serverInfo"]["name"] == "memoryos"
    stored = ask(server, BEGUN, calling(2, "add", query="I keep bees."))
    assert stored["result"]["structuredContent"]["ids"]
    assert ask(server, {"jsonrpc": "2.0", "id": 3, "method": "nonsense"})["error"]["message"] == "Method not found"
    half = json.dumps(calling(5, "search", query="\ud800"))  # as an escape
    long = json.dumps(calling("6", "add", query="x" * MOST_BYTES))
    many = json.dumps({"id": 7, "jsonrpc": "2.0", "method": "ping", "params": {"a": [1] * MOST_VALUES}})
    ping = json.dumps({"jsonrpc": "2.0", "id": 8, "method": "ping"})
    last = json.dumps(calling(9, "search", query="bees"))
    lines = "\n".join(["no JSON at all", "", "[1]", half, long, many, ping, last])  # the last one has no end
    rest, log = server.communicate(lines, timeout=SOON)
    answers = [json.loads(line) for line in rest.splitlines()]
    assert [one["id"] for one in answers] == [None, None, 5, "6", 7, 8, 9]
    assert [one["error"]["code"] for one in answers[:5]] == [-32700, -32600, -32700, -32600, -32600]
    assert f"{MOST_BYTES:,} bytes" in answers[3]["error"]["message"]
    assert f"{MOST_VALUES:,} values" in answers[4]["error"]["message"]
    assert answers[-1]["result"]["structuredContent"]["ranked"]
    assert server.returncode == 0
    assert [json.loads(line)["mcp"] for line in log.splitlines()] == ["add", "search"]
    (page,) = memoryos_json(tmp_path, "pages", "list", "--user", "ann")["pages"]
    assert (page["text"], page["scope"]["session"]) == ("user: I keep bees.", "s1")


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_the_input_is_open(start, tmp_path, told):
    server = start("--user", "ann")
    ask(server, BEGIN)
    (page,) = ask(server, BEGUN, calling(2, "add", query="I keep bees."))["result"]["structuredContent"]["ids"]
    server.send_signal(told)
    assert server.wait(SOON) == 0
    assert server.stdout.read() == ""
    assert [json.loads(line)["mcp"] for line in server.stderr.read().splitlines()] == ["add"]
    assert memoryos_json(tmp_path, "get", page, "--user", "ann")["text"] == "user: I keep bees."


def test_what_has_begun_to_write_is_completed_after_a_signal(start, tmp_path):
    server = start("--user", "ann")
    ask(server, BEGIN)
    ask(server, BEGUN, calling(2, "search", query="bees"))  # the store is open
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        server.stdin.write(json.dumps(calling(3, "add", query="I keep bees.")) + "\n")
        server.stdin.flush()
        for number in (4, 5, 6):  # later calls are answered, so this one has begun
            assert ask(server, calling(number, "search", query="bees"))["id"] == number
        server.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.2)
    assert server.wait(SOON) == 0
    assert memoryos_json(tmp_path, "pages", "count", "--user", "ann")["count"] == 1


def test_a_client_that_disappears_ends_it(start):
    server = start()
    ask(server, BEGIN)
    server.stdout.close()
    server.stdin.write(json.dumps(BEGUN) + "\n" + json.dumps(calling(2, "search", query="bees")) + "\n")
    server.stdin.flush()
    assert server.wait(SOON) == 0
    assert "Traceback" not in server.stderr.read()


ASKED = [
    ("ping", {}),
    *((f"{noun}/list", {}) for noun in ("tools", "resources", "prompts")),
    ("resources/read", {"uri": "memoryos://profile"}),
    ("resources/read", {"uri": "memoryos://nothing"}),
    ("prompts/get", {"name": "recall", "arguments": {"question": "Where are the bees?"}}),
    ("tools/call", {"name": "search", "arguments": {"query": "bees"}}),
    ("tools/call", {"name": "search", "arguments": {"query": 1}}),
    ("tools/call", {"name": ["search"]}),
    ("nonsense", {}),
]
# It counts the models of the SDK that were built, and tells on standard error.
COUNTING = """
import gc, sys; from memoryos.interface.cli.app import main; sys.argv = ['memoryos', 'mcp']
try: main()
except SystemExit: pass
import mcp_types; from pydantic import BaseModel
kinds = [one for one in vars(mcp_types).values() if isinstance(one, type) and issubclass(one, BaseModel)]
built = sum(one.__pydantic_complete__ for one in kinds)
lasting = gc.get_freeze_count() if gc.isenabled() else 0
print(len(kinds), built, lasting, 'rich' in sys.modules, BaseModel.model_config, file=sys.stderr)
"""


def test_few_models_of_the_sdk_are_built_and_all_answers_are_the_same(start):
    def answers(server):
        told = [ask(server, BEGIN)]
        for number, (method, params) in enumerate(ASKED, 2):
            one = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            told.append(ask(server, *([BEGUN] if number == 2 else []), one))
        return told

    own = start(python=(sys.executable, "-W", "error", "-c", COUNTING))  # which has not imported the SDK before
    assert answers(own) == answers(start())
    _, log = own.communicate(timeout=SOON)
    known, built, lasting, has_tables, config = log.splitlines()[-1].split(maxsplit=4)
    assert int(built) < int(known) / 2
    assert int(lasting) > 0
    assert has_tables == "False", "this command prints none"
    assert config == "{}", "what is defined later is built at once"


def test_a_store_that_cannot_be_opened_is_an_error_of_the_tool(tmp_path):
    (tmp_path / "memory.db").write_text("This is no store. " * 100, "utf-8")
    with over_stdio(tmp_path, **HERE) as mcp:
        assert mcp.refused("search", query="bees").startswith("StoreCorrupt: ")
        assert mcp.refused("add").startswith("InvalidInput: query: is missing. ")
    with over_stdio(tmp_path, **HERE | {"MEMORYOS_RECALL_PAGES": "many"}) as mcp:
        assert mcp.refused("search", query="bees").startswith("InvalidInput: recall_pages: ")


def test_a_key_says_what_the_model_may_do(tmp_path):
    made = memoryos_json(tmp_path, "keys", "create", "claude", "--user", "ann", "--action", "read")
    with over_stdio(tmp_path, "--user", "ann", MEMORYOS_KEY=made["key"], **HERE) as mcp:
        assert mcp.text("search", query="bees") == "Nothing was found."
        assert mcp.refused("add", query="I keep bees.").startswith("PermissionDenied: ")
    with over_stdio(tmp_path, "--user", "ann", MEMORYOS_KEY="mos_wrong", **HERE) as mcp:
        assert mcp.refused("search", query="bees").startswith("PermissionDenied: ")


def test_it_answers_over_http_until_it_is_told_to_stop(start, tmp_path):
    refused = forked.memoryos("mcp", "--http", "--host", "0.0.0.0", "--json", cwd=tmp_path, **HERE)
    assert refused.returncode == 2
    assert "the store has no API key" in json.loads(refused.stdout)["error"]["message"]
    server = start("--http", "--port", "0", "--user", "ann", "--json")
    line = json.loads(server.stdout.readline())
    assert line["keys"] is False
    with over_http(line["url"]) as mcp:
        (page,) = mcp.told("add", query="I keep bees.")["ids"]
    server.send_signal(signal.SIGTERM)
    assert server.wait(SOON) == 0
    assert memoryos_json(tmp_path, "get", page, "--user", "ann")["text"] == "user: I keep bees."


def test_what_is_missing_is_told_with_the_command_that_installs_it(tmp_path):
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from memoryos.interface.cli.app import main; sys.argv = ['memoryos', 'mcp']; main()"
    )
    done = forked.python("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'memoryos-engine[mcp]'" in done.stderr
    wrong = forked.memoryos("mcp", "--json", cwd=tmp_path, **HERE)
    assert (wrong.returncode, "--json: has no meaning" in json.loads(wrong.stdout)["error"]["message"]) == (2, True)
