"""Scheduling (MemScheduler): what takes part in an answer, in which form, and why; decided, logged and forgotten."""

from __future__ import annotations

import pytest

import memoryos
from logged_forms import GROUNDS, log_forms
from memoryos import (
    AnswerMode,
    Caller,
    MemoryForm,
    MemoryOS,
    ModeDecision,
    ModeReason,
    MoveReason,
    PlacementReason,
    UnchangedReason,
    load_settings,
)
from memoryos.caller import Action
from memoryos.errors import InvalidInput, PermissionDenied, StoreCorrupt
from memoryos.models.hashing import Hashing
from memoryos.operation.placement import form_log, unchanged_forms
from memoryos.operation.placement.form_log import FORM_LOG, MOST_DECISIONS, MOST_TOLD
from memoryos.operation.placement.placement_log import MOST_LOGGED
from memoryos.operation.placement.placement_policy import POLICIES, FormulaPolicy, register_policy
from memoryos.operation.placement.unchanged_forms import UNCHANGED

QUESTION = "When does the zanzibar ferry leave?"


def ids(plan):
    return [one.id for one in plan.chosen]


def told(plan):
    return {one.id for one in plan.decisions}


def test_a_plan_has_each_memory_with_a_reason_and_keeps_to_the_budget(open_memory):
    memory = open_memory()
    ferry = memory.add("The zanzibar ferry leaves at nine.", "Noted.")
    memory.add("The garden gate squeaks. " * 50, "Oil it.")
    plan = memory.schedule.explain(QUESTION, tokens=40)
    assert ids(plan) == [ferry]
    assert plan.tokens <= 40
    assert plan.policy == "density"
    assert {one.reason for one in plan.left_out} <= {PlacementReason.OVER_TOKENS}
    assert all(one.form is MemoryForm.TEXT for one in plan.chosen)
    slow = memory.schedule.explain(QUESTION, ms=0)
    assert slow.chosen == ()
    assert slow.decision(ferry).reason is PlacementReason.OVER_MS
    assert memory.schedule.explain(QUESTION, tokens=0).chosen == ()


def test_a_tag_with_priority_comes_first(open_memory):
    memory = open_memory()
    memory.add("The zanzibar ferry leaves at nine.")
    urgent = memory.add("The ferry is cancelled.", tags=["urgent"])
    assert ids(memory.schedule.explain(QUESTION, tokens=12, priorities={"urgent": 9})) == [urgent]


def test_the_setting_has_the_priorities_of_all_questions_and_those_of_a_call_come_first(open_memory):
    memory = open_memory(placement_priorities={"urgent": 9})
    ferry = memory.add("The zanzibar ferry leaves at nine.", tags=["calm"])
    urgent = memory.add("The ferry is cancelled.", tags=["urgent"])
    assert ids(memory.schedule.explain(QUESTION, tokens=12)) == [urgent]
    assert ids(memory.schedule.explain(QUESTION, tokens=12, priorities={"calm": 9, "urgent": 1})) == [ferry]
    memory.schedule.decide(QUESTION)
    assert memory.schedule.explain(QUESTION).preload == (urgent, ferry)
    assert memory.schedule.explain(QUESTION, priorities={"urgent": 0, "calm": 1}).preload == (ferry, urgent)


def test_explaining_logs_nothing_and_deciding_logs_ids_and_reasons(open_memory, clock):
    memory = open_memory()
    page = memory.add("The zanzibar ferry leaves at nine.")
    memory.schedule.explain(QUESTION)
    assert memory.schedule.log() == []
    assert memory.schedule.explain(QUESTION).chosen == memory.schedule.decide(QUESTION).chosen
    clock.advance(seconds=60)
    memory.schedule.decide("轮渡几点开？")
    newest, oldest = memory.schedule.log()
    assert (newest.number, oldest.number) == (2, 1)
    assert newest.at > oldest.at
    assert [(one.id, one.is_chosen, one.reason) for one in oldest.decisions] == [(page, True, PlacementReason.READ)]
    assert "zanzibar" not in str(oldest.to_dict())
    assert memory.schedule.log(limit=1) == [newest]
    assert newest.mode == ModeDecision(AnswerMode.EXACT, ModeReason.ONE_STATE)


def test_an_empty_memory_has_an_empty_plan(open_memory):
    memory = open_memory()
    plan = memory.schedule.decide("你好")
    assert (plan.chosen, plan.left_out, plan.preload) == ((), (), ())
    assert [one.decisions for one in memory.schedule.log()] == [()]
    assert memory.schedule.moves() == []


