"""An embedder behind an endpoint: what it is asked, what becomes of its answers, and what a failure leaves behind."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import memoryos
import same_process
from memoryos import load_settings
from memoryos.errors import EmbedderMismatch, InvalidInput, MissingExtra, ModelError, ModelNotConfigured
from memoryos.models.embedder import load_embedder
from memoryos.models.hashing import Hashing

from .conftest import KEY
from .scripted_model import Reply, embeddings, scripted_embedder

NAME = "openai:m"
SECRET = "Whither sails the Aurora?"  # what was said, and no error may say
UNIT = [1.0, *[0.0] * 383]


def answer(*rows):
    return Reply(body=embeddings(list(rows)))


def numbered(*indexes):
    data = [{"object": "embedding", "index": index, "embedding": UNIT} for index in indexes]
    return Reply(body=json.dumps({"object": "list", "model": "m", "data": data}))


FAILURES = {
    "a refusal that quotes": [Reply(status=400, body=json.dumps({"error": {"message": f"too long: {SECRET}"}}))],
    "a refusal with a list": [Reply(status=422, body=json.dumps({"detail": [{"input": SECRET}]}))],
    "wrong key": [Reply(status=401, body=json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}}))],
    "server error": [Reply(status=500)] * 2,
    "rate limit": [Reply(status=429)] * 2,
    "no answer in time": [Reply(delay_seconds=3)],
    "connection reset": [Reply(resets_after=0)] * 2,
    "no JSON": [Reply(body=f"<html>{SECRET}</html>")],
    "an error with status 200": [Reply(body=json.dumps({"error": {"message": SECRET}}))],
    "JSON of another shape": [Reply(body=json.dumps([SECRET]))],
    "no vectors": [answer()],
    "too few vectors": [answer(UNIT)],
    "too many vectors": [answer(UNIT, UNIT, UNIT)],
    "the same number twice": [numbered(0, 0)],
    "numbers from 1 on": [numbered(1, 2)],
    "no numbers": [numbered(None, None)],
    "numbers that are none": [numbered([0], [1])],
    "shorter vectors": [answer(UNIT[:-1], UNIT[:-1])],
    "vectors of two lengths": [answer(UNIT, UNIT[:-1])],
    "empty vectors": [answer([], [])],
    "words": [answer([SECRET] * 384, UNIT)],
    "a number for a vector": [answer(1, 2)],
    "nothing for a vector": [answer(None, UNIT)],
    "vectors of vectors": [answer([UNIT], [UNIT])],
    "zeros": [answer(UNIT, [0.0] * 384)],
    "NaN": [answer(UNIT, [float("nan"), *UNIT[1:]])],
    "infinity": [answer(UNIT, [float("inf"), *UNIT[1:]])],
    "too large to measure": [answer(UNIT, [1e300] * 384)],
    "too large for a float": [answer(UNIT, [10**400] * 384)],
}


def configured(server, **values):
    defaults = {"embedder_base_url": server.url, "embedder_api_key": KEY, "llm_retries": 1, "llm_timeout_seconds": 2}
    return load_settings(**{"embedder": NAME, **defaults, **values})


def embedder_of(server, **values):
    settings = configured(server, **values)
    return load_embedder(settings.embedder, settings)


def told(error):
    return "".join(traceback.format_exception(error))


def test_rows_are_unit_vectors_in_the_order_of_the_texts(server):
    texts = [f"Text number {number}" for number in range(7)]
    vectors = embedder_of(server).embed(texts)
    assert (vectors.dtype, vectors.shape) == (np.float32, (7, 384))
    np.testing.assert_allclose(vectors, Hashing().embed(texts), atol=1e-6)  # the server sent them backwards
    assert [request["input"] for request in server.requests[1:]] == [texts]
    assert {request["model"] for request in server.requests} == {"m"}


def test_the_length_of_a_vector_is_asked_for_once(server):
    embedder = embedder_of(server)
    assert (embedder.dim, embedder.name, len(server.requests)) == (384, "openai:m@384", 1)
    assert "dimensions" not in server.requests[0]


def test_a_length_that_is_set_is_asked_for_with_the_texts_alone(server):
    embedder = embedder_of(server, embedder_dim=64)
    assert (embedder.dim, embedder.name, server.requests) == (64, "openai:m@64", [])
    vectors = embedder.embed(["My boat is called Aurora.", "The taxes are due in May."])
    assert vectors.shape == (2, 64)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert [request["dimensions"] for request in server.requests] == [64]


@pytest.mark.parametrize("texts", [[], [""], [" ", "\n"]])
def test_nothing_to_say_is_no_request(server, texts):
    vectors = embedder_of(server, embedder_dim=64).embed(texts)
    assert vectors.shape == (len(texts), 64)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    assert server.requests == []


def test_a_blank_text_among_others_keeps_its_place(server):
    vectors = embedder_of(server).embed(["one", "", "two", "  "])
    np.testing.assert_allclose(vectors[[0, 2]], Hashing().embed(["one", "two"]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert server.requests[-1]["input"] == ["one", "two"]


@pytest.mark.parametrize(
    ("texts", "requests"),
    [
        ([f"Text {number}" for number in range(70)], [32, 32, 6]),
        (["word " * 1_000] * 25, [11, 11, 3]),  # some more than 5,000 characters each
        (["long " * 50_000] * 11, [10, 1]),
        (["", "one"] * 33, [32, 1]),
    ],
)
def test_many_texts_are_sent_in_parts(server, texts, requests):
    texts = [f"{text} {index}" if text else "" for index, text in enumerate(texts)]
    vectors = embedder_of(server, embedder_dim=384).embed(texts)
    assert [len(request["input"]) for request in server.requests] == requests
    assert all(sum(map(len, request["input"])) <= 60_000 for request in server.requests)
    spoken = [index for index, text in enumerate(texts) if text]
    np.testing.assert_allclose(vectors[spoken], Hashing().embed([texts[i][:6_000] for i in spoken]), atol=1e-6)


def test_threads_may_share_one(server):
    embedder = embedder_of(server)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda number: embedder.embed([f"Text {number}"])[0], range(32)))
    np.testing.assert_allclose(rows, Hashing().embed([f"Text {number}" for number in range(32)]), atol=1e-6)


def test_its_connections_close_with_it(server):
    embedder = embedder_of(server)
    connection = embedder._connection
    assert not connection.is_closed
    del embedder
    assert connection.is_closed


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_is_an_error_that_quotes_nothing(server, failure, caplog):
    caplog.set_level(logging.INFO)
    embedder = embedder_of(server, embedder_dim=384)
    server.will(*FAILURES[failure])
    with pytest.raises(ModelError, match=r"embedder openai:m .*nothing was stored") as caught:
        embedder.embed([SECRET, "another"])
    assert not server.replies  # tried again where that may help, and no more often than was set
    shown = told(caught.value) + caplog.text
    assert KEY not in shown
    assert "Whither" not in str(caught.value)
    assert "Whither" not in caplog.text


@pytest.mark.file
@pytest.mark.parametrize("failure", ["server error", "no JSON", "NaN", "empty vectors", "wrong key"])
def test_what_fails_at_the_start_leaves_no_file(server, failure, tmp_path):
    server.will(*FAILURES[failure])
    with pytest.raises(ModelError, match="nothing was stored") as caught:
        memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server))
    assert KEY not in told(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_at_the_start_the_server_may_say_what_is_wrong(server):
    server.will(Reply(status=404, body=json.dumps({"error": {"message": "model 'm' not found, try pulling it"}})))
    with pytest.raises(ModelError, match="try pulling it"):
        embedder_of(server)


@pytest.mark.parametrize("vector", [[SECRET] * 3, [{"text": SECRET}], [[SECRET], 1.0], SECRET])
def test_at_the_start_it_quotes_no_value_of_a_vector(server, vector):
    """numpy's error had it: "could not convert string to float"."""
    answer = {"data": [{"index": 0, "embedding": vector}]}
    server.will(Reply(body=json.dumps(answer)))
    with pytest.raises(ModelError, match="something else than vectors of numbers; nothing was stored") as caught:
        embedder_of(server)
    assert "Whither" not in told(caught.value)


