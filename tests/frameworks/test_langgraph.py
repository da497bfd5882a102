"""LangGraph's `BaseStore`, by the real base class."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import memoryos
from memoryos import load_settings
from memoryos.errors import InvalidInput
from memoryos.frameworks.langgraph import NAMESPACE, LangGraphStore, _Items
from public import store_of

ANN = ("memories", "ann")


@pytest.fixture
def memory(tmp_path, clock):
    with memoryos.open(tmp_path / "a.db", user="app", clock=clock) as opened:
        yield opened


@pytest.fixture
def store(memory):
    return LangGraphStore(memory)


def keys(found):
    return [item.key for item in found]


@pytest.mark.usefixtures("each_store")
def test_an_item_is_put_got_changed_and_deleted(store, clock):
    value = {"text": "我喜欢骑自行车", "n": 3.0, "list": [1, {"a": None}], "empty": {}}
    store.put(ANN, "k", value)
    first = store.get(ANN, "k")
    assert (first.value, first.key, first.namespace) == (value, "k", ANN)
    assert first.created_at == first.updated_at == datetime(2026, 6, 1, tzinfo=UTC)
    clock.advance(hours=1)
    store.put(ANN, "k", {"text": "I ride"})
    changed = store.get(ANN, "k")
    assert changed.value == {"text": "I ride"}
    assert changed.updated_at > changed.created_at == first.created_at
    store.delete(ANN, "k")
    assert store.get(ANN, "k") is None
    store.delete(ANN, "k")  # as often as one likes
    assert store.search(()) == []


def test_another_process_finds_what_was_put(tmp_path):
    for turn in range(2):
        with memoryos.open(tmp_path / "b.db", user="app") as memory:
            store = LangGraphStore(memory)
            store.put(ANN, "k", {"turn": turn})
            assert [item.value for item in store.search(ANN)] == [{"turn": turn}]
            items = memory.of(replace(memory.scope, namespace=("private", NAMESPACE)))
            assert len(items.history(items.pages.list()[0].id)) == turn + 1


def filled(store):
    for number in range(9):
        store.put(("docs", f"u{number % 3}"), f"k{number}", {"n": number, "kind": {"even": number % 2 == 0}})
    store.put(("docs", "u1", "deep"), "x", {"n": 50, "list": [1, 2]})
    store.put(("docs", "u0"), "k0", {"n": 100, "kind": {"even": True}})
    return store


def test_it_finds_what_the_store_in_memory_finds(store):
    mine, theirs = filled(store), filled(InMemoryStore())
    for wanted in (
        {},
        {"filter": {"kind": {"even": True}}},
        {"filter": {"n": {"$gte": 4, "$lt": 9}}},
        {"filter": {"n": {"$ne": 4}}, "limit": 50},
        {"filter": {"n": {"$eq": 5}}},
        {"filter": {"n": 5}},
        {"filter": {"list": [1, 2]}},
        {"filter": {"list": (1, 2)}},
        {"filter": {"none": "there"}},
        {"limit": 2, "offset": 1},
        {"limit": 0},
        {"offset": 40},
    ):
        found = [one.search(("docs", "u1"), **wanted) for one in (mine, theirs)]
        told = [[(item.namespace, item.key, item.value) for item in items] for items in found]
        assert told[0] == told[1]
    for wanted in (
        {},
        {"prefix": ("docs", "u1")},
        {"prefix": ("*", "u1")},
        {"suffix": ("deep",)},
        {"max_depth": 2},
        {"limit": 1, "offset": 1},
        {"prefix": ("none",)},
    ):
        assert mine.list_namespaces(**wanted) == theirs.list_namespaces(**wanted)
    with pytest.raises(InvalidInput, match=r"filter: '\$like' is no comparison"):
        mine.search(("docs",), filter={"n": {"$like": 1}})
    assert mine.search(("docs",), filter={"n": {"$gt": "text"}}) == []


def test_a_query_ranks_and_the_rest_comes_without_a_score(store):
    store.put(ANN, "food", {"text": "I like pizza with olives"})
    store.put(ANN, "sport", {"text": "I ride my bicycle on Sundays"})
    store.put(ANN, "secret", {"text": "pizza pizza pizza"}, index=False)
    store.put(ANN, "title", {"title": "Olive oil", "body": "nothing about it"}, index=["title"])
    found = store.search(ANN, query="What pizza do I like?")
    assert keys(found)[0] == "food"
    assert keys(found)[-1] == "secret"
    assert 0.5 < found[0].score <= 1
    assert found[-1].score is None
    assert found[-1].value == {"text": "pizza pizza pizza"}
    assert keys(store.search(ANN, query="What pizza do I like?", limit=1)) == ["food"]
    assert keys(store.search(ANN, query="olive oil", filter={"title": {"$eq": "Olive oil"}})) == ["title"]
    assert store.get(ANN, "title").value == {"title": "Olive oil", "body": "nothing about it"}


APART = [
    ("a", "b"),
    ("a/b",),
    ("ab",),
    ("a", '","b'),
    ("a", "", "b"),
    ("a",),
    ("a", "branch:x"),
    ("Ä",),
    ("A\u0308",),
    ("x" * 300,),
    ("x" * 299,),
]


@pytest.mark.usefixtures("each_store")
def test_no_two_namespaces_meet(store):
    store.batch([PutOp(one, "k", {"of": number}) for number, one in enumerate(APART)])
    assert [found.value["of"] for found in store.batch([GetOp(one, "k") for one in APART])] == [*range(len(APART))]
    store.batch([PutOp(one, "k", None) for one in APART[::2]])
    assert [found is None for found in store.batch([GetOp(one, "k") for one in APART])] == [
        number % 2 == 0 for number in range(len(APART))
    ]
    assert [item.namespace for item in store.search(("a",))] == [("a", '","b'), ("a",)]


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store):
    done = store.batch([PutOp(ANN, "k", {"n": 1}), GetOp(ANN, "k"), PutOp(ANN, "k", {"n": 2}), SearchOp(ANN)])
    assert done == [None, None, None, []]
    assert store.get(ANN, "k").value == {"n": 2}


def test_coroutines_do_the_same(store):
    async def use():
        await store.aput(ANN, "k", {"text": "I row"})
        return await store.aget(ANN, "k"), await store.asearch(ANN, query="rowing"), await store.alist_namespaces()

    item, found, namespaces = asyncio.run(use())
    assert item.value == found[0].value == {"text": "I row"}
    assert namespaces == [ANN]


def test_a_time_to_live_counts_from_the_last_put(memory, clock):
    store = LangGraphStore(memory, default_ttl=10)
    store.put(ANN, "default", {"n": 1})
    store.put(ANN, "long", {"n": 1}, ttl=60)
    store.put(ANN, "ever", {"n": 1}, ttl=None)
    began = store.get(ANN, "default").created_at
    clock.advance(minutes=9)
    store.put(ANN, "default", {"n": 2})
    assert store.get(ANN, "default").created_at == began
    clock.advance(minutes=9)
    assert keys(store.search(ANN)) == ["long", "ever", "default"]
    clock.advance(minutes=2)
    assert store.get(ANN, "default") is None
    assert keys(store.search(ANN)) == ["long", "ever"]
    clock.advance(minutes=60)
    assert keys(store.search(ANN, query="n")) == ["ever"]


@pytest.mark.usefixtures("each_store")
def test_each_user_has_a_memory_of_their_own(memory):
    store = LangGraphStore(memory, user_at=1)
    store.put(ANN, "k", {"text": "I am Ann"})
    store.put(("memories", "bob"), "k", {"text": "I am Bob"})
    assert [item.value["text"] for item in store.search(ANN, query="Who am I?")] == ["I am Ann"]
    assert store.list_namespaces(prefix=ANN) == [ANN]
    assert store_of(memory).admin.users() == ["ann", "bob"]
    store_of(memory).admin.forget("ann")
    assert store.get(ANN, "k") is None
    assert store.get(("memories", "bob"), "k").value == {"text": "I am Bob"}
    for refused in (
        lambda: store.search(("memories",)),
        lambda: store.put(("memories",), "k", {}),
        store.list_namespaces,
        lambda: store.list_namespaces(prefix=("memories", "*")),
    ):
        with pytest.raises(InvalidInput, match="has no user at place 1"):
            refused()


def test_items_are_no_part_of_the_dialogue(memory):
    memory.add("I keep bees.")
    store = LangGraphStore(memory)
    store.put(ANN, "k", {"text": "I keep wasps and I live in Rome."})
    memory.wait()
    assert [hit.text for hit in memory.search("What do I keep?").hits] == ["user: I keep bees."]
    assert memory.of(replace(memory.scope, namespace=("private", NAMESPACE))).facts.list() == []


@pytest.mark.parametrize("policy", ["privacy_on_write", "privacy_on_read"])
def test_a_masked_item_is_read_and_breaks_no_search(tmp_path, policy):
    with memoryos.open(tmp_path / "p.db", user="app", settings=load_settings(**{policy: "mask"})) as memory:
        store = LangGraphStore(memory)
        store.put(ANN, "k", {"card": 4111111111111111, "pin": 4567})
        store.put(ANN, "other", {"text": "tea"})
        assert store.get(ANN, "k").value == {"card": "[card]", "pin": "[secret]"}
        assert keys(store.search(ANN, query="tea")) == ["other", "k"]


def test_parallel_puts_of_a_key_leave_the_last(store):
    """Another put removes what this one was to change, between its reading and its writing."""
    store.put(ANN, "k", {"n": 1})
    stored, left = _Items._stored, [2]

    def read_and_be_overtaken(items, namespace, key):
        found = stored(items, namespace, key)
        if left[0]:
            left[0] -= 1
            for one in found:
                items.memory.delete(one.id)
            items.memory.wait()
        return found

    _Items._stored = read_and_be_overtaken
    try:
        store.put(ANN, "k", {"n": 2})
    finally:
        _Items._stored = stored
    assert [item.value for item in store.search(ANN)] == [{"n": 2}]


def test_threads_put_one_key(store):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.put(ANN, "k", {"n": number}), range(12)))
    assert len(store.search(ANN)) == 1


@pytest.mark.parametrize("key", ["", " "])
def test_a_key_may_say_nothing(store, key):
    for index in (False, ["text"], None):
        store.put(ANN, key, {"text": ""}, index=index)
        assert store.get(ANN, key).value == {"text": ""}


def test_a_key_that_is_too_long_is_named(store):
    with pytest.raises(InvalidInput, match=r"^key: has 20,000 characters"):
        store.put(ANN, "k" * 20_000, {"a": 1})


def test_a_value_that_cannot_be_kept_is_refused(tmp_path):
    with memoryos.open(tmp_path / "c.db", user="app", settings=load_settings(max_text_chars=1_000)) as memory:
        store = LangGraphStore(memory)
        for value, told in (
            ({"n": float("nan")}, "value: cannot be written as JSON"),
            ({"n": object()}, "value: cannot be written as JSON"),
            ({"text": "x" * 2_000}, "value: has 2,012 characters as JSON"),
        ):
            with pytest.raises(InvalidInput, match=told):
                store.put(ANN, "k", value)
        assert store.search(()) == []


def test_what_is_wrong_is_said(store):
    with pytest.raises(InvalidInput, match="limit"):
        store.search(ANN, limit=-1)
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "k", {})
    with pytest.raises(InvalidInput, match="ops: str is no operation"):
        store.batch(["get"])
    with pytest.raises(InvalidInput, match=r"Pass memoryos.open"):
        LangGraphStore("a.db")


def test_messages_of_langchain_are_taken(memory):
    call = {"name": "book", "args": {"to": "Rome"}, "id": "c1"}
    told = [
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "id": "c1", "name": "book", "input": call["args"]},
    ]
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    (page,) = memory.add(
        [
            SystemMessage("Be brief."),
            HumanMessage(["Book me a flight.", picture]),
            AIMessage(content=told, tool_calls=[call]),  # as of Anthropic: the call stands twice
            ToolMessage("Booked.", tool_call_id="c1"),
            AIMessage("", tool_calls=[call, call]),
            AIMessage(content=[{**told[1], "input": {}}], tool_calls=[call]),  # of a stream
            AIMessageChunk("You fly on Friday."),
        ]
    )
    again = 'tool: called book({"to": "Rome"})'
    assert memory.get(page).text.splitlines() == [
        *("user: Book me a flight. [image]", "assistant: I will.", again, "tool: Booked.", again, again, again),
        "assistant: You fly on Friday.",
    ]
    assert [file.media_type for file in memory.pages.attachments(page)] == ["image/png"]
