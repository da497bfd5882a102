"""mem0's addresses on `memoryos serve`: those of its own server, and all else is refused by its name.

Its hosted clients ask the others: test_mem0_client.py.
"""

from __future__ import annotations

import pytest

from memoryos import MemoryOS, Role
from memoryos.interface.mem0_routes import addresses
from served import serving

pytestmark = pytest.mark.once

LATER = "m0-anything-else"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def served(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store, serving(store) as running:
        yield running


def ask(served, verb, path, body=None, **headers):
    content = {} if body is None else {"json": body}
    return served.http.request(verb, f"/mem0{path}", headers=headers, **content)


def texts(answer):
    return [one["memory"] for one in answer.json()["results"]]


def test_what_is_sent_twice_is_refused(served):
    for user in ("ann", "bob"):
        ask(served, "POST", "/memories", {"user_id": user, "messages": [{"role": "user", "content": "I keep bees."}]})
    body = b'{"user_id": "ann", "user_id": "bob", "messages": []}'
    twice = "?user_id=ann&user_id=bob"
    answers = [ask(served, verb, f"/memories{twice}") for verb in ("GET", "DELETE")]
    answers.append(served.http.request("POST", "/mem0/memories", content=body, headers=JSON))
    for answer in answers:
        assert (answer.status_code, "user_id: is sent twice" in answer.text) == (422, True), answer.text
    assert texts(ask(served, "GET", "/memories?user_id=bob"))


def test_the_addresses_of_its_own_server(served):
    added = ask(served, "POST", "/memories", {"messages": [{"role": "user", "content": "I row."}], "user_id": "ann"})
    (one,) = added.json()["results"]
    assert texts(ask(served, "GET", "/memories?user_id=ann&top_k=5")) == ["I row."]
    assert texts(ask(served, "POST", "/search", {"query": "What do I do?", "user_id": "ann"})) == ["I row."]
    assert ask(served, "GET", f"/memories/{one['id']}").json()["user_id"] == "ann"
    assert ask(served, "PUT", f"/memories/{one['id']}", {"text": "I sail."}).status_code == 200
    assert [change["event"] for change in ask(served, "GET", f"/memories/{one['id']}/history").json()] == [
        "ADD",
        "UPDATE",
    ]
    assert ask(served, "DELETE", f"/memories/{one['id']}").status_code == 200
    assert ask(served, "GET", f"/memories/{one['id']}").status_code == 404
    ask(served, "POST", "/memories", {"messages": "I ride.", "user_id": "ann", "infer": True})
    ask(served, "POST", "/memories", {"messages": "Notes.", "agent_id": "a/b"})
    served.store.wait()
    assert {one["name"] for one in ask(served, "GET", "/entities").json()["results"]} == {"ann", "a/b"}
    assert ask(served, "DELETE", "/entities/agent/a%2Fb/").status_code == 200
    assert ask(served, "DELETE", "/memories?user_id=ann").status_code == 200
    ask(served, "POST", "/v1/memories/", {"messages": "I ride.", "user_id": "ann"})
    assert texts(ask(served, "POST", "/v2/memories/search/", {"query": "I?", "filters": {"user_id": "ann"}})) == [
        "I ride."
    ]
    assert ask(served, "POST", "/reset").status_code == 200
    assert ask(served, "GET", "/v1/entities/").json()["results"] == []


def test_what_was_stored_is_the_memory_of_the_rest_api(served):
    ask(served, "POST", "/memories", {"messages": "我养蜜蜂。", "user_id": "ann"})
    (page,) = served("GET", "/pages")["items"]
    assert page["text"] == f"{Role.USER.value}: 我养蜜蜂。"


def test_what_asks_for_nothing_is_taken(served):
    said = {"messages": "I ride.", "user_id": "ann", "prompt": None, "memory_type": None}
    assert ask(served, "POST", "/memories", said).status_code == 200
    asked = {"query": "I ride", "user_id": "ann", "reference_date": None, "show_expired": False}
    assert texts(ask(served, "POST", "/search", asked))
    assert texts(ask(served, "GET", "/memories?user_id=ann&show_expired=false"))
    assert texts(ask(served, "POST", "/v2/memories/", {"filters": {"user_id": "ann"}, "show_expired": False}))


@pytest.mark.parametrize(
    ("verb", "path", "body", "field"),
    [
        ("POST", "/memories", {"messages": "x", "user_id": "ann", "memory_type": "x"}, "memory_type"),
        ("POST", "/search", {"query": "x", "user_id": "ann", "reference_date": "2026-01-01"}, "reference_date"),
        ("POST", "/search", {"query": "x"}, "filters"),
        ("POST", "/search", {"query": "x", "user_id": 7}, "user_id"),
        ("POST", "/search", {"query": "x", "user_id": "ann", "top_k": "5"}, "top_k"),
        ("POST", "/search?user_id=ann", {"query": "x", "user_id": "ann"}, "user_id"),
        ("GET", "/memories?user_id=ann&top_k=many", None, "top_k"),
        ("GET", "/memories?user_id=ann&show_expired=true", None, "show_expired"),
        ("POST", "/v3/memories/", {"filters": {"user_id": "ann"}, "page": 0}, "page"),
        ("POST", "/v3/memories/add/", {"messages": "x", "filters": {"user_id": "ann", "topic": "x"}}, "filters.topic"),
        ("DELETE", "/memories", None, "filters"),
        ("DELETE", "/entities/app/x", None, "type"),
        ("DELETE", "/v1/batch/", {"memories": []}, "memories"),
        ("DELETE", "/v1/batch/", {"memories": ["x"]}, "memories"),
        ("PUT", "/v1/batch/", {"memories": [{"memory_id": "x", "score": 1}]}, "score"),
        ("POST", "/reset", ["all"], "body"),
        ("POST", "/memories", {"user_id": "ann"}, "messages"),
        ("POST", "/search", {"user_id": "ann"}, "query"),
        ("POST", "/search", {"query": "x", "user_id": "ann", "": 1}, ""),
        ("GET", "/memories?user_id=ann&=1&=2", None, ""),
    ],
)
def test_what_is_wrong_is_named(many, verb, path, body, field):
    answer = ask(many, verb, path, body)
    assert (answer.status_code, answer.json().get("field")) == (422, field)
    assert answer.json()["detail"].startswith(f"{field}: ")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    with MemoryOS.open(tmp_path_factory.mktemp("many") / "a.db") as store, serving(store) as running:
        yield running


def test_no_json_and_unknown_ids_and_addresses(many):
    broken = many.http.post("/mem0/search", content=b"{", headers={"Content-Type": "application/json"})
    assert (broken.status_code, broken.json()["title"]) == (400, "Unreadable")
    asked = ask(many, "POST", "/v1/feedback", {"memory_id": "x"})
    assert (asked.status_code, asked.json()["detail"]) == (501, "This server has no feedback")
    for verb, path in (("GET", "/memories/x"), ("DELETE", "/memories/x"), ("GET", "/memories/x/history"), ("GET", "/")):
        assert ask(many, verb, path).status_code == 404
    assert ask(many, "GET", "/memories", Origin="https://example.org").status_code == 403
    assert ask(many, "GET", "/memories?user_id=ann", Host="example.org").status_code == 403


def test_a_key_decides_as_everywhere(served):
    store = served.store
    whole = store.keys.create("admin", tenant="acme", actions=["read", "write", "delete", "administer"]).key
    ann = store.keys.create("web", tenant="acme", users=["ann"]).key
    other = store.keys.create("web", tenant="other").key
    (added,) = ask(
        served, "POST", "/memories", {"messages": "I row.", "user_id": "ann"}, Authorization=f"Token {whole}"
    ).json()["results"]
    path = f"/memories/{added['id']}"
    for headers in (
        {"Authorization": f"Token {ann}"},
        {"Authorization": f"Bearer {ann}"},
        {"X-API-Key": ann},
    ):
        assert ask(served, "GET", path, **headers).json()["memory"] == "I row."
    assert ask(served, "GET", path, Authorization=f"Token {other}").status_code == 404
    assert ask(served, "GET", "/memories?user_id=bob", Authorization=f"Token {ann}").status_code == 403
    assert ask(served, "DELETE", path, Authorization=f"Token {ann}").status_code == 403
    assert ask(served, "POST", "/reset", Authorization=f"Token {ann}").status_code == 403
    for headers in ({}, {"Authorization": f"Token {LATER}"}, {"X-API-Key": LATER}, {"Authorization": f"Basic {ann}"}):
        assert ask(served, "GET", path, **headers).status_code == 401
    assert served.http.get("/v1/pages", params={"user": "ann"}, headers={"X-API-Key": ann}).status_code == 401
    assert served.http.get("/v1/pages?user=ann", headers={"Authorization": f"Token {ann}"}).status_code == 401
    assert "mem0/memories/{memory_id}" in served.http.get("/metrics", headers={"Authorization": f"Bearer {ann}"}).text


def test_the_description_of_the_server_has_each_address_with_what_it_takes(served):
    document = served.http.get("/openapi.json").json()
    told = {(verb.upper(), path): one for path, item in document["paths"].items() for verb, one in item.items()}
    mem0 = {(verb, path): one for (verb, path), one in told.items() if path.startswith("/mem0/")}
    assert {(verb, f"/mem0{path.replace(':path', '')}") for verb, path, _ in addresses()} == mem0.keys()
    assert len({one["operationId"] for one in told.values()}) == len(told)
    for (verb, path), one in mem0.items():
        names = {part["name"] for part in one["parameters"] if part["in"] != "header"}
        if "requestBody" in one:
            body = one["requestBody"]["content"]["application/json"]
            names |= body["schema"]["properties"].keys()
            assert body["schema"]["required"] == [] or body["example"].keys() >= {*body["schema"]["required"]}
        asked = path.removeprefix("/mem0").replace("{kind}", "user")
        refused = ask(served, verb, asked, {"zz": 1}).json()
        assert refused["field"] == "zz", path
        takes = refused["fix"].removeprefix("This address takes: ").split(", ")
        assert names == {*takes} - {"nothing"}, path
        assert document["components"]["responses"].keys() >= {f"Problem{status}" for status in (401, 422, 429)}
        assert {"200", "401", "403", "422", "429"} <= one["responses"].keys()
