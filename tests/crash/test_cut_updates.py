"""A process that dies amid an update of a page on which more rests than is derived again in one step."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path

import pytest

import forked
from crash.stores import open_store
from memoryos import Memory
from memoryos.clock import system_clock
from memoryos.infrastructure.vault.records import JobState
from memoryos.operation.consolidation.rereading import REREAD_AFTER

TESTS = Path(__file__).parents[1]
COUNT = 40  # more than are derived again in one step

DIES = """
import os, signal, sys
from crash.stores import open_store
from memoryos.operation.correction import correct

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

memory = open_store(sys.argv[1])
correct._Revising.planned = die
memory.update(sys.argv[2], "I like tea.")
"""


def stated(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in memory.facts.list())


@pytest.fixture
def page(tmp_path: Path) -> str:
    with open_store(tmp_path / "m.db") as memory:
        page = memory.add(" ".join(f"I own boat number {number}." for number in range(COUNT)))
        memory.consolidate()
        assert len(memory.facts.list()) == COUNT
        return page


def test_what_lost_its_page_is_learned_from_it_again(page: str, tmp_path: Path):
    with open_store(tmp_path / "m.db") as memory:
        before = stated(memory)
    died = forked.python("-c", DIES, str(tmp_path / "m.db"), page, cwd=TESTS)
    assert died.returncode == -signal.SIGKILL, died.stderr
    with open_store(tmp_path / "m.db") as memory:
        assert "boat" in memory.get(page).text
        assert 0 < len(memory.facts.list()) < COUNT
    later = system_clock() + REREAD_AFTER + timedelta(minutes=1)
    with open_store(tmp_path / "m.db", lambda: later) as memory:
        memory.jobs.run()
        assert stated(memory) == before
        assert all(page in fact.descriptive.provenance for fact in memory.facts.list())


def test_a_page_that_got_its_new_words_is_not_read_again(page: str, tmp_path: Path):
    with open_store(tmp_path / "m.db") as memory:
        memory.update(page, "I like tea.")
        memory.wait()
        (fact,) = memory.facts.list()
        memory.delete(fact.id)
    later = system_clock() + REREAD_AFTER + timedelta(minutes=1)
    with open_store(tmp_path / "m.db", lambda: later) as memory:
        memory.jobs.run()
        assert stated(memory) == []
        assert {job.state for job in memory.jobs.list()} == {JobState.DONE}
