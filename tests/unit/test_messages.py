"""Messages as chat APIs pass them, and what a memory makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

import pytest
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel

import memoryos
from memoryos import Memory, Role, Settings, Turn
from memoryos.errors import InvalidInput
from memoryos.operation.intake.messages import turns_of_messages

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}

BYTES = "data:application/octet-stream;base64,aGk="
HELLO = {"role": "user", "content": "hello"}


def turns_of(messages) -> list[Turn]:
    return turns_of_messages(messages, now=datetime.now(UTC), limit=1000)


def said(messages) -> list[tuple[str, str]]:
    return [(turn.role.value, turn.words) for turn in turns_of(messages)]


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        yield memory


def test_an_exchange_is_a_page(memory):
    ids = memory.add([{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice!"}])
    assert [page.id for page in memory.pages.list()] == ids
    assert memory.get(ids[0]).text == "user: I live in Oslo.\nassistant: Nice!"


def test_a_retry_stores_it_again_unless_it_has_a_key(memory):
    chat = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice!"}]
    assert memory.add(chat) != memory.add(chat)
    assert memory.add("hello") != memory.add("hello")
    assert memory.add(chat, idempotency_key="1") == memory.add(chat, idempotency_key="1")
    assert memory.pages.count() == 5


def test_a_message_and_its_reply_in_two_calls_are_two_pages(memory):
    chat = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice!"}]
    memory.add(chat[:1])
    memory.add(chat)  # of which the reply is new
    assert [page.text for page in memory.pages.list()] == ["user: I live in Oslo.", "assistant: Nice!"]


def test_one_message_is_enough(memory):
    assert len(memory.add({"role": "user", "content": "I live in Oslo."})) == 1


class Spoken(BaseModel):
    """A message as SDKs have it: iterable, because pydantic's objects are."""

    role: str = "assistant"
    content: str = "hello"


@pytest.mark.parametrize(
    "message", [Spoken(), ChatCompletionMessage(role="assistant", content="hello"), SimpleNamespace(**dict(Spoken()))]
)
def test_one_object_of_an_sdk_is_enough(memory, message):
    [page] = memory.add(message)
    assert memory.get(page).text == "assistant: hello"


def test_a_turn_in_the_place_of_a_message_is_told_where_it_belongs(memory):
    with pytest.raises(InvalidInput, match=r"messages\[0\]: is a Turn\. Pass turns to add_many"):
        memory.add(Turn(role="user", text="hello"))


@pytest.mark.parametrize(
    ("role", "kept"),
    [("user", "user"), ("assistant", "assistant"), ("tool", "tool"), ("function", "tool")],
)
def test_every_role_of_a_dialogue_is_taken(role, kept):
    assert said([{"role": role, "content": "hello"}]) == [(kept, "hello")]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_an_instruction_of_the_model_is_no_memory(memory, role):
    prompt = {"role": role, "content": "You are a pirate called Jack, and you love rum."}
    assert said([prompt, HELLO, prompt]) == [("user", "hello")]
    assert memory.add([prompt]) == []
    memory.add([prompt, HELLO])
    assert not [turn for turn in memory.search("Which pirate loves rum?").turns if "rum" in turn.text]
    with pytest.raises(InvalidInput, match=r"messages\[0\].content"):
        memory.add([{"role": role, "content": 5}])


@pytest.mark.parametrize(
    "content",
    [
        "I live in Oslo.",
        ["I live in Oslo."],
        [{"type": "text", "text": "I live in Oslo."}],
        [{"type": "input_text", "text": "I live in Oslo."}],
        [{"type": "text", "text": " "}, {"type": "output_text", "text": "I live in Oslo."}],
    ],
)
def test_content_may_be_a_text_or_parts(content):
    assert said([{"role": "user", "content": content}]) == [("user", "I live in Oslo.")]


def test_what_a_tool_was_asked_and_said_stays_on_the_page_of_its_exchange(memory):
    ids = memory.add(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it warm in Oslo?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "21 degrees"},
            {"role": "assistant", "content": "It is 21 degrees."},
            {"role": "user", "content": "Thanks!"},
        ]
    )
    first, second = [memory.get(one) for one in ids]
    assert [(turn.role.value, turn.text) for turn in first.payload.turns] == [
        ("user", "Is it warm in Oslo?"),
        ("tool", 'called weather({"city": "Oslo"})'),
        ("tool", "21 degrees"),
        ("assistant", "It is 21 degrees."),
    ]
    assert second.text == "user: Thanks!"


