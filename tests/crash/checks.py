"""What must be true of a store, whatever happened to the process that wrote it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from crash.stores import number_of, unique_word
from memoryos.cube import Kind, Tier
from memoryos.infrastructure.vault.contract import LinkKind
from memoryos.memory import MemoryOS


def assert_sound(path: Path) -> None:
    """The file is intact, and each page is indexed once and in one place. Call it before the store is reopened."""
    with closing(sqlite3.connect(path)) as connection:
        ask = lambda sql, *values: connection.execute(sql, values).fetchall()  # noqa: E731
        assert ask("PRAGMA integrity_check") == [("ok",)]
        assert ask("PRAGMA foreign_key_check") == []
        connection.execute("INSERT INTO text_terms (text_terms) VALUES ('integrity-check')")
        assert ask("SELECT count(*) FROM text_terms") == ask("SELECT count(*) FROM texts")
        assert ask("SELECT tenant, id FROM cubes WHERE kind = 'page' EXCEPT SELECT tenant, cube_id FROM texts") == []
        assert ask("SELECT tenant, id FROM cubes WHERE kind = 'page' EXCEPT SELECT tenant, cube_id FROM vectors") == []


def assert_consistent(memory: MemoryOS) -> None:
    """What the store says about its pages and segments agrees."""
    numbers = Counter(number_of(page.text) for page in memory.pages())
    assert set(numbers.values()) <= {1}, f"a page is there twice: {numbers}"
    assert_found_once(memory, numbers)
    assert_in_one_segment(memory)
    assert len(memory.pages(tier=Tier.STM)) <= memory.settings.short_term_capacity


def assert_found_once(memory: MemoryOS, numbers: Counter[int]) -> None:
    """Each page is found by the word that only it has."""
    with memory._vault.read(memory._scope) as reader:
        for number in numbers:
            found = reader.find_terms([unique_word(number)], kind=Kind.PAGE, tiers=list(Tier), limit=10)
            assert [number_of(cube.text) for cube in reader.get(found).values()] == [number]


def assert_in_one_segment(memory: MemoryOS) -> None:
    """Each page that left STM belongs to one segment of its tier, and segments count their members."""
    with memory._vault.read(memory._scope) as reader:
        segments = {cube.id: cube for cube in reader.cubes(Kind.SEGMENT)}
        members = reader.sources(segments, LinkKind.MEMBER_OF)
        pages = reader.get(link.source for link in members)
    assert {cube.id for cube in memory.pages() if cube.tier is not Tier.STM} == set(pages)
    assert len(pages) == len(members)
    assert all(pages[link.source].tier is segments[link.target].tier for link in members)
    assert Counter(link.target for link in members) == {key: cube.payload.pages for key, cube in segments.items()}
