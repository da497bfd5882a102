"""Pipelines: all changes of a run, or none; the trace; dry runs; runs that are killed."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest

import memoryos
from forked import fork
from memoryos import (
    Action,
    AddStep,
    ArchiveStep,
    AugmentStep,
    Caller,
    ExpireStep,
    FreezeStep,
    ListStep,
    MemoryOS,
    Pipeline,
    RetrieveStep,
    RunOutcome,
    Scope,
    TagStep,
)
from memoryos.caller import SYSTEM, acting
from memoryos.errors import CubeProtected, InvalidInput, PermissionDenied
from memoryos.infrastructure.vault import rows
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import State
from memoryos.operation.correction.states import state_step
from memoryos.operation.scheduler import joint_step
from memoryos.operation.scheduler.joint_step import JointPlan, take_jointly

from .conftest import SETTINGS, TIDY, WHOLE, opened

ASKED = {"query": "Where are the bees?"}
NAMED, UNTIL = {"query": "text"}, {"until": "moment"}
MODEL = {"llm_model": "some-model", "llm_api_key": "sk-test", "llm_base_url": "http://127.0.0.1:9"}


def everything(memory):
    """Every row of every table."""
    with memory._engine.vault.snapshot() as connection:
        return {table.name: [tuple(row) for row in rows.stream(connection, table)] for table in rows.CONTENT}


def test_a_chain_changes_all_and_tells_of_each_step(memory):
    run = memory.pipelines.run(WHOLE, ASKED)
    found, told, updated, frozen, added = run.steps
    assert (run.outcome, run.pipeline, run.version, run.caller) == (RunOutcome.COMMITTED, "whole", 3, "ann")
    assert [step.verb for step in run.steps] == ["retrieve", "augment", "update", "freeze", "add"]
    assert len(found.made) == 2 and found.made == updated.taken == frozen.taken
    assert set(found.made) <= set(told.made) and told.characters == len(run.context)
    assert {change.memory_id for change in frozen.changes} == set(found.made)
    assert {change.operation for change in frozen.changes} == {Operation.TRANSITION}
    for page in map(memory.get, found.made):
        assert "Asked: Where are the bees?" in page.text
        assert (page.state, page.tags, page.version.number) == (State.FROZEN, ("asked",), 2)
    (new,) = added.changes
    assert memory.get(new.memory_id).payload.turns[0].text == run.context
    assert memory.get(new.memory_id).tags == ("noted",)


def test_a_trace_has_no_contents(memory):
    told = str([step.to_dict() for step in memory.pipelines.run(WHOLE, ASKED).steps])
    assert not [word for word in ("bees", "Tom", "蜜蜂") if word in told]


def test_a_context_is_that_of_the_memory(memory):
    chain = Pipeline("told", [RetrieveStep(), AugmentStep(tokens=60)], parameters={"query": "text"})
    for asked in ("Where are the bees?", "我养什么？"):
        told = memory.pipelines.run(chain, query=asked, dry_run=True).context
        assert told == memory.context(asked, tokens=60).text


def test_what_fails_in_the_transaction_leaves_nothing_and_names_its_step(memory):
    chain = Pipeline("wrong", [*WHOLE.steps, ExpireStep()], parameters={"query": "text"})
    before = everything(memory)
    with pytest.raises(CubeProtected, match=r"^wrong, step 6 \(expire\): the memory .* is frozen"):
        memory.pipelines.run(chain, ASKED)
    memory.wait()
    assert everything(memory) == before  # no visit is counted, either


def test_a_dry_run_tells_what_a_run_changes_and_changes_nothing(memory):
    before = everything(memory)
    dry = memory.pipelines.run(WHOLE, ASKED, dry_run=True)
    assert dry.outcome is RunOutcome.REHEARSED
    memory.wait()
    assert everything(memory) == before
    real = memory.pipelines.run(WHOLE, ASKED)

    def told(run):
        return [
            [(one.memory_id, one.operation, one.version) for one in step.changes if one.operation is not Operation.ADD]
            for step in run.steps
        ]

    assert told(dry) == told(real)
    assert [len(step.changes) for step in dry.steps] == [len(step.changes) for step in real.steps]


@pytest.mark.parametrize("written", [1, 3])
def test_a_run_that_is_killed_has_changed_nothing(place, memory, written):
    before = everything(memory)
    memory.close()
    if (victim := fork()) == 0:
        die_in_a_run(place, written)
    _, status = os.waitpid(victim, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    with opened(place) as again:
        assert everything(again) == before
        assert len(again.pipelines.run(WHOLE, ASKED).changes) > 4


def die_in_a_run(place, written):
    """Be killed in the transaction of a run, once so many of its three steps are written: all of them, or one."""
    write, left = joint_step._written, [written]

    def write_and_die(*given):
        done = write(*given)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    try:
        joint_step._written = write_and_die
        opened(place).pipelines.run(WHOLE, ASKED)
    finally:
        os._exit(1)


def test_too_little_found_ends_the_run(memory):
    chain = Pipeline(
        "few", [RetrieveStep(most=9, at_least=9), AugmentStep(), AddStep(query="{context}")], parameters=NAMED
    )
    run = memory.pipelines.run(chain, ASKED)
    assert run.outcome is RunOutcome.STOPPED
    assert [step.decision for step in run.steps] == ["allowed", "skipped", "skipped"]
    assert memory.pages.count() == 4


def test_a_list_leaves_out_what_is_archived_so_that_runs_get_on(memory):
    runs = [memory.pipelines.run(TIDY) for _ in range(3)]
    assert [len(run.changes) for run in runs] == [2, 2, 0]
    assert {page.state for page in memory.pages.list()} == {State.ARCHIVED}


def test_what_a_run_archives_stays_so_until_a_later_search_finds_it(memory):
    away = Pipeline("away", [RetrieveStep(kinds=["page"], most=1), ArchiveStep()], parameters=NAMED)
    memory.search("Where are the bees?")  # its visits wait still
    (change,) = memory.pipelines.run(away, ASKED).changes
    memory.wait()
    page = memory.get(change.memory_id)
    assert page.state is State.ARCHIVED
    assert page.behaviour.visits == 2
    memory.search("Where are the bees?")
    memory.wait()
    assert memory.get(page.id).state is State.ACTIVATED


def test_a_run_without_changes_counts_its_visits(memory):
    look = Pipeline("look", [RetrieveStep(kinds=["page"], most=1)], parameters=NAMED)
    (page,) = memory.pipelines.run(look, ASKED).steps[0].made
    memory.wait()
    assert (memory.get(page).state, memory.get(page).behaviour.visits) == (State.ACTIVATED, 1)


def test_expired_pages_are_gone_with_the_jobs(memory):
    tom = Pipeline("end", [RetrieveStep(kinds=["page"], most=1), ExpireStep()], parameters=NAMED)
    memory.pipelines.run(tom, query="Who is Tom?")
    memory.wait()
    assert memory.pages.count() == 3
    assert not [fact for fact in memory.facts.list() if "Tom" in fact.text]


def test_what_an_expired_page_took_in_expires_too(memory):
    merged = [memory.add("Lions sleep by day."), memory.add("Lions sleep by day.")]
    memory.duplicates.merge(merged)
    end = Pipeline("end", [RetrieveStep(kinds=["page"], most=1), ExpireStep()], parameters=NAMED)
    memory.pipelines.run(end, query="Lions sleep by day")
    memory.wait()
    memory.jobs.run()
    assert not {page.id for page in memory.pages.list()}.intersection(merged)


def test_stored_text_is_data(memory):
    memory.add("Bees read {answer} and {{query}}.")
    chain = Pipeline("echo", [RetrieveStep(), AugmentStep(), AddStep(query="{{{context}}}")], parameters=NAMED)
    run = memory.pipelines.run(chain, query="What do bees read?")
    assert "{answer} and {{query}}" in run.context
    (added,) = run.changes
    assert memory.get(added.memory_id).payload.turns[0].text == "{" + run.context + "}"


def test_a_run_has_bounds(memory):
    many = Pipeline("many", [RetrieveStep(kinds=["page"], most=5), TagStep(tags=["seen"])], parameters=NAMED)
    memory.add("Bees again.")
    with pytest.raises(InvalidInput, match=r"many, step 2 \(tag\): memories: the run would change 5 .* may change 4"):
        memory.pipelines.run(many, ASKED)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"n": 0}, r"step 1 \(retrieve\): most: is 0\. Pass 1 to 64"),
        ({"n": 65}, r"step 1 \(retrieve\): most: is 65"),
        ({"least": 3}, r"step 1 \(retrieve\): at_least: is 3, and most is 2"),
        ({"tags": []}, r"step 2 \(tag\): tags: is empty"),
    ],
)
def test_a_parameter_does_not_get_round_the_bounds_of_a_field(memory, given, told):
    steps = [RetrieveStep(query="bees", kinds=["page"], most="{n}", at_least="{least}"), TagStep(tags="{tags}")]
    chain = Pipeline("bounds", steps, parameters={"n": "count", "least": "count", "tags": "names"})
    with pytest.raises(InvalidInput, match=told):
        memory.pipelines.run(chain, {"n": 2, "least": 0, "tags": ["seen"], **given})


def test_a_frozen_page_is_refused_by_the_step_that_would_change_it(memory):
    memory.governance.freeze(memory.pages.list()[0].id)
    with pytest.raises(CubeProtected, match=r"whole, step 3 \(update\)"):
        memory.pipelines.run(WHOLE, ASKED)


@pytest.mark.parametrize("is_frozen_before", [True, False])
def test_no_step_thaws_a_page(memory, is_frozen_before):
    tom = RetrieveStep(kinds=["page"], most=1)
    steps = [tom, ArchiveStep()] if is_frozen_before else [tom, FreezeStep(), ArchiveStep()]
    (page,) = memory.pipelines.run(Pipeline("look", [tom], parameters=NAMED), query="Who is Tom?").steps[0].made
    if is_frozen_before:
        memory.governance.freeze(page)
    with pytest.raises(CubeProtected, match=rf"step {len(steps)} \(archive\): the memory {page} is frozen"):
        memory.pipelines.run(Pipeline("away", steps, parameters=NAMED), query="Who is Tom?")
    memory.wait()
    assert memory.get(page).is_frozen is is_frozen_before


def test_a_page_that_another_takes_in_meanwhile_is_not_archived(memory):
    for _ in range(2):
        memory.add("The hive is full.")
    first, other = [page.id for page in memory.pages.list()][-2:]
    memory.duplicates.merge([first, other])
    plan = JointPlan(lambda reader: state_step(reader, [first, other], State.ARCHIVED, "test"), nullcontext)
    acting(SYSTEM, lambda: take_jointly(memory._engine.vault, memory.scope.owner, [plan], keeps=True))
    states = {memory.get(one).state for one in (first, other)}
    assert states == {State.ARCHIVED, State.MERGED}


def test_an_audited_run_is_one_run_of_a_named_pipeline(place):
    class Gate:
        def admit(self, caller, action, scope):
            if caller.identity == "guest" and action is Action.WRITE:
                raise PermissionDenied("guests read")

    settings = SETTINGS.model_copy(update={"audit": True})
    with MemoryOS.open(place, settings=settings, gate=Gate()) as store:
        memory = store.of(Scope(user="ann"))
        memory.add("I keep bees.")
        memory.wait()
        run = memory.pipelines.run(WHOLE, ASKED)
        with pytest.raises(PermissionDenied, match=r"whole, step 3 \(update\): guests read"):
            store.of(Scope(user="ann"), Caller("guest")).pipelines.run(WHOLE, ASKED)
        entries = [one for one in store.audit.list() if one.operation == "pipelines.run"]
    ours = [one for one in entries if one.context["run"] == run.id]
    assert {one.context["pipeline"] + one.context["pipeline_version"] for one in entries} == {"whole3"}
    assert {(one.action, one.change) for one in ours} >= {("read", None), ("write", "revise"), ("write", "add")}
    assert {cube.id for one in ours for cube in one.cubes} >= {change.memory_id for change in run.changes}
    assert [one.decision for one in entries if one.caller == "guest" and one.action is Action.WRITE] == ["refused"]


def test_a_step_whose_ground_changed_is_planned_again_under_the_lock(memory):
    first, second = [page.id for page in memory.pages.list()][:2]
    planned = []

    def plan(reader):
        planned.append(reader.get([first])[first].state)
        if len(planned) == 1:  # another writer is faster
            memory.governance.freeze(first)
        return replace(state_step(reader, [second], State.ARCHIVED, "test"), rests_on=[first])

    plans = [JointPlan(plan, nullcontext)]
    (done,) = acting(SYSTEM, lambda: take_jointly(memory._engine.vault, memory.scope.owner, plans, keeps=True))
    assert planned == [State.GENERATED, State.FROZEN]
    assert [one.cube_id for one in done.events] == [second, second]
    assert memory.get(second).state is State.ARCHIVED


def test_the_chat_model_is_not_asked_by_a_dry_run(place):
    settings = SETTINGS.model_copy(update=MODEL)
    with memoryos.open(place, user="ann", settings=settings) as memory:
        memory.add("I keep bees.")
        run = memory.pipelines.run("respond", query="What do I keep?", dry_run=True)
        assert (run.steps[2].decision, run.answer) == ("skipped", None)
        assert [change.operation for change in run.changes] == [Operation.ADD]
        assert memory.pages.count() == 1


def test_a_list_is_within_its_days(memory):
    chain = Pipeline("days", [ListStep(since="2026-05-02", until="{until}"), ArchiveStep()], parameters=UNTIL)
    run = memory.pipelines.run(chain, {"until": "2026-05-03"})
    assert [memory.get(one).payload.turns[0].text for one in run.steps[0].made] == [
        "My brother is called Tom.",
        "I love green tea with honey.",
    ]
