"""Whole chats, passed again with every turn: what is stored already is not stored twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memoryos
from memoryos import Caller, Memory, MemoryOS, Role, Turn
from memoryos.caller import Action
from memoryos.errors import PermissionDenied

SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


def user(text: str, **more: object) -> dict[str, object]:
    return {"role": "user", "content": text, **more}


def assistant(text: str | None, **more: object) -> dict[str, object]:
    return {"role": "assistant", "content": text, **more}


CHAT = [
    SYSTEM,
    user("I live in Oslo."),
    assistant("Nice!"),
    user("Is it warm here?"),
    assistant(None, tool_calls=[CALL]),
    {"role": "tool", "tool_call_id": "c1", "content": "21 degrees"},
    assistant("It is."),
    user("Thanks"),
    assistant("You are welcome."),
    user("Thanks"),
    assistant("You are welcome."),
    user("Goodbye."),
]


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    with memoryos.open(tmp_path / "a.db", user="ann") as memory:
        yield memory


def stored(memory: Memory, **only: object) -> list[str]:
    return [turn.words for page in memory.pages.list(**only) for turn in page.payload.turns]


WHOLE = [
    "I live in Oslo.",
    "Nice!",
    "Is it warm here?",
    'called weather({"city": "Oslo"})',
    "21 degrees",
    "It is.",
    "Thanks",
    "You are welcome.",
    "Thanks",
    "You are welcome.",
    "Goodbye.",
]


def test_a_chat_that_grows_is_stored_once(memory):
    for end in (2, 3, 7, 9, 11, 12):
        memory.add(CHAT[:end])
    assert stored(memory) == WHOLE


def test_the_ids_are_those_of_the_new_pages(memory):
    memory.add(CHAT[:3])
    ids = memory.add(CHAT[:9])
    assert [page.id for page in memory.pages.list()][1:] == ids
    assert len(ids) == 2


def test_a_long_chat_goes_on_when_its_first_pages_have_left_stm(memory):
    chat: list[dict[str, object]] = []
    for number in range(30):
        chat += [user(f"Message {number}."), assistant(f"Answer {number}.")]
        memory.add(chat)
    assert stored(memory) == [message["content"] for message in chat]


def test_a_chat_that_is_cut_at_its_beginning_goes_on(memory):
    memory.add(CHAT[:7])
    memory.add(CHAT[3:9])
    assert stored(memory) == WHOLE[:8]


def test_new_messages_alone_are_stored_as_they_are(memory):
    for start, end in ((0, 3), (3, 7), (7, 9), (9, 11), (11, 12)):
        memory.add(CHAT[start:end])
    assert stored(memory) == WHOLE


def test_another_session_has_a_chat_of_its_own(tmp_path):
    with MemoryOS.open(tmp_path / "a.db") as store:
        monday, tuesday = (store.memory("ann", session=day) for day in ("monday", "tuesday"))
        monday.add(CHAT[:3])
        tuesday.add(CHAT[:3])
        monday.add(CHAT[:7])
        tuesday.add(CHAT[:7])
        assert stored(monday, session="monday") == stored(tuesday, session="tuesday") == WHOLE[:6]


def test_a_chat_that_went_another_way_is_stored(memory):
    memory.add(CHAT[:3])
    memory.add([user("I live in Oslo."), assistant("Really?"), user("Yes.")])
    assert stored(memory) == ["I live in Oslo.", "Nice!", "I live in Oslo.", "Really?", "Yes."]


def test_the_same_words_of_another_time_are_another_message(memory):
    memory.add([user("Good morning", at="2026-01-01T08:00Z"), assistant("Hello", at="2026-01-01T08:01Z")])
    later = [user("Good morning", at="2026-01-02T08:00Z"), assistant("Hello", at="2026-01-02T08:01Z"), user("Tea?")]
    memory.add(later)
    assert stored(memory) == ["Good morning", "Hello", "Good morning", "Hello", "Tea?"]
    memory.add([*later, assistant("Yes.")])
    assert stored(memory)[5:] == ["Yes."]


def test_what_was_deleted_does_not_come_back_with_the_chat(memory):
    memory.add(CHAT[:7])
    memory.delete(memory.pages.list()[0].id)
    memory.add(CHAT[:9])
    assert stored(memory) == WHOLE[2:8]


def test_a_call_with_a_key_is_stored_as_it_is(memory):
    memory.add(CHAT[:3])
    first = memory.add(CHAT[:7], idempotency_key="k")
    assert memory.add(CHAT[:7], idempotency_key="k") == first
    assert len(memory.pages.list()) == 3


def test_turns_are_stored_as_they_are(memory):
    turns = [Turn(role=Role.SYSTEM, text="Be brief."), Turn(role=Role.USER, text="hi")]
    memory.add_many(turns)
    memory.add_many([*turns, Turn(role=Role.ASSISTANT, text="hello")])
    assert stored(memory) == ["Be brief.", "hi", "Be brief.", "hi", "hello"]


class WriteOnly:
    """A gate for callers who may write and not read."""

    def admit(self, caller: Caller, action: Action, scope: object) -> None:
        if caller.identity == "scribe" and action is not Action.WRITE:
            raise PermissionDenied


def test_who_may_only_write_may_add_a_chat(tmp_path):
    with MemoryOS.open(tmp_path / "a.db", gate=WriteOnly()) as store:
        scribe = store.memory("ann", caller=Caller("scribe"))
        scribe.add(CHAT[:3])
        scribe.add(CHAT[:7])
        assert stored(store.memory("ann")) == WHOLE[:6]
