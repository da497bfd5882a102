"""A `Session` of the OpenAI Agents SDK, used by its real runner with a model that speaks a script."""

from __future__ import annotations

import asyncio

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import memoryos
from memoryos import load_settings
from memoryos.errors import InvalidInput
from memoryos.frameworks.openai_agents import AgentsSession

ITEMS = [
    {"role": "user", "content": "我的狗叫小黑。"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x" * 500},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Rome"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "22 degrees </memory>"},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "  Sunny.\n\nIt is 22 °C. ", "annotations": [], "logprobs": []}],
    },
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}]},
    {"role": "user", "content": "Okay"},
    {"role": "user", "content": "Okay"},
    {"role": "assistant", "content": ""},
    {"role": "developer", "content": "Be short."},
    {"role": "user", "content": "long", "note": "n" * 600},
]


@pytest.fixture
def memory(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann") as opened:
        yield opened


@pytest.mark.usefixtures("each_store")
def test_items_come_back_as_they_were_also_in_another_process(tmp_path):
    async def use(memory):
        session = AgentsSession("chat", memory)
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS)
        await session.add_items(ITEMS[:1] * 4)
        await AgentsSession("other", memory).add_items(ITEMS[4:5])

    async def look(memory):
        session, theirs = AgentsSession("chat", memory), SQLiteSession("chat")
        await theirs.add_items(ITEMS + ITEMS[:1] * 4)
        for limit in (None, 0, 1, 3, 500):
            assert await session.get_items(limit) == (await theirs.get_items(limit) if limit != 0 else [])
        session.session_settings = SessionSettings(limit=2)
        assert await session.get_items() == ITEMS[:1] * 2
        for _ in range(4):
            assert await session.pop_item() == ITEMS[0]
        popped = [await session.pop_item() for _ in ITEMS]
        assert popped == ITEMS[::-1]
        assert await session.get_items() == []
        assert await AgentsSession("other", memory).get_items() == ITEMS[4:5]

    with memoryos.open(tmp_path / "b.db", user="ann") as first:
        asyncio.run(use(first))
    with memoryos.open(tmp_path / "b.db", user="ann") as second:
        asyncio.run(look(second))


def test_what_was_said_is_remembered_in_other_sessions_and_cleared(memory):
    async def use():
        session = AgentsSession("chat", memory)
        await session.add_items([{"role": "user", "content": "I moved to Lisbon in May."}])
        await session.add_items([{"role": "assistant", "content": "How lovely!"}])
        memory.wait()
        assert [fact.text for fact in memory.facts.list()] == ["User moved to Lisbon in May."]
        assert "Lisbon" in memory.context("Where do I live?").text
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(use())
    assert memory.facts.list() == []


def test_a_form_that_is_too_large_for_the_metadata_is_kept_elsewhere(memory):
    items = [{"role": "user", "content": f"Message {number}", "note": "n" * 300} for number in range(60)]

    async def use():
        session = AgentsSession("chat", memory)
        await session.add_items(items)
        return await session.get_items()

    assert asyncio.run(use()) == items


def test_a_number_that_is_masked_leaves_the_session_readable(tmp_path):
    with memoryos.open(tmp_path / "p.db", user="ann", settings=load_settings(privacy_on_write="mask")) as memory:
        session = AgentsSession("s", memory)
        asyncio.run(session.add_items([{"type": "x", "card": 4111111111111111}]))
        assert asyncio.run(session.get_items()) == [{"type": "x", "card": "[card]"}]


def test_what_is_no_item_is_refused_and_nothing_is_stored(memory):
    session = AgentsSession("chat", memory)
    for items, told in (
        ([ITEMS[0], "Hi"], r"items\[1\]: expected a dict, got str"),
        ([{"role": "user", "content": {1, 2}}], r"items\[0\]: cannot be written as JSON"),
        ([{}], r"items\[0\]: has neither a role nor a type"),
        ([{"content": "Hi"}], r"items\[0\]: has neither a role nor a type"),
        ([{"role": 5, "content": "Hi"}], r"items\[0\]: has neither a role nor a type"),
        (ITEMS[0], r"items: expected a list, got dict"),
        ("Hi", r"items: expected a list, got str"),
        (None, r"items: expected a list, got NoneType"),
    ):
        with pytest.raises(InvalidInput, match=told):
            asyncio.run(session.add_items(items))
    assert asyncio.run(session.get_items()) == []


class Scripted(Model):
    """A model that answers with the next outputs, and keeps what it was asked."""

    def __init__(self, *outputs):
        self.outputs, self.asked = list(outputs), []

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 - the name in the SDK
        self.asked.append(input)
        return ModelResponse(output=self.outputs.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def says(text):
    content = [ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])]
    return [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=content)]


def test_the_runner_goes_on_where_the_session_ended_tool_calls_and_all(memory):
    @function_tool
    def weather(city: str) -> str:
        """The weather."""
        return f"22 degrees in {city}"

    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="weather", arguments='{"city": "Rome"}')

    async def talk(session):
        model = Scripted([call], says("It is 22 degrees."), says("You asked for Rome."))
        agent, quiet = Agent("a", model=model, tools=[weather]), RunConfig(tracing_disabled=True)
        await Runner.run(agent, "How is Rome?", session=session, run_config=quiet)
        done = await Runner.run(agent, "Which city?", session=session, run_config=quiet)
        return done.final_output, model.asked[-1]

    mine = asyncio.run(talk(AgentsSession("chat", memory)))
    assert mine == asyncio.run(talk(SQLiteSession("chat")))
    assert mine[0] == "You asked for Rome."
    assert [item.get("type", item.get("role")) for item in mine[1]] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
    ]
