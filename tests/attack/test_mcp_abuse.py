"""Abuse of MCP over HTTP: whose memory a key opens, pages of other sites, bodies too large, clients that leave."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from functools import partial
from threading import Event

import pytest
from mcp.shared.exceptions import MCPError

from mcp_session import PATIENCE, over_http
from memoryos.errors import InvalidInput
from memoryos.interface.mcp.http_door import PATH, mcp_app
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.rest_server import RestServer
from memoryos.scope import Scope
from served import opened, serving

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON_ALONE = {"accept": "application/json"}


@pytest.fixture
def store(place):
    with opened(place) as store:
        yield store


@pytest.fixture
def served(store):
    with serving(store, partial(mcp_app, default=Scope("ann")), body_bytes=20_000) as served:
        yield served


@pytest.fixture
def connect(served):
    """Connect a client to the address, with a key and a query."""
    return lambda key=None, query="", **more: over_http(f"{served.url}{PATH}{query}", key, **more)


def asked(served, **more):
    """The status and title of what the server says to a request of tools/list."""
    answer = served.http.request(
        **{"method": "POST", "url": PATH, "json": LIST, **more, "headers": JSON_ALONE | more.get("headers", {})}
    )
    kind = answer.headers.get("content-type", "")
    return answer.status_code, answer.json().get("title") if kind == "application/problem+json" else None


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_generations_of_the_protocol_are_answered(connect, store, mode):
    with connect(mode=mode) as mcp:
        (page,) = mcp.told("add", query="我住在成都。")["ids"]
        assert "user: 我住在成都。" in mcp.text("context", query="我住在哪里？")
        assert mcp.refused("get", memory_id="nowhere").startswith("NotFound: ")
        assert "成都" in mcp.resource("memoryos://recent")
    assert store.memory("ann").get(page).text == "user: 我住在成都。"


def test_two_tenants_do_not_see_each_other(connect, store):
    keys = {tenant: store.keys.create("web", tenant=tenant, users=["ann"]).key for tenant in ("acme", "bolt")}
    ids = {}
    for tenant, key in keys.items():
        with connect(key) as mcp:
            (ids[tenant],) = mcp.told("add", query=f"The secret of {tenant}.")["ids"]
    for mine, other in (("acme", "bolt"), ("bolt", "acme")):
        with connect(keys[mine]) as mcp:
            found = mcp.call("search", query=f"secret of {other}", kinds=["page"])
            assert [one["id"] for one in found.structured_content["ranked"]] == [ids[mine]]
            assert f"secret of {other}." not in found.content[0].text + mcp.resource("memoryos://recent")
            for tool, more in (("get", {}), ("update", {"text": "Mine!"}), ("delete", {}), ("freeze", {})):
                theirs, nobodys = (mcp.refused(tool, memory_id=one, **more) for one in (ids[other], "nowhere"))
                assert theirs.replace(ids[other], "ID") == nobodys.replace("nowhere", "ID")
    assert store.memory("ann", tenant="acme").get(ids["acme"]).text == "user: The secret of acme."


@pytest.mark.once
def test_a_key_opens_the_memory_of_its_only_user_or_of_the_one_that_is_named(connect, store):
    store.memory("ann").add("I keep bees.")
    one, several = (store.keys.create("web", users=users).key for users in (["ann"], ["ann", "bob"]))
    bees = {"query": "Who keeps bees?"}
    with connect(one) as mcp:
        assert "I keep bees." in mcp.text("context", **bees)
    with connect(one, "?user=bob") as mcp:
        assert mcp.refused("context", **bees) == "PermissionDenied: web may not read this with its key"
        assert mcp.refused("delete", memory_id="nowhere").startswith("PermissionDenied: ")
    with connect(several) as mcp:
        assert mcp.refused("context", **bees).startswith(
            "InvalidInput: user: is missing. Name it in the address, as /mcp?"
        )
    with connect(several, "?user=ann") as mcp:
        assert "I keep bees." in mcp.text("context", **bees)
    with connect(several, x_memoryos_user="ann", x_memoryos_session="s1") as mcp:
        mcp.told("add", query="I keep wasps.")
    assert store.memory("ann").pages.count(session="s1") == 1
    with connect(several, "?user=ann", x_memoryos_user="bob") as mcp:
        assert mcp.refused("context", **bees).startswith("InvalidInput: user: is named twice. ")
    with connect(several, "?user=ann&agent=coder") as mcp:
        assert mcp.text("search", **bees) == "Nothing was found."


VERBS_THAT_CHANGE = [
    ("activations", {"verb": "build", "name": "me"}),
    ("activations", {"verb": "delete", "name": "me"}),
    ("adapters", {"verb": "train", "name": "home"}),
    ("schedule", {"verb": "decide", "query": "bees"}),
    ("forms", {"verb": "transform", "name": "me"}),
]


@pytest.mark.once
def test_a_key_does_what_it_may_and_nothing_once_it_is_revoked(connect, served, store):
    reading = store.keys.create("web", users=["ann"], actions=["read"])
    page = store.memory("ann").add("I keep bees.")
    with connect(reading.key) as mcp:
        assert "I keep bees." in mcp.text("search", query="bees")
        doomed = store.memory("ann").requests.preview("forget everything").confirm
        assert mcp.refused("forget").startswith("PermissionDenied: ")
        changes = {
            "add": {"query": "I keep wasps."},
            "update": {"memory_id": page, "text": "I keep wasps."},
            "delete": {"memory_id": page},
            "freeze": {"memory_id": page},
            "share": {"to": "bob"},
            "forget": {"confirm": doomed},
        }
        for tool, arguments in changes.items():
            assert mcp.refused(tool, **arguments).startswith("PermissionDenied: "), tool
        for tool, arguments in VERBS_THAT_CHANGE:
            assert mcp.refused(tool, **arguments).startswith("PermissionDenied: "), (tool, arguments)
        assert mcp.told("activations", verb="list") == {"verb": "list", "items": []}
        store.keys.revoke(reading.info.id)
        assert asked(served, headers={"Authorization": f"Bearer {reading.key}"}) == (401, "KeyNeeded")
        with pytest.raises(MCPError):
            mcp.call("search", query="bees")
    assert [(one.text, one.version.number) for one in store.memory("ann").pages.list()] == [("user: I keep bees.", 1)]


@pytest.mark.once
def test_who_has_no_key_is_refused_once_there_is_one(served, store):
    assert asked(served) == (200, None)
    store.keys.create("web")
    assert asked(served) == (401, "KeyNeeded")
    assert asked(served, headers={"Authorization": "Bearer mos_0123456789abcdef_wrong"}) == (401, "KeyNeeded")


@pytest.mark.once
def test_pages_of_other_sites_and_names_of_other_hosts_are_refused(served):
    assert asked(served, headers={"Origin": "https://evil.example"}) == (403, "OtherSite")
    assert asked(served, headers={"Origin": "null"}) == (403, "OtherSite")
    assert asked(served, headers={"Sec-Fetch-Site": "cross-site"}) == (403, "OtherSite")
    assert asked(served, headers={"Host": "evil.example"}) == (403, "PermissionDenied")  # DNS rebinding
    assert asked(served, headers={"Origin": served.url}) == (200, None)


@pytest.mark.once
def test_what_is_no_request_is_refused(served):
    assert [asked(served, method=verb, json=None)[0] for verb in ("GET", "DELETE", "OPTIONS")] == [405] * 3
    assert asked(served, url="/elsewhere")[0] == 404
    assert asked(served, json={**LIST, "params": {"x": "x" * 30_000}}) == (413, "TooLarge")
    assert asked(served, json=None, content=b"{", headers={"content-type": "application/json"})[0] == 400
    assert asked(served, json=None, content=b"{}", headers={"content-type": "text/plain"}) == (
        415,
        "UnsupportedMediaType",
    )
    assert asked(served, json=[LIST])[0] == 400
    assert asked(served) == (200, None)


@pytest.mark.once
def test_a_client_that_leaves_stops_nothing(served, store, monkeypatch):
    begun, goes_on = Event(), Event()
    found = store.of

    def slowly(*told):
        if not begun.is_set():
            begun.set()
            assert goes_on.wait(PATIENCE)
        return found(*told)

    add = {"name": "add", "arguments": {"query": "I keep bees."}}
    body = json.dumps({**LIST, "method": "tools/call", "params": add}).encode()
    monkeypatch.setattr(type(store), "of", lambda _, *told: slowly(*told))
    with closing(served.connected()) as left:
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        )
        left.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert begun.wait(PATIENCE)
    assert asked(served) == (200, None)
    goes_on.set()
    monkeypatch.undo()
    while not store.memory("ann").pages.count():  # what had begun is completed
        Event().wait(0.01)


@pytest.mark.once
def test_many_clients_at_once_lose_nothing(connect, store):
    with connect() as mcp:
        calls = [mcp.begin("add", query=f"Note {number}") for number in range(24)]
        ids = {one.result(PATIENCE).structured_content["ids"][0] for one in calls}
    assert {page.id for page in store.memory("ann").pages.list()} == ids
    assert len(ids) == 24


@pytest.mark.once
def test_the_log_has_no_words_of_a_request(connect, store, caplog):
    caplog.set_level(logging.DEBUG)
    key = store.keys.create("web", users=["ann"])
    with connect(key.key) as mcp:
        mcp.told("add", query="I keep bees.")
        mcp.refused("get", memory_id="the-secret-id")
    ours = [one.getMessage() for one in caplog.records if one.name == "memoryos.server"]
    assert any('"mcp": "add"' in one for one in ours)
    assert any(f'"by": "{key.info.id}"' in one for one in ours)
    assert not any(word in one for one in ours for word in ("bees", "secret", key.key))


@pytest.mark.once
def test_it_listens_to_other_machines_only_with_keys(store):
    application = partial(mcp_app, default=Scope("ann"))
    with pytest.raises(InvalidInput, match="the store has no API key"):
        RestServer.bound(store, "0.0.0.0", 0, RestLimits(), application)
    store.keys.create("web")
    RestServer.bound(store, "0.0.0.0", 0, RestLimits(), application).socket.close()
