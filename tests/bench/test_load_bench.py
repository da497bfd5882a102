"""`memoryos bench load`: what a page that is added costs in memory, and all of the load."""

from __future__ import annotations

from contextlib import closing

import pytest

from memoryos import MemoryOS, load_settings
from memoryos.bench.load_calls import LoadDone, user_of
from memoryos.bench.server_load import LoadReport, LoadWay, _way, measure_load
from memoryos.interface.cli.bench_load import _print
from memoryos.models.hashing import Hashing

pytestmark = pytest.mark.once

SETTINGS = load_settings(embedder="hashing", mounts=())


def test_memory_is_told_for_each_page_that_was_added(tmp_path):
    with closing(MemoryOS.open(tmp_path / "memory.db", settings=SETTINGS, embedder=Hashing())) as store:
        done = LoadDone()
        for number in range(2):
            memory = store.memory(user_of(number), tenant="acme")
            done.note(user_of(number), "add", None, [memory.add("I keep bees in Lisbon.")])  # of the warm-up
            done.note(user_of(number), "add", 1.0, [memory.add("I sail.")])
    with closing(MemoryOS.open(tmp_path / "memory.db", settings=SETTINGS, embedder=Hashing())) as store:
        way = _way(store, "acme", 2, 1.0, done, 1.0, (100.0, 101.0, 101.5), (101.5, 101.5))
        nbytes = store._engine.residency.nbytes
    assert (way.is_sound, way.pages, way.grown_kb) == (True, 4, 750.0)
    assert way.index_kb == nbytes / 1000 / 4 > 0


def test_a_narrow_terminal_cuts_no_figure(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    times = {"p50": 1234.5, "p95": 2345.6, "p99": 3456.7}
    way = LoadWay(12_345.0, {"add": times, "search": times}, {}, 1_234_567, 0, 0, 12.3, (123.0, 4_567.0), (), 45.0, 6.0)
    _print(LoadReport(64, 60.0, way, way))
    out = capsys.readouterr().out
    assert "…" not in out
    for figure in ("12345", "1234.5 / 2345.6 / 3456.7", "12.3", "123 - 4567", "45 / 6", "1,234,567"):
        assert out.count(f"{figure} ") >= 2, figure


@pytest.mark.long
def test_the_load_in_python_and_over_http(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")  # the server is a process of its own
    report = measure_load(str(tmp_path / "memory.db"), SETTINGS, clients=2, seconds=0.5)
    assert report.is_sound
    for way in (report.python, report.http):
        assert way.pages > 2
        assert way.index_kb > 0
