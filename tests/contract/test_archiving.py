"""Archiving by use: what nobody asks for goes to the archive, exactly when the rule says, and use brings it back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Writer
from memoryos.kinds import Kind, State
from memoryos.operation.maintenance import archive_job
from memoryos.retention import UnusedRule

DAY = timedelta(days=1)


def found(memory, question="zanzibar", **options):
    return [hit.id for hit in memory.search(question, **options).hits]


def states(memory):
    memory.wait()
    memory.jobs.run()
    return {page.id: page.state for page in memory.pages.list()}


def test_an_unused_page_is_archived_at_the_minute_and_use_activates_it(open_memory, clock):
    memory = open_memory()
    page = memory.add("The zanzibar ferry leaves at nine.")
    memory.archiving.add("idle", unused=30 * DAY)
    clock.advance(days=30, seconds=-1)
    assert states(memory) == {page: State.GENERATED}
    clock.advance(seconds=1)
    assert states(memory) == {page: State.ARCHIVED}
    assert found(memory, archive=False) == []
    assert memory.search("zanzibar", archive=False).recent == ()
    assert found(memory) == [page]
    assert states(memory) == {page: State.ACTIVATED}
    assert found(memory, archive=False) == [page]
    causes = [(one.before, one.after, one.by, one.cause) for one in memory.governance.transitions(page)]
    assert causes == [
        (State.GENERATED, State.ARCHIVED, "memoryos", "not used: rule idle"),
        (State.ARCHIVED, State.ACTIVATED, "memoryos", "visit"),
    ]
    clock.advance(days=30)
    assert states(memory) == {page: State.ARCHIVED}


def test_a_visit_postpones_it_and_a_page_added_later_has_its_own_time(open_memory, clock):
    memory = open_memory()
    memory.archiving.add("idle", unused=10 * DAY)
    used, idle = memory.add("The zanzibar ferry leaves at nine."), memory.add("The garden gate squeaks.")
    memory.wait()
    clock.advance(days=4)
    later = memory.add("The piano is out of tune.")
    assert found(memory, pages=1) == [used]
    memory.wait()  # the visit is written: the background counts it beside the calls, and may archive before it does
    clock.advance(days=6)
    assert states(memory) == {used: State.ACTIVATED, idle: State.ARCHIVED, later: State.GENERATED}
    clock.advance(days=4)
    assert set(states(memory).values()) == {State.ARCHIVED}


def test_tags_and_visits_narrow_a_rule_and_the_first_of_several_counts(open_memory, clock):
    memory = open_memory()
    chat, note, often = (memory.add("The zanzibar ferry.", tags=[tag]) for tag in ("chat", "note", "chat"))
    for _ in range(3):
        memory.search("zanzibar", tags=["chat"])
        memory.wait()
    memory.archiving.add("chat", unused=DAY, tags=["chat"], visits=2)
    memory.archiving.add("all", unused=3 * DAY)
    assert [rule.name for rule in memory.archiving.list()] == ["all", "chat"]
    clock.advance(days=1)
    assert State.ARCHIVED not in states(memory).values()  # the chat was found three times
    memory.archiving.add("chat", unused=DAY, tags=["chat"])
    assert states(memory) == {chat: State.ARCHIVED, note: State.GENERATED, often: State.ARCHIVED}
    memory.archiving.remove("all")
    clock.advance(days=9)
    assert states(memory)[note] is State.GENERATED


def test_what_is_frozen_stays_and_is_archived_after_the_thaw(open_memory, clock):
    memory = open_memory()
    page = memory.add("The zanzibar ferry.")
    memory.governance.freeze(page)
    memory.archiving.add("idle", unused=DAY)
    clock.advance(days=2)
    assert states(memory) == {page: State.FROZEN}
    memory.governance.thaw(page)
    clock.advance(days=2)
    assert states(memory) == {page: State.ARCHIVED}


def test_what_is_archived_in_one_step_has_so_many_memories_and_characters(open_memory, clock, monkeypatch):
    """64 pages of any size went in one step: 40 of 400,000 characters took 108 ms under the lock of SQLite."""
    steps, archive = list[int](), archive_job._archive

    def noted(writer: Writer, rules: Sequence[UnusedRule], ids: Sequence[str], now: datetime) -> dict[str, datetime]:
        steps.append(sum(len(page.text) for page in writer.get(ids).values()))
        return archive(writer, rules, ids, now)

    monkeypatch.setattr(archive_job, "_archive", noted)
    monkeypatch.setattr(archive_job, "CHARS_AT_ONCE", 2_000)
    memory = open_memory()
    for number in range(4):
        memory.add(f"Page {number}. " + "Words. " * 200)
    for number in range(40):
        memory.add(f"Note {number}.")
    memory.archiving.add("idle", unused=DAY)
    memory.wait()
    clock.advance(days=2)
    assert set(states(memory).values()) == {State.ARCHIVED}
    assert max(steps) <= 2_000
    assert len(steps) >= 5


def test_more_than_are_noted_at_a_time_are_archived(open_memory, clock, monkeypatch):
    monkeypatch.setattr("memoryos.operation.maintenance.archive_job.MOST_NOTED", 3)
    memory = open_memory()
    for number in range(10):
        memory.add(f"Note {number}.")
        clock.advance(minutes=1)
    memory.archiving.add("idle", unused=DAY)
    memory.wait()
    clock.advance(days=1, minutes=-6)
    assert list(states(memory).values()).count(State.ARCHIVED) == 5
    clock.advance(days=1)
    assert set(states(memory).values()) == {State.ARCHIVED}


@pytest.mark.once
def test_wrong_rules_are_refused(open_memory):
    memory = open_memory()
    for wrong in ({"unused": 0}, {"unused": -1}, {"unused": 1, "visits": -1}, {"unused": "soon"}):
        with pytest.raises(InvalidInput):
            memory.archiving.add("x", **wrong)
    with pytest.raises(NotFound):
        memory.archiving.remove("x")


def test_a_rule_shorter_than_a_minute_keeps_no_worker_busy(open_memory, clock):
    memory = open_memory()
    page = memory.add("The zanzibar ferry.")
    memory.archiving.add("at once", unused=1e-300)
    assert states(memory) == {page: State.ARCHIVED}
    (job,) = [job for job in memory.jobs.list() if job.kind == "archive" and job.state.value == "queued"]
    assert job.not_before - clock() == timedelta(minutes=1)


def test_a_rule_about_facts_archives_those_that_nobody_asks_for(open_memory, clock):
    memory = open_memory()
    memory.add("Bye!")
    asked, idle = memory.facts.add("Tom plays the piano."), memory.facts.add("The car is in Lisbon.")
    memory.archiving.add("facts", unused=10 * DAY, kinds=["fact"])
    assert memory.archiving.list()[0].kinds == (Kind.FACT,)
    memory.wait()
    clock.advance(days=4)
    assert [hit.id for hit in memory.search("Who plays the piano?", facts=1).user_facts] == [asked]
    memory.wait()
    clock.advance(days=6)
    assert State.ARCHIVED not in states(memory).values()
    assert {fact.id: fact.state for fact in memory.facts.list()} == {asked: State.ACTIVATED, idle: State.ARCHIVED}

    def found_facts(**options):
        return {hit.id for hit in memory.search("Where is the car? Who plays the piano?", **options).user_facts}

    assert found_facts(archive=False) == {asked}
    assert found_facts() == {asked, idle}  # which is use
    assert State.ARCHIVED not in states(memory).values()
    assert found_facts(archive=False) == {asked, idle}


def test_a_fact_that_is_said_again_has_its_time_anew(open_memory, clock):
    memory = open_memory()

    def told(text):
        memory.add(text)
        memory.consolidate()
        memory.wait()
        memory.jobs.run()
        (fact,) = memory.facts.list()
        return fact.state

    told("I like green tea.")
    memory.archiving.add("facts", unused=10 * DAY, kinds=["page", "fact"])
    clock.advance(days=6)
    told("I like green tea.")
    clock.advance(days=6)
    assert told("Bye!") is State.GENERATED
    clock.advance(days=4)
    assert told("Bye again!") is State.ARCHIVED


@pytest.mark.parametrize("kinds", [[], ["trait"], ["segment"], ["unknown"], "fact", None])
@pytest.mark.once
def test_only_what_searches_count_can_be_archived_by_its_use(open_memory, kinds):
    with pytest.raises(InvalidInput, match="kinds"):
        open_memory().archiving.add("idle", unused=DAY, kinds=kinds)