def test_what_was_used_twice_has_paid_for_its_kv_and_is_what_the_next_question_probably_needs(open_memory):
    memory = open_memory()
    page = memory.add("The zanzibar ferry leaves at nine.")
    memory.schedule.decide(QUESTION)
    assert memory.schedule.moves() == []
    memory.schedule.decide(QUESTION)
    (move,) = memory.schedule.moves()
    assert (move.id, move.before, move.after, move.reason) == (page, MemoryForm.TEXT, MemoryForm.KV, MoveReason.PAID)
    assert memory.schedule.explain("Hello!").preload == (page,)
    memory.governance.freeze(page, reason="under review")
    assert memory.schedule.moves() == []
    assert ids(memory.schedule.explain(QUESTION)) == [page]  # it may be read, and keeps its form


def test_what_is_gone_or_expired_takes_no_part_and_is_not_in_the_log(open_memory, clock):
    memory = open_memory()
    gone, kept = memory.add("The zanzibar ferry leaves at nine."), memory.add("The zanzibar ferry was late.")
    brief = memory.add("The zanzibar ferry leaves at ten today.", expires_at=clock().replace(year=clock().year + 1))
    memory.schedule.decide(QUESTION)
    assert told(memory.schedule.log()[0]) == {gone, kept, brief}
    memory.delete(gone)
    clock.advance(days=400)
    plan = memory.schedule.decide(QUESTION)
    assert ids(plan) == [kept]
    assert set(plan.preload) == {kept}
    assert all(told(one) <= {kept, brief} for one in memory.schedule.log())
    memory.forget()
    assert memory.schedule.log() == []


def test_the_log_is_there_after_a_restart_and_belongs_to_one_owner(open_memory):
    memory = open_memory()
    memory.add("The zanzibar ferry leaves at nine.")
    plan = memory.schedule.decide(QUESTION)
    memory.close()
    memory = open_memory()
    (entry,) = memory.schedule.log()
    assert told(entry) == {one.id for one in plan.chosen}
    memory.schedule.decide(QUESTION)
    assert [one.number for one in memory.schedule.log()] == [2, 1]


def test_the_log_is_bounded(open_memory, long):
    memory = open_memory()
    for number in range(MOST_LOGGED + 3 if long else 3):
        memory.schedule.decide(f"Question {number}?")
    found = memory.schedule.log(limit=1000)
    assert len(found) == min(MOST_LOGGED, found[0].number)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": -1},
        {"ms": float("nan")},
        {"size_bytes": 1.5},
        {"priorities": ["urgent"]},
        {"priorities": {"urgent": 10}},
        {"priorities": {"": 1}},
    ],
)
def test_wrong_arguments_are_refused(open_memory, wrong):
    memory = open_memory()
    for call in (memory.schedule.explain, memory.schedule.decide):
        with pytest.raises(InvalidInput):
            call(QUESTION, **wrong)
    assert memory.schedule.log() == []


def test_with_the_setting_off_all_is_read_as_text_and_nothing_is_logged(open_memory):
    memory = open_memory(placement="off")
    page = memory.add("The zanzibar ferry leaves at nine.")
    plan = memory.schedule.decide(QUESTION)
    assert (ids(plan), plan.policy, plan.preload) == ([page], "off", ())
    assert memory.schedule.log() == []


@pytest.mark.once
@pytest.mark.parametrize("wrong", ["urgent", '{"urgent": 10}', '{"urgent": "high"}', "[]"])
def test_wrong_priorities_in_the_environment_are_refused(monkeypatch, wrong):
    monkeypatch.setenv("MEMORYOS_PLACEMENT_PRIORITIES", wrong)
    with pytest.raises(InvalidInput, match="placement_priorities"):
        load_settings()
    monkeypatch.setenv("MEMORYOS_PLACEMENT_PRIORITIES", '{"urgent": 9}')
    assert load_settings().placement_priorities == {"urgent": 9}


def test_an_unknown_policy_is_refused(open_memory):
    memory = open_memory(placement="fastest")
    with pytest.raises(InvalidInput, match="'fastest' is unknown"):
        memory.schedule.explain(QUESTION)


def test_a_policy_that_fails_is_named(open_memory, monkeypatch):
    monkeypatch.setitem(POLICIES, "broken", None)
    del POLICIES["broken"]
    register_policy(FormulaPolicy("broken", lambda *_: 1 / 0))
    memory = open_memory(placement="broken")
    memory.add("The zanzibar ferry leaves at nine.")
    memory.schedule.decide(QUESTION)  # nothing was used before, so no policy is asked
    with pytest.raises(InvalidInput, match="'broken', which failed: ZeroDivisionError"):
        memory.schedule.decide(QUESTION)


def test_the_policy_labels_preloads_what_has_the_tags_of_the_priorities(open_memory):
    memory = open_memory(placement="labels")
    pages = [
        memory.add(f"The zanzibar ferry number {one} leaves.", tags=["urgent"] if one == 3 else ["calm"])
        for one in range(8)
    ]
    for _ in range(2):
        plan = memory.schedule.decide(QUESTION, priorities={"urgent": 0})
    assert set(pages) >= set(plan.preload)
    assert plan.preload[0] == pages[3]