def test_a_failure_tells_the_status(server):
    embedder = embedder_of(server)
    server.will(Reply(status=413))
    with pytest.raises(ModelError, match="HTTP 413"):
        embedder.embed(["text"])


def test_a_server_that_is_not_there_is_an_error_that_says_so():
    with scripted_embedder() as gone:
        pass
    with pytest.raises(ModelError, match="refused"):
        embedder_of(gone)


def test_a_busy_server_is_asked_again_when_it_says(server):
    embedder = embedder_of(server)
    server.will(Reply(status=429, headers=(("Retry-After", "0.8"),)))
    start = time.perf_counter()
    assert embedder.embed(["text"]).shape == (1, 384)
    assert time.perf_counter() - start >= 0.8  # without the header, half a second at most


def test_a_memory_finds_what_it_stored(server, tmp_path):
    with memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)) as memory:
        memory.add("My boat is called Aurora.", "A fine name.")
        memory.add("The taxes are due.", "In May?")
        assert "Aurora" in memory.search("Aurora boats", strategy="dense").hits[0].text
        assert memory.stats().embedder == "openai:m@384"


@pytest.mark.file
def test_its_key_is_not_in_the_file(server, tmp_path):
    with memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)) as memory:
        memory.add("My boat is called Aurora.", "A fine name.")
    assert KEY.encode() not in (tmp_path / "m.db").read_bytes()


