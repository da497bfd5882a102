"""The Responses API, embeddings and models through the proxy, with the official client."""

from __future__ import annotations

import json

import openai
import pytest

from proxy.scripted_upstream import EVENTS, Said

pytestmark = pytest.mark.once

MESSAGE = {"id": "m1", "type": "message", "role": "assistant", "status": "completed"}


def response(*output, status="completed", text="How many hives?"):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    items = output or ({**MESSAGE, "content": content},)
    told = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": [*items]}
    return {**told, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def says(*output, **more):
    return Said([json.dumps(response(*output, **more)).encode()], is_sized=True)


def in_events(*kinds):
    told = [{"type": kind, "sequence_number": number, "response": response()} for number, kind in enumerate(kinds)]
    return Said([f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told], kind=EVENTS)


def ask(proxy, asked, **more):
    return proxy.client().responses.create(model="m", input=asked, **more)


def test_a_response_is_stored_and_the_next_has_notes_before_the_question(proxy):
    proxy.upstream.will(says())
    assert ask(proxy, "I keep my bees behind the mill.").output_text == "How many hives?"
    assert proxy.upstream.last.json["input"] == "I keep my bees behind the mill."
    assert proxy.pages() == ["user: I keep my bees behind the mill.\nassistant: How many hives?"]
    for asked in (
        "Where are my bees?",
        [{"role": "user", "content": [{"type": "input_text", "text": "And my bees?"}]}],
    ):
        proxy.upstream.will(says(text=f"At the mill, {len(asked)}."))
        ask(proxy, asked)
        notes, question = proxy.upstream.last.json["input"]
        assert "behind the mill" in notes["content"]
        assert question == (asked[0] if isinstance(asked, list) else {"role": "user", "content": asked})
    assert proxy.pages()[2] == "user: And my bees?\nassistant: At the mill, 1."


def test_where_the_server_keeps_the_dialogue_the_notes_are_instructions(proxy):
    proxy.memory.add("I keep my bees behind the mill.")
    for number, known in enumerate(({}, {"instructions": None}, {"instructions": 'Be "brief".'})):
        asked = {"model": "m", "input": f"Where are my bees? {number}", "previous_response_id": "r0", **known}
        proxy.post(asked, "/responses")
        got = proxy.upstream.last.json
        assert got["input"] == asked["input"]
        assert "behind the mill" in got["instructions"]
        assert got["instructions"].startswith(known.get("instructions") or "Notes from")


def test_the_same_words_in_another_dialogue_that_the_server_keeps_are_stored_too(proxy):
    for number in (1, 1, 2):
        proxy.upstream.will(says(text=f"Then number {number}."))
        proxy.post({"model": "m", "input": "Yes, please.", "previous_response_id": f"r{number}"}, "/responses")
    assert proxy.pages() == [f"user: Yes, please.\nassistant: Then number {number}." for number in (1, 2)]


def test_notes_within_the_message_of_the_user(begin):
    proxy = begin(upstream_notes="user")
    proxy.memory.add("I keep my bees behind the mill.")
    ask(proxy, "Where are my bees?")
    assert "behind the mill" in proxy.upstream.last.json["input"]
    assert proxy.upstream.last.json["input"].endswith("Where are my bees?")
    ask(proxy, [{"role": "user", "content": [{"type": "input_text", "text": "Where are they?"}]}])
    notes, asked = proxy.upstream.last.json["input"][0]["content"]
    assert (notes["type"], asked["text"]) == ("input_text", "Where are they?")


def test_a_turn_with_tools_is_one_page_after_its_answer(proxy):
    call = {"id": "f1", "type": "function_call", "call_id": "t1", "name": "book", "arguments": '{"to": "Bergen"}'}
    thought = {"id": "x", "type": "reasoning", "summary": []}
    proxy.upstream.will(says(thought, call))
    asked = [{"role": "user", "content": "Book me a train to Bergen."}]
    assert ask(proxy, asked).output[1].name == "book"
    assert proxy.pages() == []
    more = [
        {"type": "item_reference", "id": "x"},
        call,
        {"type": "function_call_output", "call_id": "t1", "output": "Ok"},
    ]
    proxy.upstream.will(says(text="It leaves on Friday."))
    ask(proxy, [*asked, *more])
    assert proxy.upstream.last.json["input"] == [*asked, *more]
    (page,) = proxy.pages()
    assert page.split("\n")[1:] == [
        'tool: called book({"to": "Bergen"})',
        "tool: Ok",
        "assistant: It leaves on Friday.",
    ]


@pytest.mark.parametrize(
    ("kinds", "pages"),
    [
        (["response.created", "response.completed"], 1),
        (["response.created", "response.incomplete"], 1),
        (["response.created", "response.failed"], 0),
        (["response.created"], 0),
    ],
)
def test_a_stream_is_stored_if_it_was_completed(proxy, kinds, pages):
    proxy.upstream.will(in_events(*kinds))
    got = [event.type for event in ask(proxy, "我养蜜蜂。", stream=True)]
    assert (got, len(proxy.pages())) == (kinds, pages)


def test_a_failed_response_is_not_stored(proxy):
    proxy.upstream.will(says(status="failed"), says(status="in_progress"))
    assert [ask(proxy, "I keep bees.").status for _ in range(2)] == ["failed", "in_progress"]
    assert proxy.pages() == []


def test_embeddings_and_models_pass_as_they_are(proxy):
    vectors = b'{"object":"list","model":"e","data":[{"object":"embedding","index":0,"embedding":[0.5,1e-3]}]}'
    models = b'{"object": "list", "data": [{"id": "org/m", "object": "model", "created": 1, "owned_by": "me"}]}'
    one = b'{"id": "org/m", "object": "model", "created": 1, "owned_by": "me"}'
    proxy.upstream.will(*(Said([body], is_sized=True) for body in (vectors, models, one)))
    client = proxy.client(is_named=False)  # no memory is asked for, and so nobody is named
    asked = client.embeddings.with_raw_response.create(model="e", input=["bees"], encoding_format="float")
    assert asked.http_response.content == vectors
    assert proxy.upstream.last.json == {"model": "e", "input": ["bees"], "encoding_format": "float"}
    assert [model.id for model in client.models.list()] == ["org/m"]
    assert client.models.retrieve("org/m").id == "org/m"
    assert [got.path for got in proxy.upstream.got] == ["/v1/embeddings", "/v1/models", "/v1/models/org%2Fm"]
    assert "x-memoryos-status" not in asked.headers


def test_no_path_leads_to_other_addresses_of_the_model_server(proxy):
    for path in (
        "/models/../files",
        "/models/%2e%2e/files",
        "/models/a#b",
        "/responses/r1",
        "/files",
        "/models/a/%2E%2E/%2E%2E/files",
    ):
        said = proxy.served.raw(f"GET /v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 404"), path
    assert proxy.upstream.got == []
    with pytest.raises(openai.NotFoundError):
        proxy.client().responses.retrieve("r1")
