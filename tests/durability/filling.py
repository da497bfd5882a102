"""Filling a store until its disk is full, and what must be true of it then and afterwards."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

from memoryos import Memory
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind

ROUNDS = 200  # the disk is full before


def story(number: int, words: int = 500) -> str:
    """A text that nobody can compress: 11 bytes a word."""
    chance = Random(number)
    return " ".join([f"Story {number}:", *(f"{chance.getrandbits(40):010x}" for _ in range(words))])


def fill_up(memory: Memory) -> tuple[list[str], StorageError]:
    """Add until it fails; returns the pages that were acknowledged, and the error."""
    pages = []
    for number in range(ROUNDS):
        try:
            pages.append(memory.add(story(number), "Thank you.", idempotency_key=str(number)))
        except StorageError as error:
            return pages, error
    raise AssertionError("the disk is never full")


def assert_whole(memory: Memory, pages: list[str]) -> None:
    """Each page has its passages and its event, and there is nothing else."""
    with memory._engine.vault.read(memory._scope) as reader:
        added = [event for event in reader.events(limit=10_000) if event.operation is Operation.ADD]
        stored: dict[str, list[int]] = {}
        for row in reader.passages():
            stored.setdefault(row.page, []).append(row.part)
        jobs = {job.cube_id for job in reader.jobs()}
        assert set(reader.get(jobs)) == jobs
    assert list(stored) == pages
    assert all(parts == list(range(1, len(parts) + 1)) and len(parts) > 1 for parts in stored.values())
    assert [event.cube_id for event in added if event.kind is Kind.PAGE] == pages


def assert_goes_on(memory: Memory, pages: list[str]) -> None:
    """There is room again: the same memory stores what failed, and finds a place for every page."""
    memory.wait()  # what failed meanwhile is done now, so there is nothing to say
    repeated = [
        memory.add(story(number), "Thank you.", idempotency_key=str(number)) for number in range(len(pages) + 2)
    ]
    assert repeated[: len(pages)] == pages
    memory.wait()
    assert [page.id for page in memory.pages.list()] == repeated
    assert memory.stats().mtm_pages == len(repeated) - 1
    assert_whole(memory, repeated)


def occupy(ballast: Path) -> None:
    """Take all the room that is left."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
