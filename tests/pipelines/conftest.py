"""A memory with some pages, on each back end in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memoryos
from memoryos import AddStep, ArchiveStep, AugmentStep, FreezeStep, ListStep, Pipeline, RetrieveStep, UpdateStep
from memoryos.config import load_settings

SETTINGS = load_settings(embedder="hashing")
SAID = ("I keep bees in the garden.", "My brother is called Tom.", "I love green tea with honey.", "我在上海养蜜蜂。")

WHOLE = Pipeline(
    "whole",
    [
        RetrieveStep(kinds=["page"], most=2),
        AugmentStep(tokens=200),
        UpdateStep(text="Asked: {query}", tags=["asked"]),
        FreezeStep(reason="asked"),
        AddStep(query="{context}", tags=["noted"]),
    ],
    version=3,
    parameters={"query": "text"},
)
TIDY = Pipeline("tidy", [ListStep(most=2), ArchiveStep()])


def opened(place: str) -> memoryos.Memory:
    return memoryos.open(place, user="ann", settings=SETTINGS)


@pytest.fixture
def memory(place: str) -> Iterator[memoryos.Memory]:
    with opened(place) as memory:
        for number, said in enumerate(SAID, 1):
            memory.add(said, "I see.", at=f"2026-05-0{number}")
        memory.wait()
        yield memory
