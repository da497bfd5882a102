"""Snapshots: the memory as the store held it at a named moment, whatever was stored, changed or archived since."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos.errors import InvalidInput, NotFound
from memoryos.kinds import Kind


def told(memory, question, **options):
    found = memory.search(question, **options)
    return sorted({hit.text for hit in (*found.hits, *found.recent, *found.user_facts)})


def lived(memory, clock):
    """A memory with a snapshot, and what came after it."""
    page = memory.add("The zanzibar ferry leaves at nine.")
    memory.facts.add("Ann lives in Rome")
    memory.profile.set("motto", "slowly")
    memory.wait()
    clock.advance(days=1)
    memory.snapshots.create("before")
    clock.advance(days=1)
    memory.update(page, "The quokka train leaves at ten.")
    memory.add("The zanzibar ferry is late.")
    memory.add("The zanzibar ferry sank.", at=clock() - timedelta(days=9))  # told later, of an earlier time
    memory.facts.add("Ann lives in Oslo")
    memory.facts.add("Ann keeps hens", at=clock() - timedelta(days=9))
    memory.profile.set("motto", "faster")
    memory.wait()
    clock.advance(days=1)
    return page


def test_a_search_sees_the_words_that_the_store_had(open_memory, clock):
    memory = open_memory()
    lived(memory, clock)
    assert told(memory, "zanzibar ferry", as_of="before", facts=0) == ["user: The zanzibar ferry leaves at nine."]
    assert "quokka" not in memory.context("quokka train", as_of="before").text
    assert "nine" in memory.context("zanzibar ferry", as_of="before").text
    assert [hit.text for hit in memory.search("zanzibar", as_of="before").hits] == [
        "user: The zanzibar ferry leaves at nine."
    ]
    assert len(memory.search("zanzibar").hits) == 3  # the present is as it was


def test_facts_and_profile_are_those_that_the_store_knew(open_memory, clock):
    memory = open_memory()
    lived(memory, clock)
    known = [hit.text for hit in memory.search("Where does Ann live?", as_of="before").user_facts]
    assert known == ["Ann lives in Rome"]
    assert [fact.text for fact in memory.facts.list(as_of="before")] == ["Ann lives in Rome"]
    profile = memory.profile.get(as_of="before").user
    assert (dict(profile.fields), [fact.text for fact in profile.facts]) == ({"motto": "slowly"}, ["Ann lives in Rome"])
    assert memory.profile.get().user.fields == {"motto": "faster"}


def test_two_stage_tagged_digest_segments_and_counts_look_back(open_memory, clock):
    memory = open_memory()
    old = "The zanzibar ferry leaves at nine."
    page = memory.add(old, tags=["boat"])
    memory.facts.add("Ann lives in Rome", tags=["boat"])
    memory.wait()
    memory.snapshots.create("before")
    clock.advance(days=1)
    memory.update(page, "The quokka train leaves at ten.", tags=["train"])
    memory.add("The zanzibar ferry is late.", tags=["boat"])
    memory.facts.add("Ann lives in Oslo", tags=["boat"])
    for number in range(12):  # until both pages are in segments
        memory.add(f"Number {number}.")
    memory.wait()
    found = memory.search("zanzibar ferry", as_of="before", strategy="two_stage", archive=True)
    assert {hit.text for hit in (*found.hits, *found.recent)} == {f"user: {old}"}
    assert {hit.text for hit in memory.tagged("boat", as_of="before")} == {f"user: {old}", "Ann lives in Rome"}
    assert memory.tagged("train", as_of="before") == []
    for query in (None, "ferry"):
        assert [line.text.partition(": ")[2] for line in memory.digest(query=query, as_of="before").lines] == [old]
    assert (memory.pages.count(as_of="before"), memory.facts.count(as_of="before")) == (1, 1)
    (view,) = memory.segments.list(archive=True, as_of="before")
    assert (view.page_ids, view.cube.payload.pages) == ((page,), 1)
    assert "zanzibar" in view.summary
    assert "quokka" not in f"{view.summary} {view.keywords}"
    assert memory.segments.count(archive=True, as_of="before") == 1
    with pytest.raises(InvalidInput, match="snapshots"):
        memory.tagged("boat", as_of="before", mounts=["other"])


def test_get_history_and_list_look_back(open_memory, clock):
    memory = open_memory()
    page = lived(memory, clock)
    assert memory.get(page, as_of="before").text == "user: The zanzibar ferry leaves at nine."
    assert memory.get(page).text == "user: The quokka train leaves at ten."
    assert [one.version.number for one in memory.history(page, as_of="before")] == [1]
    assert [one.text for one in memory.pages.list(as_of="before")] == ["user: The zanzibar ferry leaves at nine."]
    late = memory.pages.list()[-1]
    with pytest.raises(NotFound):
        memory.get(late.id, as_of="before")
    first = memory.pages.list(as_of=clock(), limit=2)
    assert len([*first, *memory.pages.list(as_of=clock(), limit=2, cursor=first.cursor)]) == 3


def test_a_snapshot_of_an_earlier_moment_is_the_same(open_memory, clock):
    memory = open_memory()
    lived(memory, clock)
    memory.snapshots.create("again", at=clock() - timedelta(days=2))
    assert told(memory, "zanzibar", as_of="again") == told(memory, "zanzibar", as_of="before")
    assert memory.snapshots.list()[0].sequence == memory.snapshots.list()[1].sequence


def test_stored_with_a_moment_is_a_snapshot_without_a_name(open_memory, clock):
    memory = open_memory()
    page = lived(memory, clock)
    stored = f"stored:{(clock() - timedelta(days=2)).isoformat()}"
    for read in (
        lambda then: told(memory, "zanzibar", as_of=then),
        lambda then: memory.context("quokka train ferry", as_of=then).text,
        lambda then: memory.profile.get(as_of=then).user.fields,
        lambda then: [fact.text for fact in memory.facts.list(as_of=then)],
        lambda then: [one.text for one in memory.pages.list(as_of=then)],
        lambda then: (memory.get(page, as_of=then).text, len(memory.history(page, as_of=then))),
        lambda then: memory.digest(as_of=then).text,
    ):
        assert read(stored) == read("before") != read(None)
    assert told(memory, "zanzibar", as_of="stored:2099-01-01") == told(memory, "zanzibar")
    assert told(memory, "zanzibar", as_of="stored:1999-01-01") == []
    with pytest.raises(InvalidInput, match="as_of"):
        memory.search("zanzibar", as_of="stored:soon")
    with pytest.raises(InvalidInput, match="is a moment"):
        memory.snapshots.create("stored:2026-01-01")


def test_a_moment_finds_what_had_been_said_in_its_present_words(open_memory, clock):
    memory = open_memory()
    page = memory.add("The ferry leaves at nine.", at=clock() - timedelta(days=400))
    clock.advance(days=1)
    memory.update(page, "The ferry leaves at ten.")
    for days, words in ((1, ["user: The ferry leaves at ten."]), (500, [])):
        assert told(memory, "ferry", as_of=clock() - timedelta(days=days)) == words
    assert told(memory, "ferry", as_of=f"stored:{(clock() - timedelta(hours=1)).isoformat()}") == [
        "user: The ferry leaves at nine."
    ]
    assert told(memory, "ferry", as_of=f"stored:{(clock() - timedelta(days=2)).isoformat()}") == []


def test_merged_and_archived_memories_are_as_they_were(open_memory, clock):
    memory = open_memory()
    first, again = memory.add("The zanzibar ferry leaves at nine."), memory.add("The zanzibar ferry leaves at nine!")
    memory.snapshots.create("two")
    clock.advance(minutes=1)
    memory.duplicates.merge([first, again])
    memory.snapshots.create("one")
    clock.advance(minutes=1)
    memory.duplicates.unmerge(again)
    assert {page.id for page in memory.pages.list(as_of="two")} == {first, again}
    assert {page.id for page in memory.pages.list(as_of="one")} == {first}
    assert len(memory.search("zanzibar", as_of="two").recent) == 2
    assert len(memory.search("zanzibar", as_of="one").recent) == 1


def test_what_is_erased_is_gone_from_snapshots(open_memory, clock):
    memory = open_memory()
    page = lived(memory, clock)
    memory.governance.erase(page)
    assert told(memory, "zanzibar ferry nine", as_of="before", facts=0) == []
    with pytest.raises(NotFound):
        memory.get(page, as_of="before")
    memory.forget()
    assert memory.snapshots.list() == []


@pytest.mark.once
def test_snapshots_are_bounded_by_number_and_age(open_memory, clock):
    memory = open_memory(most_snapshots=2, snapshot_days=10)
    memory.snapshots.create("a")
    memory.snapshots.create("b", ttl=86_400)
    with pytest.raises(InvalidInput, match="most_snapshots"):
        memory.snapshots.create("c")
    clock.advance(days=1)
    memory.snapshots.create("c", ttl=timedelta(days=99))
    assert [one.name for one in memory.snapshots.list()] == ["a", "c"]
    clock.advance(days=9)
    assert [one.name for one in memory.snapshots.list()] == ["c"]
    with pytest.raises(InvalidInput, match="taken"):
        memory.snapshots.create("c")
    memory.snapshots.remove("c")
    for wrong in ("c", "nobody"):
        with pytest.raises(NotFound):
            memory.snapshots.remove(wrong)


@pytest.mark.once
def test_wrong_names_are_refused(open_memory):
    memory = open_memory()
    for wrong in ("", "2026-01-01", "2026-01-01T10:00Z"):
        with pytest.raises(InvalidInput, match="name"):
            memory.snapshots.create(wrong)
    with pytest.raises(InvalidInput, match="snapshot"):
        memory.search("x", as_of="nobody")
    memory.snapshots.create("now")
    assert memory.search("x", kinds=[Kind.PAGE], as_of="now").hits == ()
