"""mem0's `Memory` and `AsyncMemory`: both of its styles, on a store of ours."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from memoryos import MemoryOS
from memoryos.caller import Action, Caller
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.frameworks.mem0 import AsyncMemory, Memory

TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I moved to Lisbon in May."},
    {"role": "assistant", "content": "How lovely!"},
]


@pytest.fixture
def store(tmp_path, clock):
    with MemoryOS.open(tmp_path / "a.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def mem0(store):
    return Memory(store)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For calls that are refused, and change nothing."""
    with Memory(str(tmp_path_factory.mktemp("shared") / "a.db")) as opened:
        yield opened


def texts(found):
    return [one["memory"] for one in found["results"]]


@pytest.mark.usefixtures("each_store")
def test_both_styles_find_what_was_added(mem0, store):
    (added,) = mem0.add(TALK, user_id="ann", metadata={"topic": "home"})["results"]
    assert added == {
        "id": added["id"],
        "memory": "user: I moved to Lisbon in May.\nassistant: How lovely!",
        "event": "ADD",
    }
    store.wait()
    question = "Where does Ann live?"
    new = mem0.search(question, filters={"user_id": "ann"}, top_k=5)
    assert mem0.search(question, user_id="ann", limit=5) == new
    assert mem0.search(question, filters={"AND": [{"user_id": "ann"}, {"topic": {"in": ["home"]}}]}, top_k=5) == new
    assert set(texts(new)) == {added["memory"], "User moved to Lisbon in May."}
    assert all(0.1 <= one["score"] <= 1 for one in new["results"])
    found = next(one for one in new["results"] if one["id"] == added["id"])
    assert (found["user_id"], found["metadata"]) == ("ann", {"topic": "home"})
    assert found["created_at"] == "2026-06-01T00:00:00+00:00"
    assert set(texts(mem0.get_all(filters={"user_id": "ann"}))) == set(texts(new))
    assert mem0.get_all(user_id="ann", limit=1)["results"] == mem0.get_all(filters={"user_id": "ann"})["results"][:1]
    assert mem0.search(question, user_id="bob")["results"] == []
    assert texts(mem0.search(question, filters={"user_id": "ann", "topic": "work"})) == []
    assert "score_details" in mem0.search(question, user_id="ann", explain=True)["results"][0]
    assert mem0.add([*TALK, {"role": "user", "content": "I have a dog."}], user_id="ann")["results"][0]["memory"] == (
        "I have a dog."
    )


def test_a_memory_is_read_corrected_and_deleted_by_its_id_alone_also_in_another_process(tmp_path):
    with Memory(str(tmp_path / "b.db")) as first:
        (added,) = first.add("我的猫叫小黑", user_id="安/../x", infer=False)["results"]
    with Memory(str(tmp_path / "b.db")) as mem0:
        found = mem0.get(added["id"])
        assert (found["memory"], found["user_id"], found["role"]) == ("我的猫叫小黑", "安/../x", "user")
        assert mem0.update(added["id"], data="我的猫叫小白", metadata={"kind": "pet"}) == {
            "message": "Memory updated successfully!"
        }
        assert (mem0.get(added["id"])["memory"], mem0.get(added["id"])["metadata"]) == ("我的猫叫小白", {"kind": "pet"})
        assert [(one["event"], one["old_memory"], one["new_memory"]) for one in mem0.history(added["id"])] == [
            ("ADD", None, "我的猫叫小黑"),
            ("UPDATE", "我的猫叫小黑", "我的猫叫小白"),
        ]
        assert mem0.delete(added["id"]) == {"message": "Memory deleted successfully!"}
        assert mem0.get(added["id"]) is None
        for act in (mem0.delete, mem0.history, lambda unknown: mem0.update(unknown, "x")):
            with pytest.raises(NotFound):
                act(added["id"])
        for unknown in ("", "x", "x.u", "x.z!", "x.uYQ", "x.u\udc80", 7):
            assert mem0.get(unknown) is None


