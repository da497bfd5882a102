"""Merging: memories that say the same become one for searches, nothing of them is lost, and it can be undone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import MemoryOS, stores
from memoryos.errors import CubeProtected, InvalidInput, NotFound, OnHold
from memoryos.kinds import Kind, State, UpdateMode
from memoryos.models.hashing import Hashing

SAID = "The zanzibar ferry leaves at nine from pier 4."


def found(memory, question="zanzibar ferry", **options):
    recalled = memory.search(question, **options)
    return {hit.id for hit in (*recalled.hits, *recalled.recent)}


def known(memory, **options):
    return {hit.id for hit in memory.search("What does Ann keep?", **options).user_facts}


def three(memory, clock):
    ids = []
    for text in (
        SAID,
        "the Zanzibar ferry   leaves at nine, from pier 4",
        "The zanzibar ferry leaves at ten from pier 4.",
    ):
        ids.append(memory.add(text))
        clock.advance(minutes=1)
    return ids


def test_equal_pages_are_found_merged_and_given_back(open_memory, clock):
    memory = open_memory()
    first, again, other = three(memory, clock)
    (group,) = memory.duplicates.list()
    assert (group.ids, group.is_exact) == ((first, again), True)
    before = clock()
    clock.advance(hours=1)
    assert memory.duplicates.merge(group.ids, reason="said twice").id == first
    assert found(memory) == {first, other}
    assert memory.get(again).state is State.MERGED
    assert memory.get(again).text.startswith("user: the Zanzibar")
    assert found(memory, as_of=before) == {first, again, other}
    assert found(memory, as_of=clock()) == {first, other}
    assert [one.id for one in memory.duplicates.merged(first)] == [again]
    assert memory.duplicates.list() == []
    told = memory.governance.transitions(again)[-1]
    assert (told.after, told.cause) == (State.MERGED, "said twice")
    assert memory.duplicates.unmerge(again).state is State.ACTIVATED
    assert found(memory) == {first, again, other}
    assert memory.duplicates.merged(first) == []
    with pytest.raises(NotFound):
        memory.duplicates.unmerge(again)


def test_what_was_merged_is_not_changed_before_it_is_given_back(open_memory, clock):
    memory = open_memory()
    first, again, _ = three(memory, clock)
    memory.update(again, f"{SAID} Daily.")
    memory.governance.rollback(again, 1)
    memory.duplicates.merge([first, again])
    merged = memory.get(again)
    changes = [lambda mode=mode: memory.update(again, "It leaves from pier 9.", mode=mode) for mode in UpdateMode]
    for change in (*changes, lambda: memory.governance.rollback(again, 2)):
        with pytest.raises(CubeProtected, match=r"merged into another one.*duplicates\.unmerge") as refused:
            change()
        assert refused.value.memory_id == again
    assert memory.get(again) == merged
    memory.duplicates.unmerge(again)
    assert "pier 9" in memory.update(again, "It leaves from pier 9.").text


def test_a_fact_that_a_later_one_replaced_is_not_merged_into_it_and_may_be_corrected(open_memory, clock):
    memory = open_memory()
    earlier = memory.facts.add("Jo lives in Rome")
    clock.advance(days=1)
    memory.facts.add("Jo lives in Oslo")
    assert memory.get(earlier).state is State.MERGED
    assert memory.update(earlier, "Jo lives in Turin").text == "Jo lives in Turin"


def test_nearly_equal_pages_are_a_group_and_details_tell_others_apart(open_memory, clock):
    memory = open_memory()
    long = memory.add("The zanzibar ferry always leaves slowly at nine from pier 4.")
    clock.advance(minutes=1)
    short = memory.add("The zanzibar ferry leaves slowly at nine from pier 4.")
    for text in (
        "The zanzibar ferry never leaves slowly at nine from pier 4.",
        "The zanzibar ferry leaves at nine from pier 5.",
    ):
        memory.add(text)
    memory.add("The zanzibar ferry leaves slowly at nine from pier 4.", tags=["secret"])
    (group,) = memory.duplicates.list()
    assert (group.ids, group.is_exact) == ((long, short), False)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("The shop is open.", "The shop is open?"),
        ("店开门了。", "店开门了？"),
        ("I live in Oslo.", "I used to live in Oslo."),
        ("我住在上海。", "我以前住在上海。"),
    ],
)
def test_a_question_and_what_holds_no_more_are_no_duplicates(open_memory, clock, first, again):
    memory = open_memory(merge_duplicates="near")
    pages = [memory.add(first), memory.add(again)]
    clock.advance(minutes=2)
    memory.jobs.run()
    assert memory.duplicates.list() == []
    assert [memory.get(one).state is State.MERGED for one in pages] == [False, False]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("I take the blue pill before dinner.", "I take the blue pill after dinner."),
        ("My aunt has been a nurse in Oslo.", "My aunt is a nurse in Oslo."),
        ("The house in Bonn is being sold to Tom.", "The house in Bonn is sold to Tom."),
        ("我和妈妈住在上海。", "我妈妈住在上海。"),
        ("我妈妈还在吃这种降压药。", "我妈妈吃了这种降压药。"),
    ],
)
def test_pages_that_differ_in_a_word_that_relates_are_merged_by_who_names_them_only(open_memory, clock, first, again):
    memory = open_memory(merge_duplicates="near", merge_near=0.9)
    pages = [memory.add(first), memory.add(again)]
    clock.advance(minutes=2)
    memory.jobs.run()
    assert memory.duplicates.list() == []
    assert [memory.get(one).state is State.MERGED for one in pages] == [False, False]
    memory.duplicates.merge(pages)
    assert [memory.get(one).state is State.MERGED for one in pages] == [False, True]


def test_who_names_pages_that_say_other_things_cannot_merge_them(open_memory):
    memory = open_memory()
    pages = [memory.add(f"I take the {colour} pill before dinner.") for colour in ("blue", "red")]
    with pytest.raises(InvalidInput, match="do not say the same"):
        memory.duplicates.merge(pages)


def test_a_fact_in_other_words_that_relate_is_the_known_one(open_memory):
    memory = open_memory()
    first = memory.facts.add("Ann works at Google")
    assert memory.facts.add("Ann works for Google") == first


def test_facts_merge_with_their_lineage(open_memory, clock):
    memory = open_memory()
    first = memory.facts.add("Ann keeps bees in the garden")
    other = memory.facts.add("Ann keeps hens")
    again = memory.facts.add("Ann sells honey")
    memory.update(again, "Ann keeps bees in the garden!")
    (group,) = memory.duplicates.list(kind=Kind.FACT)
    assert set(group.ids) == {first, again}
    memory.duplicates.merge([first, again], reason="said twice")
    assert known(memory) == {first, other}
    assert memory.facts.count() == 2
    assert [one.id for one in memory.duplicates.merged(first)] == [again]
    assert [one.text for one in memory.history(again)] == ["Ann sells honey", "Ann keeps bees in the garden!"]
    lineage = memory.governance.provenance(again)
    assert (lineage.replaced_by, lineage.transitions[-1].cause) == (first, "said twice")
    memory.duplicates.unmerge(again)
    assert known(memory) == {first, other, again}


def test_what_was_merged_is_found_again_when_the_other_is_deleted(open_memory, clock):
    memory = open_memory()
    first, again, other = three(memory, clock)
    memory.duplicates.merge([first, again])
    memory.delete(first)
    assert found(memory) == {again, other}
    assert memory.get(again).version.superseded_by is None


def test_erasing_erases_what_was_merged(open_memory, clock):
    memory = open_memory()
    first, again, other = three(memory, clock)
    memory.duplicates.merge([first, again])
    receipt = memory.governance.erase(first).receipt
    assert receipt.memories["page"] == 2
    assert {page.id for page in memory.pages.list()} == {other}


def test_what_was_merged_expires_with_what_took_it_in(open_memory, clock):
    memory = open_memory()
    first, again, other = three(memory, clock)
    memory.duplicates.merge([first, again])
    hold = memory.governance.hold(reason="the case of Smith", memory=again)
    with pytest.raises(OnHold):
        memory.governance.expire(first)
    assert memory.get(first).state is State.GENERATED
    memory.governance.release(hold.id)
    memory.governance.expire(first)
    clock.advance(hours=1)
    memory.jobs.run()
    assert {page.id for page in memory.pages.list()} == found(memory) == {other}


def test_what_was_merged_is_not_frozen_before_it_is_given_back(open_memory, clock):
    """Frozen, it would be found beside what took it in, and stay hidden for good when that one is gone."""
    memory = open_memory()
    first, again, other = three(memory, clock)
    memory.duplicates.merge([first, again])
    with pytest.raises(CubeProtected, match=r"merged into another one.*duplicates\.unmerge"):
        memory.governance.freeze(again)
    assert found(memory) == {first, other}
    memory.governance.freeze(first)
    memory.duplicates.unmerge(again)
    memory.governance.freeze(again)
    assert found(memory) == {first, again, other}


def test_protected_and_different_memories_are_refused(open_memory, clock):
    memory = open_memory()
    first, again, other = three(memory, clock)
    for wrong in ([first, other], [first], [], [first, first]):
        with pytest.raises(InvalidInput):
            memory.duplicates.merge(wrong)
    with pytest.raises(NotFound):
        memory.duplicates.merge([first, "nobody"])
    hold = memory.governance.hold(reason="the case", memory=again)
    with pytest.raises(OnHold):
        memory.duplicates.merge([first, again])
    memory.governance.release(hold.id)
    memory.governance.freeze(again)
    with pytest.raises(CubeProtected):
        memory.duplicates.merge([first, again])
    assert found(memory) == {first, again, other}


def test_a_shorter_life_is_not_merged(open_memory, clock):
    memory = open_memory()
    memory.add(SAID)
    memory.add(SAID, ttl=timedelta(days=1))
    assert memory.duplicates.list() == []


def test_merged_pages_are_in_no_list_of_tags_or_digest_and_travel_with_an_export(open_memory, clock, tmp_path):
    memory = open_memory()
    ids = [memory.add(SAID, tags=["trip"]) for _ in range(2)]
    memory.duplicates.merge(ids)
    assert [hit.id for hit in memory.tagged("trip")] == ids[:1]
    assert memory.digest().text.count("zanzibar") == 1
    memory.export(tmp_path / "all.jsonl")
    memory.wait()
    with MemoryOS.open(tmp_path / "other.db", embedder=Hashing(), clock=clock) as other:
        other.admin.load(tmp_path / "all.jsonl")
        copy = other.memory("tom")
        assert found(copy) == {ids[0]}
        assert [one.id for one in copy.duplicates.merged(ids[0])] == ids[1:]
        copy.duplicates.unmerge(ids[1])
        assert found(copy) == set(ids)
    assert stores.verify(tmp_path / "other.db").damages == ()
