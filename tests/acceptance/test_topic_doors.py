"""Versions of topics on each door: the history, the difference, a correction and the way back."""

from __future__ import annotations

import json

import pytest

import same_process
from mcp_session import talking
from memoryos.interface.mcp.mcp_server import McpDesk
from served import opened, serving

SAID = [f"I love hiking in the mountains of Norway, day {number}." for number in range(14)]


@pytest.fixture
def store(place):
    with opened(place) as store:
        yield store


@pytest.fixture
def topic(store) -> str:
    """A topic of Ann's that was read twice."""
    memory = store.memory("ann")
    for some in (SAID[:10], SAID[10:]):
        for text in some:
            memory.add(text, "Norway is nice.")
        memory.consolidate()
        memory.wait()
    found = max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id
    assert [one.version.number for one in memory.history(found)] == [1, 2]
    return found


def test_over_http(store, topic):
    with serving(store) as api:
        told = api("GET", f"/memories/{topic}/history")["items"]
        assert [one["version"] for one in told] == [1, 2]
        diff = api("GET", f"/memories/{topic}/diff")
        assert "pages" in {one["field"] for one in diff["changes"]}
        changed = api("PATCH", f"/memories/{topic}", {"text": "Walks.", "expected_version": 2, "reason": "shorter"})
        assert (changed["version"], changed["text"]) == (3, "Walks.")
        assert api("POST", f"/memories/{topic}/rollback", {"version": 1})["text"] == told[0]["text"]
        assert api("GET", f"/memories/{topic}/provenance")["versions"][2]["reason"] == "shorter"
        refused = api.ask("POST", f"/memories/{topic}/rollback", {"version": 1})
        assert (refused.status_code, refused.json()["field"]) == (422, "version")


def test_the_pages_of_a_topic_come_some_at_a_time(store, topic):
    members = next(view.page_ids for view in store.memory("ann").segments.list() if view.cube.id == topic)
    with serving(store) as api:
        told = next(one for one in api("GET", "/segments")["items"] if one["id"] == topic)
        assert ("page_ids" in told, told["pages"]) == (False, len(members))
        found, cursor = [], None
        while True:
            some = api("GET", "/pages", segment=topic, limit=5, **({"cursor": cursor} if cursor else {}))
            assert len(some["items"]) <= 5
            found += [page["id"] for page in some["items"]]
            cursor = some["cursor"]
            if cursor is None:
                break
        assert sorted(found) == sorted(members)
        assert api("GET", "/pages/count", segment=topic)["count"] == len(members)
        assert api.ask("GET", "/pages", segment=members[0]).status_code == 404  # a page is no topic


def test_over_mcp(store, topic):
    memory = store.memory("ann")
    with talking(McpDesk(lambda _: memory).server()) as mcp:
        assert [one["version"] for one in mcp.told("history", memory_id=topic)["items"]] == [1, 2]
        assert mcp.told("update", memory_id=topic, text="Walks.", expected_version=2)["version"] == 3
        assert mcp.refused("update", memory_id=topic, text="Walk.", expected_version=2).startswith("StaleVersion: ")


@pytest.mark.file
def test_by_command(tmp_path):
    def run(*given):
        done = same_process.memoryos(*given, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for some in (SAID[:10], SAID[10:]):
        talk = [
            {"role": role, "content": text} for one in some for role, text in (("user", one), ("assistant", "Nice."))
        ]
        (tmp_path / "talk.json").write_text(json.dumps(talk))
        run("add", "--messages", "talk.json")
        run("consolidate")
    views = json.loads(run("segments", "list", "--json"))["segments"]
    topic = max(views, key=lambda view: view["pages"])["id"]
    assert [one["version"] for one in json.loads(run("history", topic, "--json"))["versions"]] == [1, 2]
    assert "pages" in run("governance", "diff", topic)
    assert "Walks." in run("update", topic, "Walks.", "--reason", "shorter", "--json")
    assert run("governance", "rollback", topic, "1").startswith("Version 4: ")
    assert "shorter" in run("governance", "provenance", topic)
