"""Segments have versions: how a reading left a topic, what a person wrote, and never the words of a page that left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import memoryos
from memoryos import Scope, load_settings, stores
from memoryos.errors import CubeProtected, InvalidInput, NotFound, StaleVersion
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.kinds import Origin
from memoryos.models.hashing import Hashing
from memoryos.operation.correction.revised import KeptPayload
from memoryos.operation.recall.provenance import VersionChange
from public import store_of

SAID = (
    "I love hiking in the mountains of Norway.",
    "Hiking in the mountains of Norway was wet.",
    "The mountains of Norway, I love hiking there with a zanzibarquux.",
    "I love hiking in the mountains of Norway again.",
)


@pytest.fixture
def open_topics(place, clock):
    """A memory whose pages join a topic at once, and are read then."""
    opened = []

    def call(**settings):
        knobs = load_settings(**{"short_term_capacity": 1, "heat_threshold": 0, "self_repair": False, **settings})
        opened.append(memoryos.open(place, user="tom", settings=knobs, embedder=Hashing(), clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_topics):
    return open_topics()


def read(memory, said=SAID, **labels) -> list[str]:
    """Add pages about one topic, each read before the next one comes."""
    pages = []
    for text in said:
        pages.append(memory.add(text, "Hiking in the mountains of Norway is nice.", **labels))
        memory.consolidate()
        memory.wait()
    return pages


def topic(memory) -> str:
    """The segment with the most pages."""
    return max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id


def numbers(memory, cube_id) -> list[int]:
    return [one.version.number for one in memory.history(cube_id)]


def words_of(memory, cube_id) -> str:
    return json.dumps([one.to_dict() for one in memory.history(cube_id)])


def stored(memory) -> str:
    """Every value of every table, and every version of each memory: of the tables, some have them packed."""
    vault = memory._engine.vault
    with vault.snapshot() as connection:
        rows = [list(connection.execute(table.select())) for table in tables.metadata.sorted_tables]
    with vault.read(memory.scope) as reader:
        versions = [one.to_dict() for place in reader.placed() for one in reader.history(place.id)]
    return f"{rows} {json.dumps(versions)}"


def grown(memory, **labels) -> tuple[list[str], str]:
    """Pages of one topic, of which there are versions with and without the third page, and the topic."""
    pages = read(memory, (*SAID, *SAID[:2]), **labels)
    name = topic(memory)
    members = next(view.page_ids for view in memory.segments.list() if view.cube.id == name)
    assert pages[2] in members, "else the tests below say nothing"
    assert len(numbers(memory, name)) > 2
    assert "zanzibarquux" in words_of(memory, name)
    return pages, name


def test_a_topic_has_a_version_for_each_reading_with_who_when_why_and_what(memory, place):
    _, name = grown(memory)
    history = memory.history(name)
    assert numbers(memory, name) == list(range(1, len(history) + 1))
    assert [one.payload.pages for one in history] == list(range(1, len(history) + 1)), "one page between two readings"
    notes = memory.governance.provenance(name).versions
    assert [(one.by, one.reason) for one in notes[1:]] == [
        ("memoryos", "pages joined it after it was read") for _ in notes[1:]
    ]
    assert [one.at for one in notes] == [one.descriptive.updated_at for one in history]
    changed = {one.field: (one.before, one.after) for one in memory.governance.diff(name).changes}
    assert changed["pages"] == (str(len(history) - 1), str(len(history)))
    assert "last_at" in changed or "keywords" in changed
    assert stores.verify(place).damages == ()


def test_pages_that_join_between_two_readings_make_one_version(open_topics):
    memory = open_topics(heat_threshold=10**6, extract_within_seconds=None)
    for text in SAID:
        memory.add(text, "Hiking in the mountains of Norway is nice.")
    memory.wait()
    for _ in range(4):
        memory.add(SAID[0], "Hiking in the mountains of Norway is nice.")
    memory.wait()
    name = topic(memory)
    assert len(memory.segments.list()[0].page_ids) > 3
    assert numbers(memory, name) == [1], "nobody read it"


def test_visits_heat_and_states_make_no_version(memory):
    _, name = grown(memory)
    before = numbers(memory, name)
    for _ in range(5):
        memory.search("hiking in Norway")
    memory.wait()
    memory.governance.freeze(name)
    memory.governance.thaw(name)
    assert numbers(memory, name) == before


def test_a_person_corrects_a_summary_and_takes_it_back(memory, place):
    _, name = grown(memory)
    was, before = memory.get(name), numbers(memory, name)
    revised = memory.update(name, "Walks in Norway.", expected_version=before[-1], reason="shorter")
    assert (revised.text, revised.payload.written) == ("Walks in Norway.", "Walks in Norway.")
    assert revised.payload.pages == was.payload.pages
    assert revised.payload.keywords == was.payload.keywords
    with pytest.raises(StaleVersion):
        memory.update(name, "Walks.", expected_version=before[-1])
    note = memory.governance.provenance(name).versions[-1]
    assert (note.by, note.call, note.reason, note.change) == ("tom", "memory.update", "shorter", VersionChange.WORDS)
    back = memory.governance.rollback(name, before[-1], reason="it was right")
    assert (back.text, back.version.number) == (was.text, before[-1] + 2)
    note = memory.governance.provenance(name).versions[-1]
    assert (note.call, note.restored, note.reason) == ("governance.rollback", before[-1], "it was right")
    first = memory.history(name)[0]
    older = memory.governance.rollback(name, 1)
    assert older.text == first.text
    assert older.payload.pages == was.payload.pages, "which pages it has follows from the pages"
    assert stores.verify(place).damages == ()


def test_what_follows_from_the_pages_is_not_put_back(memory):
    _, name = grown(memory)
    memory.update(name, "Walks in Norway.")
    read(memory, ["Hiking in the mountains of Norway."])
    head, before = memory.get(name), memory.history(name)[-2]
    if head.text != before.text:
        memory.update(name, before.text)
    with pytest.raises(InvalidInput, match="follow"):
        memory.governance.rollback(name, before.version.number)
    with pytest.raises(NotFound):
        memory.governance.rollback(name, 99)


def test_a_summary_has_so_many_characters_and_no_labels_alone(memory, clock):
    _, name = grown(memory)
    with pytest.raises(InvalidInput, match="2,000"):
        memory.update(name, "x" * 2_001)
    with pytest.raises(InvalidInput, match="segment"):
        memory.update(name, tags=["mine"])
    was = memory.get(name)
    assert memory.update(name, "Second line.", mode="append").text == f"{was.text}\nSecond line."
    clock.advance(days=1)
    merged = memory.update(name, f"{was.text}\nThird line.", mode="merge")
    assert merged.text == f"{was.text}\nSecond line.\nThird line."
    assert merged.at == was.at, "when its first page was said"


def test_a_version_that_comes_back_counts_as_written_up_to_the_limit(memory):
    _, name = grown(memory)
    memory.update(name, "x" * 1_990)
    read(memory, [SAID[1], SAID[0]])
    long = memory.get(name)
    assert len(long.text) > 2_000, "else the test says nothing"
    memory.update(name, "Walks in Norway.")
    back = memory.governance.rollback(name, long.version.number)
    assert (back.text, back.payload.written) == (long.text, "x" * 1_990)


def test_the_words_of_a_person_stay_before_those_of_later_pages_until_a_page_goes(memory):
    pages, name = grown(memory)
    memory.update(name, "Walks in Norway.")
    read(memory, [SAID[1]])
    assert memory.get(name).text.startswith("Walks in Norway.")
    assert memory.get(name).descriptive.origin is Origin.USER_INPUT
    memory.delete(pages[2])
    assert "Walks" not in words_of(memory, name), "they may quote the page"
    assert memory.get(name).descriptive.origin is Origin.INFERENCE


@pytest.mark.each
def test_the_words_of_the_program_after_those_of_a_person_have_a_number_and_an_author(memory, place):
    pages, name = grown(memory)
    written = memory.update(name, "Walks in Norway.").version.number
    memory.delete(pages[2])
    assert numbers(memory, name) == [written + 1]
    with pytest.raises(StaleVersion):
        memory.update(name, "Walks.", expected_version=written)
    (note,) = memory.governance.provenance(name).versions
    assert (note.by, note.reason) == ("memoryos", "other pages are in it")
    memory.delete(pages[1])
    assert numbers(memory, name) == [written + 1], "nobody else wrote it"
    memory.update(name, "Walks.", expected_version=written + 1)
    assert [one.by for one in memory.governance.provenance(name).versions] == ["memoryos", "tom"]
    assert stores.verify(place).damages == ()


def test_a_frozen_topic_keeps_its_versions_and_its_summary(memory):
    pages, name = grown(memory)
    before = numbers(memory, name)
    memory.governance.freeze(name)
    for change in (lambda: memory.update(name, "Walks."), lambda: memory.governance.rollback(name, 1)):
        with pytest.raises(CubeProtected):
            change()
    with pytest.raises(CubeProtected):
        memory.delete(pages[0])
    assert numbers(memory, name) == before


# Pages that go


def delete(memory, page, _clock):
    memory.delete(page)


def erase(memory, page, _clock):
    assert memory.governance.erase(page).is_complete


def expire(memory, page, clock):
    memory.governance.expire(page)
    clock.advance(seconds=1)
    memory.jobs.run()
    memory.wait()


@pytest.mark.each
@pytest.mark.parametrize("remove", [delete, erase, expire])
def test_the_versions_of_a_topic_go_with_a_page_of_it(memory, clock, place, remove):
    pages, name = grown(memory)
    last = numbers(memory, name)[-1]
    remove(memory, pages[2], clock)
    assert numbers(memory, name) == [last]
    assert "zanzibarquux" not in stored(memory)
    with pytest.raises(NotFound):
        memory.governance.rollback(name, 1)
    with pytest.raises(NotFound):
        memory.governance.diff(name)
    assert stores.verify(place).damages == ()
    read(memory, [SAID[1]])
    assert numbers(memory, name)[0] >= last


@pytest.mark.each
def test_what_callers_said_of_a_version_goes_also_if_the_version_went_before(open_topics, clock):
    memory = open_topics(version_days=1)
    pages, name = grown(memory)
    memory.update(name, "Walks.", reason="because of the quokkastamp")
    clock.advance(days=2)
    memory.jobs.run()
    memory.wait()
    assert len(numbers(memory, name)) == 1, "else the test says nothing"
    assert "quokkastamp" in stored(memory)
    with memory._engine.vault.write(memory.scope) as writer:
        writer.unlink([Link(pages[1], LinkKind.MEMBER_OF, name)])
        assert writer.has_erased, "so the words leave the files, too"
    assert "quokkastamp" not in stored(memory)


def test_a_session_that_is_forgotten_takes_the_versions_of_its_topics(memory):
    read(memory, SAID[:3])
    visit = store_of(memory).of(Scope(user="tom", session="visit"))
    read(visit, [SAID[2].replace("zanzibarquux", "quokkastamp"), SAID[0]])
    name = topic(memory)
    assert "quokkastamp" in words_of(memory, name)
    assert visit.forget().is_complete
    assert "quokkastamp" not in words_of(memory, name)
    assert len(memory.history(name)) == 1


def test_the_versions_of_a_topic_go_when_a_page_moves_to_another_one(memory):
    pages, name = grown(memory)
    with memory._engine.vault.write(memory.scope) as writer:
        writer.unlink([Link(pages[2], LinkKind.MEMBER_OF, name)])
    assert len(memory.history(name)) == 1


def test_a_version_that_goes_while_it_is_brought_back_stays_gone(memory):
    pages, name = grown(memory)
    change = KeptPayload(memory.history(name)[-2].payload, memory.history(name)[-2].version.number)
    memory.delete(pages[2])
    with pytest.raises(NotFound, match="not kept"):
        memory._engine.corrector(memory.scope).revise(name, change)
    assert "zanzibarquux" not in words_of(memory, name)


def test_a_corrected_page_gives_its_topic_a_version_that_goes_with_that_of_the_page(open_topics, clock):
    memory = open_topics(version_days=1)
    pages, name = grown(memory)
    clock.advance(seconds=5)
    memory.update(pages[2], "There were no other animals in the mountains of Norway.")
    note = memory.governance.provenance(name).versions[-1]
    assert (note.call, note.reason) == ("memory.update", "a page of it was corrected")
    assert "zanzibarquux" in words_of(memory, name)
    clock.advance(days=1)
    memory.jobs.run()
    memory.wait()
    assert len(memory.history(pages[2])) == 1
    assert "zanzibarquux" not in words_of(memory, name)


@pytest.mark.each
@pytest.mark.parametrize("words", ["brought back", "written"])
def test_what_a_person_made_a_topic_say_goes_with_the_version_of_the_page(open_topics, clock, words):
    memory = open_topics(version_days=1)
    pages, name = grown(memory)
    quoting = numbers(memory, name)[-1]
    clock.advance(seconds=5)
    memory.update(pages[2], "There were no other animals in the mountains of Norway.")
    clock.advance(hours=12)
    if words == "written":
        memory.update(name, "Walks with a zanzibarquux.", reason="there was a zanzibarquux")
    else:
        memory.governance.rollback(name, quoting, reason="there was a zanzibarquux")
    memory.update(name, "Walks.")
    memory.update(name, "Walks with that zanzibarquux.")
    clock.advance(hours=12, seconds=1)
    memory.jobs.run()
    memory.wait()
    assert len(memory.history(pages[2])) == 1
    assert "zanzibarquux" not in stored(memory)
    assert memory.get(name).descriptive.origin is Origin.INFERENCE


def test_no_version_of_a_page_goes_while_its_topic_is_frozen(open_topics, clock):
    memory = open_topics(version_days=1)
    pages, name = grown(memory)
    memory.update(pages[2], "There were no other animals in the mountains of Norway.")
    memory.governance.freeze(name)
    clock.advance(days=2)
    memory.jobs.run()
    memory.wait()
    assert len(memory.history(pages[2])) == 2
    memory.governance.thaw(name)
    clock.advance(hours=2)
    memory.jobs.run()
    memory.wait()
    assert len(memory.history(pages[2])) == 1
    assert "zanzibarquux" not in stored(memory)


def test_versions_of_topics_are_kept_as_the_settings_say(open_topics):
    memory = open_topics(most_versions=2)
    read(memory, (*SAID, *SAID))
    memory.wait()
    history = memory.history(topic(memory))
    assert history[-1].version.number > 3
    assert len(history) == 3


# Elsewhere


def test_topics_are_exported_and_imported_with_their_versions(memory, tmp_path: Path):
    _, name = grown(memory)
    memory.update(name, "Walks in Norway.", reason="shorter")
    file = tmp_path / "tom.jsonl"
    memory.export(file)
    history = memory.history(name)
    with memoryos.open(tmp_path / "other.db", user="tom", embedder=Hashing()) as other:
        store_of(other).admin.load(file)
        assert [(one.version.number, one.payload) for one in other.history(name)] == [
            (one.version.number, one.payload) for one in history
        ]
        assert stores.verify(tmp_path / "other.db").damages == ()


def test_a_branch_has_the_versions_of_topics_and_loses_them_with_a_page(memory):
    pages, name = grown(memory)
    branch = memory.branches.create("what if")
    copy = memory.branch("what if")
    assert [one.payload for one in copy.history(branch.id_of(name))] == [one.payload for one in memory.history(name)]
    memory.governance.erase(pages[2])
    assert "zanzibarquux" not in words_of(copy, branch.id_of(name))


def test_a_topic_at_an_earlier_time(memory, clock):
    read(memory, SAID[:3])
    name = topic(memory)
    memory.snapshots.create("before")
    was = memory.get(name)
    clock.advance(seconds=5)
    memory.update(name, "Walks in Norway.")
    assert memory.get(name, as_of="before").text == was.text
    assert [view.cube.text for view in memory.segments.list(as_of="before") if view.cube.id == name] == [was.text]
    assert [view.cube.text for view in memory.segments.list() if view.cube.id == name] == ["Walks in Norway."]
    assert [one.text for one in memory.history(name, as_of="before")][-1] == was.text
