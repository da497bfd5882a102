"""A memory whose pages a scripted model reads, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import files_on
from generation.scripted_model import Reply, says, scripted_model
from memoryos import Memory, load_settings
from memoryos.bench.scripted_reader import reply
from memoryos.infrastructure.vault.records import JobState

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
KEY = "sk-secret-of-the-test"


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def reads(request: dict) -> Reply:
    """What a model that reads well enough answers."""
    return says(json.dumps(reply(request["messages"]), ensure_ascii=False))


def until_done(memory: Memory, clock: Clock, *, tries: int = 60) -> None:
    """Let the time pass that failed jobs wait, until none waits any more."""
    for _ in range(tries):
        memory.jobs.run()
        waiting = [job for job in memory.jobs.list(JobState.QUEUED) if not job.is_planned]
        if not waiting:
            return
        clock.now = max(clock.now, *(job.not_before or clock.now for job in waiting))
    raise AssertionError("jobs wait for ever")


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def model():
    with scripted_model() as server:
        server.otherwise = reads
        yield server


@pytest.fixture
def opened(tmp_path, model, clock) -> Callable[..., Memory]:
    """opened(...): a memory whose pages the model reads."""
    memories = []

    def make(**changes: object) -> Memory:
        wanted = {
            "embedder": "hashing",
            "extractor": "model",
            "short_term_capacity": 1,
            "llm_model": "some-model",
            "llm_api_key": KEY,
            "llm_base_url": model.url,
            "llm_retries": 0,
            "llm_timeout_seconds": 30,
        }
        settings = load_settings(**{**wanted, **changes})
        memories.append(memoryos.open(tmp_path / "memory.db", user="carla", settings=settings, clock=clock))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()
