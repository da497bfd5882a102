"""`memoryos serve`: a real process, from its first line to the signal that ends it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import httpx
import pytest

import forked

SOON = 60.0  # seconds; nobody waits that long when all is well


@pytest.fixture
def start(tmp_path):
    begun = []
    wanted = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_DB": str(tmp_path / "memory.db")}

    def begin(*arguments, **more):
        begun.append(
            subprocess.Popen(
                [forked.executable(), "-m", "memoryos", "serve", "--port", "0", "--json", *arguments],
                env=forked.settings(**wanted, **more),
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return begun[-1], json.loads(begun[-1].stdout.readline())

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_server_answers_until_it_is_told_to_stop(start, tmp_path, told):
    server, line = start()
    assert line["keys"] is False
    with httpx.Client(base_url=line["url"], timeout=SOON, trust_env=False) as http:
        made = http.post("/v1/memories?user=ann", json={"query": "I keep bees."})
    server.send_signal(told)
    output, log = server.communicate(timeout=SOON)
    assert (server.returncode, output) == (0, "")
    (one,) = map(json.loads, log.splitlines())
    assert (one["route"], one["status"], made.status_code) == ("/v1/memories", 201, 201)
    here = {"MEMORYOS_DB": "memory.db", "MEMORYOS_EMBEDDER": "hashing"}
    kept = forked.memoryos("get", made.json()["ids"][0], "--user", "ann", "--json", cwd=tmp_path, **here)
    assert json.loads(kept.stdout)["text"] == "user: I keep bees."


def test_each_request_has_its_own_time_to_wait_for_a_lock(start, tmp_path):
    server, line = start(MEMORYOS_BUSY_TIMEOUT_SECONDS="0.2")
    with httpx.Client(base_url=line["url"], timeout=SOON, trust_env=False) as http:
        http.post("/v1/memories?user=ann", json={"query": "I keep bees."})
        with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            held = [http.post("/v1/memories?user=ann", json={"query": "I keep ants."}).status_code for _ in range(3)]
    server.send_signal(signal.SIGTERM)
    _, log = server.communicate(timeout=SOON)
    assert held == [503] * 3
    waits = [json.loads(line)["milliseconds"] for line in log.splitlines() if '"status": 503' in line]
    assert [wait >= 150 for wait in waits] == [True] * 3, waits


def test_other_machines_are_answered_only_with_keys(start, tmp_path):
    here = {"MEMORYOS_DB": "memory.db", "MEMORYOS_EMBEDDER": "hashing"}
    refused = forked.memoryos("serve", "--host", "0.0.0.0", "--port", "0", "--json", cwd=tmp_path, **here)
    assert refused.returncode == 2
    assert "the store has no API key" in json.loads(refused.stdout)["error"]["message"]
    made = json.loads(forked.memoryos("keys", "create", "web", "--json", cwd=tmp_path, **here).stdout)
    _, line = start("--host", "0.0.0.0")
    assert line["keys"] is True
    port = line["url"].rpartition(":")[2]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SOON, trust_env=False) as http:
        assert http.get("/v1/pages?user=ann").status_code == 401
        assert http.get("/v1/pages?user=ann", headers={"Authorization": f"Bearer {made['key']}"}).status_code == 200


def test_the_first_line_of_a_proxy_says_whose_memory_it_uses(start):
    proxy = ("--upstream", "http://127.0.0.1:9/v1")
    assert start(*proxy)[1]["proxied_user"] is None
    assert start(*proxy, MEMORYOS_USER="ann")[1]["proxied_user"] == "ann"
    assert start("--user", "ann")[1]["proxied_user"] is None  # it is no proxy


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "must name their user"),
        (("--user", "ann"), "use the memory of 'ann'."),
        (("keys",), "of the user of their key"),
    ],
)
def test_the_same_in_words(tmp_path, more, told):
    here = {"MEMORYOS_DB": "memory.db", "MEMORYOS_EMBEDDER": "hashing"}
    if more == ("keys",):
        forked.memoryos("keys", "create", "web", cwd=tmp_path, **here)
        more = ()
    command = [forked.executable(), "-m", "memoryos", "serve", "--port", "0", "--upstream", "http://127.0.0.1:9/v1"]
    server = subprocess.Popen(
        [*command, *more], env=forked.settings(**here), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert told in server.stdout.readline()
    finally:
        server.kill()
        server.communicate()


def test_a_port_that_is_taken_is_said(start, tmp_path):
    _, line = start()
    port = line["url"].rpartition(":")[2]
    done = forked.memoryos("serve", "--port", port, "--db", "other.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_without_the_extra_the_command_names_it(tmp_path):
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'uvicorn' else find(name, *rest)\n"
        "from memoryos.interface.cli.app import main; sys.argv = ['memoryos', 'serve']; main()"
    )
    done = forked.python("-c", code, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'memoryos-engine[server]'" in done.stderr


def test_the_library_does_not_load_the_server(tmp_path):
    code = (
        "import sys, memoryos; memoryos.open('a.db', user='ann').close()\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('fastapi', 'uvicorn', 'starlette')])"
    )
    run = [sys.executable, "-c", code]  # an interpreter of its own: forked ones have loaded it
    assert subprocess.run(run, cwd=tmp_path, env=forked.settings(), capture_output=True, text=True).stdout == "[]\n"


def test_the_demo_is_served_with_its_page_and_leaves_nothing_behind(start, tmp_path):
    server, line = start("--demo")
    assert line["page"] == line["url"] + "/ui/"
    with httpx.Client(base_url=line["url"], timeout=SOON, trust_env=False) as http:
        assert "<title>MemoryOS</title>" in http.get("/ui/").text
        (owner,) = http.get("/v1/scopes").json()["items"]
        assert (owner["user"], owner["agent"]) == ("Nora", "Atlas")
        stats = http.get("/v1/stats?user=Nora&agent=Atlas").json()
        assert (stats["stm_pages"], stats["jobs_waiting"]) == (7, 0)
        hottest = http.get("/v1/segments?user=Nora&agent=Atlas").json()["items"][0]
        assert hottest["visits"] > 0  # its questions were asked
        assert http.get("/v1/audit?user=Nora&agent=Atlas&limit=1").json()["items"]
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=SOON)
    assert (server.returncode, [*tmp_path.glob("*.db*")]) == (0, [])
    here = {"MEMORYOS_EMBEDDER": "hashing"}
    refused = forked.memoryos("serve", "--demo", "--db", "mine.db", "--json", cwd=tmp_path, **here)
    assert (refused.returncode, "--demo: has a store of its own" in json.loads(refused.stdout)["error"]["message"]) == (
        2,
        True,
    )
