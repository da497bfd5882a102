"""A user's own memory and an expert's, each in a store of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from memoryos import MemoryOS, Mount, Scope, load_settings

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ANN, BOB = Scope(user="ann"), Scope(user="bob")
CLINIC = Scope(user="clinic", namespace=("expert", "cardiology"))

OWN = [
    ("I started playing the violin again.", "Lovely! Do you take lessons?"),
    ("My asthma got worse in spring.", "I am sorry. Do you have an inhaler?"),
    ("We booked a mountain hotel for May.", "Enjoy the skiing!"),
]
EXPERT = [
    ("Which beta blockers are dangerous with asthma?", "Propranolol is; it narrows the airways."),
    ("What is a normal resting pulse?", "Sixty to a hundred beats a minute."),
    ("How is atrial fibrillation found?", "By an electrocardiogram over a day."),
]


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def open_memory(opened, tmp_path):
    """open_memory(name="own", ...): a memory of Ann's in the store of that name."""

    def one(name: str = "own", *, user: str = "ann", read_only: bool = False, **settings) -> MemoryOS:
        knobs = load_settings(**({"embedder": "hashing"} | settings))
        memory = MemoryOS.open(
            tmp_path / f"{name}.db", user=user, settings=knobs, clock=lambda: NOW, read_only=read_only
        )
        return opened.enter_context(memory)

    return one


@pytest.fixture
def expert_base(open_memory, tmp_path) -> Mount:
    """What the clinic knows, closed; `mount` it."""
    with open_memory("expert") as clinic:
        for number, (question, answer) in enumerate(EXPERT):
            clinic.add(question, answer, at=NOW - timedelta(days=number), tags=["heart"], scope=CLINIC)
        clinic.add_fact("Propranolol is dangerous with asthma.", scope=CLINIC)
    return Mount("cardiology", tmp_path / "expert.db", CLINIC)


@pytest.fixture
def own(open_memory) -> MemoryOS:
    """Ann's memory."""
    memory = open_memory()
    for number, (query, response) in enumerate(OWN):
        memory.add(query, response, at=NOW - timedelta(days=10 + number), tags=["life"])
    return memory
