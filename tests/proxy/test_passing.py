"""What the proxy passes on and what it keeps back: errors, headers, keys, addresses, and who leaves in mid-stream."""

from __future__ import annotations

import json
import logging
import socket
import time
from threading import Event

import openai
import pytest

from memoryos import load_settings
from memoryos.errors import InvalidInput
from memoryos.interface.added_doors import added_doors
from memoryos.interface.proxy.openai_proxy import DIALOGUES
from memoryos.interface.proxy.upstream import Upstream
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.server_log import logged
from proxy.scripted_upstream import EVENTS, Said, event
from served import PATIENCE

pytestmark = pytest.mark.once

BODY = {"model": "m", "messages": [{"role": "user", "content": "I keep bees."}]}
SECRET = "sk-of-the-server"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
def test_an_error_of_the_model_server_passes_unchanged(proxy, status, kind):
    body = json.dumps({"error": {"message": "scripted", "type": "t", "code": "c", "param": None}}).encode()
    headers = (("Retry-After", "7"), ("X-Request-Id", "req_1"), ("x-ratelimit-remaining-tokens", "3"))
    proxy.upstream.will(Said([body], status=status, headers=headers, is_sized=True))
    with pytest.raises(kind) as failed:
        proxy.chat("I keep bees.", stream=status == 500)
    got = failed.value.response
    assert (got.content, failed.value.request_id, failed.value.body["code"]) == (body, "req_1", "c")
    assert {name.lower(): got.headers[name] for name, _ in headers} == {name.lower(): value for name, value in headers}
    assert got.headers["x-memoryos-request-id"]
    assert proxy.pages() == []


def test_the_key_of_the_server_is_sent_and_nothing_that_may_be_a_key_of_memoryos(begin):
    proxy = begin(upstream_api_key=SECRET)
    made = proxy.store.keys.create("web").key
    headers = {
        "Authorization": f"Bearer {made}",
        "X-API-Key": made,
        "Api-Key": made,
        "Cookie": f"key={made}",
        "Proxy-Authorization": f"Bearer {made}",
        "X-MemoryOS-Session": "s1",
        "X-Forwarded-For": "10.0.0.1",
        "OpenAI-Organization": "org-other",
        "OpenAI-Beta": "assistants=v2",
        "Connection": "X-Hop",
        "X-Hop": made,
        "X-Auth-Token": made,
        "Helicone-Auth": f"Bearer {made}",
        "X-Custom": "stays",
    }
    got = proxy.served.http.post("/v1/chat/completions?user=ann&session=s1&api-version=7", json=BODY, headers=headers)
    assert got.status_code == 200
    sent = proxy.upstream.last
    assert sent.headers["authorization"] == f"Bearer {SECRET}"
    assert (sent.headers["x-custom"], sent.headers["openai-beta"]) == ("stays", "assistants=v2")
    assert not [name for name, value in sent.headers.items() if made in value]
    assert {"x-memoryos-session", "x-forwarded-for", "openai-organization"}.isdisjoint(sent.headers)
    assert sent.path == "/v1/chat/completions?api-version=7"
    assert proxy.memory.pages.list()[0].scope.session == "s1"


def test_without_any_key_that_of_the_client_is_for_the_model_server(begin):
    proxy = begin()
    proxy.client(key="sk-own").chat.completions.create(**BODY)
    assert proxy.upstream.last.headers["authorization"] == "Bearer sk-own"
    with pytest.raises(openai.AuthenticationError):  # of another store: it would be shown to the model server
        proxy.client(key=f"mos_{'0' * 16}_{'a' * 43}").chat.completions.create(**BODY)
    assert len(proxy.upstream.got) == 1
    made = proxy.store.keys.create("web", users=["ann"]).key
    with pytest.raises(openai.AuthenticationError):
        proxy.client(key="sk-own").chat.completions.create(**BODY)
    proxy.client(key=made).chat.completions.create(**BODY)
    assert "authorization" not in proxy.upstream.last.headers


def test_no_cookie_of_the_model_server_comes_or_goes(proxy):
    proxy.upstream.will(Said([b"{}"], headers=(("Set-Cookie", "a=1; Path=/"), ("X-MemoryOS-Status", "used"))))
    got = proxy.post(BODY)
    assert "set-cookie" not in got.headers
    assert got.headers.get_list("x-memoryos-status") == ["nothing"]
    proxy.post(BODY)
    assert "cookie" not in proxy.upstream.last.headers
    assert {got.client for got in proxy.upstream.got} == {proxy.upstream.last.client}, "the connection is used again"


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/v1", "/v1/other"])
def test_a_redirect_is_not_followed(proxy, place):
    proxy.upstream.will(Said([], status=307, headers=(("Location", place),)))
    got = proxy.post(BODY)
    assert (got.status_code, got.json()["title"], "location" in got.headers) == (502, "UpstreamMoved", False)
    assert len(proxy.upstream.got) == 1