def test_what_is_said_between_calls_stays_in_order():
    assert said(
        [
            {"role": "user", "content": "Is it warm?"},
            {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
            {"role": "tool", "content": "21 degrees"},
            {"role": "assistant", "content": "It is."},
        ]
    ) == [
        ("user", "Is it warm?"),
        ("assistant", "Let me see."),
        ("tool", 'called weather({"city": "Oslo"})'),
        ("tool", "21 degrees"),
        ("assistant", "It is."),
    ]


OPENAI = [
    {"role": "user", "content": "Is it warm?"},
    {"role": "assistant", "content": "Let me check.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "15 degrees"},
    {"role": "assistant", "content": "It is 15 degrees and sunny."},
]
ANTHROPIC = [
    {"role": "user", "content": "Is it warm?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me check."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "15 degrees"}]},
    {"role": "assistant", "content": "It is 15 degrees and sunny."},
]


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC])
def test_an_exchange_with_a_tool_is_one_page_in_order(memory, messages):
    (page,) = memory.add(messages)
    assert memory.get(page).text.splitlines() == [
        "user: Is it warm?",
        "assistant: Let me check.",
        'tool: called weather({"city": "Oslo"})',
        "tool: 15 degrees",
        "assistant: It is 15 degrees and sunny.",
    ]


def test_a_call_that_is_named_twice_keeps_its_place_and_all_its_arguments():
    call = {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}
    named = [{"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, {"id": "", "name": "clock", "args": {}}]
    content = [{"type": "text", "text": "Let me check."}, call, {"type": "text", "text": "Done."}]
    assert [turn.words for turn in turns_of([{"type": "ai", "content": content, "tool_calls": named}])] == [
        *("Let me check.", 'called weather({"city": "Oslo"})', "Done.", "called clock({})"),
    ]


RESPONSES = [
    {"role": "user", "content": "Is it warm?"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "The user wants the weather."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me check."}]},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "15 degrees"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 15 degrees."}]},
]


@pytest.mark.parametrize("form", [dict, lambda fields: SimpleNamespace(**fields)], ids=["dict", "object"])
def test_items_of_the_responses_api_are_taken(memory, form):
    (page,) = memory.add([form(item) for item in RESPONSES])
    assert memory.get(page).text.splitlines() == [
        "user: Is it warm?",
        "assistant: Let me check.",
        'tool: called weather({"city": "Oslo"})',
        "tool: 15 degrees",
        "assistant: It is 15 degrees.",
    ]


def test_the_output_of_a_call_may_have_parts():
    parts = [{"type": "input_text", "text": "15 degrees"}, {"type": "input_image", "image_url": "https://x.org/a.png"}]
    (turn,) = turns_of([{"type": "function_call_output", "call_id": "c1", "output": parts}])
    assert (turn.role.value, turn.words) == ("tool", "15 degrees [image]")


def test_messages_of_llamaindex_are_refused_with_what_to_pass():
    with pytest.raises(InvalidInput, match=r"messages\[0\].content: .* blocks.*frameworks.llamaindex"):
        turns_of([{"role": "user", "blocks": [{"block_type": "text", "text": "hello"}]}])


def test_an_item_that_is_unknown_and_has_no_role_is_refused_with_those_that_are_known():
    with pytest.raises(InvalidInput, match=r"messages\[0\].role: is missing.*function_call_output"):
        turns_of([{"type": "web_search_call", "id": "w1"}])


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "The user wants tea.", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "reasoning", "text": "The user wants tea."},
    ],
)
def test_what_a_model_thinks_is_left_out(thought):
    assert said([HELLO, {"role": "assistant", "content": [thought, {"type": "text", "text": "Tea?"}]}]) == [
        ("user", "hello"),
        ("assistant", "Tea?"),
    ]
    assert said([HELLO, {"role": "assistant", "content": [thought]}]) == [("user", "hello")]


def test_a_call_in_the_form_before_tool_calls_is_taken():
    message = {"role": "assistant", "content": None, "function_call": CALL["function"]}
    result = {"role": "function", "name": "weather", "content": "15 degrees"}
    assert said([message, result]) == [("tool", 'called weather({"city": "Oslo"})'), ("tool", "15 degrees")]


