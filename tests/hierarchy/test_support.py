"""What rests on very many pages is changed in parts: each is short, and none leaves a page that is not linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select

from memoryos import Memory
from memoryos.cube import MemCube
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.revised import NewWords
from memoryos.operation.hierarchy import changes
from memoryos.operation.knowledge import support
from memoryos.operation.scheduler.step import LEARNED
from memoryos.scope import Scope

from .work import Writing, locks_of
from .world import ANN, LineExtractor, World, added

DISHES = 24
SAME = 1.5  # times as much work, at most, for twice as many facts
OTHER_WORDS = "compass ruler circle angle square corner radius sphere"  # enough of them for a segment of its own


def menu(dishes: int) -> str:
    return "\n".join(f"fact: Tom likes dish {number}." for number in range(dishes))


MENU = menu(DISHES)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts so small that a few pages are very many."""
    monkeypatch.setattr(support, "FEW", 2)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(changes, "CHARS_AT_ONCE", 1)


def said(world: World, count: int, text: str = MENU) -> tuple[Memory, list[str]]:
    """A segment whose pages all say the same."""
    memory = world.open(f"said-{count}-{len(text)}.db", short_term_capacity=1, heat_threshold=10**6)
    pages = added(memory, (f"🍵 tea {number}\n{text}" for number in range(count)))
    memory.add("🚲 bye")
    world.extract()
    return memory, pages


def learned(world: World) -> list[MemCube]:
    return [cube for kind in LEARNED for cube in world.cubes(kind)]


def linked(world: World) -> set[Link]:
    return set(world.links(LinkKind.DERIVED_FROM, *(cube.id for cube in learned(world))))


def told(world: World) -> set[Link]:
    """The links that the documents ask for."""
    return {
        Link(cube.id, LinkKind.DERIVED_FROM, page) for cube in learned(world) for page in cube.descriptive.provenance
    }


def segment_of(memory: Memory) -> str:
    return max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id


