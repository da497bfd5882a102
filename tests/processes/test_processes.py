"""Many processes on one store, for some seconds: nothing lost, nothing late, nothing that must not be seen."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import forked
from memoryos import MemoryOS, load_settings
from memoryos.bench.actor import Part, ReadingActor, notice_file
from memoryos.bench.processes import Crowd, ProcessReport, measure_processes
from memoryos.bench.word_ledger import AnswerFault, PageWord, Violation, WordState, told
from memoryos.errors import MemoryOSError

SETTINGS = load_settings(embedder="hashing")
SOON = 300.0  # seconds; nobody waits that long when all is well


@pytest.fixture(autouse=True)
def _forked_actors(monkeypatch):
    monkeypatch.setattr(sys, "executable", forked.executable())


def played(place: str, crowd: Crowd) -> ProcessReport:
    """What they did; in more time where the machine is too busy for a search in so little."""
    for seconds in (crowd.seconds, 5, 25):
        report = measure_processes(place, replace(crowd, seconds=seconds), SETTINGS)
        if report.counts.keys() >= {"add", "search"}:
            break
    return report


@pytest.mark.parametrize("workers", [0, 2], ids=["jobs here", "jobs by workers"])
def test_processes_on_one_store_keep_what_each_was_promised(place, workers, long):
    crowd = Crowd(writers=4, readers=4, workers=workers, seconds=3) if long else Crowd(3, 2, workers, seconds=1)
    report = played(place, crowd)
    assert report.errors == {}
    assert report.violations == []
    assert report.is_sound
    assert report.counts["add"] > 0
    assert report.counts["search"] > 0
    assert report.pages == report.counts["add"] - report.counts.get("delete", 0)
    assert report.jobs.get("dead", 0) == 0
    assert [len(sizes) for sizes in report.rss_mb.values()] == [crowd.writers, crowd.readers, workers][
        : len(report.rss_mb)
    ]


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


WORD = PageWord(0, 0, 0, 0)


def say(part, *lines):
    with notice_file(Path(part.folder), 0).open("a") as file:
        file.writelines(told(state, word) for state, word in lines)


def test_a_reader_finds_what_was_stored_and_sees_nothing_wrong(part, memory):
    memory.of(part.scopes[0]).add(f"I have a boat called {WORD}.", "Nice.")
    say(part, (WordState.THERE, WORD))
    reader = ReadingActor(memory, part)
    reader.check_search(WORD, is_there=True)
    assert reader.check_pages(0) == [WORD]
    reader.check_persona(0)
    assert (reader.done.violations, reader.done.errors) == ([], {})


def test_a_page_that_a_writer_stored_and_nobody_finds_is_reported(part, memory):
    say(part, (WordState.THERE, WORD))
    reader = ReadingActor(memory, part)
    reader.check_search(WORD, is_there=True)
    reader.check_pages(0)
    assert reader.done.violations == [f"missing: {WORD} in hits", f"missing: {WORD} in pages"]


def test_a_page_that_a_writer_deleted_and_that_is_served_is_reported(part, memory):
    memory.of(part.scopes[0]).add(f"I have a boat called {WORD}.", "Nice.")
    memory.wait()
    memory.of(part.scopes[0]).consolidate()
    say(part, (WordState.THERE, WORD), (WordState.LEAVING, WORD), (WordState.GONE, WORD))
    reader = ReadingActor(memory, part)
    reader.check_search(WORD, is_there=False)
    assert {f"ghost: {WORD} in {where}" for where in ("hits", "turns", "recent")} <= set(reader.done.violations)


def test_words_of_another_tenant_are_reported(part, memory):
    there = WORD._replace(scope=2)
    assert part.scopes[2].tenant != part.scopes[0].tenant
    memory.of(part.scopes[0]).add(f"I have a boat called {there}.", "Nice.")
    reader = ReadingActor(memory, part)
    reader.check_search(WORD, is_there=False)
    assert f"foreign: {there} in hits" in reader.done.violations


def test_a_line_that_is_half_written_is_read_when_it_is_whole(part, memory):
    reader, line = ReadingActor(memory, part), told(WordState.THERE, WORD)
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


def bench(*options, **variables):
    """The command as a process: its exit code, and the report that it prints."""
    command = [sys.executable, "-W", "error", "-m", "memoryos", "bench", "processes", "--json", "--embedder", "hashing"]
    environment = forked.settings(**variables)
    done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, timeout=SOON)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_the_command_reports_what_it_measured(tmp_path):
    db = tmp_path / "new.db"
    crowd = {"writers": 2, "readers": 1, "workers": 1, "seconds": 1.0}
    options = [f"--{name}={value}" for name, value in crowd.items()]
    code, report = bench("--db", str(db), *options)
    assert code == 0, report
    assert report["is_sound"]
    assert report["crowd"] == crowd
    assert set(report["ms"]["add"]) == {"p50", "p95"}
    assert report["per_second"]["add"] == report["counts"]["add"]
    assert len(report["rss_mb"]["writer"]) == 2
    assert db.exists()
    code, refused = bench("--db", str(db))
    assert (code, refused["error"]["type"]) == (2, "InvalidInput")


def test_an_error_that_reaches_a_caller_makes_the_command_fail():
    code, report = bench("--writers=1", "--readers=0", "--seconds=0.5", MEMORYOS_MAX_TEXT_CHARS="5")
    assert code == 1
    assert not report["is_sound"]
    assert list(report["errors"]) == ["add: InvalidInput"]
    assert report["pages"] == 0


def test_a_violation_makes_a_report_unsound(tmp_path):
    report = measure_processes(str(tmp_path / "new.db"), Crowd(writers=1, readers=0, seconds=0.5), SETTINGS)
    assert report.is_sound
    assert not replace(report, violations=[str(Violation(AnswerFault.GHOST, WORD, "hits"))]).is_sound