def test_a_model_server_that_does_not_answer_is_told(begin):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = begin(upstream=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(openai.InternalServerError) as failed:
            nobody.chat("I keep bees.")
        assert (failed.value.status_code, failed.value.code) == (502, "UpstreamUnreachable")
        assert nobody.pages() == []


def test_a_model_server_that_is_too_slow_is_told(begin):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = begin(upstream=f"http://127.0.0.1:{silent.getsockname()[1]}", upstream_timeout_seconds=0.05)
        got = slow.post(BODY)
    assert (got.status_code, got.json()["title"]) == (504, "UpstreamTooSlow")


def test_a_proxy_that_is_its_own_model_server_says_so(proxy):
    got = proxy.post(BODY, Via="1.1 memoryos")
    assert (got.status_code, got.json()["title"]) == (508, "ProxyLoop")


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "example.org/v1", "http://", "http://me:secret@example.org/v1", ""]
)
def test_a_wrong_address_of_the_model_server_is_refused(url):
    with pytest.raises(InvalidInput) as refused:
        Upstream.of(load_settings(upstream=url))
    assert refused.value.field == "upstream"
    assert "secret" not in str(refused.value)


def test_a_body_that_is_no_json_is_the_business_of_the_model_server(proxy):
    for body in (
        b"{",
        b"[" * 100_000,
        b"[]",
        b'{"messages": "x"}',
        b'{"messages": []}',
        b"\xff",
        b'{"messages":[5,{}]}',
    ):
        got = proxy.post(body)
        assert got.status_code == 200
        assert got.headers["x-memoryos-status"].startswith("skipped")
        assert proxy.upstream.last.body == body
    assert proxy.pages() == []


def test_a_body_that_is_too_large_does_not_reach_the_model_server(begin):
    proxy = begin(limits={"body_bytes": 50})
    assert proxy.post(BODY).status_code == 413
    assert proxy.upstream.got == []


# In mid-stream


def endless(goes_on):
    yield event({"content": "How "})
    assert goes_on.wait(PATIENCE)
    while True:
        yield event({"content": "many " * 20_000})


def test_a_client_that_goes_away_ends_the_answer_and_stores_nothing(proxy):
    goes_on = Event()
    proxy.upstream.will(Said(endless(goes_on), kind=EVENTS))
    stream = proxy.client().chat.completions.create(**BODY, stream=True)
    assert next(iter(stream)).choices[0].delta.content == "How "
    stream.close()
    goes_on.set()
    assert proxy.upstream.left.wait(PATIENCE)
    assert proxy.pages() == []


def test_a_client_that_goes_away_before_the_answer_begins_ends_it(proxy):
    goes_on, asked = Event(), Event()

    def parts():
        asked.set()
        assert goes_on.wait(PATIENCE)
        while True:
            yield event({"content": "many " * 20_000})

    proxy.upstream.will(Said(parts(), kind=EVENTS))
    sent = json.dumps(BODY).encode()
    head = f"POST /v1/chat/completions?user=ann HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(sent)}\r\n"
    with proxy.served.connected() as connection:
        connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + sent)
        assert asked.wait(PATIENCE)
    goes_on.set()
    assert proxy.upstream.left.wait(PATIENCE)


def test_a_slow_reader_slows_the_model_server_and_is_cut_in_the_end(begin):
    proxy = begin(limits={"stall_seconds": 0.3})
    sent = []

    def parts():
        while True:
            sent.append(1)
            yield event({"content": "many " * 20_000})

    proxy.upstream.will(Said(parts(), kind=EVENTS))
    with proxy.client().chat.completions.with_streaming_response.create(**BODY, stream=True):
        assert proxy.upstream.left.wait(PATIENCE)
    assert len(sent) < 400, "100 kB each: the sockets hold some MB, and the proxy no more than a piece"
    assert proxy.pages() == []


def test_a_key_that_is_revoked_in_mid_stream_ends_the_answer(begin):
    proxy = begin(limits={"recheck_seconds": 0.0})
    made = proxy.store.keys.create("web")
    goes_on = Event()
    proxy.upstream.will(Said(endless(goes_on), kind=EVENTS))
    stream = iter(proxy.client(key=made.key).chat.completions.create(**BODY, stream=True))
    next(stream)
    proxy.store.keys.revoke(made.info.id)
    goes_on.set()
    with pytest.raises(openai.APIConnectionError):
        list(stream)
    assert proxy.upstream.left.wait(PATIENCE)
    assert proxy.pages() == []


