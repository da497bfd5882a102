"""What must be true of a store, whatever happened to the process that wrote it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np

from crash.stores import number_of, unique_word
from memoryos import Memory
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.kinds import Kind, Tier
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.operation.scheduler.step import LEARNED


def assert_sound(path: Path) -> None:
    """The file is intact, and each page is indexed once and in one place. Call it before the store is reopened."""
    with closing(sqlite3.connect(path)) as connection:
        ask = lambda sql, *values: connection.execute(sql, values).fetchall()  # noqa: E731
        assert ask("PRAGMA integrity_check") == [("ok",)]
        assert ask("PRAGMA foreign_key_check") == []
        without = "SELECT tenant, id FROM cubes WHERE kind = {!r} EXCEPT SELECT tenant, cube_id FROM {}"
        for kind, indexed in (("page", "passages"), ("segment", "vectors")):
            assert ask(without.format(kind, indexed)) == []


def assert_consistent(memory: Memory) -> None:
    """What the store says about its pages and segments agrees."""
    assert_answers(memory)
    assert_in_one_segment(memory)
    if len(memory.pages.list(tier=Tier.STM)) > memory.settings.short_term_capacity:
        memory.wait()  # a call that finds the store busy leaves the move to the background
    assert len(memory.pages.list(tier=Tier.STM)) <= memory.settings.short_term_capacity


def assert_answers(memory: Memory) -> None:
    """Each page is there once, and found."""
    numbers = Counter(number_of(page.text) for page in memory.pages.list())
    assert set(numbers.values()) <= {1}, f"a page is there twice: {numbers}"
    assert_indexed_turn_by_turn(memory)
    assert_found_once(memory, numbers)


def assert_indexed_turn_by_turn(memory: Memory) -> None:
    """Each page has one passage for each of its turns, in order, made of its present words."""
    with memory._engine.vault.read(memory._scope) as reader:
        stored = [(passage.page, passage.part, passage.words, passage.vector) for passage in reader.passages()]
        entries = page_entries(reader.cubes(Kind.PAGE), memory._engine.embedder)
    assert stored == [
        (entry.cube.id, part, " ".join(passage.words), np.asarray(passage.vector, "<f2").tobytes())
        for entry in entries
        for part, passage in enumerate(entry.passages, 1)
    ]


def assert_found_once(memory: Memory, numbers: Counter[int]) -> None:
    """Each page is found by the word that only it has."""
    for number in numbers:
        found = memory.search(unique_word(number), strategy="bm25", archive=True).hits
        assert [number_of(hit.text) for hit in found] == [number]


def assert_linked(memory: Memory) -> None:
    """Each memory is found by all pages that it says it rests on, so that it goes with them."""
    with memory._engine.vault.read(memory._scope) as reader:
        learned = [cube for kind in LEARNED for cube in reader.cubes(kind)]
        links = set(reader.targets([cube.id for cube in learned], LinkKind.DERIVED_FROM))
    wanted = {Link(cube.id, LinkKind.DERIVED_FROM, page) for cube in learned for page in cube.descriptive.provenance}
    assert wanted <= links


def assert_in_one_segment(memory: Memory) -> None:
    """Each page that left STM belongs to one segment of its tier, and segments count their members."""
    with memory._engine.vault.read(memory._scope) as reader:
        segments = {cube.id: cube for cube in reader.cubes(Kind.SEGMENT)}
        members = reader.sources(segments, LinkKind.MEMBER_OF)
        pages = reader.get(link.source for link in members)
        left = {cube.id for cube in reader.cubes(Kind.PAGE) if cube.tier is not Tier.STM}  # at the same moment
    assert left == set(pages)
    assert len(pages) == len(members)
    assert all(pages[link.source].tier is segments[link.target].tier for link in members)
    assert Counter(link.target for link in members) == {key: cube.payload.pages for key, cube in segments.items()}
