"""The three forms of memory on PostgreSQL: what is kept, told and removed is as on SQLite."""

from __future__ import annotations

import pytest

import memoryos
from contract import server
from local.lessons import FACT, NAME, UNSEEN, teach
from memoryos import MemoryForm, Settings, UnchangedReason
from memoryos.errors import InvalidInput, NotFound

QUESTION = "When does the zanzibar ferry leave?"


@pytest.fixture
def open_memory(tmp_path, tiny_long, clock):
    place = server.store_of(tmp_path).render_as_string()

    def call(**parts):
        settings = Settings(llm_model=f"local:{tiny_long}", llm_max_tokens=4, embedder="hashing", **parts)
        return memoryos.open(place, user="ann", settings=settings, clock=clock)

    yield call
    server.give_back(tmp_path)


@pytest.fixture
def memory(open_memory, tmp_path):
    (tmp_path / "objects").mkdir()
    with open_memory(object_store=(tmp_path / "objects").as_uri()) as memory:
        yield memory


def test_without_a_place_for_bytes_nothing_is_ordered_and_each_call_says_why(open_memory):
    with open_memory() as memory:
        page = memory.add("The zanzibar ferry leaves at nine.")
        memory.facts.add(FACT)
        with pytest.raises(InvalidInput, match="object_store: is not set, so this store has no place for KV states"):
            memory.activations.build("me")
        with pytest.raises(InvalidInput, match="no place for adapters"):
            memory.adapters.train("me")
        for _ in range(2):
            plan = memory.schedule.decide("ferry", tokens=12)
        (left,) = plan.unchanged
        assert (left.reason, left.sources) == (UnchangedReason.NO_STORE, (page,))
        memory.wait()
        assert memory.activations.list() == list(memory.adapters.list()) == []
        assert memory.stats().jobs_dead == 0


def test_kv_and_the_log_of_the_scheduler_follow_their_source(memory):
    page = memory.add("The zanzibar ferry leaves at nine.")
    told = []
    for _ in range(3):
        told.append(memory.schedule.decide(QUESTION).unchanged)
        memory.wait()
    assert [{one.reason for one in left} for left in told] == [
        {UnchangedReason.NOT_PAID},
        set(),
        {UnchangedReason.NOTHING_NEW, UnchangedReason.NOT_COLD, UnchangedReason.NOT_STABLE},
    ]
    (kv,) = memory.activations.list()
    assert (kv.name, kv.sources, kv.is_usable) == ("scheduler", (page,), True)
    assert memory.activations.answer("scheduler", QUESTION).is_from_state
    assert [(one.before, one.after) for one in memory.schedule.explain(QUESTION).forms] == [
        (MemoryForm.TEXT, MemoryForm.KV)
    ]
    memory.governance.erase(page)
    assert memory.activations.get("scheduler").id is None
    plan = memory.schedule.explain(QUESTION)
    assert (plan.chosen, plan.forms, plan.unchanged) == ((), (), ())


def test_an_adapter_follows_its_source(memory, learned):
    fact = memory.facts.add(FACT)
    teach(memory, learned, [fact])
    memory.adapters.load(NAME)
    assert memory.adapters.ask(UNSEEN).used == (NAME,)
    memory.governance.relabel(fact, sensitivity=["health"])
    told = memory.adapters.ask(UNSEEN)
    assert (told.used, memory.adapters.get(NAME).versions) == ((), ())
    with pytest.raises(NotFound):
        memory.adapters.load(NAME)


def test_nothing_is_trained_without_a_place_for_bytes_and_the_plan_says_why(open_memory, tmp_path, clock):
    parts = {"placement_adapters": True, "context_tokens": 64, "prompt_tokens": 256}
    (tmp_path / "objects").mkdir()
    with open_memory(object_store=(tmp_path / "objects").as_uri(), **parts) as memory:
        memory.add("The zanzibar ferry leaves at nine. " * 4)
        for _ in range(22):
            memory.schedule.decide(QUESTION, tokens=1_000)
            memory.jobs.run()
        assert [one.name for one in memory.activations.list()] == ["scheduler"]
    with open_memory(**parts) as memory:
        for _ in range(3):
            clock.advance(days=11)
            plan = memory.schedule.decide(QUESTION, tokens=1_000)
        told = {(one.before, one.after): one.reason for one in plan.unchanged}
        assert told[MemoryForm.KV, MemoryForm.ADAPTER] is UnchangedReason.NO_STORE
