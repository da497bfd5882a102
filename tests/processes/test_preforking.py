"""Servers that fork their workers after the application is loaded: gunicorn with --preload, Celery, multiprocessing."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import httpx
import pytest

import forked
import memoryos
from memoryos import load_settings

TESTS = Path(__file__).parents[1]
SETTINGS = load_settings(embedder="hashing")
PATIENCE = 60.0  # seconds; nobody waits that long when all is well
ROUNDS = 100  # of requests at once, at most, until both workers have answered
TASKS = 8  # for Celery
REFUSED = "open it again"


@pytest.fixture
def early(place: str, tmp_path: Path) -> str:
    """The store that is open while workers are forked: on SQLite a file that no worker may open."""
    return place if "://" in place else str(tmp_path / "early.db")


@contextmanager
def running(*command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A program that ends by SIGTERM, with the code 0, and is killed if it hangs."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    arguments = [forked.executable(), "-m", *command]
    with subprocess.Popen(arguments, cwd=TESTS, env=forked.settings(**variables), text=True, **pipes) as program:
        killer = threading.Timer(PATIENCE, program.kill)
        killer.start()
        try:
            yield program
            program.send_signal(signal.SIGTERM)
            said = program.stdout.read()
            assert program.wait() == 0, said
        finally:
            killer.cancel()
            program.kill()


def stored(place: str) -> dict[str, str]:
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        return {page.id: page.text for page in memory.pages.list()}


def test_gunicorn(place: str, early: str):
    """With --preload, each worker is told at once that it may not use what was open before the fork."""
    added, told = asked_of_gunicorn("--preload", EARLY=early, OWN=place)
    assert all(REFUSED in said for said in told.values())
    kept = stored(place)
    assert kept.keys() >= added.keys()
    assert len(kept) == len(added) + (2 if place == early else 1)
    assert list(stored(early).values()).count("user: I bought a kite.") == 1


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_gunicorn_without_preload(place: str, early: str):
    added, told = asked_of_gunicorn(EARLY=early, OWN=place)
    assert all(int(hits) in (1, 2) for hits in told.values())
    kept = stored(place)
    assert kept.keys() >= added.keys()
    assert len(kept) == len(added) + 2, "each worker loaded the module"


def asked_of_gunicorn(*options: str, **variables: str) -> tuple[dict[str, str], dict[str, str]]:
    """Two workers add pages: the worker of each page, and what each worker says of the early memory."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    fixed = "--workers 2 --bind 127.0.0.1:0 --no-control-socket --log-level warning"
    command = ["gunicorn", *options, *fixed.split(), "-c", "python:processes.gunicorn_hooks", "processes.web_app:app"]
    added, told = dict[str, str](), dict[str, str]()

    def ask(number: int) -> None:
        worker, page = http.get("/", params={"say": f"I bought {number} drums."}).text.split()
        added[page] = worker
        worker, told[worker] = http.get("/").text.split(" ", 1)

    with running(*command, **variables) as server, ThreadPoolExecutor(4) as threads:
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        with httpx.Client(base_url=address, timeout=PATIENCE) as http:
            for _ in range(ROUNDS):
                list(threads.map(ask, range(4)))
                if len(set(added.values())) == len(told) == 2:
                    return added, told
    pytest.fail(f"one worker answered everything: {told}")


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)], indirect=True)
def test_celery_with_prefork(place: str, early: str, tmp_path: Path):
    """Each worker adds to a memory that it opened in `worker_process_init`."""
    pytest.importorskip("celery", reason="Celery is not installed")
    queue = tmp_path / "queue"
    queue.mkdir()
    options = "--pool prefork --concurrency 2 --without-gossip --without-mingle --without-heartbeat --loglevel ERROR"
    command = ["celery", "-A", "processes.task_queue", "--quiet", "worker", *options.split()]
    done: list[list[str]] = []
    with running(*command, EARLY=early, OWN=place, QUEUE=str(queue), TASKS=str(TASKS)) as worker:
        while len(done) < TASKS:
            line = worker.stdout.readline()
            assert line, done
            if line.startswith("task "):
                done.append(line.split(" ", 3)[1:])
    assert all(REFUSED in told for _, _, told in done)
    kept = stored(place)
    assert kept.keys() >= {page for _, page, _ in done}
    assert len(kept) == TASKS + (place == early)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("way", ["spawn", pytest.param("forkserver", marks=pytest.mark.long)])
def test_multiprocessing_without_forks_of_this_process(place: str, way: str):
    """A child that is no fork opens the same store while its parent has it open."""
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        memory.add("I bought a kite.")
        with get_context(way).Pool(1) as pool:
            page = pool.apply(add_to, (place, "I bought a drum."))
        assert memory.get(page).text == "user: I bought a drum."
        assert len(memory.pages.list()) == 2


def add_to(place: str, said: str) -> str:
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        return memory.add(said)