def test_a_failure_stores_nothing(server, tmp_path):
    with memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)) as memory:
        memory.add("My boat is called Aurora.", "A fine name.")
        server.will(*FAILURES["too few vectors"])
        with pytest.raises(ModelError, match="nothing was stored"):
            memory.add("Whither sails she?", "South.")
        assert [page.text for page in memory.pages.list()] == [
            "user: My boat is called Aurora.\nassistant: A fine name."
        ]
        memory.add("Whither sails she?", "South.")
        assert len(memory.pages.list()) == 2


@pytest.mark.parametrize("other", [{"embedder": "openai:n"}, {"embedder_dim": 64}, {"embedder": "hashing"}])
def test_a_store_of_another_model_is_refused(server, tmp_path, other):
    memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)).close()
    with pytest.raises(EmbedderMismatch, match="openai:m@384"):
        memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server, **other))
    memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)).close()


def test_a_question_that_comes_again_costs_no_request(server, tmp_path):
    with memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)) as memory:
        memory.add("My boat is called Aurora.", "A fine name.")
        memory.wait()
        before = len(server.requests)
        found = [memory.search("Which boat?").hits[0].score for _ in range(3)]
        assert len(set(found)) == 1
        assert [request["input"] for request in server.requests[before:]] == [["Which boat?"]]


def test_a_question_that_failed_is_asked_again(server, tmp_path):
    with memoryos.open(tmp_path / "m.db", user="tom", settings=configured(server)) as memory:
        memory.add("My boat is called Aurora.")
        memory.wait()
        server.will(*FAILURES["NaN"])
        with pytest.raises(ModelError):
            memory.search("Which boat?")
        assert memory.search("Which boat?").hits


@pytest.mark.parametrize("own", [{}, {"embedder_base_url": None}])
def test_the_chat_models_url_and_key_are_the_default(server, own):
    settings = {"embedder_base_url": server.url, "embedder_api_key": None, "llm_base_url": server.url}
    embedder_of(server, **settings | {"llm_api_key": KEY} | own)
    assert server.keys == [KEY]


def test_its_own_key_is_used_before_the_chat_models(server):
    embedder_of(server, llm_base_url=server.url, llm_api_key="sk-of-the-chat-model")
    assert server.keys == [KEY]


@pytest.mark.parametrize("chat", [{}, {"llm_base_url": "https://chat.example/v1"}])
def test_the_chat_models_key_is_not_shown_to_another_server(server, chat):
    embedder_of(server, embedder_api_key=None, llm_api_key="sk-of-the-chat-model", **chat)
    assert server.keys == ["none"]


def test_without_key_or_url_it_says_what_to_set():
    with pytest.raises(ModelNotConfigured, match="MEMORYOS_EMBEDDER_API_KEY"):
        load_embedder(NAME, load_settings())


@pytest.mark.parametrize("name", ["embedder_api_key", "llm_api_key"])
def test_a_key_that_cannot_be_sent_is_refused_unquoted(server, name):
    keys = {"embedder_api_key": None, "llm_base_url": server.url, name: f"{KEY}密"}
    with pytest.raises(InvalidInput, match=name) as caught:
        embedder_of(server, **keys)
    assert KEY not in told(caught.value)
    assert server.requests == []


@pytest.mark.parametrize("name", ["openai:", "openai: ", "openai", "other:m"])
def test_a_name_without_a_model_is_refused(name):
    with pytest.raises(InvalidInput, match=r"Use one of: hashing, minilm, static, static-minilm, openai:MODEL"):
        load_embedder(name, load_settings())


def test_without_the_sdk_it_says_what_to_install(monkeypatch, server):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[llm\]'"):
        embedder_of(server)


@pytest.mark.once
def test_the_command_line_measures_it(server, tmp_path):
    wanted = {"MEMORYOS_EMBEDDER_BASE_URL": server.url, "MEMORYOS_EMBEDDER_API_KEY": KEY}
    command = ["bench", "chinese", "--strategy", "hybrid", "--embedder", NAME, "--json"]
    done = same_process.memoryos(*command, cwd=tmp_path, **wanted)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["embedder"] == "openai:m@384"
