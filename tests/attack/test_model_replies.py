"""What a model's server may send without hanging, filling or breaking the memory, over real HTTP."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import forked
import memoryos
from contract.back_ends import files_on
from generation.scripted_model import scripted_embedder
from memoryos import Memory, load_settings
from memoryos.bench.scripted_reader import reply as reading
from memoryos.errors import BudgetSpent, ModelError, ModelUnavailable
from memoryos.infrastructure.vault.records import JobState
from memoryos.models import loop
from memoryos.models.body import MOST_BYTES
from memoryos.models.chat import OpenAIChat
from memoryos.models.embedder import load_embedder

from .misbehaving_model import (
    DONE,
    EVENTS,
    HEAD,
    JSON,
    Asked,
    Misbehaving,
    bomb,
    cheap_bomb,
    completion,
    drips,
    event,
    floods,
    misbehaving,
    redirects,
    sends,
    streams,
)

NO_HANG = 20.0  # seconds: far more than a timeout of one second takes, and far less than the server goes on
KEY = "sk-0123456789abcdef"
WHOLE = (event("Noted."), event(finish="stop"), DONE)


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def model() -> Iterator[Misbehaving]:
    with misbehaving() as server:
        yield server


@pytest.fixture
def opened(tmp_path, model) -> Iterator[Callable[..., Memory]]:
    """opened(...): a memory that asks the server, with a second for each call."""
    memories = []

    def make(**changes: object) -> Memory:
        values = {"embedder": "hashing", "llm_model": "m", "llm_base_url": model.url, "llm_retries": 1}
        settings = load_settings(**{**values, "llm_timeout_seconds": 1, **changes})
        memory = memoryos.open(tmp_path / "memory.db", user="tom", settings=settings)
        memories.append(memory)
        return memory

    yield make
    for memory in memories:
        memory.close()


@pytest.fixture
def memory(opened) -> Memory:
    return opened(llm_timeout_seconds=10)


def whole(memory: Memory) -> str:
    return memory.respond("Hello?").text


def streamed(memory: Memory) -> str:
    return "".join(memory.respond_stream("Hello?"))


WAYS = pytest.mark.parametrize("ask", [whole, streamed])


def contents(memory: Memory) -> list[str]:
    memory.wait()
    return [page.text for page in memory.pages.list()]


def refused(
    memory: Memory, ask: Callable[[Memory], str], match: str, kind: type = ModelError, within: float = NO_HANG
) -> None:
    """Check that the answer is an error and soon there, and that nothing is stored."""
    begin = time.monotonic()
    with pytest.raises(kind, match=match):
        ask(memory)
    assert time.monotonic() - begin < within
    assert contents(memory) == []


# Time

SLOW = {
    "silence": drips(b"", b""),
    "headers byte by byte": drips(b"HTTP/1.1 200 X\r\nX-Long: ", b"a"),
    "a body byte by byte": drips(HEAD % (200, JSON) + b"Content-Length: 100000\r\n\r\n", b" "),
    "an error byte by byte": drips(HEAD % (500, JSON) + b"Content-Length: 100000\r\n\r\n", b" "),
    "comments": drips(HEAD % (200, EVENTS) + b"\r\n", b": wait\n\n"),
    "pieces without end": drips(HEAD % (200, EVENTS) + b"\r\n", event("on ")),
}


OF_WHOLE = {"headers byte by byte", "a body byte by byte"}  # waited for by this way in CI, the others by that
WAITED = [
    pytest.param(ask, slowly, marks=[] if (ask is whole) == (slowly in OF_WHOLE) else pytest.mark.long)
    for ask in (whole, streamed)
    for slowly in SLOW
]


@pytest.mark.once
@pytest.mark.parametrize(("ask", "slowly"), WAITED)
def test_a_call_ends_in_its_time_from_the_connection_to_the_last_byte(opened, model, ask, slowly):
    model.will(SLOW[slowly], SLOW[slowly])
    refused(opened(), ask, r"within llm_timeout_seconds \(1\)\); nothing was stored", ModelUnavailable)


@pytest.mark.once
def test_its_tries_and_the_pauses_between_them_are_a_part_of_the_time(opened, model):
    model.otherwise = sends(b"{}", b"Retry-After: 30", status=429)
    memory = opened(llm_retries=5)
    refused(memory, whole, "429", ModelUnavailable)
    assert len(model.requests) == 1  # the second try would be too late: the caller hears now what was wrong


@pytest.mark.once
def test_an_embedder_ends_in_its_time(model):
    model.will(SLOW["a body byte by byte"])
    settings = load_settings(embedder_base_url=model.url, llm_timeout_seconds=1, embedder_dim=8, llm_retries=0)
    embedder = load_embedder("openai:m", settings)
    begin = time.monotonic()
    with pytest.raises(ModelUnavailable, match="llm_timeout_seconds"):
        embedder.embed(["text"])
    assert time.monotonic() - begin < NO_HANG


def hot(opened: Callable[..., Memory], **changes: object) -> Memory:
    """A memory with pages that a model is to read."""
    memory = opened(short_term_capacity=1, extractor="model", **changes)
    memory.add("My name is Tom Baker and I live in Oslo.", "I see.")
    memory.add("Thanks.", "Welcome.")
    return memory


def worked(memory: Memory) -> list[str]:
    """Let the model read what waits; the causes of what failed."""
    memory.consolidate()
    memory.jobs.run()
    return [job.error for state in JobState for job in memory.jobs.list(state) if job.error]


def test_a_slow_model_puts_the_job_back_and_its_lease_is_free(opened, model):
    model.otherwise = SLOW["a body byte by byte"]
    memory = hot(opened)
    begin = time.monotonic()
    causes = worked(memory)
    assert time.monotonic() - begin < NO_HANG
    assert causes
    assert all("llm_timeout_seconds" in cause for cause in causes)
    assert memory.jobs.list(JobState.LEASED) == []


# Size


@pytest.fixture
def megabytes(long: bool) -> int:
    """Of a bomb: more than is read."""
    return 64 if long else 20


@pytest.fixture
def lists(long: bool) -> bytes:
    """JSON that takes a second to parse (4.5 MB), or several (15 MB)."""
    return b"[" + b"[]," * (5_000_000 if long else 1_500_000) + b"[]]"


LARGE = {
    "a gzip bomb": lambda megabytes: sends(bomb(megabytes), b"Content-Encoding: gzip"),
    "a body without end": lambda _: floods(b" " * 2**16),
    "an event without end": lambda _: floods(b"data: " + b" " * 2**16, EVENTS),
    "events without end": lambda _: floods(event("on ").replace(b'"x"', b'"%s"' % (b"x" * 1_500)) * 30, EVENTS),
}


@pytest.mark.once
@pytest.mark.parametrize(
    ("ask", "large"),
    [
        (whole, "a gzip bomb"),
        (whole, "a body without end"),
        (streamed, "an event without end"),
        (streamed, "events without end"),
        pytest.param(streamed, "a gzip bomb", marks=pytest.mark.long),
        pytest.param(streamed, "a body without end", marks=pytest.mark.long),
        pytest.param(whole, "an event without end", marks=pytest.mark.long),
        pytest.param(whole, "events without end", marks=pytest.mark.long),
    ],
)
def test_an_answer_is_read_up_to_16_megabytes_unpacked(opened, model, ask, large, megabytes):
    model.will(LARGE[large](megabytes))
    refused(opened(llm_timeout_seconds=45), ask, "more than 16 MB; nothing was stored", within=50)


@pytest.mark.once
@pytest.mark.parametrize(
    ("ask", "status", "encoding"),
    [(whole, 200, b"gzip"), (streamed, 200, b"gzip"), (whole, 400, b"gzip"), (whole, 200, b"gzip, gzip")],
)
def test_what_is_unpacked_takes_little_more_memory_than_what_may_be_read(opened, model, ask, status, encoding):
    """As many bytes of gzip, packed twice, took 17 GB."""
    body = cheap_bomb(270) if encoding == b"gzip" else gzip.compress(cheap_bomb(17_000))
    assert len(body) < 292_000
    reply = sends(body, b"Content-Encoding: " + encoding, status=status, kind=JSON if ask is whole else EVENTS)
    model.will(reply, reply)
    memory = opened(llm_timeout_seconds=60)
    refused(memory, ask, "nothing was stored", within=70)  # what is loaded once
    tracemalloc.start()
    try:
        refused(memory, ask, "nothing was stored", within=70)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.25 * MOST_BYTES


@WAYS
@pytest.mark.once
def test_a_large_error_is_cut_off_and_told_as_one(memory, model, ask, megabytes):
    model.will(sends(bomb(megabytes), b"Content-Encoding: gzip", status=400))
    refused(memory, ask, r"BadRequestError.*nothing was stored")


@WAYS
@pytest.mark.once
def test_json_that_would_take_long_to_parse_is_not_parsed(opened, model, ask, lists):
    body = lists if ask is whole else b"data: " + lists + b"\n\n"
    model.will(sends(gzip.compress(body, 1), b"Content-Encoding: gzip", kind=JSON if ask is whole else EVENTS))
    memory = opened(llm_timeout_seconds=60)
    with watched() as steps:
        refused(memory, ask, "more than 2,097,152 bytes of JSON; nothing was stored", within=70)
    assert max(steps) < 1


@pytest.mark.once
def test_vectors_are_parsed_as_long_as_they_can_be(model, lists):
    settings = load_settings(embedder_base_url=model.url, llm_timeout_seconds=60, embedder_dim=8, llm_retries=0)
    embedder = load_embedder("openai:m", settings)
    longest = [-1.7976931348623157e-308] * 7 + [1.0]
    item = {"index": 0, "embedding": longest}
    model.will(sends(json.dumps({"data": [item]}, indent=8).encode()), sends(lists))
    assert embedder.embed(["text"])[0, 7] == 1
    with pytest.raises(ModelError, match="sent more than 65,856 bytes of JSON"):
        embedder.embed(["text"])


@pytest.mark.once
@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (bomb(8, layers=2), b"gzip, gzip"),
        (b"what is this", b"br"),
        (b"no gzip at all", b"gzip"),
        (bomb(1)[:-9], b"gzip"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error(memory, model, body, encoding):
    model.will(sends(body, b"Content-Encoding: " + encoding))
    refused(memory, whole, r"compress.*nothing was stored")


@WAYS
@pytest.mark.once
def test_an_honest_gzip_is_read(memory, model, ask):
    body = completion("Noted.") if ask is whole else b"".join(WHOLE)
    model.will(sends(gzip.compress(body), b"Content-Encoding: gzip", kind=JSON if ask is whole else EVENTS))
    assert ask(memory) == "Noted."


@contextmanager
def watched() -> Iterator[list[float]]:
    """The CPU seconds that the models' loop takes before another call has its turn, again and again."""
    steps = list[float]()

    async def watch() -> None:
        while True:
            begin = time.thread_time()
            await asyncio.sleep(0.001)
            steps.append(time.thread_time() - begin)

    watching = loop.start(watch())
    try:
        yield steps
    finally:
        watching.cancel()