class ReadOnly:
    """A gate that lets nobody write."""

    def admit(self, caller, action, scope):
        if action is not Action.READ:
            raise PermissionDenied(f"{caller.identity} may not {action}")


def test_who_may_not_write_may_explain_and_not_decide(place, clock):
    memory = memoryos.open(place, user="tom", embedder=Hashing(), clock=clock, gate=ReadOnly())
    assert memory.schedule.explain(QUESTION).policy == "density"
    with pytest.raises(PermissionDenied):
        memory.schedule.decide(QUESTION)
    assert memory.schedule.log() == []
    memory.close()


def test_what_was_decided_of_forms_is_told_with_its_numbers_is_bounded_and_goes_with_its_memories(open_memory):
    memory = open_memory()
    ferry, gate = memory.add("The zanzibar ferry leaves at nine."), memory.add("The garden gate squeaks.")
    memory.schedule.decide(QUESTION)
    log_forms(memory, [ferry, gate], *range(MOST_DECISIONS + 2), 1)
    memory.close()
    memory = open_memory()
    found = memory.schedule.explain(QUESTION).forms
    assert [one.plan for one in found] == [1, *range(MOST_DECISIONS + 1, MOST_DECISIONS + 2 - MOST_TOLD, -1)]
    assert {(one.reason, one.grounds, one.sources) for one in found} == {(MoveReason.PAID, GROUNDS, (ferry, gate))}
    (entry,) = memory.schedule.log()
    assert entry.forms == found[:1]
    assert entry.to_dict()["forms"][0]["grounds"]["cost_ms"] == 34.5
    memory.delete(gate)
    assert memory.schedule.log()[0].forms[0].sources == (ferry,)
    memory.delete(ferry)
    assert memory.schedule.explain(QUESTION).forms == memory.schedule.log()[0].forms == ()


def test_who_may_not_read_all_of_a_form_is_not_told_what_was_decided_of_it(place, clock, tmp_path):
    rules = tmp_path / "rules.cedar"
    rules.write_text(
        "permit (principal, action, resource is Cube) when { resource.owner == principal };"
        'permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };'
    )
    with MemoryOS.open(place, embedder=Hashing(), clock=clock, policies=rules) as store:
        tom = store.memory("tom", caller=Caller("tom"))
        nurse = store.memory("tom", caller=Caller("kim", frozenset({"nurse"})))
        told = tom.facts.add("The user likes tea.")
        hidden = tom.facts.add("The user has asthma.", sensitivity=["health"])
        log_forms(tom, [told, hidden], 1)
        log_forms(tom, [told], 2)
        assert [one.plan for one in tom.schedule.explain(QUESTION).forms] == [2, 1]
        assert [one.plan for one in nurse.schedule.explain(QUESTION).forms] == [2]
        tom.delete(hidden)
        assert [one.sources for one in nurse.schedule.explain(QUESTION).forms] == [(told,)], "its numbers are of both"
        assert [one.sources for one in tom.schedule.explain(QUESTION).forms] == [(told,), (told,)]


def test_of_many_memories_the_first_are_named_and_all_are_counted(open_memory, monkeypatch):
    monkeypatch.setattr(form_log, "MOST_SOURCES", 6)  # in the place of 64
    memory = open_memory()
    ids = [memory.facts.add(f"User owns house number {number}.") for number in range(8)]
    log_forms(memory, ids, 1)
    (found,) = memory.schedule.explain(QUESTION).forms
    assert (found.sources, found.memories) == (tuple(ids[:6]), 8)


def test_a_damaged_log_of_forms_is_told_before_anything_is_written(open_memory):
    memory = open_memory()
    memory.schedule.decide(QUESTION)
    with memory._engine.vault.write(memory.scope.owner) as writer:
        writer.write_note(FORM_LOG.key, "{")
    with pytest.raises(StoreCorrupt, match="placement_forms"):
        memory.schedule.decide(QUESTION)
    with memory._engine.vault.write(memory.scope.owner) as writer:
        writer.write_note(FORM_LOG.key, "[]")
    assert [one.number for one in memory.schedule.log()] == [1]


TO_KV = (MemoryForm.TEXT, MemoryForm.KV)


LOCAL: dict[str, str] = {"llm_model": "local:model"}  # which no decision asks for anything
LONG = "The zanzibar ferry leaves at nine, from the second pier behind the old harbour. " * 5


