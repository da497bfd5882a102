"""Whose memory a proxied request uses, what its key allows, and what happens if memory fails."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Event, Timer
from time import sleep

import openai
import pytest

from memoryos import MemoryOS, load_settings
from memoryos.errors import ModelUnavailable
from memoryos.interface.proxy.proxied_memory import RecentExchanges
from memoryos.interface.proxy.upstream import Upstream
from memoryos.models.hashing import Hashing
from proxy.conftest import Proxied, proxied
from proxy.scripted_upstream import answer
from served import PATIENCE, until

BODY = {"model": "m", "messages": [{"role": "user", "content": "Where do I keep my bees?"}]}


def notes(proxy):
    """What the model server was told from memory."""
    return json.dumps(proxy.upstream.last.json["messages"][:-1], ensure_ascii=False)


def test_two_users_share_nothing(proxy):
    bob = replace(proxy, user="bob 鲍勃")
    proxy.memory.add("I keep my bees behind the mill.")
    bob.memory.add("I keep my bees on the roof.")
    for one, own, other in ((proxy, "mill", "roof"), (bob, "roof", "mill")):
        one.client().chat.completions.create(**BODY)
        assert own in notes(proxy)
        assert other not in notes(proxy)
    replace(proxy, user="a new one").client().chat.completions.create(**BODY)
    assert proxy.upstream.last.json == BODY


@pytest.mark.once
def test_the_owner_is_named_in_the_address_in_headers_or_by_the_body(proxy):
    def ask(query=None, body=None, **headers):
        proxy.upstream.will(answer(f"At the mill, {query}, {headers}."))
        told = {f"X-MemoryOS-{name}": value.encode() for name, value in headers.items()}
        asked = {**BODY, **(body or {})}
        return proxy.served.http.post("/v1/chat/completions", params=query, json=asked, headers=told)

    def stored(user, agent="default"):
        return [page.scope.session for page in proxy.store.memory(user, agent=agent).pages.list()]

    ask({"user": "安 1", "agent": "coder", "session": "s1"})
    ask(User="安 2", Agent="coder", Session="s 2")
    ask({"user": "安 3"}, User="安 3")
    ask(body={"user": "安 4"})
    assert [stored("安 1", "coder"), stored("安 2", "coder"), stored("安 3"), stored("安 4")] == [
        ["s1"],
        ["s 2"],
        [None],
        [None],
    ]
    assert proxy.upstream.last.json["user"] == "安 4"
    wrong = [ask(), ask({"user": "a"}, User="b"), ask({"user": ""}), ask({"user": "a", "agent": "x" * 300})]
    wrong += [ask({"user": "a"}, {"user": "b"}), ask(body={"user": "b"}, User="a")]
    wrong += [ask({"user": "a"}, Memory="maybe"), ask({"user": "a"}, Tokens="many"), ask({"user": "a"}, Tokens="0")]
    assert [one.status_code for one in wrong] == [422] * len(wrong)
    headers = [f"X-MemoryOS-{name}" for name in ("Memory", "Tokens", "Tokens")]
    fields = ["user", "user", "scope.user", "scope.agent", "user", "user", *headers]
    assert [one.json()["field"] for one in wrong] == fields
    assert len(proxy.upstream.got) == 4


@pytest.mark.once
def test_without_keys_the_server_names_the_user_of_requests_that_name_none(proxy, begin):
    named = begin(user="安")
    refused = proxy.served.http.post("/v1/chat/completions", json=BODY)
    assert refused.status_code == 422
    ways = ("?user=", "X-MemoryOS-User", "`user` of the body", "MEMORYOS_USER", "`memoryos serve --user`")
    assert [one for one in ways if one not in refused.json()["fix"]] == []
    client = named.client(is_named=False)  # its base URL alone is another one
    client.chat.completions.create(**BODY)
    client.chat.completions.create(**BODY, user="bob")
    assert [len(replace(named, user=one).pages()) for one in ("安", "bob", "default")] == [1, 1, 0]
    key = named.store.keys.create("web", users=["ann", "bob"]).key
    with pytest.raises(openai.UnprocessableEntityError, match="is missing") as told:
        named.client(key=key, is_named=False).chat.completions.create(**BODY)
    assert "MEMORYOS_USER" not in str(told.value)
    with pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(**BODY)


@pytest.mark.once
def test_the_key_says_whose_memory_and_what_may_be_done_with_it(begin):
    proxy = begin()
    keys = proxy.store.keys
    own = keys.create("web", users=["ann"]).key
    reads, writes = (keys.create(one, users=["ann"], actions=[one]).key for one in ("read", "write"))
    proxy.memory.add("I keep my bees behind the mill.")
    proxy.upstream.will(*(answer(f"At the mill, {number}.") for number in range(3)))
    told = []
    for number, key in enumerate((own, reads, writes)):
        client, asked = proxy.client(key=key, is_named=False), f"Where do I keep my bees? {number}"
        got = client.chat.completions.with_raw_response.create(model="m", messages=[{"role": "user", "content": asked}])
        told.append((got.headers["x-memoryos-status"], "mill" in notes(proxy), len(proxy.pages())))
    assert told == [("used", True, 2), ("used", True, 2), ("unavailable; PermissionDenied", False, 3)]
    with pytest.raises(openai.PermissionDeniedError):
        replace(proxy, user="bob").client(key=own).chat.completions.create(**BODY)
    assert len(proxy.upstream.got) == 3
    assert (
        'memoryos_proxy_exchanges_total{status="PermissionDenied"} 1.0'
        in proxy.served.http.get("/metrics", headers={"Authorization": f"Bearer {own}"}).text
    )


@pytest.mark.once
def test_personal_data_is_stored_as_the_policy_wants_and_passed_as_it_is(begin):
    proxy = begin(privacy_on_write="mask")
    said = "My card is 4111 1111 1111 1111 and I keep bees."
    proxy.upstream.will(answer("I noted 4111 1111 1111 1111."))
    assert "4111" in proxy.chat(said).parse().choices[0].message.content
    assert proxy.upstream.last.json["messages"] == [{"role": "user", "content": said}]
    (page,) = proxy.pages()
    assert "4111" not in page
    proxy.chat(said, "I noted 4111 1111 1111 1111.", "Do I keep bees?")
    assert proxy.upstream.last.json["messages"][0]["content"] == said, "what is masked is known to be in the dialogue"


@pytest.mark.once
def test_what_may_not_be_stored_is_not_and_the_chat_goes_on(begin):
    proxy = begin(privacy_on_write="refuse")
    assert proxy.chat("My card is 4111 1111 1111 1111.").parse().choices[0].message.content
    assert proxy.pages() == []
    assert 'exchanges_total{status="PrivacyRefused"} 1.0' in proxy.served.http.get("/metrics").text


@pytest.mark.once
def test_an_exchange_is_as_sensitive_as_the_memories_that_the_model_was_shown(begin, tmp_path):
    rules = tmp_path / "rules.cedar"
    rules.write_text("permit(principal, action, resource);", "utf-8")
    proxy = begin(policies=rules)
    proxy.memory.add("My diagnosis: I am allergic to bees.", sensitivity=["diagnosis"])
    proxy.upstream.will(answer("You are allergic to them."))
    proxy.chat("Which allergy do I have, to bees?")
    assert "allergic to bees" in notes(proxy)
    proxy.store.wait()
    assert proxy.memory.pages.list()[1].governance.sensitivity == ("diagnosis",)


class Failing(Hashing):
    """An embedder that fails when it is told to."""

    fails = False

    def embed(self, texts):
        if self.fails:
            raise ModelUnavailable("the embedder does not answer; nothing was stored")
        return super().embed(texts)


@pytest.mark.once
def test_if_memory_fails_the_chat_goes_on_and_says_so(begin):
    embedder = Failing()
    proxy = begin(embedder=embedder)
    proxy.memory.add("I keep my bees behind the mill.")
    proxy.store.wait()
    embedder.fails = True
    got = proxy.chat("Where are my bees?")
    assert got.parse().choices[0].message.content
    assert got.headers["x-memoryos-status"] == "unavailable; ModelUnavailable"
    assert len(proxy.upstream.last.json["messages"]) == 1
    assert 'exchanges_total{status="ModelUnavailable"} 1.0' in proxy.served.http.get("/metrics").text
    embedder.fails = False
    proxy.chat("Where are my bees?")  # a repeated one: the first was not stored
    assert len(proxy.pages()) == 2


@pytest.mark.once
@pytest.mark.file
def test_an_answer_comes_though_another_process_holds_the_store_and_is_not_stored_later(begin, tmp_path, caplog):
    proxy = begin(busy_timeout_seconds=0.05, upstream_memory_seconds=0.5)
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert proxy.chat("I keep bees.").parse().choices[0].message.content
    proxy.memory.forget()
    sleep(1.0)  # a second attempt would come half a second after the first
    assert proxy.pages() == []
    assert 'exchanges_total{status="StoreBusy"} 1.0' in exchanges(proxy)
    assert '{"proxy": "not stored", "error": "StoreBusy"}' in caplog.text


def exchanges(proxy):
    """What the server counted of exchanges."""
    lines = proxy.served.http.get("/metrics").text.splitlines()
    return "\n".join(line for line in lines if line.startswith("memoryos_proxy_exchanges_total"))


class Held(Hashing):
    """An embedder that answers when it is let go."""

    def __init__(self):
        super().__init__()
        self.is_let = Event()
        self.is_let.set()

    def embed(self, texts):
        self.is_let.wait(PATIENCE)
        return super().embed(texts)


@pytest.mark.once
def test_memory_that_takes_too_long_is_not_waited_for_and_the_exchange_is_stored_later(begin):
    embedder = Held()
    proxy = begin(embedder=embedder, upstream_memory_seconds=1.0)
    embedder.is_let.clear()
    got = proxy.chat("Where are my bees?")
    assert got.headers["x-memoryos-status"] == "unavailable; TooLong"
    assert got.parse().choices[0].message.content
    embedder.is_let.set()
    until(proxy.pages)


@pytest.mark.once
def test_a_long_chat_needs_none_of_the_threads_that_memory_holds(begin, caplog):
    embedder = Held()
    proxy = begin(embedder=embedder, upstream_memory_seconds=0.2, limits={"threads": 1})
    embedder.is_let.clear()
    proxy.chat("Where are my bees?")  # to store it takes the only thread
    got = proxy.chat("I keep my bees behind the mill. " * 4_000)
    assert got.headers["x-memoryos-status"] == "unavailable; TooLong; not stored"
    assert "not stored" not in caplog.text, "the first is not given up meanwhile"
    embedder.is_let.set()
    until(proxy.pages)


@pytest.mark.once
def test_the_rate_holds_though_all_threads_wait_for_memory(begin):
    embedder = Held()
    proxy = begin(embedder=embedder, upstream_memory_seconds=0.2, limits={"threads": 1, "per_minute": 2})
    embedder.is_let.clear()
    told = [proxy.post({**BODY, "messages": [{"role": "user", "content": f"Bees {n}?"}]}) for n in range(4)]
    embedder.is_let.set()
    assert [got.status_code for got in told] == [200, 200, 429, 429]
    assert len(proxy.upstream.got) == 2


@pytest.mark.once
def test_the_key_of_the_chat_model_is_for_its_own_server_alone():
    def key(**settings):
        return Upstream.of(load_settings(**settings))._key

    known = {"llm_api_key": "sk-chat", "llm_base_url": "https://models.example/v1"}
    assert key(upstream="https://models.example/v1/", **known) == "sk-chat"
    assert key(upstream="https://other.example/v1", **known) is None
    assert key(upstream="https://api.openai.com/v1", llm_api_key="sk-chat") == "sk-chat"
    assert key(upstream="https://other.example/v1", upstream_api_key="sk-own", **known) == "sk-own"


@pytest.mark.once
def test_an_exchange_is_known_for_a_while():
    now = [0.0]
    recent = RecentExchanges(lambda: now[0])
    assert [recent.note(b"a"), recent.note(b"b"), recent.note(b"a")] == [True, True, False]
    recent.forget(b"b")
    assert recent.note(b"b")
    now[0] = 601.0
    assert [recent.note(b"a"), recent.note(b"a")] == [True, False]


@pytest.mark.once
@pytest.mark.file
def test_a_chat_with_a_key_does_not_wait_for_the_work_of_others(upstream, tmp_path):
    begun, goes_on = Event(), Event()

    class Slow(Hashing):
        def embed(self, texts):
            if "slow" in texts:
                begun.set()
                goes_on.wait(PATIENCE)
            return super().embed(texts)

    settings = {"limits": {"threads": 1}, "upstream_memory_seconds": 0.01}
    with proxied(upstream, "sqlite", tmp_path, embedder=Slow(), **settings) as proxy, ThreadPoolExecutor(1) as other:
        key = proxy.store.keys.create("web").key
        headers = {"Authorization": f"Bearer {key}"}
        search = partial(proxy.served.http.post, "/v1/search?user=ann", json={"query": "slow"}, headers=headers)
        running = other.submit(search)
        assert begun.wait(PATIENCE)
        create = proxy.client(key=key).chat.completions.create
        try:
            assert create(model="m", messages=[{"role": "user", "content": "Hello?"}]).choices[0].message.content
        finally:
            goes_on.set()
        assert running.result().status_code == 200


def leave(proxy: Proxied, said: str) -> None:
    """Chat so that the exchange waits for the store. On a busy machine 10 ms may be too short to know who asks."""
    while "not stored" in (answer := proxy.chat(said)).headers["x-memoryos-status"]:
        pass
    assert answer.parse().choices[0].message.content


@pytest.mark.once
@pytest.mark.file
def test_a_server_that_ends_stores_what_waits_for_a_busy_store(upstream, tmp_path):
    place = tmp_path / "memory.db"
    settings = {"busy_timeout_seconds": PATIENCE, "upstream_memory_seconds": 0.01}
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    with closing(other), closing(MemoryOS.open(place, settings=load_settings(embedder="hashing"))) as store:
        with proxied(upstream, "sqlite", tmp_path, limits={"closing_seconds": PATIENCE}, **settings) as proxy:
            other.execute("BEGIN IMMEDIATE")
            leave(proxy, "I keep bees.")
            Timer(0.2, other.execute, ["COMMIT"]).start()
        assert store.memory("ann").pages.count() == 1


@pytest.mark.once
@pytest.mark.file
def test_what_waits_at_the_end_of_closing_is_told_as_not_stored(upstream, tmp_path, caplog):
    settings = {"busy_timeout_seconds": 5.0, "upstream_memory_seconds": 0.01}
    with proxied(upstream, "sqlite", tmp_path, limits={"closing_seconds": 0.1}, **settings) as proxy:
        other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
        proxy.store.keys.exist()
        other.execute("BEGIN IMMEDIATE")
        for said in ("I keep bees.", "I keep ants."):
            leave(proxy, said)
    other.close()
    assert caplog.text.count('{"proxy": "not stored", "error": "ServerEnded"}') == 2