@contextmanager
def links_lost(vault: SqlVault) -> Iterator[list[int]]:
    """How many links go in each write transaction of the vault, also with the memories that they begin or end at."""
    lost: list[int] = []
    writing: Writing = vault._writing

    @contextmanager
    def counting(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection:
            before = connection.scalar(select(func.count()).select_from(tables.links))
            yield connection
            lost.append(before - connection.scalar(select(func.count()).select_from(tables.links)))

    vault._writing = counting  # type: ignore[method-assign]
    yield lost
    vault._writing = writing  # type: ignore[method-assign]


def without_the_segment(memory: Memory) -> None:
    memory.delete(segment_of(memory))


def without_a_fact(memory: Memory) -> None:
    memory.delete(memory.facts.list()[0].id)


def rebuilt(memory: Memory) -> None:
    memory.upkeep.rebuild()  # the memory's own rules read no such lines: all is unlearned


@pytest.mark.parametrize(("work", "left"), [(without_the_segment, 0), (without_a_fact, DISHES - 1), (rebuilt, 0)])
def test_links_go_a_few_at_a_time(world: World, work: Callable[[Memory], None], left: int):
    """A page has three of its own, and 64 pages are taken out of their segments at once."""
    memory, pages = said(world, 70)
    with links_lost(world.vault) as lost:
        work(memory)
    assert len(learned(world)) == left
    assert sum(lost) >= (DISHES - left) * len(pages)
    assert max(lost) <= 200


def test_what_one_page_says_with_others_is_written_a_few_at_a_time(world: World):
    def deleted(count: int) -> list[int]:
        memory, (page, other) = said(world, 2, menu(count))
        memory.wait()  # jobs take locks, too
        with locks_of(world.vault) as taken:
            memory.delete(page)
        assert [cube.descriptive.provenance for cube in learned(world)] == [(other,)] * count
        assert linked(world) == told(world)
        return taken

    deleted(2)
    few, many = deleted(12), deleted(24)
    assert max(many) < SAME * max(few)
    assert len(many) >= 24  # one for each of what the page says; a background job may have taken one, too


@contextmanager
def links_changed(vault: SqlVault) -> Iterator[list[set[tuple[str, str]]]]:
    """The ends of the links that come or go in each write transaction of the vault."""
    changed: list[set[tuple[str, str]]] = []
    writing, ends = vault._writing, select(tables.links.c.source, tables.links.c.target)

    @contextmanager
    def comparing(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection:
            before = {tuple(row) for row in connection.execute(ends)}
            yield connection
            changed.append(before.symmetric_difference(tuple(row) for row in connection.execute(ends)))

    vault._writing = comparing  # type: ignore[method-assign]
    yield changed
    vault._writing = writing  # type: ignore[method-assign]


@pytest.mark.parametrize("words", [f"🍵 other tea\n{MENU}", "🍵 nothing of that"], ids=["the same", "nothing"])
def test_an_update_writes_of_what_rests_on_many_pages_the_links_of_its_page_alone(world: World, words: str):
    """Of 1,000 links of a memory without earlier versions, 999 are neither removed nor stored again."""
    _, pages = said(world, 24)
    with links_changed(world.vault) as changed:
        Corrector(world.promoter(LineExtractor()), ANN).revise(pages[3], NewWords(words))
    supports = {cube.descriptive.provenance for cube in learned(world)}
    assert {pages[3] in support for support in supports} == {MENU in words}
    assert {end for some in changed for end in some if end[0] in {cube.id for cube in learned(world)}} == (
        set() if MENU in words else {(cube.id, pages[3]) for cube in learned(world)}
    )
    assert len(learned(world)) == DISHES
    assert linked(world) == told(world)


class Stopped(Exception):
    pass


def stopping(world: World, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let the store fail from the n-th write transaction on, as after a crash."""
    left, write = [after], world.vault.write

    def writing(scope):
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return write(scope)

    monkeypatch.setattr(world.vault, "write", writing)


@pytest.mark.parametrize("parts", range(1, 12, 2))
def test_a_deletion_that_stops_between_the_parts_can_be_called_again(world: World, monkeypatch, parts: int):
    memory, pages = said(world, 24)
    segment = segment_of(memory)
    with monkeypatch.context() as patch:
        stopping(world, patch, parts)
        with pytest.raises(Stopped):
            Corrector(world.promoter(LineExtractor()), ANN).delete(segment)
    assert told(world) <= linked(world)
    assert {page.id for page in memory.pages.list()} >= set(pages)
    memory.delete(segment)
    assert learned(world) == []
    assert {page.id for page in memory.pages.list()}.isdisjoint(pages)


@pytest.mark.parametrize("parts", [1, 5, 11, *(pytest.param(parts, marks=pytest.mark.long) for parts in (3, 7, 9))])
def test_what_stopped_between_the_parts_goes_with_the_pages_one_by_one(world: World, monkeypatch, parts: int):
    memory, pages = said(world, 17, menu(6))
    with monkeypatch.context() as patch:
        stopping(world, patch, parts)
        with pytest.raises(Stopped):
            Corrector(world.promoter(LineExtractor()), ANN).delete(segment_of(memory))
    for page in pages:
        memory.delete(page)
        assert told(world) <= linked(world)
    assert learned(world) == []


@pytest.mark.parametrize("after", [1, 2, 4, 7])
def test_a_page_that_is_deleted_or_learned_while_the_parts_are_written_does_no_harm(world: World, monkeypatch, after):
    """Another process deletes a page of the segment, and adds one that says the same, between two parts."""
    memory, pages = said(world, 24)
    left, write, added = [after], world.vault.write, []
    corrector = Corrector(world.promoter(LineExtractor()), ANN)

    def writing(scope):
        left[0] -= 1
        if left[0] == 0:
            corrector.delete(pages[1])
            added.append(Memory.add(memory, f"📐 {OTHER_WORDS}\n{MENU}"))
            memory.add("🚲 end")
            world.extract()
        return write(scope)

    monkeypatch.setattr(world.vault, "write", writing)
    corrector.delete(segment_of(memory))
    assert added
    assert {cube.descriptive.provenance for cube in learned(world)} == {tuple(added)}
    assert len(learned(world)) == DISHES
    assert linked(world) == told(world)
    assert {page.id for page in memory.pages.list()}.isdisjoint(pages)