@pytest.mark.each
def test_why_texts_stay_texts_is_told_counted_and_kept_over_a_restart(open_memory, clock):
    memory = open_memory(context_tokens=64, **LOCAL)
    page = memory.add(LONG)
    assert memory.schedule.explain(QUESTION).unchanged == ()
    memory.schedule.decide("Hello!", tokens=0)  # which uses nothing
    assert memory.schedule.explain(QUESTION).unchanged == ()
    first = clock()
    (unpaid,) = memory.schedule.decide(QUESTION, tokens=1_000).unchanged
    assert (unpaid.name, unpaid.before, unpaid.after) == ("scheduler", *TO_KV)
    assert (unpaid.reason, unpaid.sources, unpaid.plan, unpaid.times) == (UnchangedReason.NOT_PAID, (page,), 2, 1)
    assert unpaid.grounds.saved_ms < unpaid.grounds.cost_ms
    for plan in (3, 4, 5):
        clock.advance(seconds=60)
        (unbuilt,) = memory.schedule.decide(QUESTION, tokens=1_000).unchanged
        assert (unbuilt.reason, unbuilt.plan, unbuilt.times) == (UnchangedReason.NO_ROOM, plan, plan - 2)
    assert unbuilt.grounds.saved_ms >= unbuilt.grounds.cost_ms
    assert first < unbuilt.since < unbuilt.at == clock()
    memory.close()
    memory = open_memory()
    assert memory.schedule.explain(QUESTION).unchanged == (unbuilt,), "which decides nothing"
    assert memory.schedule.decide(QUESTION).unchanged == (unbuilt,), "without a model in this process"
    assert "zanzibar" not in str(unbuilt.to_dict())
    memory.delete(page)
    assert memory.schedule.explain(QUESTION).unchanged == ()
    memory.forget()
    with memory._engine.vault.read(memory.scope.owner) as reader:
        assert UNCHANGED.of(reader) is None


def test_frozen_texts_stay_texts(open_memory):
    memory = open_memory(context_tokens=64, **LOCAL)
    page = memory.add(LONG)
    memory.schedule.decide(QUESTION, tokens=1_000)
    memory.governance.freeze(page, reason="under review")
    (left,) = memory.schedule.decide(QUESTION, tokens=1_000).unchanged
    assert (left.reason, left.sources, left.times) == (UnchangedReason.FROZEN, (page,), 1)


def test_of_many_texts_that_stay_texts_the_first_are_named_and_all_counted(open_memory, monkeypatch):
    monkeypatch.setattr(unchanged_forms, "MOST_SOURCES", 6)  # in the place of 64
    memory = open_memory(**LOCAL)
    for number in range(8):
        memory.add(f"The zanzibar ferry number {number} leaves at nine.")
    (left,) = memory.schedule.decide(QUESTION, tokens=1_000).unchanged
    assert (len(left.sources), left.memories) == (6, 8)


def test_who_may_not_read_all_is_not_told_why_it_was_left(place, clock, tmp_path):
    rules = tmp_path / "rules.cedar"
    rules.write_text(
        "permit (principal, action, resource is Cube) when { resource.owner == principal };"
        'permit (principal in Role::"nurse", action, resource is Cube) when { resource.sensitivity.isEmpty() };'
    )
    with MemoryOS.open(
        place, embedder=Hashing(), clock=clock, policies=rules, settings=load_settings(**LOCAL)
    ) as store:
        tom = store.memory("tom", caller=Caller("tom"))
        nurse = store.memory("tom", caller=Caller("kim", frozenset({"nurse"})))
        told = tom.facts.add("The user likes tea.")
        hidden = tom.facts.add("The user has asthma.", sensitivity=["health"])
        (left,) = tom.schedule.decide(QUESTION).unchanged
        assert set(left.sources) == {told, hidden}
        assert nurse.schedule.explain(QUESTION).unchanged == ()
        tom.delete(hidden)
        assert nurse.schedule.explain(QUESTION).unchanged == (), "its numbers are of both"
        assert [one.sources for one in tom.schedule.explain(QUESTION).unchanged] == [(told,)]


def test_with_the_setting_off_nothing_is_decided_and_a_damaged_note_is_told_before_anything_is_written(open_memory):
    memory = open_memory(placement="off")
    memory.add("The zanzibar ferry leaves at nine.")
    assert memory.schedule.decide(QUESTION).unchanged == ()
    memory.close()
    memory = open_memory()
    memory.schedule.decide(QUESTION)
    with memory._engine.vault.write(memory.scope.owner) as writer:
        writer.write_note(UNCHANGED.key, "{")
    with pytest.raises(StoreCorrupt, match="placement_unchanged"):
        memory.schedule.decide(QUESTION)
    with memory._engine.vault.write(memory.scope.owner) as writer:
        writer.write_note(UNCHANGED.key, "[]")
    assert [one.number for one in memory.schedule.log()] == [1]
