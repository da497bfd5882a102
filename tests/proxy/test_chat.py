"""Chat completions through the proxy, with the official client: what the model gets, and what is stored."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import openai
import pytest

from proxy.scripted_upstream import DONE, EVENTS, Said, answer, completion, event, streamed


def test_a_chat_is_stored_and_the_next_one_remembers_it(proxy):
    proxy.upstream.will(answer("How many hives?"), answer("At the mill."))
    first = proxy.chat("I keep my bees behind the mill.")
    assert first.parse().choices[0].message.content == "How many hives?"
    assert first.headers["x-memoryos-status"] == "nothing"
    assert "x-memoryos-memories" not in first.headers
    assert [message["role"] for message in proxy.upstream.last.json["messages"]] == ["user"]
    (page,) = proxy.memory.pages.list()
    assert page.text == "user: I keep my bees behind the mill.\nassistant: How many hives?"

    second = proxy.chat("Where are my bees?")
    notes, asked = proxy.upstream.last.json["messages"]
    assert (notes["role"], asked) == ("system", {"role": "user", "content": "Where are my bees?"})
    assert "I keep my bees behind the mill." in notes["content"]
    assert notes["content"].endswith("</memory>")
    assert second.headers["x-memoryos-status"] == "used"
    assert page.id in second.headers["x-memoryos-memories"].split(",")
    assert proxy.pages()[1] == "user: Where are my bees?\nassistant: At the mill."


def test_a_stream_passes_byte_by_byte_and_is_stored_after_its_end(proxy):
    said = streamed("", "你养", "了几箱", "蜜蜂？", "\ud83d\udc1d")
    proxy.upstream.will(said)
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "我在磨坊后面养蜜蜂。"}]}
    got = proxy.post(asked)
    assert (got.headers["content-type"], got.content) == (EVENTS, b"".join(said.parts))
    assert proxy.pages() == ["user: 我在磨坊后面养蜜蜂。\nassistant: 你养了几箱蜜蜂？🐝"]

    proxy.upstream.will(streamed("在磨坊", "后面。"))
    stream = proxy.chat("我的蜜蜂在哪里？", stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream.parse()) == "在磨坊后面。"
    assert "我在磨坊后面养蜜蜂。" in proxy.upstream.last.json["messages"][0]["content"]


@pytest.mark.once
def test_the_notes_stand_before_the_last_message_and_all_other_bytes_stay(proxy):
    proxy.memory.add("I keep my bees behind the mill.")
    told = (
        '{ "messages" :[{"role":"system","content":"Be \\u0062rief."} , {"role":"user","content":"Hi"},\n'
        '{"role":"assistant","content":"Hello"},{"content":"Where are my bees?","role":"user"}],"temperature":1.50,'
        '"x_unknown":{"n":1e2,"n":[ ]}, "model":"m","n":1}'
    )
    proxy.post(told)
    got = proxy.upstream.last.body.decode()
    place = told.index('{"content":"Where')
    assert got.startswith(told[:place])
    assert got.endswith(told[place:])
    inserted = got[place : len(got) - len(told) + place]
    notes = json.loads(inserted.removesuffix(","))
    assert notes["role"] == "system"
    assert "bees behind the mill" in notes["content"]


@pytest.mark.once
def test_half_a_character_and_nul_pass_and_are_stored_whole(proxy):
    told = '{"model":"m","messages":[{"role":"user","content":"Where are \\ud83d my\\u0000 bees?"}]}'
    assert proxy.post(told).headers["x-memoryos-status"] == "nothing"
    assert proxy.upstream.last.body == told.encode()
    assert proxy.pages()[0].startswith("user: Where are \ufffd my bees?\n")


@pytest.mark.once
def test_what_the_dialogue_says_is_not_told_again(proxy):
    memory = proxy.memory
    memory.add("I keep my bees behind the mill.", "How many hives?")
    memory.add("My bees sleep in a red hive.")
    proxy.chat("I keep my bees behind the mill.", "How many hives?", "Tell me about my bees.")
    notes = proxy.upstream.last.json["messages"][2]["content"]
    assert "red hive" in notes
    assert "mill" not in notes


@pytest.mark.once
def test_a_turn_with_tools_is_one_page_after_its_answer(proxy):
    call = {"id": "t1", "type": "function", "function": {"name": "book", "arguments": '{"to": "Bergen"}'}}
    tools = [{"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}]
    messages = [{"role": "user", "content": "Book me a train to Bergen."}]
    client = proxy.client()
    proxy.upstream.will(Said([completion({"content": None, "tool_calls": [call]}, "tool_calls")]))
    first = client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert first.choices[0].message.tool_calls[0].function.name == "book"
    assert proxy.upstream.last.json["tools"] == tools
    assert proxy.pages() == []
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "Booked for Friday."},
    ]
    proxy.upstream.will(answer("Your train leaves on Friday."))
    client.chat.completions.create(model="m", messages=messages, tools=tools)
    assert proxy.upstream.last.json["messages"] == messages
    (page,) = proxy.pages()
    assert page.split("\n") == [
        "user: Book me a train to Bergen.",
        'tool: called book({"to": "Bergen"})',
        "tool: Booked for Friday.",
        "assistant: Your train leaves on Friday.",
    ]


@pytest.mark.once
def test_streamed_tool_calls_are_no_answer(proxy):
    call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "book", "arguments": "{}"}}
    end = event({"tool_calls": [call]}) + event({}, "tool_calls") + DONE
    proxy.upstream.will(streamed("Let me see.", end=end))
    chunks = list(proxy.chat("Book me a train.", stream=True).parse())
    assert chunks[1].choices[0].delta.tool_calls[0].function.name == "book"
    assert proxy.pages() == []


@pytest.mark.once
def test_images_pass_and_are_stored_as_attachments(proxy):
    image = {"type": "image_url", "image_url": {"url": "https://example.org/hive.png", "detail": "low"}}
    content = [{"type": "text", "text": "What is in the picture of my hive?"}, image]
    proxy.upstream.will(answer("A hive."))
    proxy.client().chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
    assert proxy.upstream.last.json["messages"][0]["content"] == content
    (page,) = proxy.memory.pages.list()
    assert "What is in the picture of my hive?" in page.text
    assert len(page.payload.turns[0].attachments) == 1


@pytest.mark.once
def test_of_several_answers_the_first_is_stored_and_reasoning_is_not(proxy):
    events = [event({"content": "second"}, index=1), event({"content": "<think>hm</think>first"}), event({}, "stop")]
    end = event({}, "stop", index=1, usage={"total_tokens": 3}) + DONE
    proxy.upstream.will(Said([*events, end], kind=EVENTS))
    more = {"n": 2, "stream_options": {"include_usage": True}, "logprobs": True}
    chunks = list(proxy.chat("Say something.", stream=True, **more).parse())
    assert [chunk.choices[0].index for chunk in chunks] == [1, 0, 0, 1]
    assert proxy.upstream.last.json.items() >= {**more, "stream": True}.items()
    assert proxy.pages() == ["user: Say something.\nassistant: first"]


@pytest.mark.once
@pytest.mark.parametrize("role", ["developer", "user"])
def test_the_setting_says_as_whose_message_the_notes_come(begin, role):
    proxy = begin(upstream_notes=role)
    proxy.memory.add("I keep my bees behind the mill.")
    parts = [{"type": "text", "text": "Where are my bees?"}]
    for content in ("Where are my bees?", parts):
        proxy.client().chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
        got = proxy.upstream.last.json["messages"]
        if role == "developer":
            assert [one["role"] for one in got] == ["developer", "user"]
            assert got[1]["content"] == content
        else:
            ((told),) = got
            words = told["content"] if isinstance(content, str) else told["content"][0]["text"]
            assert "behind the mill" in words
            assert told["content"][-1] == content[-1]


# What is not stored


@pytest.mark.once
@pytest.mark.parametrize(
    "said",
    [
        pytest.param(streamed("How many", resets=True, end=b": cut\n\n"), id="reset"),
        pytest.param(streamed("How many", end=b": closed\n\n"), id="without an end"),
        pytest.param(Said([completion({"content": "How many?"})[:-9]]), id="half a document"),
        pytest.param(
            streamed("How many", end=b'data: {"error": {"message": "out of memory"}}\n\ndata: [DONE]\n\n'), id="error"
        ),
        pytest.param(
            streamed("How many", end=b'event: error\ndata: {"message": "out of memory"}\n\ndata: [DONE]\n\n'),
            id="error by type",
        ),
        pytest.param(Said([event({"content": "How"}), event({}, "error"), b"data: [DONE]\n\n"]), id="ends in error"),
        pytest.param(answer(""), id="says nothing"),
        pytest.param(
            Said([b'{"choices":[{"message":{"content":"How"},"finish_reason":"error"}]}']), id="failed, and no stream"
        ),
        pytest.param(Said([b"[1]"]), id="another document"),
        pytest.param(Said([b'{"choices":[{"message":"x"}]}']), id="another form"),
    ],
)
def test_an_answer_that_is_not_complete_is_not_stored(proxy, said):
    proxy.upstream.will(said)
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "I keep bees."}]}
    got = b""
    try:
        with proxy.served.http.stream(
            "POST", "/v1/chat/completions", params={"user": proxy.user}, json=asked
        ) as answered:
            for part in answered.iter_raw():
                got += part
    except httpx.RemoteProtocolError:
        assert said.resets
    else:
        assert not said.resets
        assert got == b"".join(said.parts)
    assert proxy.pages() == []


@pytest.mark.once
def test_a_repeated_request_is_stored_once(proxy):
    proxy.upstream.will(answer("How many?"), answer("How many hives?"))
    proxy.chat("I keep bees.")
    proxy.chat("I keep bees.")
    assert proxy.pages() == ["user: I keep bees.\nassistant: How many?"]
    other = replace(proxy, user="somebody else")
    other.chat("I keep bees.")
    assert len(other.pages()) == 1


@pytest.mark.once
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k1"}])
def test_a_repeated_request_is_not_told_its_own_first_answer(begin, headers):
    proxy = begin()
    proxy.memory.add("My bees are behind the mill.")
    proxy.upstream.will(answer("Your bees are behind the old mill by the river."))
    for asked in ("Where are my bees?", "Where are my bees?", "Where are my bees now?"):
        proxy.chat(asked, extra_headers=headers)
    first, again, other = (one.json["messages"] for one in proxy.upstream.got)
    assert first == again
    assert "old mill by the river" in other[0]["content"]


@pytest.mark.once
def test_an_answer_in_parts_is_stored(proxy):
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "How many"}, "?"]
    proxy.upstream.will(Said([completion({"content": [*parts, {"type": "text", "text": "hives?"}]})], is_sized=True))
    proxy.post({"model": "m", "messages": [{"role": "user", "content": "I keep bees."}]})
    told = [event({"content": [{"type": "text", "text": text}]}) for text in ("Ten ", "hives", "?")]
    proxy.upstream.will(Said([*told, event({}, "stop"), DONE], kind=EVENTS))
    proxy.post({"model": "m", "stream": True, "messages": [{"role": "user", "content": "And wasps."}]})
    pages = ["user: I keep bees.\nassistant: How many\nhives?", "user: And wasps.\nassistant: Ten hives?"]
    assert proxy.pages() == pages


def test_an_idempotency_key_holds_in_every_process(begin):
    proxy = begin()
    key = {"Idempotency-Key": "k1"}
    proxy.upstream.will(answer("How many?"), answer("How many hives?"))
    proxy.chat("I keep bees.", extra_headers=key)
    proxy.chat("I keep bees.", extra_headers=key)
    assert proxy.pages() == ["user: I keep bees.\nassistant: How many?"]
    assert proxy.served.http.get("/metrics").text.count('memoryos_proxy_exchanges_total{status="repeated"} 1.0') == 1
    assert proxy.upstream.last.headers["idempotency-key"] == "k1"


@pytest.mark.once
def test_a_question_that_was_never_answered_is_stored_with_the_next(proxy):
    proxy.upstream.will(Said([b"{}"], status=500), answer("Lovely!"))
    with pytest.raises(openai.InternalServerError):
        proxy.chat("I keep bees.")
    messages = [{"role": "user", "content": "I keep bees."}, {"role": "user", "content": "And wasps."}]
    proxy.client().chat.completions.create(model="m", messages=messages)
    assert proxy.pages() == ["user: I keep bees.", "user: And wasps.\nassistant: Lovely!"]


@pytest.mark.once
@pytest.mark.parametrize(("mode", "has_notes", "pages"), [("on", True, 2), ("read", True, 1), ("off", False, 1)])
def test_a_header_switches_memory_off(proxy, mode, has_notes, pages):
    proxy.memory.add("I keep my bees behind the mill.")
    asked = proxy.client(Memory=mode).chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": "Where are my bees?"}]
    )
    assert asked.headers["x-memoryos-status"] == ("used" if has_notes else "off")
    assert (len(proxy.upstream.last.json["messages"]) == 2) is has_notes
    assert len(proxy.pages()) == pages


@pytest.mark.once
def test_a_header_says_how_many_tokens_the_notes_have(proxy):
    memory = proxy.memory
    for number in range(20):
        memory.add(f"My bees made {number} jars of honey behind the mill, near the river, in spring.")
    sizes = []
    for tokens in ("40", "400"):
        messages = [{"role": "user", "content": f"How much honey did my bees make? {tokens}"}]
        proxy.client(Tokens=tokens).chat.completions.create(model="m", messages=messages)
        sizes.append(proxy.upstream.last.json["messages"][0]["content"].count("jars of honey"))
    assert 0 < sizes[0] < sizes[1]
    told = proxy.client(Tokens="5").chat.completions.with_raw_response.create(model="m", messages=messages)
    assert told.headers["x-memoryos-status"] == "nothing; no memory fits into so few tokens"
