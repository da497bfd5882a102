"""Abuse of the server: whose memory a key opens, bodies that are too much, clients that go away, what is logged."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import product
from threading import Event
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from generation.scripted_model import Reply, scripted_model
from memoryos import Action, MemoryOS, load_settings
from memoryos.errors import PermissionDenied
from memoryos.interface.rest.lingering_close import LingeringClose
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.rate import MOST_CALLERS, Rate
from memoryos.interface.rest.replays import MOST, Replays
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.streamed_routes import Lines
from memoryos.models.hashing import Hashing
from served import PATIENCE, SETTINGS, logged, opened, serving, until

JSON = b"Content-Type: application/json\r\n"


@pytest.fixture
def store(place):
    with opened(place) as store:
        yield store


@pytest.fixture
def api(store):
    with serving(store, body_bytes=2_000) as served:
        yield served


def told(answer):
    return answer.status_code, answer.json()["title"]


# Keys and tenants


def test_two_tenants_do_not_see_each_other(api, store):
    keys = {tenant: store.keys.create("web", tenant=tenant).key for tenant in ("acme", "bolt")}
    ids = {}
    for tenant, key in keys.items():
        (ids[tenant],) = api("POST", "/memories", {"query": f"The secret of {tenant}."}, key=key)["ids"]
    for mine, other in (("acme", "bolt"), ("bolt", "acme")):
        found = api.ask("POST", "/search", {"query": f"secret of {other}", "kinds": ["page"]}, key=keys[mine])
        assert found.status_code == 200
        assert [hit["id"] for hit in found.json()["hits"]] == [ids[mine]]
        assert f"secret of {other}." not in found.text
        assert api("GET", "/pages/count", key=keys[mine]) == {"count": 1}
        assert f"secret of {other}." not in api.ask("GET", "/export", key=keys[mine]).text
        for verb, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/history"), ("POST", "/freeze")):
            body = {"text": "Mine!"} if verb == "PATCH" else None
            theirs, nobodys = (
                api.ask(verb, f"/memories/{one}{path}", body, key=keys[mine]) for one in (ids[other], "nowhere")
            )
            assert theirs.status_code == nobodys.status_code
            assert theirs.text.replace(ids[other], "ID") == nobodys.text.replace("nowhere", "ID")
    assert store.memory("ann", tenant="acme").get(ids["acme"]).text == "user: The secret of acme."


def test_a_tenant_is_not_named_by_a_request(api, store):
    store.keys.create("admin")
    key = store.keys.create("web", tenant="acme", actions=["read", "write", "delete", "share", "administer"]).key
    assert api.ask("GET", "/pages", tenant="default", key=key).json()["field"] == "tenant"
    for tenant in ("default", "acme", "bolt"):
        assert api.ask("GET", "/users", user=None, tenant=tenant, key=key).status_code == 403
        assert api.ask("GET", "/keys", user=None, tenant=tenant, key=key).status_code == 403


@pytest.mark.once
def test_a_key_of_one_user_cannot_tell_who_else_there_is(api, store):
    key = store.keys.create("web", users=["ann"]).key
    (page,) = store.memory("bob").add([{"role": "user", "content": "I am Bob."}])
    answers = [api.ask("GET", f"/memories/{page}", user=user, key=key) for user in ("bob", "carl")]
    assert [told(one) for one in answers] == [(403, "PermissionDenied")] * 2
    assert answers[0].text == answers[1].text
    assert told(api.ask("GET", f"/memories/{page}", key=key)) == (404, "NotFound")


@pytest.mark.once
def test_without_a_valid_key_nothing_is_told(api, store):
    store.keys.revoke(store.keys.create("web").info.id)  # keys are used here, though none is valid
    tried = (None, "Bearer", "Bearer mos_0123456789abcdef_" + "A" * 43, "Basic YTpi", "Bearer \u00ff", "KEY")
    for header, path in product(tried, ("/pages?user=ann", "/search", "/nowhere", "/memories/x")):
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        verb = "POST" if path == "/search" else "GET"
        answer = api.http.request(verb, f"/v1{path}", headers=headers, content=b"{")
        assert told(answer) == (401, "KeyNeeded"), (header, path)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert api.http.get("/metrics").status_code == 401
    assert api.http.get("/health").status_code == 200


@pytest.mark.once
def test_invalid_keys_are_in_the_audit_log_with_the_address_and_few_entries(place, clock):
    opening = partial(MemoryOS.open, place, settings=load_settings(embedder="hashing", audit=True), clock=clock)
    with closing(opening(embedder=Hashing())) as store, serving(store) as api:
        store.keys.create("web")
        for number in range(20):
            assert told(api.ask("GET", "/pages", key=f"mos_0123456789abcdef_{number:043}")) == (401, "KeyNeeded")
        assert api.ask("GET", "/pages").status_code == 401  # without a key
        (noted,) = [one for one in store.audit.list() if one.caller == "unknown"]
        assert (noted.operation, noted.decision.value) == ("keys.caller", "refused")
        assert noted.context == {"network": "127.0.0.1", "key": "invalid"}


@pytest.mark.once
def test_a_key_that_is_revoked_opens_nothing_at_once(api, store):
    made = store.keys.create("web")
    assert api.ask("GET", "/pages", key=made.key).status_code == 200
    store.keys.revoke(made.info.id)
    assert told(api.ask("GET", "/pages", key=made.key)) == (401, "KeyNeeded")


@pytest.mark.once
def test_a_key_does_what_it_was_made_for(api, store):
    key = store.keys.create("reader", actions=["read"]).key
    assert told(api.ask("POST", "/memories", {"query": "Hi!"}, key=key)) == (403, "PermissionDenied")
    assert told(api.ask("POST", "/forget", key=key)) == (403, "PermissionDenied")
    assert api.ask("GET", "/pages", key=key).status_code == 200


@pytest.mark.once
def test_without_keys_only_this_machine_is_answered(api):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        said = f"GET /v1/pages?user=ann HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert api.raw(said.encode()).startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")), host
    assert api.ask("GET", "/pages", headers={"Host": "localhost:99"}).status_code == 200


OTHER_SITES = [
    [("Origin", "https://evil.example")],
    [("Origin", "null")],
    [("Origin", "http://127.0.0.1:1")],
    [("Origin", "http://127.0.0.1@evil.example")],
    [("Sec-Fetch-Site", "cross-site")],
    [("Sec-Fetch-Site", "same-site")],
    [("Origin", "http://HOST"), ("Origin", "https://evil.example")],
]


@pytest.mark.once
def test_a_page_of_another_site_changes_nothing(api):
    host = api.url.removeprefix("http://")
    for pairs, (verb, path) in product(OTHER_SITES, (("POST", "/forget"), ("GET", "/pages"))):
        headers = [(name, value.replace("HOST", host)) for name, value in pairs]
        answer = api.http.request(verb, f"/v1{path}?user=ann", headers=headers)
        assert told(answer) == (403, "OtherSite"), pairs
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.once
def test_a_page_of_the_server_itself_may_ask(api):
    for headers in ({"Origin": api.url}, {"Sec-Fetch-Site": "same-origin"}):
        assert api.ask("GET", "/pages", headers=headers).status_code == 200, headers


@pytest.mark.once
def test_a_replayed_answer_is_only_for_who_asked(api, store):
    keys = [store.keys.create(name).key for name in ("one", "two")]
    header = {"Idempotency-Key": "same"}
    ids = [api("POST", "/snapshots", {"name": f"s{n}"}, key=key) for n, key in enumerate(keys)]
    assert len(ids) == 2
    first, second = (
        api.ask("POST", "/snapshots", {"name": f"of {n}"}, key=key, headers=header) for n, key in enumerate(keys)
    )
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["name"] != second.json()["name"]


# Bodies


NO_REQUESTS = [
    (b"{", 400),
    (b"[" * 1_900, 400),
    (b'{"query": ' + b"9" * 1_900 + b"}", (400, 422)),
    (b"\xff\xfe", 400),
    (b"[]", 422),
    (b'"text"', 422),
    (b"null", 422),
    (b'{"query": null}', 422),
    (b'{"query": "bees", "query": "wasps"}', 422),
    (b'{"query": "bees", "filters": {"tags": ["a"], "tags": ["b"]}}', 422),
    (b'{"query": "a\\u0000b"}', 422),
    (b'{"query": "\\ud800"}', 422),
    (b'{"query": "bees", "min_score": NaN}', 422),
    (b'{"query": "bees", "pages": 1e999}', 422),
    (b'{"query": "bees", "pages": true}', (200, 422)),
    (b'{"query": "' + b"x" * 3_000 + b'"}', 413),
]


@pytest.mark.once
def test_a_body_that_is_no_request_is_refused(api):
    for body, status in NO_REQUESTS:
        answer = api.http.post("/v1/search?user=ann", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (status if isinstance(status, tuple) else (status,)), (body[:40], answer.text)
        assert len(answer.content) < 2_000


@pytest.mark.once
@pytest.mark.parametrize(
    "body", ['{"query": "é"}'.encode("latin-1"), b"[" * 90_000, b'{"pages": ' + b"9" * 9_000 + b"}"]
)
def test_a_body_that_cannot_be_read_is_refused_with_what_to_send(store, body):
    with serving(store) as api:
        answer = api.http.post("/v1/search?user=ann", content=body, headers={"Content-Type": "application/json"})
    assert told(answer) == (400, "Unreadable")
    assert (answer.json()["detail"], "UTF-8" in answer.json()["fix"]) == ("The body cannot be read as JSON", True)


@pytest.mark.once
def test_a_body_of_more_values_than_the_limit_is_not_parsed(store):
    with serving(store, values=60) as api:
        for made in ({f"k{number}": 1 for number in range(60)}, {"query": [1] * 60}, {"query": [[]] * 60}):
            answer = api.ask("POST", "/memories", made)
            assert told(answer) == (413, "TooManyValues")
            assert "60 values" in answer.json()["detail"]
        assert (
            api.http.post("/v1/memories", content=b"[" * 61, headers={"Content-Type": "application/json"}).status_code
            == 413
        )
        words = 'He said: "[a, b, c], {d}, \\\\" and so on, ' * 60
        assert api.ask("POST", "/memories", {"query": words}).status_code == 201, "what stands in a text is no value"


@pytest.mark.once
def test_of_a_thousand_faults_of_one_body_the_first_are_told():
    body = Parameters.of(next(one for one in ROUTES if one.operation == "add")).body
    for wrong in ({f"k{number}": 1 for number in range(1_000)}, {"tags": [1] * 1_000}):
        with pytest.raises(ValidationError) as caught:
            body(**{"query": "x", **wrong})
        assert caught.value.error_count() <= 16


@pytest.mark.once
def test_a_body_of_another_type_is_refused(api):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = api.http.post("/v1/search?user=ann", content=b'{"query": "x"}', headers={"Content-Type": kind})
        assert told(answer) == (415, "UnsupportedMediaType"), kind


@pytest.mark.once
def test_a_packed_body_is_refused(api):
    packed = gzip.compress(b'{"query": "bees"}')
    for kind, path in (
        ("application/json", "/v1/search"),
        ("text/plain", "/v1/documents"),
        ("application/json", "/mem0/search"),
    ):
        headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
        answer = api.http.post(f"{path}?user=ann", content=packed, headers=headers)
        assert told(answer) == (415, "UnsupportedMediaType"), path
        assert answer.headers["accept-encoding"] == "identity"
    headers = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    assert api.http.post("/v1/search?user=ann", content=b'{"query": "bees"}', headers=headers).status_code == 200


@pytest.mark.once
def test_a_body_that_does_not_say_how_long_it_is_ends_at_the_limit(api):
    head = b"POST /v1/search?user=ann HTTP/1.1\r\nHost: localhost\r\n" + JSON + b"Transfer-Encoding: chunked\r\n\r\n"
    assert api.raw(head + b"1000\r\n" + b" " * 4_096 + b"\r\n0\r\n\r\n").startswith(b"HTTP/1.1 413")


@pytest.mark.once
def test_a_client_that_sends_all_of_a_large_body_before_it_reads_is_told_why_it_is_refused(api):
    """A connection that is closed with unread bytes is reset, and the answer lost."""
    said = b'{"query": "' + b"x" * 8_000_000 + b'"}'

    async def send() -> list[int]:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            asked = partial(
                client.post, f"{api.url}/v1/memories?user=ann", headers={"Content-Type": "application/json"}
            )
            return [(await asked(content=said)).status_code for _ in range(3)]

    assert asyncio.run(send()) == [413] * 3


REFUSED = {"type": "http.response.start", "status": 413, "headers": [(b"connection", b"close")]}


@pytest.mark.once
@pytest.mark.parametrize("pause", [0, 60])
def test_a_body_that_never_ends_is_not_read_for_ever(pause):
    """Neither one that comes fast nor one of which nothing comes. The answer has all its bytes before."""
    read, sent = list[int](), list[Any]()

    async def receive() -> Any:
        read.append(1)
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(message: Any) -> None:
        sent.append((len(read) > 0, message.get("body"), message.get("more_body", False)))

    async def refuse() -> None:
        closing = LingeringClose({"headers": []}, receive, send, seconds=0.05 if not pause else 60, idle=0.05)
        await closing.send(REFUSED)
        await closing.send({"type": "http.response.body", "body": b"no"})
        await closing.end()

    asyncio.run(refuse())
    assert sent[1:] == [(False, b"no", True), (True, b"", False)]


@pytest.mark.once
@pytest.mark.parametrize("status", [400, 401, 408])
def test_who_was_not_admitted_keeps_no_connection_open(status):
    """Only a body that is too large is read on, because its sender was admitted."""
    sent = list[Any]()

    async def send(message: Any) -> None:
        sent.append(message.get("more_body", False))

    async def refuse() -> None:
        closing = LingeringClose({"headers": [(b"connection", b"close")]}, None, send)
        await closing.send({**REFUSED, "status": status})
        await closing.send({"type": "http.response.body", "body": b"no"})
        await closing.end()

    asyncio.run(refuse())
    assert sent == [False, False]


@pytest.mark.once
def test_a_request_that_hides_another_one_is_refused_and_its_connection_closed(api):
    head = b"POST /v1/search?user=ann HTTP/1.1\r\nHost: localhost\r\n" + JSON
    hidden = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    said = api.raw(head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden)
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1


@pytest.mark.once
def test_a_body_that_does_not_come_is_not_awaited_for_ever(store):
    with serving(store, body_seconds=0.0) as api:
        head = b"POST /v1/search?user=ann HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n" + JSON + b"\r\n"
        assert api.raw(head).startswith(b"HTTP/1.1 408")


@pytest.mark.once
def test_an_answer_that_takes_too_long_is_given_up(store):
    with serving(store, answer_seconds=0.0) as api:
        assert told(api.ask("GET", "/pages")) == (504, "TooLong")


@pytest.mark.once
def test_a_connection_without_a_request_is_closed(store):
    with serving(store, head_seconds=0.3) as api:
        for sent in (b"", b"GET /health HTTP/1.1\r\nHost: localh", b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nG"):
            said = api.raw(sent)  # until the server closes
            assert said[:12] == (b"HTTP/1.1 200" if sent.endswith(b"G") else b""), sent
        assert api.http.get("/health").status_code == 200


@pytest.mark.once
def test_an_answer_may_take_longer_than_the_headers_of_its_request(talking_slowly):
    api, model = talking_slowly
    goes_on = Event()

    def pieces():
        yield "Hello "
        assert goes_on.wait(PATIENCE)
        yield "Ann."

    model.will(Reply(pieces()))
    headers = {"Accept": "text/event-stream"}
    with api.http.stream("POST", "/v1/respond?user=ann", json={"query": "Hi!"}, headers=headers) as answer:
        assert api.raw(b"") == b""  # as long as a silent connection lasts
        goes_on.set()
        assert "event: end" in "".join(answer.iter_text())


# Rates


@pytest.mark.once
def test_too_many_requests_are_refused_until_later(store):
    with serving(store, per_minute=2) as api:
        statuses = [api.ask("GET", "/stats").status_code for _ in range(3)]
        refused = api.ask("GET", "/stats")
    assert statuses == [200, 200, 429]
    assert told(refused) == (429, "TooManyRequests")
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_a_bucket_fills_as_time_goes_by_and_each_caller_has_one():
    now = [0.0]
    rate = Rate(60, clock=lambda: now[0])
    for _ in range(60):
        rate.take("ann")
    with pytest.raises(Refusing):
        rate.take("ann")
    rate.take("bob")
    now[0] = 1.0
    rate.take("ann")
    with pytest.raises(Refusing):
        rate.take("ann")
    for number in range(MOST_CALLERS + 10):
        rate.take(str(number))
    assert len(rate._left) == MOST_CALLERS


def test_replays_are_bounded_and_a_running_request_is_not_run_twice():
    replays = Replays()

    def once(name, work):
        return replays.once((name,), b"x", work, lambda: None)

    def again():
        for number in range(MOST + 10):
            assert once(str(number), lambda: {"count": 1}) == {"count": 1}
        assert len(replays._done) == MOST
        return once("running", lambda: None)

    with pytest.raises(Refusing, match="is running"):
        once("running", again)
    assert not replays._running


def test_replays_keep_neither_words_nor_secrets():
    replays = Replays()
    answer = {"id": "7", "ids": ["7"], "count": 2, "key": "mos_secret", "text": "bees", "info": {"id": "bees"}}
    answer |= {"owner_id": "bees" * 99}
    first, second = (replays.once(("a",), b"bees", lambda: answer, lambda: None) for _ in range(2))
    assert first == answer
    assert second == {"id": "7", "ids": ["7"], "count": 2}
    assert "bees" not in repr(vars(replays))
    assert "secret" not in repr(replays._done)


@pytest.mark.once
def test_a_repeated_read_is_read_anew(api, store):
    header, body = {"Idempotency-Key": "same"}, {"query": "bees"}
    assert api.ask("POST", "/search", body, headers=header).json()["hits"] == []
    api("POST", "/memories", {"query": "I keep bees."})
    assert len(api.ask("POST", "/search", body, headers=header).json()["hits"]) == 1
    api("POST", "/forget")
    assert api.ask("POST", "/search", body, headers=header).json()["hits"] == []


@pytest.mark.once
def test_a_repeated_request_tells_no_secret_and_makes_no_second_key(api, store):
    admin = store.keys.create("admin", roles=["administrator"], actions=["administer"]).key
    header = {"Idempotency-Key": "same"}
    ask = partial(api.ask, "POST", "/keys", {"identity": "web"}, key=admin, headers=header, user=None)
    first, second = ask(), ask()
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["key"].startswith("mos_")
    assert first.json()["key"] not in second.text
    assert len(store.keys.list()) == 2


@pytest.mark.once
def test_of_two_members_or_keys_of_a_request_none_is_chosen(api):
    content, kind = b'{"query": "bees", "tags": ["a"], "tags": ["b"]}', {"Content-Type": "application/json"}
    answer = api.http.post("/v1/memories?user=ann", content=content, headers=kind)
    assert (*told(answer), answer.json()["field"]) == (422, "InvalidInput", "tags")
    answer = api.ask("GET", "/pages", filters='{"any_tags": ["a"], "any_tags": ["b"]}')
    assert (*told(answer), answer.json()["field"]) == (422, "InvalidInput", "any_tags")
    keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = api.ask("POST", "/memories", {"query": "bees"}, headers=keys)
    assert (*told(answer), answer.json()["field"]) == (422, "InvalidInput", "Idempotency-Key")
    assert api("GET", "/pages/count")["count"] == 0


@pytest.mark.once
def test_a_key_of_a_request_has_a_length(api):
    for key in ("", "k" * 257):
        refused = api.ask("POST", "/snapshots", {"name": "a"}, headers={"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["field"]) == (422, "Idempotency-Key")
    assert api.ask("POST", "/snapshots", {"name": "a"}, headers={"Idempotency-Key": "k" * 256}).status_code == 201


@pytest.mark.once
@pytest.mark.parametrize(
    ("action", "verb", "path"),
    [
        ("delete", "DELETE", "/memories/{}"),
        ("delete", "POST", "/forget"),
        ("administer", "POST", "/memories/{}/thaw"),
        ("write", "POST", "/memories/{}/freeze"),
    ],
)
def test_a_repeated_change_needs_the_right_of_the_change_alone(api, store, action, verb, path):
    page = store.memory("ann").add("I keep bees.")
    if "thaw" in path:
        store.memory("ann").governance.freeze(page)
    key = store.keys.create("web", actions=["read", action]).key
    ask = partial(api.ask, verb, path.format(page), key=key, headers={"Idempotency-Key": "same"})
    first, second = ask(), ask()
    assert first.status_code == second.status_code < 300


class _OnlyAdmitted:
    """A gate that admits as long as it is open."""

    is_open = True

    def admit(self, caller, action, scope):
        if not self.is_open and action is Action.WRITE:
            raise PermissionDenied("no")


@pytest.mark.once
def test_a_replay_is_only_for_who_may_still_ask(tmp_path):
    gate = _OnlyAdmitted()
    opened = MemoryOS.open(tmp_path / "memory.db", settings=SETTINGS, embedder=Hashing(), gate=gate)
    with closing(opened) as store, serving(store) as api:
        key, header = store.keys.create("web").key, {"Idempotency-Key": "same"}
        ask = partial(api.ask, "POST", "/snapshots", {"name": "a"}, key=key, headers=header)
        assert [ask().status_code, ask().status_code] == [201, 201]
        gate.is_open = False
        assert ask().status_code == 403


# Clients that go away


def talking_within(tmp_path, **limits):
    with scripted_model() as model:
        settings = load_settings(embedder="hashing", llm_model="some-model", llm_api_key="k", llm_base_url=model.url)
        store = MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing())
        with closing(store), serving(store, recheck_seconds=0.0, **limits) as served:
            yield served, model


@pytest.fixture
def talking(tmp_path):
    yield from talking_within(tmp_path)


@pytest.fixture
def talking_slowly(tmp_path):
    yield from talking_within(tmp_path, head_seconds=0.3)


def running(api):
    """How many requests run, as the server counts them, without this one."""
    lines = api.http.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("memoryos_requests_running ")).split()[1]) - 1


@pytest.mark.once
def test_a_client_that_goes_away_in_mid_stream_stores_nothing_and_holds_nothing(talking):
    api, model = talking
    model.will(Reply(tuple(f"word{number} " * 200 for number in range(2_000))))
    headers = {"Accept": "text/event-stream"}
    with api.http.stream("POST", "/v1/respond?user=ann", json={"query": "Hi!"}, headers=headers) as answer:
        next(answer.iter_text())
    until(lambda: running(api) == 0)
    api.store.wait()
    assert api.store.memory("ann").pages.count() == 0


@pytest.mark.once
def test_a_client_that_goes_away_in_an_export_holds_nothing(api, store):
    for number in range(3):
        data = base64.b64encode(bytes([number]) * 4_000_000).decode()
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        store.memory("ann").add([{"role": "user", "content": [image]}])
    with closing(api.connected()) as connection:
        connection.sendall(b"GET /v1/export?user=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200")
    until(lambda: running(api) == 0)
    assert api.ask("GET", "/stats").status_code == 200


@pytest.mark.once
def test_readers_of_exports_that_stop_reading_block_nobody_else(api, store):
    memory = store.memory("ann")
    for number in range(4):
        data = base64.b64encode(bytes([number]) * 2_000_000).decode()
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        memory.add([{"role": "user", "content": [image]}])
    store.memory("bob").add("I keep bees.")
    with ExitStack() as left:
        for _ in range(18):  # more than threads of the server
            connection = left.enter_context(closing(api.connected()))
            connection.sendall(b"GET /v1/export?user=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert "bees" in api.ask("GET", "/export", user="bob").text
        assert api.ask("POST", "/memories", {"query": "I keep ants."}, user="bob").status_code == 201
    until(lambda: running(api) == 0)


@pytest.mark.once
def test_exports_at_the_same_time_all_end(api, store):
    store.memory("ann").add("I keep bees.")
    with ThreadPoolExecutor(40) as threads:
        told = list(threads.map(lambda _: api.http.get("/v1/export?user=ann").text, range(40)))
    assert ["bees" in one for one in told] == [True] * 40


def test_an_export_whose_reader_takes_nothing_is_given_up():
    lines = Lines(0.0)
    with pytest.raises(BrokenPipeError):
        lines.write("more")
    assert lines.next() is None


def test_neither_end_of_an_export_waits_for_the_other_once_it_is_left():
    lines = Lines(PATIENCE)
    with ThreadPoolExecutor(2) as threads:
        reader = threads.submit(lines.next)
        lines.leave()
        assert reader.result(PATIENCE) is None
        with pytest.raises(BrokenPipeError):
            lines.write("more")
        lines.end()


@pytest.mark.once
def test_a_client_that_goes_away_within_its_body_holds_nothing(api):
    with closing(api.connected()) as connection:
        connection.sendall(
            b"POST /v1/memories?user=ann HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n" + JSON + b"\r\n{"
        )
    until(lambda: running(api) == 0)


# The log


@pytest.mark.once
def test_the_log_has_no_word_of_a_request(api, store, caplog):
    made = store.keys.create("web")
    with caplog.at_level(logging.INFO, logger="memoryos.server"):
        api("POST", "/memories", {"query": "I keep bees."}, key=made.key, user="annabel")
        api("POST", "/search", {"query": ""}, key=made.key, user="annabel")
        api.ask("GET", "/memories/annabel-7", key=made.key + "x", user="annabel")
        lines = [json.loads(line) for line in logged(caplog.records, 3)]
    assert [(one["route"], one["status"], one["by"]) for one in lines] == [
        ("/v1/memories", 201, made.info.id),
        ("/v1/search", 422, made.info.id),
        ("unknown", 401, None),
    ]
    for secret in ("bees", "annabel", made.key.split("_", 2)[2]):
        assert secret not in caplog.text


@pytest.mark.once
def test_a_fault_of_the_program_tells_its_class_alone(api, store, caplog, monkeypatch):
    began = Event()

    def fail(*_, **__):
        began.set()
        raise RuntimeError("I keep bees.")

    monkeypatch.setattr(type(store.memory("ann")), "stats", fail)
    answer = api.ask("GET", "/stats")
    assert began.is_set()
    assert told(answer) == (500, "Failure")
    assert "bees" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text