@pytest.mark.usefixtures("each_store")
def test_agents_and_runs_narrow_a_user_and_stand_alone(mem0):
    mem0.add("I keep bees.", user_id="ann", agent_id="coder", run_id="r1", infer=False)
    mem0.add("I keep hens.", user_id="ann", infer=False)
    mem0.add("The agent keeps notes.", agent_id="coder", infer=False)
    mem0.add("The run keeps going.", run_id="r1", infer=False)

    def kept(**ids):
        assert sorted(texts(mem0.search("Who keeps what?", filters=ids, threshold=0))) == sorted(
            texts(mem0.get_all(filters=ids))
        )
        return sorted(texts(mem0.get_all(**ids)))

    assert kept(user_id="ann") == ["I keep bees.", "I keep hens."]
    assert kept(user_id="ann", agent_id="coder") == kept(user_id="ann", run_id="r1") == ["I keep bees."]
    assert kept(user_id="ann", agent_id="other") == kept(user_id="coder") == []
    assert kept(agent_id="coder") == ["The agent keeps notes."]
    assert kept(run_id="r1") == ["The run keeps going."]
    (bees,) = mem0.get_all(user_id="ann", agent_id="coder")["results"]
    assert (bees["agent_id"], bees["run_id"]) == ("coder", "r1")
    assert [(one["type"], one["name"]) for one in mem0.users()["results"]] == [
        ("user", "ann"),
        ("agent", "coder"),
        ("run", "r1"),
    ]
    mem0.delete_all(user_id="ann", agent_id="coder")
    assert kept(user_id="ann") == ["I keep hens."]
    mem0.add("I keep bees.", user_id="ann", run_id="r1", infer=False)
    mem0.delete_all(user_id="ann", run_id="r1")
    assert kept(user_id="ann") == ["I keep hens."]
    mem0.delete_all(run_id="r1")
    assert (kept(run_id="r1"), kept(agent_id="coder")) == ([], ["The agent keeps notes."])
    mem0.reset()
    assert mem0.users() == {"results": []}
    assert kept(user_id="ann") == kept(agent_id="coder") == []


def test_messages_are_kept_as_they_are_without_infer(mem0, store):
    added = mem0.add(TALK, user_id="ann", infer=False)
    assert texts(added) == ["I moved to Lisbon in May.", "How lovely!"]
    store.wait()
    assert sorted(texts(mem0.get_all(user_id="ann"))) == sorted(texts(added))
    assert mem0.get(added["results"][1]["id"])["role"] == "assistant"
    mem0.update(added["results"][1]["id"], "How nice!")
    assert mem0.get(added["results"][1]["id"])["memory"] == "How nice!"


def test_times_of_mem0(mem0, clock):
    mem0.add("I was at sea.", user_id="ann", timestamp=1_700_000_000, infer=False)
    mem0.add("I have a ticket.", user_id="ann", expiration_date="2026-06-02", infer=False)
    assert len(texts(mem0.get_all(user_id="ann"))) == 2
    clock.advance(days=1, hours=23)
    assert len(texts(mem0.get_all(user_id="ann"))) == 2
    clock.advance(hours=1)
    assert texts(mem0.get_all(user_id="ann")) == ["I was at sea."]
    (cube,) = mem0._store.memory("ann").pages.list()
    assert cube.at == datetime.fromtimestamp(1_700_000_000, UTC)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda one: one.search("q"), "name no user, agent or run"),
        (lambda one: one.add("x"), "name no user, agent or run"),
        (lambda one: one.add(7, user_id="ann"), "messages: are no text, dict or list of dicts"),
        (lambda one: one.add("x", user_id=" "), "user_id: ' ' names nobody"),
        (lambda one: one.get_all(filters={"user_id": "*"}), "names nobody"),
        (lambda one: one.get_all(filters={"user_id": {"in": ["ann", "bob"]}}), "names nobody"),
        (lambda one: one.get_all(filters={"OR": [{"user_id": "ann"}]}), "filters.OR: is not supported"),
        (lambda one: one.search("q", filters={"user_id": "ann", "n": {"gte": 3}}), "filters.n: 'gte' is not supported"),
        (lambda one: one.search("q", filters={"user_id": "ann"}, user_id="bob"), "differs from that of the filters"),
        (lambda one: one.search("q", user_id="ann", top_k=3, limit=3), "limit: is another name of `top_k`"),
        (lambda one: one.search("q", user_id="ann", rerank=True), "rerank: there is no reranker"),
        (lambda one: one.search("q", filters="ann"), "filters: expected a dict, got str"),
        (lambda one: one.search("", user_id="ann"), "query: is empty"),
        (lambda one: one.add("x", user_id="ann", timestamp=1e20), "timestamp: is outside the calendar"),
        (lambda one: one.update("a.uYQ", "x", data="y"), "data: is another name of `text`"),
        (lambda one: type(one).from_config({"graph_store": {}}), "config.graph_store: has no meaning here"),
        (lambda one: type(one).from_config({"": {}}), "config.: has no meaning here"),
        (lambda one: type(one).from_config({"llm": {"provider": "ollama"}}), "llm.provider: 'ollama' is not supported"),
        (
            lambda one: type(one).from_config({"vector_store": {"provider": "memoryos", "config": {"host": "x"}}}),
            "vector_store.config.host: has no meaning here",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_by_its_name(shared, call, told):
    with pytest.raises(InvalidInput) as error:
        call(shared)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("method", "unknown"),
    [("search", "reference_date"), ("add", "memory_type"), ("add", "prompt"), ("get_all", "show_expired")],
)
def test_an_unknown_argument_is_refused_by_its_name(shared, method, unknown):
    given = {"user_id": "ann", unknown: "x"}
    with pytest.raises(TypeError, match=f"has no parameter '{unknown}'"):
        getattr(shared, method)(*([] if method == "get_all" else ["x"]), **given)


