"""Scheduling with a model in this process: text that was read often gets KV, which goes again when it is cold."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import memoryos
from local.lessons import FACT, NAME, teach
from local.tiny_model import make_folder
from memoryos import MemoryForm, MoveReason, PlacementReason, UnchangedReason, load_settings
from memoryos.interface.cli.app import app
from memoryos.models.hashing import Hashing
from memoryos.operation.placement.cost_model import SMOLLM2
from memoryos.operation.training.adapter_trainer import AdapterTrainer

QUESTION = "When does the zanzibar ferry leave?"
TEXT, KV, ADAPTER = MemoryForm.TEXT, MemoryForm.KV, MemoryForm.ADAPTER


@pytest.fixture
def memory(request, tmp_path, tiny_long, clock):
    settings = load_settings(
        llm_model=f"local:{tiny_long}",
        llm_max_tokens=16,
        local_threads=1,
        prompt_tokens=256,
        context_tokens=64,
        placement_adapters=getattr(request, "param", False),
    )
    path = tmp_path / "memory.db"
    with memoryos.open(path, user="ann", settings=settings, embedder=Hashing(), clock=clock) as memory:
        yield memory


def decided(memory):
    plan = memory.schedule.decide(QUESTION)
    memory.jobs.run()
    return plan


def test_text_gets_kv_when_it_has_paid_for_it_and_loses_it_when_it_changes_or_is_cold(memory, clock):
    page = memory.add("The zanzibar ferry leaves at nine.")
    decided(memory)
    assert memory.activations.list() == []
    decided(memory)  # the second use has paid
    (kv,) = memory.activations.list()
    assert (kv.name, kv.sources, kv.is_usable) == ("scheduler", (page,), True)
    assert memory.schedule.moves() == []
    newest, oldest = memory.schedule.log()
    (built,) = newest.forms
    assert oldest.forms == ()
    assert (built.name, built.before, built.after) == ("scheduler", MemoryForm.TEXT, MemoryForm.KV)
    assert (built.reason, built.sources, built.plan) == (MoveReason.PAID, (page,), 2)
    assert (built.grounds.uses, built.grounds.unchanged_days) == (2, 0)
    assert built.grounds.saved_ms >= built.grounds.cost_ms == SMOLLM2.prefill_ms(built.grounds.tokens) > 0

    plan = decided(memory)
    assert plan.decision(page).reason is PlacementReason.COVERED
    assert plan.decision(kv.id).reason is PlacementReason.SAVES_TIME
    assert plan.tokens == memory.schedule.explain(QUESTION, size_bytes=0).tokens  # of the same text in another form
    assert plan.ms <= sum(one.ms for one in memory.schedule.explain(QUESTION, size_bytes=0).chosen)
    assert len(memory.schedule.log()) == 3

    memory.update(page, "The zanzibar ferry leaves at ten.")
    changed = memory.schedule.explain(QUESTION)
    assert [(one.id, one.form) for one in changed.chosen] == [(page, MemoryForm.TEXT)]
    assert changed.decision(kv.id) is None or changed.decision(kv.id).reason is PlacementReason.STALE


def left(plan):
    return {(one.before, one.after): one.reason for one in plan.unchanged}


def test_what_is_not_built_removed_or_trained_is_told_until_it_is(memory, clock):
    page = memory.add("The zanzibar ferry leaves at nine.")
    assert left(decided(memory)) == {(TEXT, KV): UnchangedReason.NOT_PAID}
    assert left(decided(memory)) == {}, "it was built"
    kept = {(KV, TEXT): UnchangedReason.NOT_COLD, (KV, ADAPTER): UnchangedReason.NOT_STABLE}
    assert left(decided(memory)) == {**kept, (TEXT, KV): UnchangedReason.NOTHING_NEW}
    assert {one.sources for one in decided(memory).unchanged} == {(page,)}
    assert {(one.times, one.plan) for one in memory.schedule.explain(QUESTION).unchanged} == {(2, 4)}
    clock.advance(days=15)
    assert (KV, TEXT) not in left(memory.schedule.decide("Hello!", tokens=0)), "it was removed"
    assert (KV, ADAPTER) not in left(memory.schedule.explain(QUESTION))


def test_frozen_kv_is_told_to_stay_as_it_is(memory, clock):
    memory.add("The zanzibar ferry leaves at nine.")
    decided(memory)
    decided(memory)
    memory.governance.freeze(memory.activations.get("scheduler").id, reason="under review")
    clock.advance(days=15)
    told = left(memory.schedule.decide("Hello!", tokens=0))
    assert told[KV, TEXT] is told[KV, ADAPTER] is UnchangedReason.FROZEN


def test_the_commands_tell_what_was_decided_and_why(memory, tmp_path, monkeypatch):
    memory.add("The zanzibar ferry leaves at nine.")
    for _ in range(3):
        decided(memory)
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", str(memory._engine.settings.llm_model))
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    place = ("--db", str(tmp_path / "memory.db"), "--user", "ann")

    def says(*words):
        done = CliRunner().invoke(app, [*words, *place], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.output

    told = "scheduler: text -> kv (paid), 1 memories: uses 2, heat "
    assert told in says("schedule", "log")
    shown = says("schedule", "explain", QUESTION)
    assert told in shown
    assert "exact (one_state)" in " ".join(shown.split())
    assert "scheduler: kv, not adapter (not_stable), 1 memories, decided once: uses " in shown
    (known,) = json.loads(says("schedule", "explain", QUESTION, "--json"))["forms"]
    assert (known["plan"], known["reason"], known["grounds"]["uses"]) == (2, "paid", 2)


def test_a_cache_that_was_built_of_a_full_context_is_chosen(memory):
    for number in range(12):
        memory.facts.add(f"User's friend number {number} lives in house {number * 3}.")
    for _ in range(4):
        plan = decided(memory)
    (kv,) = memory.activations.list()
    assert plan.decision(kv.id).reason is PlacementReason.SAVES_TIME
    assert plan.tokens <= 64


def test_cold_kv_is_removed_and_its_texts_stay(memory, clock):
    page = memory.add("The zanzibar ferry leaves at nine.")
    decided(memory)
    decided(memory)
    (kv,) = memory.activations.list()
    clock.advance(days=15)
    (move,) = memory.schedule.moves()
    assert (move.id, move.after, move.reason) == (kv.id, MemoryForm.TEXT, MoveReason.COLD)
    plan = memory.schedule.decide("Hello!", tokens=0)  # which uses nothing
    assert memory.activations.list() == []
    removed, built = plan.forms
    assert (removed.before, removed.after, removed.reason, removed.sources) == (KV, TEXT, MoveReason.COLD, (page,))
    assert (removed.grounds.unused_days, removed.grounds.uses) == (15, 0)  # the plans before used its text
    assert memory.schedule.log()[0].forms == (removed,)
    assert memory.schedule.log()[1].forms == (built,)
    assert memory.get(page).text


def test_a_second_memory_has_to_pay_for_the_whole_prefix(memory):
    first, second = memory.add("The zanzibar ferry leaves at nine. " * 3), memory.add("Juno is a cat.")
    memory.jobs.run()

    def asked(question, times, tokens):
        for _ in range(times):
            memory.schedule.decide(question, tokens=tokens)
        memory.jobs.run()
        return [set(one.sources) for one in memory.activations.list()]

    assert asked("Who is Juno?", 2, 10) == [{second}]
    assert asked(QUESTION, 1, 64) == [{second}]
    assert asked(QUESTION, 2, 64) == [{first, second}]


def test_a_loaded_adapter_stands_for_what_it_learned(memory, learned):
    fact, tea = memory.facts.add(FACT), memory.facts.add("User likes tea.")
    adapter = teach(memory, learned, [fact])
    question = "Where am I living?"
    assert memory.schedule.explain(question).decision(adapter) is None  # it is not loaded
    memory.adapters.load(NAME)
    plan = memory.schedule.decide(question)
    assert [(one.id, one.form) for one in plan.chosen] == [(adapter, MemoryForm.ADAPTER), (tea, MemoryForm.TEXT)]
    assert plan.decision(fact).reason is PlacementReason.COVERED
    assert memory.schedule.log()[0].decisions[0].id == adapter
    no_room = memory.schedule.explain(question, size_bytes=10)
    assert {one.id for one in no_room.chosen} == {fact, tea}
    memory.update(fact, "User lives in Bergen.")
    assert {(one.id, one.form) for one in memory.schedule.explain(question).chosen} == {
        (fact, MemoryForm.TEXT),
        (tea, MemoryForm.TEXT),
    }


@pytest.mark.parametrize("memory", [True], indirect=True)
def test_kv_that_is_stable_for_long_becomes_an_adapter_if_the_setting_says_so(memory, clock, monkeypatch):
    wanted = []

    def refuse(trainer, asked, sources, *_):
        wanted.append(asked)
        trainer._refuse(trainer._new(asked, sources), asked, sources, "this test trains nothing")
        return True

    monkeypatch.setattr(AdapterTrainer, "train", refuse)
    page = memory.add("The zanzibar ferry leaves at nine. " * 4)
    for _ in range(22):
        memory.schedule.decide(QUESTION, tokens=1_000)
        memory.jobs.run()
    assert [one.name for one in memory.activations.list()] == ["scheduler"]
    for _ in range(3):
        assert list(memory.adapters.list()) == []
        clock.advance(days=11)
        memory.schedule.decide(QUESTION, tokens=1_000)
    assert [move.reason for move in memory.schedule.moves()] == [MoveReason.STABLE]
    assert (KV, ADAPTER) not in left(memory.schedule.explain(QUESTION))
    plan = memory.schedule.decide(QUESTION, tokens=1_000)  # and not twice
    assert left(plan)[KV, ADAPTER] is UnchangedReason.TRAINED
    memory.wait()
    assert [one.name for one in memory.adapters.list()] == ["scheduler"]
    assert {(one.name, *one.kinds, *one.ids) for one in wanted} == {("scheduler", "page", page)}
    (trained,) = [one for one in memory.schedule.explain(QUESTION).forms if one.after is MemoryForm.ADAPTER]
    assert (trained.before, trained.reason, trained.sources) == (KV, MoveReason.STABLE, (page,))
    assert (trained.grounds.uses >= 20, trained.grounds.unchanged_days) == (True, 33)


def test_stable_kv_is_not_trained_while_the_setting_is_off(memory, clock):
    memory.add("The zanzibar ferry leaves at nine. " * 4)
    for _ in range(22):
        memory.schedule.decide(QUESTION, tokens=1_000)
        memory.jobs.run()
    for _ in range(3):
        clock.advance(days=11)
        plan = memory.schedule.decide(QUESTION, tokens=1_000)
    assert left(plan)[KV, ADAPTER] is UnchangedReason.SWITCHED_OFF
    assert left(plan)[KV, TEXT] is UnchangedReason.NOT_COLD
    assert list(memory.adapters.list()) == []


def test_kv_of_another_model_is_told_as_unusable(tmp_path, tiny_long, tmp_path_factory, clock):
    def told(model):
        settings = load_settings(
            llm_model=f"local:{model}", llm_max_tokens=4, local_threads=1, prompt_tokens=256, context_tokens=640
        )
        place = tmp_path / "memory.db"
        with memoryos.open(place, user="ann", settings=settings, embedder=Hashing(), clock=clock) as memory:
            if not memory.pages.list():
                memory.add("The zanzibar ferry leaves at nine.")
            for _ in range(3):
                decided(memory)
            memory.activations.answer("scheduler", QUESTION)  # which compares the model
            return left(decided(memory))[TEXT, KV]

    assert told(tiny_long) is UnchangedReason.NOTHING_NEW
    assert told(make_folder(tmp_path_factory.mktemp("other") / "tiny", window=1024)) is UnchangedReason.UNUSABLE
