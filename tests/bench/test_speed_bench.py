"""`memoryos bench speed`, as a person and a program use it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from memoryos.bench import speed

PERCENTILES = {"add_ms": {"p50", "p95"}, "busy_add_ms": {"p50", "p95"}, "search_ms": {"p50", "p95", "p99"}}
SPEEDS = ("bulk_pages_per_s", "settled_pages_per_s", "add_floor_ms", "busy_floor_ms", "cold_start_ms")
FIGURES = (*SPEEDS, "rss_mb", "disk_bytes_per_page")
FLOOR = {"embed_ms", "embed_exchange_ms", "matvec_ms", "txn_ms", "embed_texts_per_s"}


@pytest.fixture
def few(monkeypatch) -> None:
    """What is told is looked at here, and not how fast it was."""
    monkeypatch.setattr(speed, "ADDS", 10)


@pytest.mark.usefixtures("few")
def test_what_a_program_reads(bench, tmp_path):
    result = bench("speed", "--pages", "10", "--embedder", "hashing", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert set(found) == {"sizes", "embedder", "machine", "version"}
    assert found["embedder"] == "hashing-384-v1"
    (size,) = found["sizes"].values()
    assert set(size) == {*PERCENTILES, *FIGURES, "archived_pages", "floor"}
    for name, wanted in PERCENTILES.items():
        assert set(size[name]) == wanted
        assert 0 < size[name]["p50"] <= size[name]["p95"]
    assert all(size[name] > 0 for name in FIGURES)
    assert set(size["floor"]) == FLOOR
    assert all(value > 0 for value in size["floor"].values())
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.usefixtures("few")
def test_what_a_person_reads(bench):
    result = bench("speed", "--pages", "5", "--embedder", "hashing")
    assert result.returncode == 0, result.stderr
    for shown in ("search p99, ms", "durable transaction", "p50 / floors", "×", "searched too", "hashing-384-v1"):
        assert shown in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pages", "0"], "--pages"),
        (["--pages", "100,many"], "'100,many' is not a list of sizes"),
        (["--pages", ""], "--pages"),
        (["--embedder", "magic"], "Use one of: hashing, minilm, static"),
    ],
)
def test_a_mistake_is_told_before_the_work(bench, arguments, told):
    result = bench("speed", *arguments)
    assert result.returncode == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """A shell that starts us in the background has us ignore them, and all that we start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupts")
def test_an_interrupt_reports_what_is_done_and_leaves_nothing_behind(command, tmp_path):
    scratch = tmp_path / "scratch"
    arguments = command("speed", "--pages", "5,1000000", "--embedder", "hashing", "--json")
    with subprocess.Popen(**arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        seen: set[str] = set()
        while len(seen) < 2 and process.poll() is None:  # the second store has begun
            seen |= {path.name for path in scratch.glob("memoryos-bench-*")}  # SQLite has files there, too
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, problems = process.communicate(timeout=120)
    assert process.returncode == 130, problems
    assert list(json.loads(out)["sizes"]) == ["5"]
    assert "Traceback" not in problems
    assert list(scratch.iterdir()) == []