PACKED = {  # each unpacks to some MB
    "line ends": (b"\n" * 500_000, "ended early"),
    "line ends of two characters": (b"\r\n" * 250_000, "ended early"),
    "comments": (b": x\n" * 120_000, "ended early"),
    "lines without a meaning": (b"x\n" * 250_000, "ended early"),
    "data without an end": (b"data\n" * 100_000, "ended early"),
    "empty events": (b"data: {}\n\n" * 101_000, "more than 100,000 events; nothing was stored"),
    "events without text": (event("") * 8_000, "ended early"),
}


@pytest.mark.once
@pytest.mark.parametrize("packed", PACKED)
def test_other_calls_go_on_while_a_packed_stream_is_read(opened, model, packed, long):
    """A thousandth of these lines, sent as gzip, held up all calls of the process for a minute, past every deadline."""
    lines, match = PACKED[packed]
    lines *= 10 if long else 1
    model.will(sends(gzip.compress(lines), b"Content-Encoding: gzip", kind=EVENTS))
    memory = opened(llm_timeout_seconds=60)
    with watched() as steps:
        refused(memory, streamed, match, within=70)
    assert len(steps) > 5
    assert max(steps) < 1


@WAYS
@pytest.mark.once
def test_an_answer_that_is_too_long_to_be_stored_is_an_error(opened, model, ask):
    model.will(sends(completion("x" * 101)) if ask is whole else streams(event("x" * 101), DONE))
    refused(opened(max_text_chars=100), ask, r"max_text_chars \(100\); nothing was stored")


