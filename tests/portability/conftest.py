"""Stores on either back end, and everything that is said about one person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.back_ends import files_on
from memoryos import Memory, MemoryOS, load_settings
from memoryos.clock import Clock, system_clock

Open = Callable[..., MemoryOS]


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def open_store(tmp_path: Path) -> Open:
    """open_store(name, **settings): a store in the folder, with a small STM so that there are topics and facts."""

    def make(name: str = "memory", clock: Clock | None = None, **settings: object) -> MemoryOS:
        told = load_settings(**{"short_term_capacity": 2, "knowledge_capacity": 3, **settings})
        return MemoryOS.open(tmp_path / f"{name}.db", settings=told, clock=clock or system_clock)

    return make


def live(memory: Memory, name: str = "Alice") -> None:
    """A life that leaves something of each kind: pages in three tiers, facts old and new, a profile, a revised page."""
    memory.add(f"My name is {name} and I live in Oslo.", "Nice to meet you.")
    memory.add("I have a parrot called Kiwi.", "Hello Kiwi!")
    for number in range(4):
        memory.add(f"I like tea number {number}, it is called zebracorn.", "Which one do you like best?")
    moved = memory.add("I moved to Bergen.", "How is it there?")
    memory.facts.add(f"{name} collects quokkastamps.")
    memory.consolidate()
    memory.update(moved, "I moved to Bergen in May.")
    memory.wait()