def test_many_streams_run_at_once(proxy):
    goes_on, count = Event(), 200

    def parts():
        yield event({"content": "How "})
        assert goes_on.wait(PATIENCE)
        yield event({"content": "many?"}) + event({}, "stop") + b"data: [DONE]\n\n"

    proxy.upstream.will(*(Said(parts(), kind=EVENTS) for _ in range(count)))
    sent = json.dumps({**BODY, "stream": True}).encode()
    connections = [proxy.served.connected() for _ in range(count)]
    for number, connection in enumerate(connections):
        head = f"POST /v1/chat/completions?user=u{number} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        told = f"X-MemoryOS-Memory: read\r\nContent-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        connection.sendall(f"{head}{told}".encode() + sent)
    begun = [connection.recv(65_536) for connection in connections]
    goes_on.set()
    ended = [b"".join(iter(lambda one=one: one.recv(65_536), b"")) for one in connections]
    for connection in connections:
        connection.close()
    assert sum(b"[DONE]" in one for one in ended) == count
    assert all(one.startswith(b"HTTP/1.1 200") for one in begun)


@pytest.mark.once
def test_what_memory_cannot_read_passes_as_it_is(proxy):
    proxy.memory.add("I keep my bees behind the mill.")
    deep = '{"type":"text","text":"Where are my bees?","x":' + "[" * 700 + "]" * 700 + "}"
    for message in (
        '{"role":"user\\u0000","content":"Where are my bees?"}',
        f'{{"role":"user","content":[{deep}]}}',
    ):
        body = f'{{"model":"m","messages":[{message}]}}'
        assert proxy.post(body).status_code == 200
        assert proxy.upstream.last.json["messages"][-1] == json.loads(message)


def test_an_error_of_the_proxy_is_told_by_the_official_client_and_is_still_a_problem(begin):
    proxy = begin(limits={"body_bytes": 2_000, "values": 200})
    unnamed, told = proxy.client(is_named=False).chat.completions, []
    for more in ({"user": None}, {"user": "x" * 300}, {"stop": ["x" * 3_000]}, {"stop": [[]] * 300}):
        with pytest.raises(openai.APIStatusError) as failed:
            unnamed.create(**BODY, extra_body=more)
        error, document = failed.value, failed.value.response.json()
        assert document["detail"] in str(error)
        assert document["fix"] in str(error)
        assert document["error"] == error.body
        assert (error.code, error.type) == (document["title"], "invalid_request_error")
        told.append((document["status"], document["title"], error.param))
    scope = (422, "InvalidInput", "scope.user")
    assert told == [(422, "InvalidInput", "user"), scope, (413, "TooLarge", None), (413, "TooManyValues", None)]
    assert "error" not in proxy.served.ask("POST", "/memories", {"wrong": 1}).json()
    tokens = {"model": "m", "input": [[1] * 150, [2] * 150]}
    assert proxy.post(tokens, "/embeddings").status_code == 200, (
        "what is passed on unread may have any number of values"
    )


def test_addresses_that_are_not_served_are_told_to_who_has_a_key_for_the_model_server(begin):
    proxy = begin()
    for _ in range(2):
        with pytest.raises(openai.NotFoundError, match="Not Found"):
            proxy.client(key="sk-of-the-client").files.list()
        assert proxy.served.ask("GET", "/facts", key="sk-of-the-client").status_code == 401
    key = proxy.store.keys.create("web").key
    with pytest.raises(openai.AuthenticationError, match="API key"):
        proxy.client(key="sk-of-the-client").files.list()
    with pytest.raises(openai.NotFoundError):
        proxy.client(key=key).files.list()


def lines_of_the_log(capfd, requests):
    """What is on standard error, once that many requests are: a line may come after the answer has."""
    lines, end = [], time.monotonic() + 60
    while sum("status" in line for line in lines) < requests and time.monotonic() < end:
        time.sleep(0.01)
        lines += [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    return lines


def test_an_answer_that_is_cut_leaves_no_trace_on_standard_error(proxy, capfd):
    proxy.upstream.will(Said([event({"content": "I keep"})], kind=EVENTS, resets=True))
    with logged():
        with pytest.raises(openai.APIConnectionError):
            list(proxy.client().chat.completions.create(**BODY, stream=True))
        logging.getLogger("uvicorn.error").error("Failed.\n", exc_info=ValueError("secret"))
        proxy.chat("Hello")
        lines = lines_of_the_log(capfd, requests=3)
    assert {"server": "Failed.", "error": "ValueError"} in lines
    assert [(line["status"], line.get("error")) for line in lines if "status" in line] == [
        (200, "AnswerCut"),
        (200, None),
        (200, None),
    ]


def test_a_chat_finds_its_address_before_those_of_the_rest_api(proxy):
    """A request tries one route after the other: there are two hundred."""
    app = rest_app(proxy.store, added=added_doors(load_settings(upstream="http://127.0.0.1:1/v1")))
    paths = [route.path for route in app.router.routes]
    assert max(map(paths.index, DIALOGUES)) < paths.index("/v1/search")