def test_a_part_of_another_type_is_named_by_its_type():
    (turn,) = turns_of([{"role": "user", "content": ["Look!", {"type": "hologram", "depth": 3}]}])
    assert turn.words == "Look! [hologram]"


def test_what_a_user_says_beside_a_tool_result_begins_the_next_page(memory):
    both = [*ANTHROPIC[2]["content"], {"type": "text", "text": "And in Rome?"}]
    first, second = memory.add([*ANTHROPIC[:2], {"role": "user", "content": both}])
    assert memory.get(first).text.splitlines()[-1] == "tool: 15 degrees"
    assert memory.get(second).text == "user: And in Rome?"


def test_a_call_was_made_when_its_message_was_sent():
    message = {**ANTHROPIC[1], "at": "2026-01-01T00:00:00Z"}
    assert {turn.at.isoformat() for turn in turns_of([message])} == {"2026-01-01T00:00:00+00:00"}


def test_correcting_the_assistant_changes_its_answer(memory):
    (page,) = memory.add(ANTHROPIC)
    memory.update(page, "It is 16 degrees.", role=Role.ASSISTANT)
    assert [turn.text for turn in memory.get(page).payload.turns if turn.role is Role.ASSISTANT] == [
        "Let me check.",
        "It is 16 degrees.",
    ]


def test_calls_of_anthropic_are_parts():
    assert said(
        [
            {"role": "assistant", "content": [{"type": "tool_use", "name": "weather", "input": {"city": "Oslo"}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "21"}]}]},
            {"role": "assistant", "content": "It is warm."},
        ]
    ) == [("tool", 'called weather({"city": "Oslo"})'), ("tool", "21"), ("assistant", "It is warm.")]


@pytest.mark.parametrize(
    ("part", "uri"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}, "https://x.org/a.png"),
        ({"type": "input_image", "image_url": "https://x.org/a.png"}, "https://x.org/a.png"),
        ({"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}}, "https://x.org/a.png"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            "data:image/png;base64,aGk=",
        ),
        ({"type": "image", "image": b"hi"}, BYTES),
        ({"type": "image", "image": "https://x.org/a.png"}, "https://x.org/a.png"),
        ({"type": "image_url", "image_url": b"hi"}, BYTES),
        ({"type": "image_url", "image_url": {"url": bytearray(b"hi")}}, BYTES),
        ({"type": "image", "source": {"media_type": "image/png", "data": b"hi"}}, "data:image/png;base64,aGk="),
        ({"type": "image", "data": memoryview(b"hi")}, BYTES),
        ({"type": "image", "base64": "aGk=", "mime_type": "image/png"}, "data:image/png;base64,aGk="),
        (SimpleNamespace(type="image_url", image_url={"url": "https://x.org/a.png"}), "https://x.org/a.png"),
    ],
)
def test_images_are_kept_as_attachments(part, uri):
    (turn,) = turns_of([{"role": "user", "content": ["Look!", part]}])
    assert (turn.text, turn.attachments[0].caption, turn.attachments[0].uri) == ("Look!", "image", uri)