def test_an_argument_that_asks_for_nothing_is_taken(store):
    mem0 = Memory(store)
    mem0.add("I row.", user_id="ann", prompt=None, memory_type=None)
    assert texts(mem0.search("I row", user_id="ann", reference_date=None, show_expired=False))
    assert texts(mem0.get_all(user_id="ann", show_expired=False))
    same = AsyncMemory(store).search("I row", user_id="ann", reference_date=None)
    assert texts(asyncio.run(same))


def test_a_store_is_opened_by_a_config_of_mem0(tmp_path):
    path = str(tmp_path / "c.db")
    config = {"vector_store": {"provider": "memoryos", "config": {"path": path}}, "version": "v1.1"}

    async def use():
        mem0 = AsyncMemory.from_config(config)
        (added,) = (await mem0.add("I row.", user_id="ann"))["results"]
        found = await mem0.search("What do I do?", filters={"user_id": "ann"})
        assert (await mem0.get(added["id"]))["memory"] == "I row."
        await mem0.delete_all(user_id="ann")
        mem0.close()
        return found

    assert texts(asyncio.run(use())) == ["I row."]
    assert Memory.from_config(config).get_all(user_id="ann") == {"results": []}


class WritesOnly:
    def admit(self, caller, action, scope):
        if caller.identity == "ann" and action is not Action.WRITE:
            raise PermissionDenied("ann may only write")


def test_who_may_only_write_gets_the_id_of_what_was_stored(tmp_path):
    with MemoryOS.open(tmp_path / "e.db", gate=WritesOnly()) as store:
        (added,) = Memory(store, caller=Caller("ann")).add("I row.", user_id="ann")["results"]
        assert added["memory"] is None
        assert Memory(store, caller=Caller("bob")).get(added["id"])["memory"] == "I row."


class OnlyAnn:
    def admit(self, caller, action, scope):
        if caller.identity == "ann" and (scope is None or scope.user != "ann" or action is Action.DELETE):
            raise PermissionDenied("ann may not")


def test_the_gate_decides(tmp_path):
    with MemoryOS.open(tmp_path / "d.db", gate=OnlyAnn()) as store:
        mem0 = Memory(store, caller=Caller("ann"))
        (added,) = mem0.add("I row.", user_id="ann")["results"]
        for act in (
            lambda: mem0.search("What?", user_id="bob"),
            lambda: mem0.add("x", user_id="bob"),
            lambda: mem0.get(added["id"].replace("uYW5u", "uYm9i")),
            lambda: mem0.delete(added["id"]),
            lambda: mem0.delete_all(user_id="ann"),
            mem0.users,
            mem0.reset,
        ):
            with pytest.raises(PermissionDenied):
                act()
        assert texts(mem0.get_all(user_id="ann")) == ["I row."]
