"""KV states in memory as the scheduler decides: fair shares between owners, and what comes next is loaded in pauses."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from threading import Event

import pytest

import same_process
from memoryos import Caller, KeepingReason, MemoryOS, load_settings, stores
from memoryos.errors import InvalidInput, ModelError
from memoryos.models.hashing import Hashing
from memoryos.models.remembered import Remembered
from memoryos.operation.activation.prefix_state import state_key
from memoryos.operation.activation.state_meanings import MOST_QUESTIONS, MOST_STATES, StateMeanings
from memoryos.operation.placement.kv_keeper import KvBlock
from memoryos.operation.placement.placement_policy import POLICIES, FormulaPolicy, GuardedPolicy, register_policy
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask

QUESTION = "Where is it?"
USED, LIKELY, MADE_ROOM, NO_ROOM = (
    KeepingReason.USED,
    KeepingReason.LIKELY,
    KeepingReason.MADE_ROOM,
    KeepingReason.NO_ROOM,
)


@pytest.fixture
def settings(request, tiny_long):
    is_gguf = getattr(request, "param", "transformers") == "llamacpp"
    place = tiny_long.with_suffix(".gguf") if is_gguf else tiny_long
    return load_settings(llm_model=f"local:{place}", llm_max_tokens=4, local_threads=1, placement_states=True)


@pytest.fixture
def open_store(tmp_path, settings, clock):
    opened = []

    def call(rules=None, **parts):
        known = settings.model_copy(update=parts)
        more = {} if rules is None else {"policies": rules}
        opened.append(MemoryOS.open(tmp_path / "m.db", settings=known, embedder=Hashing(), clock=clock, **more))
        return opened[-1]

    yield call
    for store in opened:
        store.close()


def built(store, user, *names, urgent=""):
    """Build prefixes of the same size for that user; one may have a tag."""
    memory = store.memory(user, caller=Caller(user))
    for name in names:
        tags = ["urgent"] if name == urgent else []
        page = memory.add(f"The {name} is in the harbour of Oslo. 港口在奥斯陆。" * 4, tags=tags)
        memory.activations.build(name, kinds=[], ids=[page])
        memory.jobs.run()
        assert memory.activations.get(name).is_usable
    return memory


def asked(store, memory, *names, question=QUESTION):
    """Ask behind prefixes, one after the other, each with its pause."""
    for name in names:
        assert memory.activations.answer(name, question).is_from_state
        store.wait()


def kept(memory):
    """The prefixes whose states are in memory."""
    there = memory._engine.activator.states.keys
    views = memory.activations.list()
    return {one.name for one in views if state_key(memory.scope.owner, one.id) in there}


def limit(store, most):
    """Let so many bytes be held."""
    activator = store._engine.activator
    activator.states.most_bytes = most
    object.__setattr__(activator.keeper.keeper._pool, "capacity", most)


def every(memory):
    """All decisions, oldest first."""
    names = {one.id: one.name for one in memory.activations.list()}
    return [(names[one.id], one.is_kept, one.reason) for one in reversed(memory.schedule.explain(QUESTION).states)]


def told(memory):
    """The latest decision for each prefix."""
    return {name: (is_kept, reason) for name, is_kept, reason in every(memory)}


def size(memory, name):
    state = memory._engine.activator.states.get(state_key(memory.scope.owner, memory.activations.get(name).id))
    return state.nbytes


@pytest.mark.parametrize("settings", ["transformers", "llamacpp"], indirect=True)
def test_what_a_session_usually_asks_next_is_loaded_in_the_pause_also_after_a_restart(open_store):
    store = open_store()
    ann = built(store, "ann", "ferry", "ticket", "wine")
    assert told(ann) == {}
    asked(store, ann, "wine", "ferry", "ticket", "ferry", "ticket", "ferry", "ticket")
    assert kept(ann) == {"ferry", "ticket", "wine"}
    assert told(ann) == dict.fromkeys(["ferry", "ticket", "wine"], (True, USED))
    store.close()

    store = open_store()
    ann = store.memory("ann")
    assert kept(ann) == set()
    asked(store, ann, "ferry")
    assert "ticket" in kept(ann), "which followed each time"
    assert told(ann)["ticket"] == (True, LIKELY)
    assert told(ann)["ferry"] == (True, USED)
    ticket = ann.activations.get("ticket").id
    grounds = next(one.grounds for one in ann.schedule.explain(QUESTION).states if one.id == ticket)
    assert (grounds.uses, grounds.size_bytes) == (0, size(ann, "ticket"))  # none in this process
    assert grounds.saved_ms > grounds.load_ms > 0
    assert grounds.chance > 0
    assert ann.activations.answer("ticket", QUESTION).is_from_state


def test_only_what_fits_is_loaded_and_the_rest_is_told_with_its_reason(open_store):
    store = open_store()
    ann = built(store, "ann", "ferry", "ticket")
    asked(store, ann, "ferry", "ticket", "ferry")
    limit(store, round(1.5 * size(ann, "ferry")))
    ann._engine.activator.states.clear()
    asked(store, ann, "ferry")
    assert kept(ann) == {"ferry"}
    assert told(ann) == {"ferry": (True, USED), "ticket": (False, NO_ROOM)}
    asked(store, ann, "ticket")
    assert kept(ann) == {"ferry"}, "which followed the ticket before"
    assert every(ann)[-5:] == [
        ("ferry", False, MADE_ROOM),
        ("ticket", True, USED),
        ("ticket", False, MADE_ROOM),
        ("ferry", True, LIKELY),
        ("ticket", False, NO_ROOM),
    ]


def test_who_holds_no_more_than_a_fair_share_loses_nothing_to_others(open_store):
    store = open_store()
    ann, ben = built(store, "ann", "ferry"), built(store, "ben", *"abcde")
    asked(store, ann, "ferry")
    limit(store, 4 * size(ann, "ferry") + 1)
    object.__setattr__(store._engine.activator.keeper.keeper._pool, "protected", 0.5)  # one state for each of the two
    asked(store, ben, *"abcde")
    assert len(kept(ben)) == 3
    assert kept(ann) == {"ferry"}
    assert told(ann) == {"ferry": (True, USED)}
    learned = store._engine.activator.keeper.learned
    assert learned.knows(ann.scope.owner)
    store.memory("ann").forget()
    assert told(store.memory("ann")) == {}
    assert not learned.knows(ann.scope.owner), "which has the names of prefixes"


def test_with_lru_and_no_shares_the_first_to_leave_is_the_last_used(open_store):
    store = open_store(placement="lru")
    ann = built(store, "ann", "ferry", "ticket")
    asked(store, ann, "ferry")
    limit(store, round(1.5 * size(ann, "ferry")))
    asked(store, ann, "ticket")
    assert kept(ann) == {"ticket"}
    assert every(ann)[-3:] == [("ferry", False, MADE_ROOM), ("ticket", True, USED), ("ferry", False, NO_ROOM)]


@pytest.mark.parametrize(("near", "far"), [("ferry", "ticket"), ("ticket", "ferry")])
def test_with_the_policy_similarity_what_the_question_is_not_about_leaves(open_store, near, far):
    store = open_store(placement="similarity")
    ann = built(store, "ann", "ferry", "ticket", "wine")
    asked(store, ann, "ferry", "ticket")
    limit(store, round(2.5 * size(ann, "ferry")))
    asked(store, ann, "wine", question=f"Where is the wine, the {near}?")
    assert kept(ann) == {near, "wine"}
    assert told(ann)[far][0] is False
    grounds = {one.id: one.grounds.similarity for one in reversed(ann.schedule.explain(QUESTION).states)}
    assert 0 < grounds[ann.activations.get(far).id] < grounds[ann.activations.get("wine").id] <= 1


@pytest.mark.parametrize("placement", ["similarity", "density"])
def test_an_embedder_that_does_not_answer_costs_no_state_and_is_asked_by_a_policy_alone(
    open_store, placement, monkeypatch
):
    store = open_store(placement=placement)
    ann = built(store, "ann", "ferry")
    asks = []

    def fails(questions, text):
        asks.append(text)
        raise ModelError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(Remembered, "vector", fails)
        asked(store, ann, "ferry")
    assert told(ann) == {"ferry": (True, USED)}
    assert asks == ([QUESTION] if placement == "similarity" else [])


class Comparing:
    """A policy that reads the similarity, and says so or not."""

    def __init__(self, **said):
        self.__dict__ |= said

    name = "comparing"

    def worth(self, block, task):
        return block.similarity


@pytest.mark.parametrize(("said", "asks"), [({}, 0), ({"uses_similarity": False}, 0), ({"uses_similarity": True}, 1)])
def test_a_question_is_embedded_for_an_added_policy_that_says_so_and_while_no_answer_waits(
    open_store, said, asks, monkeypatch
):
    monkeypatch.setitem(POLICIES, "comparing", GuardedPolicy("comparing", Comparing(**said)))
    store = open_store(placement="comparing")
    ann = built(store, "ann", "ferry")
    is_answered, seen, real = Event(), [], Remembered.vector

    def vector(questions, text):
        seen.append(is_answered.wait(60))
        return real(questions, text)

    with monkeypatch.context() as patch:
        patch.setattr(Remembered, "vector", vector)
        assert ann.activations.answer("ferry", QUESTION).is_from_state
        is_answered.set()
        store.wait()
    assert seen == [True] * asks


def test_an_embedder_that_breaks_costs_no_answer_when_room_is_needed(open_store, monkeypatch):
    store = open_store(placement="similarity")
    ann = built(store, "ann", "ferry", "ticket")
    asked(store, ann, "ferry")
    limit(store, round(1.5 * size(ann, "ferry")))
    asks = []

    def breaks(questions, text):
        asks.append(text)
        raise RuntimeError("a plug-in")

    with monkeypatch.context() as patch:
        patch.setattr(Remembered, "vector", breaks)
        asked(store, ann, "ticket")
    assert QUESTION in asks, "what is left is decided by the similarity"


@pytest.mark.parametrize("room", [True, False])
def test_a_damaged_vector_costs_no_answer(open_store, tmp_path, room):
    store = open_store(placement="similarity")
    ann = built(store, "ann", "ferry", "ticket")
    with closing(sqlite3.connect(tmp_path / "m.db")) as database:
        assert database.execute("UPDATE passages SET vector = x'00000000ff00ff00'").rowcount > 0
        database.commit()
    asked(store, ann, "ferry")
    if not room:
        limit(store, round(1.5 * size(ann, "ferry")))
    asked(store, ann, "ticket", "ticket")


@pytest.mark.parametrize(("priorities", "left"), [({}, "ferry"), ({"urgent": 9}, "ticket"), ({"calm": 9}, "ferry")])
def test_a_state_with_a_tag_of_higher_priority_stays(open_store, priorities, left):
    store = open_store(placement="lru", placement_priorities=priorities)
    ann = built(store, "ann", "ferry", "ticket", "wine", urgent="ferry")
    asked(store, ann, "ferry", "ticket")
    limit(store, round(2.5 * size(ann, "ferry")))
    asked(store, ann, "wine")
    assert kept(ann) == {"ferry", "ticket", "wine"} - {left}
    ferry = next(one for one in ann.schedule.explain(QUESTION).states if one.id == ann.activations.get("ferry").id)
    assert ferry.grounds.priority == priorities.get("urgent", 0)


def test_the_log_of_others_tells_nothing_of_a_question(open_store):
    store = open_store(placement="similarity")
    ann, ben = built(store, "ann", "ferry"), built(store, "ben", "wine", "ticket")
    asked(store, ben, "wine", "ticket")
    limit(store, round(2.5 * size(ben, "wine")))
    asked(store, ann, "ferry", question="Where is the wine, the ticket?")
    left = [one for one in ben.schedule.explain(QUESTION).states if one.reason is MADE_ROOM]
    assert [one.grounds.similarity for one in left] == [0.0]
    keeper = store._engine.activator.keeper
    assert keeper.meanings.knows(state_key(ben.scope.owner, left[0].id))
    ann.forget()
    assert not keeper.meanings.knows(state_key(ben.scope.owner, left[0].id)), "an erasure lets all of them go"


def test_who_may_not_read_all_is_told_nothing_of_the_questions_of_others(open_store, tmp_path):
    rules = tmp_path / "rules.cedar"
    rules.write_text(
        "permit (principal, action, resource is Cube) when { resource.owner == principal };"
        'permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };'
    )
    store = open_store(rules, placement="similarity")
    tom = built(store, "tom", "ferry", "ticket")
    asked(store, tom, "ferry")
    limit(store, round(1.5 * size(tom, "ferry")))
    asked(store, tom, "ticket")
    kim = store.memory("tom", caller=Caller("kim", frozenset({"nurse"})))
    told, known = kim.schedule.explain(QUESTION).states, tom.schedule.explain(QUESTION).states
    assert [one.id for one in told] == [one.id for one in known] != []
    assert {one.grounds.similarity for one in told} == {0.0}
    assert max(one.grounds.similarity for one in known) > 0


def test_what_is_erased_while_it_is_compared_is_not_known(open_store, monkeypatch):
    store = open_store(placement="similarity")
    ann = built(store, "ann", "ferry")
    meanings, key = store._engine.activator.meanings, state_key(ann.scope.owner, ann.activations.get("ferry").id)
    real = StateMeanings.know

    def know(self, *parts):
        ann.forget()
        real(self, *parts)

    with monkeypatch.context() as patch:
        patch.setattr(StateMeanings, "know", know)
        ann.activations.answer("ferry", QUESTION)
        store.wait()
    assert not meanings.knows(key)
    assert meanings._asked == {}


def test_what_was_asked_or_compared_last_is_known_longest(open_store):
    store = open_store(placement="similarity")
    ann = built(store, "ann", "ferry")
    meanings, activation = store._engine.activator.meanings, ann.activations.get("ferry")
    block = KvBlock(
        id=state_key(ann.scope.owner, activation.id), owner=ann.scope.owner, name="ferry", size_bytes=1, saved_ms=1.0
    )

    def alike():
        return meanings.alike(block, PlacementTask(QUESTION, ann.scope.owner, PlacementBudget(0)))

    asked(store, ann, "ferry")
    assert alike() > 0
    for number in range(MOST_QUESTIONS):
        meanings.compare(f"Question {number}", ())
        meanings.compare(QUESTION, ())
    for number in range(MOST_STATES):
        meanings.know(f"state {number}", [], 0)
        assert alike() > 0


def test_what_is_stale_or_gone_is_not_loaded_and_not_told(open_store):
    store = open_store()
    ann = built(store, "ann", "ferry", "ticket")
    asked(store, ann, "ferry", "ticket", "ferry")
    ann.activations.delete("ticket")
    ann._engine.activator.states.clear()
    asked(store, ann, "ferry")
    assert kept(ann) == {"ferry"} == {*told(ann)}
    with ann._engine.vault.read(ann.scope.owner) as reader:
        assert "ticket" not in reader.note("kv_states")


def test_states_that_are_put_together_are_all_used(open_store):
    store = open_store()
    ann = built(store, "ann", "ferry", "ticket", "wine")
    assert ann.activations.answer("ferry", QUESTION, beside=["ticket"], composed=True).is_composed
    store.wait()
    assert kept(ann) == {"ferry", "ticket"}
    assert ann.activations.answer("wine", QUESTION, beside=["ticket"]).is_from_state
    store.wait()
    assert told(ann) == dict.fromkeys(["ferry", "ticket", "wine"], (True, USED))


def test_the_command_tells_what_was_decided(open_store, settings, tmp_path):
    store = open_store()
    ann = built(store, "ann", "ferry")
    asked(store, ann, "ferry")
    variables = {"MEMORYOS_EMBEDDER": "hashing", "MEMORYOS_LLM_MODEL": settings.llm_model}
    place = ("--user", "ann", "--db", str(tmp_path / "m.db"))
    ran = same_process.memoryos("schedule", "explain", QUESTION, *place, cwd=tmp_path, **variables)
    assert f"KV state {ann.activations.get('ferry').id}: in memory (used): uses 1, heat 0" in ran.stdout, ran.stderr


def test_a_damaged_log_costs_no_answer(open_store, tmp_path):
    store = open_store()
    ann = built(store, "ann", "ferry")
    with store._engine.vault.write(ann.scope.owner) as writer:
        writer.write_note("kv_states", "{")
    assert ann.activations.answer("ferry", QUESTION).is_from_state
    store.wait()
    store.close()
    (damage,) = stores.verify(tmp_path / "m.db").damages
    assert "kv_states" in damage.detail


@pytest.mark.parametrize("parts", [{"placement": "off"}, {"placement_states": False}])
def test_switched_off_nothing_is_decided(open_store, parts):
    store = open_store(**parts)
    ann = built(store, "ann", "ferry")
    asked(store, ann, "ferry")
    assert told(ann) == {}
    assert kept(ann) == {"ferry"}  # as the last used stay


def test_an_unknown_policy_is_refused_at_once(open_store):
    with pytest.raises(InvalidInput, match="'fastest' is unknown"):
        open_store(placement="fastest")


def test_a_policy_that_fails_costs_no_answer(open_store, monkeypatch):
    monkeypatch.setitem(POLICIES, "broken", None)
    del POLICIES["broken"]
    register_policy(FormulaPolicy("broken", lambda *_: 1 / 0))
    store = open_store(placement="broken")
    ann = built(store, "ann", "ferry", "ticket")
    asked(store, ann, "ferry")
    limit(store, round(1.5 * size(ann, "ferry")))
    asked(store, ann, "ticket", "ferry")


def test_the_bench_asks_both_ways_with_the_same_states(tiny_long, tmp_path):
    words = (
        f"bench kept-states --model local:{tiny_long} --threads 1 --words 30 --learning 1 --questions 2 --prefixes 2"
    )
    ran = same_process.memoryos(*words.split(), "--megabytes", "1", "--answer-tokens", "4", "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    report = json.loads(ran.stdout)["report"]
    assert [(one["name"], one["preloaded"]) for one in report["ways"]] == [
        ("off", 0),
        ("on", 0),
    ]  # all states have room
    assert all(0 < one["median_ms"] <= one["slowest_ms"] for one in report["ways"])
    assert (report["prefixes"], report["questions"], report["tokens"] > 100) == (2, 2, True)


class Listening:
    """A policy that notes what it is told."""

    name = "listening"

    def __init__(self):
        self.heard = []

    def worth(self, block, task):
        self.heard.append((block.labels, block.heat, task.labels))
        return block.uses


def test_a_policy_is_told_the_tags_and_the_visits_of_the_sources(open_store, monkeypatch):
    listening = Listening()
    monkeypatch.setitem(POLICIES, "listening", listening)
    store = open_store(placement="listening")
    ann = store.memory("ann")
    page = ann.add("The ferry is in the harbour of Oslo.", tags=["urgent"])
    ann.activations.build("ferry", kinds=[], ids=[page])
    built(store, "ann", "wine")
    ann.search("Where is the ferry?")
    store.wait()
    asked(store, ann, "ferry")
    limit(store, round(1.5 * size(ann, "ferry")))
    asked(store, ann, "wine")
    asked(store, ann, "ferry")
    heats = {labels: heat for labels, heat, _ in listening.heard}
    assert heats == {frozenset({"urgent"}): 1, frozenset(): heats[frozenset()]}
    assert {wanted for _, _, wanted in listening.heard} == {frozenset({"urgent"}), frozenset()}
