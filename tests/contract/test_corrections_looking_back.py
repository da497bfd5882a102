"""A correction of a page leaves to snapshots what had been learned from its former words; a deletion leaves nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from memoryos import Scope, Subject, stores
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault import tables
from memoryos.kinds import State

ROME = "I live in Rome and I love hiking."
MILAN = "I live in Milan and I love chess."
ADVICE = "I recommend the Savoy hotel."


def lived(memory, clock, *later):
    """A page, and a snapshot of what was learned from it and from later ones."""
    page = memory.add(ROME, ADVICE)
    for text in later:
        clock.advance(hours=1)
        memory.add(text)
    memory.wait()
    clock.advance(days=1)
    memory.snapshots.create("before")
    clock.advance(days=1)
    return page


def corrected(memory, clock, *later):
    page = lived(memory, clock, *later)
    memory.update(page, MILAN)
    memory.update(page, "I recommend the Ritz hotel.", role="assistant")
    memory.wait()
    clock.advance(days=1)
    return page


def known(memory, as_of=None):
    """What the profile, the lists and a search say."""
    profile, found = memory.profile.get(as_of=as_of), memory.search("Where do I live?", as_of=as_of)
    facts = [memory.facts.list(subject=one, as_of=as_of) for one in Subject]
    assert [{fact.text for fact in some} for some in facts] == [
        {fact.text for fact in one.facts} for one in (profile.user, profile.agent)
    ]
    assert [memory.facts.count(subject=one, as_of=as_of) for one in Subject] == [len(some) for some in facts]
    assert {hit.text for hit in (*found.user_facts, *found.agent_facts)} == {one.text for some in facts for one in some}
    assert {one.text for one in found.profile} == {one.text for one in profile.user.profile}
    assert {one.text for one in found.traits} == {one.text for one in profile.user.traits}
    traits = {trait.payload.dimension for trait in profile.user.traits}
    return profile.user.fields.get("location"), traits, [[fact.text for fact in some] for some in facts]


def mentioned(memory, as_of=None):
    return str(known(memory, as_of)) + memory.context("Where do I live?", as_of=as_of).text


def test_profile_facts_traits_and_the_agents_knowledge_are_those_from_before_the_correction(open_memory, clock):
    memory = open_memory()
    lived(memory, clock)
    before = known(memory)
    assert before[0] == "Rome" and "Outdoor Activities" in before[1]
    assert any("Rome" in text for text in before[2][0]) and any("Savoy" in text for text in before[2][1])
    memory.update(memory.pages.list()[0].id, MILAN)
    memory.update(memory.pages.list()[0].id, "I recommend the Ritz hotel.", role="assistant")
    memory.wait()
    assert known(memory, "before") == before
    now = mentioned(memory)
    assert [word in now for word in ("Milan", "Ritz", "Rome", "hiking", "Savoy")] == [True, True, False, False, False]
    assert [word in mentioned(memory, "before") for word in ("Rome", "Savoy", "Milan")] == [True, True, False]
    assert not [fact for fact in memory.facts.list(tier="archive") if "Rome" in fact.text]
    assert "Rome" not in str(known(memory, clock() - timedelta(days=2)))  # by a date, the corrected words count


def test_what_held_beside_corrected_words_is_still_there(open_memory, clock):
    memory = open_memory()
    corrected(memory, clock, "I moved to Oslo.")
    assert (known(memory, "before")[0], known(memory)[0]) == ("Oslo", "Oslo")
    assert [("Oslo" in str(known(memory, one)[2])) for one in ("before", None)] == [True, True]
    assert "Rome" not in str(known(memory, "before")[2])  # it had ended


def test_a_rollback_and_each_correction_leave_their_snapshots_as_they_were(open_memory, clock, place):
    memory = open_memory()
    page = corrected(memory, clock)
    memory.snapshots.create("between")
    clock.advance(days=1)
    then = [known(memory, one) for one in ("before", "between")]
    memory.governance.rollback(page, 1)
    memory.wait()
    assert known(memory)[0] == "Rome"
    assert [known(memory, one) for one in ("before", "between")] == then
    memory.update(page, "I live in Oslo.")
    memory.wait()
    assert known(memory)[0] == "Oslo"
    assert [known(memory, one)[0] for one in ("before", "between")] == ["Rome", "Milan"]
    assert stores.verify(place).is_sound


@pytest.mark.parametrize("remove", ["delete", "erase", "forget", "session", "expire"])
def test_what_was_corrected_goes_from_everywhere_with_its_page(open_memory, clock, remove):
    whole = open_memory()
    memory = whole.of(Scope(user="tom", session="talk")) if remove == "session" else whole
    page = corrected(memory, clock)
    kept = whole.facts.add("Tom keeps bees")
    assert rows_with(memory, "Rome") > 0
    if remove in ("forget", "session"):
        memory.forget()
    elif remove == "delete":
        memory.delete(page)
    else:
        getattr(memory.governance, remove)(page)
        memory.wait()
    assert [rows_with(memory, word) for word in ("Rome", "Milan", "hiking", "Savoy")] == [0, 0, 0, 0]
    assert [fact.id for fact in whole.facts.list()] == ([] if remove == "forget" else [kept])
    if remove != "forget":
        assert known(whole, "before") == (None, set(), [[], []])


def rows_with(memory, word):
    """The rows of cubes, versions, passages and events in which the word is."""
    searched = (tables.cubes, tables.versions, tables.passages, tables.events)
    with memory._engine.vault.snapshot() as connection:
        rows = [str(tuple(row)) for table in searched for row in connection.execute(select(table))]
    return sum(word.lower() in row.lower() for row in rows)


def test_another_page_of_a_withdrawn_memory_takes_it_along(open_memory, clock):
    memory = open_memory()
    page = lived(memory, clock, "I moved to Oslo.", "I moved to Bergen.")
    memory.update(page, MILAN)
    memory.wait()
    assert known(memory, "before")[0] == "Bergen"
    for other in memory.pages.list()[1:]:
        memory.delete(other.id)
    assert [rows_with(memory, word) for word in ("Oslo", "Bergen")] == [0, 0]
    assert known(memory)[0] == "Milan"


def test_a_withdrawn_memory_is_not_changed_merged_or_listed_and_a_rebuild_leaves_it(open_memory, clock):
    memory = open_memory()
    corrected(memory, clock)
    then = known(memory, "before")
    for fact in memory.facts.list(as_of="before"):
        (change,) = memory.governance.transitions(fact.id)
        assert (change.after, change.cause) == (State.MERGED, "correction")
        with pytest.raises(CubeProtected, match="corrected since"):
            memory.update(fact.id, "I live in Paris.")
    memory.facts.add("User lives in Rome.")
    assert any("Rome" in fact.text for fact in memory.facts.list())  # said again, it is a fact of its own
    assert memory.duplicates.list(kind="fact") == []
    memory.upkeep.rebuild()
    memory.wait()
    assert set(then[1]) <= known(memory, "before")[1]


def test_versions_that_go_take_along_what_was_learned_from_them(open_memory, clock):
    memory = open_memory(most_versions=1)
    page = memory.add(ROME)
    memory.wait()
    for number, city in enumerate(("Milan", "Oslo", "Bergen")):
        clock.advance(days=1)
        memory.update(page, f"I live in {city}.")
        memory.wait()
        gone = ("Rome", "Milan", "Oslo", "Bergen")[:number]
        assert [rows_with(memory, word) for word in gone] == [0] * number
    assert rows_with(memory, "Oslo") > 0


def test_a_persona_that_agents_share_keeps_what_it_had_learned(open_memory, clock):
    memory = open_memory(persona_sharing="user")
    page = corrected(memory, clock)
    assert (known(memory, "before")[0], known(memory)[0]) == ("Rome", "Milan")
    memory.delete(page)
    assert (known(memory, "before")[0], rows_with(memory, "Rome")) == (None, 0)


def test_a_branch_has_what_was_withdrawn_and_loses_it_with_the_page(open_memory, clock):
    memory = open_memory()
    page = corrected(memory, clock)
    memory.branches.create("what if")
    branch = memory.branch("what if")
    branch.update(branch.pages.list()[0].id, "I live in Oslo.")
    branch.wait()
    assert (known(branch)[0], known(memory)[0], known(memory, "before")[0]) == ("Oslo", "Milan", "Rome")
    assert not [one for one in (*memory.branches.diff("what if").removed,) if "Rome" in one.text]
    memory.delete(page)
    assert [rows_with(memory, word) for word in ("Rome", "Milan", "Oslo")] == [0, 0, 0]


def test_what_was_said_in_jest_stays_in_the_snapshot_from_before_that_was_said(open_memory, clock):
    memory = open_memory()
    memory.add("I live on the moon, in Tycho.")
    memory.wait()
    before = known(memory)
    clock.advance(minutes=1)
    memory.snapshots.create("before")
    clock.advance(minutes=1)
    memory.add("Just kidding!")
    memory.wait()
    assert known(memory, "before") == before
