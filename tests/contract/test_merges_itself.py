"""Memories that say the same are merged by a job, if the setting `merge_duplicates` says so."""

from __future__ import annotations

import pytest

from memoryos.config import load_settings
from memoryos.errors import InvalidInput
from memoryos.kinds import State

FERRY = ["The ferry leaves at nine from pier 4.", "the ferry leaves at nine, from pier 4"]


def states(memory, ids):
    return [memory.get(one).state is State.MERGED for one in ids]


def run(memory, clock):
    clock.advance(minutes=2)
    memory.jobs.run()


@pytest.mark.once
def test_a_setting_with_another_name_is_told():
    with pytest.raises(InvalidInput, match=r"merge_duplicates: expected 'off', 'equal' or 'near', got 'sometimes'\."):
        load_settings(merge_duplicates="sometimes")


@pytest.mark.parametrize(("policy", "is_merged"), [("off", False), ("equal", True), ("near", True)])
def test_equal_pages_and_facts_are_merged_if_the_setting_says_so(open_memory, clock, policy, is_merged):
    memory = open_memory(merge_duplicates=policy)
    pages = [memory.add(text) for text in FERRY]
    run(memory, clock)
    assert states(memory, pages) == [False, is_merged]
    told = [one.cause for one in memory.governance.transitions(pages[1]) if one.after is State.MERGED]
    assert told == ["merge_duplicates: equal"] * is_merged


def test_what_was_given_back_is_not_merged_again(open_memory, clock):
    memory = open_memory(merge_duplicates="equal")
    pages = [memory.add(text) for text in FERRY]
    run(memory, clock)
    memory.duplicates.unmerge(pages[1])
    pages.append(memory.add(FERRY[0]))
    run(memory, clock)
    assert states(memory, pages) == [False, False, True]


@pytest.mark.parametrize(
    "apart",
    [
        {"tags": ["trip"]},
        {"sensitivity": ["diagnosis"]},
        {"access": "shared"},
        {"metadata": {"by": "ann"}},
        {"title": "Timetable"},
        {"ttl": 86_400},
    ],
    ids=lambda one: next(iter(one)),
)
def test_memories_with_other_labels_or_rights_stay_apart(open_memory, clock, apart):
    memory = open_memory(merge_duplicates="near")
    pages = [memory.add(FERRY[0]), memory.add(FERRY[1], **apart)]
    run(memory, clock)
    assert states(memory, pages) == [False, False]


@pytest.mark.parametrize("keeper", ["frozen", "hold", "other owner"])
def test_what_is_protected_or_of_another_owner_is_not_merged(open_memory, clock, keeper):
    memory = open_memory(merge_duplicates="equal")
    other = open_memory("ann", merge_duplicates="equal") if keeper == "other owner" else memory
    first, second = memory.add(FERRY[0]), other.add(FERRY[1])
    if keeper == "frozen":
        memory.governance.freeze(second)
    if keeper == "hold":
        memory.governance.hold(reason="a case", memory=second)
    run(memory, clock)
    other.jobs.run()
    assert states(memory, [first]) + states(other, [second]) == [False, False]


def test_near_memories_are_merged_from_the_threshold_on_and_never_with_another_number(open_memory, clock):
    memory = open_memory(merge_duplicates="near", merge_near=0.9)
    start = "The ferry to Burano leaves at nine from pier 4 beside the old fish market, so bring warm"
    said = [f"{start} woollen gloves, a map and bread.", f"{start} gloves, a map and bread."]
    pages = [memory.add(text) for text in (*said, said[1].replace("pier 4", "pier 5"))]
    run(memory, clock)
    assert states(memory, pages) == [False, True, False]
    strict = open_memory("ann", merge_duplicates="near", merge_near=1.0)
    others = [strict.add(text) for text in said]
    run(strict, clock)
    assert states(strict, others) == [False, False]


@pytest.mark.parametrize("first_use", [lambda memory: memory.search("ferry"), lambda memory: memory.stats()])
def test_the_job_that_an_earlier_process_left_runs_once_it_is_due(open_memory, clock, first_use):
    memory = open_memory(merge_duplicates="equal")
    pages = [memory.add(text) for text in FERRY]
    memory.wait()
    assert states(memory, pages) == [False, False]  # it is not due yet, and nobody waits for it
    memory.close()
    clock.advance(minutes=2)
    memory = open_memory(merge_duplicates="equal")
    first_use(memory)
    memory.wait()
    assert states(memory, pages) == [False, True]