# Counts

USAGES = {
    "negative": {"prompt_tokens": -1_000_000, "completion_tokens": -1_000_000, "total_tokens": -2_000_000},
    "tiny": {"prompt_tokens": 1, "completion_tokens": 1},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "huge": {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    "large": {"prompt_tokens": 9_999_999, "completion_tokens": 9_999_999},
    "words": {"prompt_tokens": "many", "completion_tokens": "few"},
    "truth": {"prompt_tokens": True, "completion_tokens": False},
    "a fraction": {"prompt_tokens": 0.5, "completion_tokens": 1e308},
    "lists": {"prompt_tokens": [1], "completion_tokens": {}, "prompt_tokens_details": [5]},
    "none": None,
    "missing": ...,
    "no object": [1, 2],
    "cached words": {"prompt_tokens": 300, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": "x"}},
}
STORED = {"negative", "huge", "missing"}  # such counts meet both stores; of the others none comes that far
ALIKE = {"zero", "large", "truth", "no object"}  # met like one of the others
COUNTS = [
    pytest.param(name, marks=[*[pytest.mark.once] * (name not in STORED), *[pytest.mark.long] * (name in ALIKE)])
    for name in USAGES
]
BUDGET = 1_500


@pytest.mark.parametrize("usage", COUNTS)
def test_a_count_that_cannot_be_refunds_no_budget(opened, model, usage):
    model.otherwise = sends(completion("Oslo is in Norway.", usage=USAGES[usage]))
    budget = 3 * BUDGET if usage == "large" else BUDGET  # each call counts twice what it may then
    memory = opened(llm_tokens_per_day=budget, llm_max_tokens=50, llm_timeout_seconds=10)
    calls = 0
    with pytest.raises(BudgetSpent):
        for calls in range(200):  # noqa: B007 - how many there were is wanted
            memory.respond("Where is Oslo?")
    assert 3 < calls < 30  # a prompt has a hundred tokens or more
    spent = sum(one.prompt_tokens + one.completion_tokens for one in memory.log.usage())
    assert 0 < spent <= budget * 1.1


@pytest.mark.parametrize("usage", COUNTS)
def test_a_count_that_cannot_be_fails_no_job(opened, model, usage):
    def reply(asked: Asked) -> None:
        sends(completion(json.dumps(reading(asked.request["messages"])), usage=USAGES[usage]))(asked)

    model.otherwise = reply
    memory = hot(opened, llm_timeout_seconds=10)
    assert worked(memory) == []
    assert "Oslo" in str(memory.profile.get().user)
    assert all(one.prompt_tokens > 0 and one.completion_tokens > 0 for one in memory.log.usage())


@WAYS
@pytest.mark.once
@pytest.mark.parametrize("sign", [b"", b"-"])
def test_a_count_of_thousands_of_digits_fails_no_call(memory, model, ask, sign):
    counted = completion("Noted.", usage={"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}})
    counted = counted.replace(b'tokens": 0', b'tokens": ' + sign + b"9" * 5_000)
    events = (event("Noted."), b"data: " + counted + b"\n\n", DONE)
    model.will(sends(counted) if ask is whole else streams(*events))
    assert ask(memory) == "Noted."
    (used,) = memory.log.usage()
    assert 0 < used.prompt_tokens < 1_000


# Shape

SHAPES = {
    "no model": completion("Hi.", model=...),
    "a model that is null": completion("Hi.", model=None),
    "a model that is a number": completion("Hi.", model=5),
    "no choices": completion("Hi.", choices=...),
    "empty choices": completion("Hi.", choices=[]),
    "choices that are null": completion("Hi.", choices=None),
    "choices of numbers": completion("Hi.", choices=[5]),
    "many choices": completion("Hi.", choices=[{"message": {"content": "Hi."}}] * 129),
    "a choice without a message": completion("Hi.", choices=[{}]),
    "a message that is a text": completion("Hi.", choices=[{"message": "Hi."}]),
    "content that is a number": completion(5),
    "content that is a list": completion(["Hi."]),
    "null": b"null",
    "a text": b'"Hi."',
    "nothing": b"",
    "half": completion("Hi.")[:40],
    "deep lists": b"[" * 200_000,
    "a long number": b'{"model": "m", "choices": ' + b"1" * 10_000 + b"}",
    "no UTF-8": b'{"model": "\xff\xfe"}',
}


@pytest.mark.once
@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_of_another_shape_is_a_model_error(memory, model, shape):
    model.will(sends(SHAPES[shape]))
    refused(memory, whole, "the chat model .*nothing was stored")


STREAM_SHAPES = {
    "choices of numbers": b'data: {"choices": [5]}\n\n',
    "many choices": b'data: {"choices": [' + b'{"delta": {"content": "Hi."}}, ' * 128 + b'{"delta": {}}]}\n\n',
    "content that is a number": b'data: {"choices": [{"delta": {"content": 5}}]}\n\n',
    "a list": b"data: [1]\n\n",
    "half": b'data: {"choices": [\n\n',
    "deep lists": b"data: " + b"[" * 200_000 + b"\n\n",
    "no UTF-8": b'data: {"choices": "\xff\xfe"}\n\n',
}


@pytest.mark.once
@pytest.mark.parametrize("shape", STREAM_SHAPES)
def test_an_event_of_another_shape_is_a_model_error(memory, model, shape):
    model.will(streams(event("Once "), STREAM_SHAPES[shape], *WHOLE))
    refused(memory, streamed, "the chat model .*nothing was stored")


@pytest.mark.once
@pytest.mark.parametrize(
    "shape",
    [
        "no choices",
        pytest.param("no model", marks=pytest.mark.long),
        pytest.param("content that is a number", marks=pytest.mark.long),
    ],
)
def test_bench_answers_says_what_is_wrong_with_a_reply(model, tmp_path, shape):
    turns = [{"speaker": "Ann", "dia_id": "D1:1", "text": "Kiwi is my parrot."}]
    talk = {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = {"question": "Who is Kiwi?", "category": 4, "evidence": ["D1:1"], "answer": "a parrot"}
    data = tmp_path / "locomo.json"
    data.write_text(json.dumps([{"sample_id": "one", "conversation": talk, "qa": [asked]}]), "utf-8")
    model.otherwise = sends(SHAPES[shape])
    endpoint = {"MEMORYOS_LLM_MODEL": "m", "MEMORYOS_LLM_BASE_URL": model.url, "MEMORYOS_LLM_RETRIES": "0"}
    arguments = ["bench", "answers", "--data", str(data), "--embedder", "hashing", "--system", "context"]
    done = forked.memoryos(*arguments, cwd=tmp_path, timeout=120, **endpoint)
    assert done.returncode == 4  # a model error
    assert "not in the form of the OpenAI API" in done.stderr
    assert "Traceback" not in done.stderr


# Text


@WAYS
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (("No", "\x00", "ted\x00."), "Noted."),
        (("a \ud800 b",), "a � b"),
        (("Ha \ud83d", "\ude00!"), "Ha 😀!"),
        (("the end \ud83d",), "the end �"),
    ],
)
def test_what_cannot_be_stored_is_taken_out_of_an_answer(memory, model, ask, said, kept):
    model.will(sends(completion("".join(said))) if ask is whole else streams(*map(event, said), DONE))
    assert ask(memory) == kept
    assert contents(memory) == [f"user: Hello?\nassistant: {kept}"]


@pytest.mark.once
def test_nothing_but_nul_is_no_answer(memory, model):
    model.will(sends(completion("\x00\x00")))
    refused(memory, whole, "empty answer")


@pytest.mark.parametrize("odd", ["\x00", "\ud800"])
def test_what_cannot_be_stored_breaks_no_job(opened, model, odd):
    def reply(asked: Asked) -> None:
        read = reading(asked.request["messages"])
        for fact in read.get("facts", ()):
            fact["fact"] += odd
        sends(completion(json.dumps(read)))(asked)

    model.otherwise = reply
    memory = hot(opened, llm_timeout_seconds=10)
    assert worked(memory) == []
    facts = [fact.text for fact in memory.profile.get().user.facts]
    assert any("Oslo" in fact for fact in facts)
    assert odd not in "".join(facts)


CHARSETS = pytest.mark.parametrize(
    "charset",
    [b"hex", b"punycode", b"utf-16", *(pytest.param(one, marks=pytest.mark.long) for one in (b"zlib", b"bz2"))],
)


@WAYS
@CHARSETS
@pytest.mark.once
@pytest.mark.parametrize(("kind", "status"), [(b"text/plain", 200), (JSON, 400), (EVENTS, 400)])
def test_a_body_is_utf_8_whatever_its_server_calls_it(memory, model, ask, charset, kind, status):
    """Some codecs of Python are no character sets, and some take very long."""
    model.otherwise = sends(b"a" * 1_000_000, status=status, kind=kind + b"; charset=" + charset)
    begin = time.process_time()
    refused(memory, ask, "nothing was stored")
    assert time.process_time() - begin < 5  # punycode took 15 s


@WAYS
@CHARSETS
@pytest.mark.once
def test_an_answer_in_utf_8_is_read_whatever_its_server_calls_it(memory, model, ask, charset):
    kind = {whole: JSON, streamed: EVENTS}[ask] + b"; charset=" + charset
    chunks = event("Grüße").replace(b"\\u00fc\\u00df", "üß".encode()), event(finish="stop"), DONE
    body = completion("Grüße").replace(b"\\u00fc\\u00df", "üß".encode()) if ask is whole else b"".join(chunks)
    model.will(sends(body, kind=kind))
    assert ask(memory) == "Grüße"


# Errors


def told(memory: Memory, ask: Callable[[Memory], str]) -> str:
    with pytest.raises(ModelError) as caught:
        ask(memory)
    return str(caught.value)


@WAYS
@pytest.mark.once
@pytest.mark.parametrize("before", [0, 100, 250, 255, 260])
def test_an_error_is_quoted_in_part_and_without_the_key(opened, model, ask, before):
    """Also where the end of the quotation would cut the key."""
    message = "x" * before + KEY + "y" * 100_000
    model.will(sends(json.dumps({"error": {"message": message}}).encode(), status=401))
    error = told(opened(llm_api_key=KEY), ask)
    assert "401 - " + "x" * min(before, 250) in error
    assert len(error) < 450
    assert KEY[:4] not in error


@WAYS
@pytest.mark.once
def test_a_short_error_is_quoted_as_it_is(memory, model, ask):
    model.will(sends(json.dumps({"error": {"message": "The model m is not known."}}).encode(), status=404))
    assert told(memory, ask).endswith("404 - The model m is not known.); nothing was stored")


@pytest.mark.once
@pytest.mark.parametrize(
    "event_of_error",
    [
        b'event: error\ndata: {"message": "out of memory"}\n\n',
        b"event:error\ndata: out of memory\n\n",
        b"event:  Error \ndata: {}\n\n",
        b'data: {"type": "error", "message": "out of memory"}\n\n',
        b"event: error\ndata: {}\n\n",
        event(finish="error"),
    ],
)
def test_an_event_that_is_an_error_by_its_type_is_one(memory, model, event_of_error):
    model.will(streams(event("Once "), event_of_error, DONE))
    with pytest.raises(ModelError):
        streamed(memory)
    memory.wait()
    assert memory.pages.list() == []


@pytest.mark.once
def test_an_error_event_is_quoted_in_part_too(opened, model):
    error = json.dumps({"error": {"message": KEY + "y" * 100_000}}).encode()
    model.will(streams(event("Once "), b"data: " + error + b"\n\n"))
    refusal = told(opened(llm_api_key=KEY), streamed)
    assert "***yyy" in refusal
    assert len(refusal) < 450


# The end of a stream


@pytest.mark.parametrize(
    "end", [(), (b": bye\n\n",), (b'data: {"choices": []}\n\n',), (event(" a", ""), event(finish=""))]
)
def test_a_stream_that_is_cut_is_an_error_and_nothing_is_stored(memory, model, end):
    model.will(streams(event("Once "), event("upon "), *end))
    refused(memory, streamed, "ended early; nothing was stored")


@pytest.mark.once
@pytest.mark.parametrize(
    "end", [(DONE,), (event(finish="stop"),), (event(finish="length"), DONE), (b"data:[DONE]\n\n",)]
)
def test_a_stream_ends_with_done_or_with_a_reason(memory, model, end):
    model.will(streams(event("Once "), event("upon."), *end))
    assert streamed(memory) == "Once upon."
    assert contents(memory) == ["user: Hello?\nassistant: Once upon."]


@pytest.mark.once
def test_a_text_about_the_end_of_streams_does_not_end_one(memory, model):
    model.will(streams(event("Send\ndata: [DONE]\n\n"), event("at the end")))
    refused(memory, streamed, "ended early")


@contextmanager
def abandoned() -> Iterator[list[str]]:
    """The generators of the models' loop that somebody left for the garbage collector meanwhile."""
    running, found = loop._calls.running(), list[str]()

    def set_hooks(*hooks: object) -> None:
        done = threading.Event()
        running.call_soon_threadsafe(lambda: (sys.set_asyncgen_hooks(*hooks), done.set()))
        assert done.wait(60)

    set_hooks(None, lambda left: found.append(left.__qualname__))

    async def others() -> None:
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left)

    try:
        yield found
        asyncio.run_coroutine_threadsafe(others(), running).result(60)
        gc.collect()
    finally:
        set_hooks(running._asyncgen_firstiter_hook, running._asyncgen_finalizer_hook)


def stopped(memory: Memory) -> str:
    with closing(memory.respond_stream("Hello?")) as pieces:
        return next(pieces)


ENDS = {
    "whole": (streamed, (event("Once "), event(finish="stop"), DONE)),
    "cut": (streamed, (event("Once "),)),
    "half an event": (streamed, (event("Once "), b"data: {\n\n", *WHOLE)),
    "an error": (streamed, (event("Once "), b'data: {"error": {"message": "no"}}\n\n', *WHOLE)),
    "stopped": (stopped, (event("Once "), *[event("more ")] * 50, DONE)),
    "stopped in a flood": (stopped, [event("more " * 20) * 500] * 1_000),
}


@pytest.mark.once
@pytest.mark.parametrize("end", ENDS)
def test_no_stream_is_left_to_the_garbage_collector(memory, model, end):
    """It may run in any thread, also while the loop is in the generator: "async generator already executing"."""
    ask, events = ENDS[end]
    model.will(streams(*events))
    with abandoned() as found, suppress(ModelError):
        ask(memory)
    memory.wait()
    assert found == []


# Redirects


@WAYS
@pytest.mark.once
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(memory, model, ask, status):
    with misbehaving() as other:
        model.will(redirects(f"{other.url}/chat/completions", status))
        refused(memory, ask, "another origin, which is not followed; set the base URL")
        assert other.requests == []


@pytest.mark.once
@pytest.mark.parametrize("place", ["https://127.0.0.1/v1", "//localhost/v1", "http://[", "http://127.0.0.1:1/v1"])
def test_another_scheme_host_or_port_is_another_origin(memory, model, place):
    model.will(redirects(place))
    refused(memory, whole, "nothing was stored")
    assert len(model.requests) == 1


@WAYS
@pytest.mark.once
def test_a_redirect_within_the_server_is_followed(memory, model, ask):
    model.will(redirects("/v2/chat"), sends(completion("Noted.")) if ask is whole else streams(*WHOLE))
    assert ask(memory) == "Noted."
    assert len(model.requests) == 2


@pytest.mark.once
def test_an_embedder_sends_no_text_to_another_origin(model):
    with misbehaving() as other:
        model.will(redirects(f"{other.url}/embeddings"))
        settings = load_settings(embedder_base_url=model.url, embedder_dim=8)
        with pytest.raises(ModelError, match="another origin"):
            load_embedder("openai:m", settings).embed(["My boat is called Aurora."])
        assert other.requests == []


# Processes

EMBEDS = """
import os, sys
from memoryos import load_settings
from memoryos.models import loop
from memoryos.models.body import MOST_BYTES
from memoryos.models.embedder import load_embedder
embedder = load_embedder("openai:m", load_settings(embedder_base_url=sys.argv[1], llm_timeout_seconds=10))
child = os.fork()
rows = [embedder.embed([f"Text {number} of {child}"]) for number in range(20)]
assert all(row.shape == (1, embedder.dim) for row in rows)
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.once
def test_a_forked_process_has_connections_of_its_own(tmp_path):
    with scripted_embedder() as server:
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", EMBEDS, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.once
def test_a_model_that_is_asked_after_its_connection_was_closed_says_so(model):
    """A thread of a store that closes meanwhile got the RuntimeError of the HTTP client. A job is tried again later."""
    model.otherwise = sends(completion("Fine."))
    settings = load_settings(llm_model="m", llm_base_url=model.url, llm_retries=5, llm_timeout_seconds=60)
    with closing(OpenAIChat(settings)) as chat:
        connection = chat._connection
        assert connection.ask("/chat/completions", {"model": "m", "messages": []})
    begin = time.monotonic()
    with pytest.raises(ModelUnavailable, match="closed"):
        connection.ask("/chat/completions", {"model": "m", "messages": []})
    with pytest.raises(ModelUnavailable, match="closed"):
        list(connection.stream("/chat/completions", {"model": "m", "messages": []}))
    assert time.monotonic() - begin < NO_HANG
