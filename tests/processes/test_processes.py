"""Many processes on one store, for some seconds: nothing lost, nothing late, nothing that must not be seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import select

from memoryos import MemoryOS, load_settings
from memoryos.bench.actor import Part, Reader, notice_file
from memoryos.bench.processes import Crowd, measure_processes
from memoryos.bench.witness import State, Word, told
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault import tables
from memoryos.scope import Scope

SETTINGS = load_settings(embedder="hashing")
SOON = 300.0  # seconds; nobody waits that long when all is well


@pytest.mark.parametrize("workers", [0, 2], ids=["jobs here", "jobs by workers"])
def test_processes_on_one_store_keep_what_each_was_promised(place, workers):
    report = measure_processes(place, Crowd(writers=4, readers=4, workers=workers, seconds=5), SETTINGS)
    assert report.errors == {}
    assert report.violations == []
    assert report.is_sound
    assert report.counts["add"] > 0
    assert report.counts["search"] > 0
    assert report.pages == report.counts["add"] - report.counts.get("delete", 0)
    assert report.jobs.get("dead", 0) == 0
    assert [len(sizes) for sizes in report.rss_mb.values()] == [4, 4, workers][: len(report.rss_mb)]


def test_a_process_that_cannot_use_the_store_is_told_of(tmp_path):
    with pytest.raises(MemoryOSError, match="does not exist"):
        measure_processes(str(tmp_path / "nowhere" / "memory.db"), Crowd(1, 1, 0, 1), SETTINGS)


@pytest.fixture
def part(place, tmp_path):
    """What a reader is told: one writer, that has told nothing yet."""
    notice_file(tmp_path, 0).touch()
    return Part("reader", 0, place, str(tmp_path), "bench", 1, 1.0, {"embedder": "hashing", "jobs": "here"})


@pytest.fixture
def memory(part):
    with MemoryOS.open(part.place, settings=load_settings(**part.settings)) as opened:
        yield opened


WORD = Word(0, 0, 0, 0)


def say(part, *lines):
    with notice_file(Path(part.folder), 0).open("a") as file:
        file.writelines(told(state, word) for state, word in lines)


def test_a_reader_finds_what_was_stored_and_sees_nothing_wrong(part, memory):
    memory.add(f"I have a boat called {WORD}.", "Nice.", scope=part.scopes[0])
    say(part, (State.THERE, WORD))
    reader = Reader(memory, part)
    reader.check_search(WORD, is_there=True)
    assert reader.check_pages(0) == [WORD]
    reader.check_persona(0)
    assert (reader.done.violations, reader.done.errors) == ([], {})


def test_a_page_that_a_writer_stored_and_nobody_finds_is_reported(part, memory):
    say(part, (State.THERE, WORD))
    reader = Reader(memory, part)
    reader.check_search(WORD, is_there=True)
    reader.check_pages(0)
    assert reader.done.violations == [f"missing: {WORD} in hits", f"missing: {WORD} in pages"]


def test_a_page_that_a_writer_deleted_and_that_is_served_is_reported(part, memory):
    memory.add(f"I have a boat called {WORD}.", "Nice.", scope=part.scopes[0])
    memory.wait()
    memory.consolidate(scope=part.scopes[0])
    say(part, (State.THERE, WORD), (State.LEAVING, WORD), (State.GONE, WORD))
    reader = Reader(memory, part)
    reader.check_search(WORD, is_there=False)
    assert {f"ghost: {WORD} in {where}" for where in ("hits", "turns", "recent")} <= set(reader.done.violations)


def test_words_of_another_tenant_are_reported(part, memory):
    there = WORD._replace(scope=2)
    assert part.scopes[2].tenant != part.scopes[0].tenant
    memory.add(f"I have a boat called {there}.", "Nice.", scope=part.scopes[0])
    reader = Reader(memory, part)
    reader.check_search(WORD, is_there=False)
    assert f"foreign: {there} in hits" in reader.done.violations


def test_a_line_that_is_half_written_is_read_when_it_is_whole(part, memory):
    reader, line = Reader(memory, part), told(State.THERE, WORD)
    with notice_file(Path(part.folder), 0).open("a") as file:
        file.write(line[:-4])
        file.flush()
        reader.check_pages(0)
        file.write(line[-4:])
        file.flush()
        assert reader.done.violations == []
        reader.check_pages(0)
    assert reader.done.violations == [f"missing: {WORD} in pages"]


# The command


@pytest.fixture
def bench(tmp_path):
    """bench(option, ...): the command as a process."""
    begun = []

    def start(*options):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYOS_")}
        command = [sys.executable, "-W", "error", "-m", "memoryos", "bench", "processes", "--json"]
        begun.append(
            subprocess.Popen(
                [*command, "--embedder", "hashing", *options],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_the_command_reports_what_it_measured(bench, place):
    process = bench("--db", place, "--writers", "2", "--readers", "1", "--workers", "1", "--seconds", "2")
    output, errors = process.communicate(timeout=SOON)
    assert (process.returncode, errors) == (0, "")
    report = json.loads(output)
    assert report["is_sound"]
    assert report["crowd"] == {"writers": 2, "readers": 1, "workers": 1, "seconds": 2.0}
    assert {"p50", "p95"} == set(report["ms"]["add"])
    assert report["per_second"]["search"] > 0
    assert len(report["rss_mb"]["writer"]) == 2


def test_a_page_that_vanishes_behind_the_writers_backs_makes_the_command_fail(bench, place, tmp_path):
    process = bench("--db", place, "--writers", "1", "--readers", "1", "--seconds", "10")
    assert vandalised(place, process), "it ended before there was a page"
    output, _ = process.communicate(timeout=SOON)
    report = json.loads(output)
    assert process.returncode == 1
    assert not report["is_sound"]
    noticed = [*report["violations"], *report["errors"]]  # the writer may have wanted to correct the page itself
    assert any("missing: " in one or "NotFound" in one for one in noticed)


def vandalised(place, process) -> bool:
    """Whether a page of the bench could be deleted while it runs."""
    while process.poll() is None:
        if Path(place).exists() or "://" in place:
            with MemoryOS.open(place, settings=SETTINGS) as memory:
                for scope in scopes(memory):
                    if pages := memory.pages(scope=scope):
                        memory.delete(pages[-1].id, scope=scope)
                        return True
        time.sleep(0.1)
    return False


def scopes(memory) -> list[Scope]:
    with memory._vault._reading(None) as connection:
        tenants = connection.execute(select(tables.cubes.c.tenant).distinct()).scalars().all()
    return [scope for tenant in tenants for scope in memory.scopes(tenant=tenant)]
