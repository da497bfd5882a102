"""`POST /v1/documents` with plain text: stored while it arrives, and refused as a document in JSON is."""

from __future__ import annotations

from contextlib import closing
from threading import Event

import pytest

from memoryos import MemoryOS, Scope, load_settings
from memoryos.bench.machine import rss_mb
from memoryos.interface.rest.admission import Admission
from memoryos.models.hashing import Hashing
from served import serving, until

pytestmark = pytest.mark.once

PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
PART = 100_000  # characters


@pytest.fixture
def store(tmp_path):
    settings = load_settings(embedder="hashing")
    with closing(MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing())) as store:
        yield store


@pytest.fixture
def api(store):
    with serving(store, body_bytes=1_000, document_bytes=1_000_000, recheck_seconds=0.0) as served:
        yield served


def sent(api, content, headers=PLAIN, key=None, **query):
    more = {"Authorization": f"Bearer {key}"} if key else {}
    query = {"user": "ann", "title": "Bees", **query}
    return api.http.post("/v1/documents", params=query, content=content, headers={**headers, **more})


def test_a_text_beyond_the_limit_of_other_bodies_is_stored_in_parts_whatever_cuts_its_characters(api, store):
    text = "养蜜蜂。 " * 50_000  # 750,000 bytes
    data = text.encode()
    done = sent(api, (data[at : at + 1_001] for at in range(0, len(data), 1_001)), tags="zoo", metadata='{"page": 7}')
    assert done.status_code == 201
    pages = store.memory("ann").pages.list()
    assert [page.id for page in pages] == done.json()["ids"]
    assert "".join(page.payload.turns[0].text for page in pages) == text
    assert len(pages) >= len(text) // PART
    assert {(page.tags, page.metadata["page"]) for page in pages} == {(("zoo",), 7)}


def test_parts_are_stored_while_the_rest_is_still_to_come(api, store):
    memory, goes_on = store.memory("ann"), Event()

    def pieces():
        yield b"Bees are insects.\n" * 12_000
        until(lambda: memory.pages.count() > 0)
        goes_on.set()
        yield b"The end."

    assert sent(api, pieces()).status_code == 201
    assert goes_on.is_set()


def test_with_a_key_a_repeated_document_is_stored_once(api, store):
    headers = {**PLAIN, "Idempotency-Key": "a"}
    first, second = (sent(api, b"Bees are insects.", headers).json()["ids"] for _ in range(2))
    assert first == second
    assert store.memory("ann").pages.count() == 1


WRONG = [
    (b"", {}, 422, "text: is empty"),
    (b" \n", {}, 422, "text: is empty"),
    (b"Bees\n\xff", {}, 422, "text: is not UTF-8 at byte 6, in line 2"),
    (b"Bees \xe5\x85", {}, 422, "text: is not UTF-8 at byte 6, in line 1"),
    (b"Bees\0", {}, 422, "NUL"),
    (b"Bees", {"title": None}, 422, "title: is missing"),
    (b"Bees", {"color": "red"}, 422, "color: is unknown"),
    (b"Bees", {"metadata": "{"}, 422, "metadata: is not JSON"),
    (b"Bees", {"user": None}, 422, "user: is missing"),
    (b"Bees", {"text": "Bees"}, 422, "text: is unknown"),
    (b"B" * 1_000_001, {}, 413, "more than 1,000,000 bytes"),
]


def test_what_is_wrong_is_refused(api):
    for content, changed, status, told in WRONG:
        query = {"user": "ann", "title": "Bees", **changed}
        kept = {name: value for name, value in query.items() if value is not None}
        refused = api.http.post("/v1/documents", params=kept, content=content, headers=PLAIN)
        shown = refused.status_code, told in refused.json()["detail"]
        assert shown == (status, True), refused.text


def test_a_text_of_unknown_length_beyond_the_limit_is_told_to_be_stored_in_part(api, store):
    refused = sent(api, (b"Bees are insects.\n" * 1_000 for _ in range(60)))
    assert (refused.status_code, refused.json()["title"]) == (500, "DocumentIncomplete")
    assert 0 < store.memory("ann").pages.count() <= 10


def test_only_documents_are_taken_as_plain_text(api):
    refused = api.http.post("/v1/memories", params={"user": "ann"}, content=b"Bees", headers=PLAIN)
    assert refused.status_code == 415
    assert api.ask("POST", "/documents", {"text": "Bees.", "title": "Bees"}).status_code == 201
    document = api.http.get("/openapi.json").json()
    body = document["paths"]["/v1/documents"]["post"]["requestBody"]["content"]
    assert body.keys() == {"application/json", "text/plain"}


def test_a_document_needs_the_right_to_write_and_a_key_that_holds_until_its_end(api, store, monkeypatch):
    reads = store.keys.create("reader", actions=["read"]).key
    assert sent(api, b"Bees.", key=reads).status_code == 403
    assert sent(api, b"Bees.").status_code == 401
    writes, admitted, admit = store.keys.create("writer"), Event(), Admission.admit

    def noted(admission, request):
        asking = admit(admission, request)
        admitted.set()
        return asking

    monkeypatch.setattr(Admission, "admit", noted)

    def pieces():
        yield b"Bees are insects.\n" * 100
        assert admitted.wait(60)  # before that, a revoked key is refused as an unknown one
        store.keys.revoke(writes.info.id)
        yield b"The end."

    refused = sent(api, pieces(), key=writes.key)
    assert refused.status_code == 403
    assert store.memory("ann").pages.count() == 0


def test_a_client_that_goes_away_or_stalls_holds_nothing(store):
    with serving(store, body_seconds=0.2) as api:
        head = b"POST /v1/documents?user=ann&title=Bees HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        assert api.raw(head + b"Content-Length: 99\r\n\r\nBees").startswith(b"HTTP/1.1 408")
        with closing(api.connected()) as connection:
            connection.sendall(head + b"Content-Length: 99\r\n\r\nBees")
        until(lambda: "memoryos_requests_running 1.0" in api.http.get("/metrics").text)  # this one alone
        assert store.memory("ann").pages.count() == 0


def test_what_is_sent_faster_than_it_is_stored_takes_no_memory(store):
    head = (
        "POST /v1/documents?user=ann&title=Bees HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 50000000\r\n"
        "Host: 127.0.0.1\r\n\r\n"
    )
    writing = store._engine.vault.write(Scope("bob"))  # until its end no document is stored
    with serving(store) as api, writing, api.connected() as sender:
        sender.sendall(head.encode())
        sender.settimeout(1.0)
        before = rss_mb()
        with pytest.raises(TimeoutError):
            while True:
                sender.send(b"Bees are insects.\n" * 10_000)  # more than the length told: it is never reached
        assert rss_mb() - before < 10.0, "of 50 MB"