def test_bytes_of_an_image_are_stored_and_read_back(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        (page,) = memory.add([{"role": "user", "content": ["Look!", {"type": "image", "image": b"a cat"}]}])
        (file,) = memory.pages.attachments(page)
        assert memory.pages.attachment(page, file.id).data == b"a cat"


class Message(BaseModel):
    """As the SDKs have them."""

    role: str
    content: str | None = None
    tool_calls: list[dict] | None = None


@pytest.mark.parametrize(
    "message",
    [
        Message(role="assistant", content="Hello!"),
        SimpleNamespace(role="assistant", content="Hello!"),
        SimpleNamespace(role="assistant", content=[SimpleNamespace(type="text", text="Hello!")]),
    ],
)
def test_objects_of_an_sdk_are_taken(message):
    assert said([message]) == [("assistant", "Hello!")]


def test_names_times_and_ids_are_kept():
    message = {"role": "user", "content": "hi", "name": "Ann", "at": "2026-01-01T00:00:00Z", "source_id": "m1"}
    (turn,) = turns_of([message])
    assert (turn.speaker, turn.at.isoformat(), turn.source_id) == ("Ann", "2026-01-01T00:00:00+00:00", "m1")


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([], "messages"),
        ([{"role": "user", "content": None}], "messages"),
        ([{"role": "user", "content": " "}], "messages"),
        ([5], "messages[0]"),
        (["hello"], "messages[0]"),
        ([Turn(role=Role.USER, text="hi")], "messages[0]"),
        ([{"content": "hi"}], "messages[0].role"),
        ([{"role": "owner", "content": "hi"}], "messages[0].role"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": [{"text": "hi"}]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "text", "text": 5}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": "a\x00b"}], "messages[0].content"),
        ([{"role": "user", "content": "x" * 2000}], "messages[0].content"),
        ([{"role": "user", "content": ["x" * 900, "y" * 900]}], "messages.text"),
        ([{"role": "user", "content": "hi", "name": 5}], "messages[0].name"),
        ([{"role": "user", "content": "hi", "source_id": 5}], "messages[0].source_id"),
        ([{"role": "user", "content": "hi", "at": 5}], "messages[0].at"),
        ([{"role": "user", "content": "hi", "at": "soon"}], "messages[0].at"),
        ([HELLO, {"role": "user", "content": "hi", "at": "2999-01-01"}], "messages[1].at"),
        ([HELLO, HELLO, HELLO, {"role": 5, "content": "hi"}], "messages[3].role"),
        ([HELLO, {"role": "user", "content": [{"type": "image", "caption": "a\x00b"}]}], "messages[1].content.caption"),
        ([{"role": "user", "content": [{"type": "image", "picture": b"hi"}]}], "messages[0].content[0].picture"),
        ([{"role": "user", "content": [{"type": "image", "image": 5}]}], "messages[0].content[0].image"),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"data": [1, 2]}}]}],
            "messages[0].content[0].source.data",
        ),
        ([{"role": "assistant", "tool_calls": 5}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": [5]}], "messages[0].tool_calls"),
    ],
)
def test_a_message_that_is_none_is_named_and_nothing_is_stored(tmp_path, messages, field):
    with memoryos.open(tmp_path / "a.db", user="ann", settings=Settings(max_text_chars=1000)) as memory:
        refuses(memory, messages, field)


def refuses(memory, messages, field):
    with pytest.raises(InvalidInput) as caught:
        memory.add(messages)
    assert caught.value.field == field
    assert memory.pages.list() == []


@pytest.mark.parametrize("beside", [{"response": "hi"}, {"attachments": [memoryos.Attachment(caption="a map")]}])
def test_messages_stand_alone(memory, beside):
    with pytest.raises(InvalidInput) as caught:
        memory.add([{"role": "user", "content": "hello"}], **beside)
    assert caught.value.field == next(iter(beside))


def test_messages_with_a_key_are_stored_once(memory):
    talk = [{"role": "user", "content": "I live in Oslo."}]
    assert memory.add(talk, idempotency_key="k1") == memory.add(talk, idempotency_key="k1")
    assert len(memory.pages.list()) == 1


@pytest.mark.parametrize(
    ("at", "utc"),
    [
        ("2024-01-01", "2023-12-31T23:00:00+00:00"),
        ("2024-01-01T10:00", "2024-01-01T09:00:00+00:00"),
        (datetime(2024, 7, 1, 10), "2024-07-01T08:00:00+00:00"),
        (date(2024, 1, 1), "2023-12-31T23:00:00+00:00"),
        ("2024-01-01T10:00+05:00", "2024-01-01T05:00:00+00:00"),
    ],
)
def test_the_time_of_a_message_without_a_zone_is_in_the_zone_of_the_settings(tmp_path, at, utc):
    with memoryos.open(tmp_path / "a.db", user="ann", settings=Settings(time_zone="Europe/Oslo")) as memory:
        (page,) = memory.add([{**HELLO, "at": at}])
        assert memory.get(page).descriptive.event_at.isoformat() == utc


def test_a_message_may_be_later_than_the_time_of_the_call(memory):
    later = datetime.now(UTC) - timedelta(days=1)
    (page,) = memory.add([HELLO, {"role": "assistant", "content": "hi", "at": later}], at="2024-01-01")
    assert [turn.at.isoformat() for turn in memory.get(page).payload.turns] == [
        "2024-01-01T00:00:00+00:00",
        later.isoformat(),
    ]
