"""The earlier versions of a page tell of no page that it continued, once that one is gone."""

from __future__ import annotations

import pytest

from memoryos import Memory
from memoryos.cube import to_json
from memoryos.infrastructure.vault import cube_documents, tables, version_part
from memoryos.infrastructure.vault.soundness import verify
from memoryos.infrastructure.vault.version_part import VersionPart

from .work import locks_of
from .world import ANN, World, added

WORD = "zanzibarquux"


def stored(world: World) -> str:
    """Every value of every table, and every version of each memory: in the tables, some of them are packed."""
    with world.vault.snapshot() as connection:
        rows = [list(map(tuple, connection.execute(table.select()))) for table in tables.metadata.sorted_tables]
    with world.vault.read(ANN) as reader:
        versions = [to_json(one) for place in reader.placed() for one in reader.history(place.id)]
    return f"{rows} {versions}"


def chained(world: World) -> tuple[Memory, list[str]]:
    """Three pages of one chain; the first one has the word, and the summaries of the others quote it."""
    memory = world.open(short_term_capacity=1, heat_threshold=1e9)
    pages = [memory.add(text) for text in (f"🍵 tea with a {WORD}", "🍵 tea again", "🍵 more tea", "🍵 tea")]
    assert all(WORD in memory.get(page).payload.chain_summary for page in pages[1:3])
    return memory, pages


def remove(memory: Memory, page: str, way: str) -> None:
    memory.delete(page) if way == "delete" else memory.governance.erase(page)


@pytest.mark.parametrize("way", ["delete", "erase"])
def test_a_version_of_a_page_does_not_keep_the_words_of_the_page_that_it_continued(world: World, way: str):
    memory, pages = chained(world)
    for page in pages[1:3]:
        memory.update(page, "🍵 tea once more")
        memory.update(page, "🍵 tea once again")
    remove(memory, pages[0], way)
    assert [len(memory.history(page)) for page in pages[1:3]] == [3, 3]
    assert WORD not in stored(world)


def update_as_before(memory: Memory, page: str, monkeypatch: pytest.MonkeyPatch, versions: int) -> None:
    """Change a page as an older program did, which kept the summary of the chain."""
    with monkeypatch.context() as older:
        older.setattr(cube_documents, "alone", lambda cube: cube)
        for number in range(versions):
            memory.update(page, f"🍵 tea number {number}")
    assert WORD in memory.history(page)[0].payload.chain_summary


@pytest.mark.parametrize("versions", [1, 2, 3, 20])
def test_what_an_older_program_kept_of_a_chain_goes_with_its_page(world: World, monkeypatch, versions: int):
    memory, pages = chained(world)
    update_as_before(memory, pages[2], monkeypatch, versions)
    assert WORD in stored(world)
    said = [one.payload.turns for one in memory.history(pages[2])]
    memory.delete(pages[0])
    assert [one.payload.turns for one in memory.history(pages[2])] == said
    assert WORD not in stored(world)
    assert verify(world.vault).is_sound


@pytest.mark.parametrize("number", [1, 2, 3])  # the first two are packed, and differences to the last one
def test_a_damaged_version_stays_damaged_when_the_page_before_it_goes(world: World, monkeypatch, number: int):
    memory, pages = chained(world)
    update_as_before(memory, pages[2], monkeypatch, 3)
    versions = tables.versions
    with world.vault._engine.begin() as connection:
        mine = versions.c.cube_id == pages[2], versions.c.version == number
        connection.execute(versions.update().where(*mine).values(checksum=versions.c.checksum + 1))
    before = verify(world.vault).damages
    assert len(before) == 1
    memory.delete(pages[0])
    assert verify(world.vault).damages == before


def test_the_versions_of_pages_are_looked_through_once(world: World, monkeypatch):
    memory, pages = chained(world)
    memory.update(pages[2], "🍵 tea once more")
    read, original = list[str](), version_part._unchained

    def counted(rows):
        read.extend(row.cube_id for row in rows)
        return original(rows)

    monkeypatch.setattr(version_part, "_unchained", counted)
    memory.delete(pages[0])
    assert read == [pages[2]]
    memory.delete(pages[1])
    assert read == [pages[2]]


@pytest.mark.once
def test_the_versions_of_pages_are_looked_through_before_the_lock_is_taken(world: World):
    """The first deletion of an owner read every version of every page under it."""

    def deleted(count: int) -> int:
        memory = world.open(f"deleted-{count}.db", short_term_capacity=1, heat_threshold=1e9)
        pages = added(memory, (f"🍵 tea {number}" for number in range(count)))
        for page in pages:
            memory.update(page, "🍵 tea once more")
        with locks_of(world.vault) as taken:
            memory.delete(pages[-1])
        return max(taken)

    deleted(4)
    assert deleted(48) < 1.2 * deleted(24)


def test_a_deletion_that_dies_amid_what_an_older_program_kept_is_completed_by_the_next(world: World, monkeypatch):
    memory, pages = chained(world)
    for page in pages[1:3]:
        update_as_before(memory, page, monkeypatch, 3)
    original, done = VersionPart.unchain, list[int]()

    def die(part: VersionPart, told: list[str]) -> int:
        if done:
            raise KeyboardInterrupt
        done.append(original(part, told))
        return done[0]

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(VersionPart, "unchain", die)
        memory.delete(pages[0])
    assert done[0] > 0
    assert verify(world.vault).is_sound
    assert WORD in memory.get(pages[0]).text
    memory.delete(pages[0])
    assert WORD not in stored(world)
    assert verify(world.vault).is_sound


@pytest.mark.once
def test_the_versions_of_pages_are_not_looked_through_for_those_of_a_fact(world: World, monkeypatch):
    memory, looked, original = world.open(), list[VersionPart](), VersionPart.telling
    fact = memory.facts.add("Ann likes tea.")
    for number in range(40):
        memory.update(fact, f"Ann likes tea number {number}.")

    def telling(part: VersionPart) -> list[str] | None:
        looked.append(part)
        return original(part)

    monkeypatch.setattr(VersionPart, "telling", telling)
    memory.delete(fact)
    assert looked == []
