"""The usage of models tells how much of the prompts a server had already, by model and purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest

import memoryos
import same_process
from memoryos import MemoryOS, load_settings
from memoryos.models.chat import Answer, Usage
from served import serving

from .scripted_model import Reply

HAD = [0, 40, 10_000_000, -3, "many"]  # what the server says, call by call
BELIEVED = [0, 40, None, 0, 0]  # None: at most the prompt


def told(cached: Any) -> dict[str, Any]:
    return {"prompt_tokens": 90, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}


def whole(cached: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": "在九点。 At nine."}, "finish_reason": "stop"}
    return Reply(body=json.dumps({"model": "scripted", "choices": [choice], "usage": told(cached)}))


def streamed(cached: Any) -> Reply:
    """The events of a server that tells its usage behind the answer."""
    said = {"choices": [{"index": 0, "delta": {"content": "At ten."}, "finish_reason": "stop"}]}
    events = [json.dumps(said), json.dumps({"choices": [], "usage": told(cached)}), "[DONE]"]
    return Reply(body="".join(f"data: {one}\n\n" for one in events))


def test_whole_answers_add_up_over_http_and_counts_that_cannot_be_are_not_believed(memory, model):
    model.will(*(whole(had) for had in HAD))
    before = 0
    for believed in BELIEVED:
        memory.respond("When does the harbour open? 港口几点开门？")
        (spent,) = memory.log.usage()
        last = spent.prompt_tokens if believed is None else believed
        assert 0 <= spent.cached_tokens - before <= last
        assert believed is None or spent.cached_tokens - before == last
        before = spent.cached_tokens
    assert before > 40
    assert (spent.purpose, spent.calls) == ("respond", len(HAD))
    assert spent.cached_tokens <= spent.prompt_tokens


@pytest.mark.once
def test_a_stream_counts_what_the_server_tells_behind_it_and_nothing_otherwise(memory, model):
    model.will(streamed(33), streamed("33"))
    streams = [memory.respond_stream("When does it open?") for _ in range(3)]
    for stream in streams:
        assert "".join(stream)
    assert [one.answer.usage.cached_tokens for one in streams] == [33, 0, 0]
    (spent,) = memory.log.usage()
    assert (spent.calls, spent.cached_tokens) == (3, 33)


class Boastful:
    """A model of the program's own, with a count that cannot be."""

    def answer(self, _messages):
        return Answer("At nine.", Usage(50, 3, -7), "own")

    def stream(self, _messages):
        yield "At nine."


@pytest.mark.once
def test_a_model_of_the_programs_own_refunds_nothing():
    settings = load_settings(embedder="hashing")
    with memoryos.open(":memory:", user="tom", settings=settings, chat=Boastful()) as memory:
        memory.respond("When does it open?")
        assert "".join(memory.respond_stream("And when does it close?")) == "At nine."
        assert [(one.calls, one.cached_tokens) for one in memory.log.usage()] == [(2, 0)]


@pytest.mark.once
def test_the_command_and_rest_tell_the_same_after_a_restart(tmp_path, model, settings):
    place = str(tmp_path / "memory.db")
    with memoryos.open(place, user="ann", settings=settings) as memory:
        model.will(whole(12), whole(30))
        memory.respond("When does it open?")
        memory.respond("And the library?")
    asked = ("log", "usage", "--user", "ann", "--db", place)
    told = json.loads(same_process.memoryos(*asked, "--json", cwd=tmp_path, MEMORYOS_EMBEDDER="hashing").stdout)
    assert [one["cached_tokens"] for one in told["usage"]] == [told["total"]["cached_tokens"]] == [42]
    table = same_process.memoryos(*asked, cwd=tmp_path, MEMORYOS_EMBEDDER="hashing").stdout
    assert "cached tokens" in " ".join(table.split())
    with MemoryOS.open(place, settings=settings) as store, serving(store) as served:
        (row,) = served("GET", "/usage")["items"]
        assert (row["purpose"], row["model"], row["calls"], row["cached_tokens"]) == ("respond", "some-model", 2, 42)
