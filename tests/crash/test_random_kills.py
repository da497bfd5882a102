"""SIGKILL at any moment, again and again on the same store: what was acknowledged is never lost."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from crash.checks import assert_consistent, assert_sound
from crash.stores import add_page, open_store

TESTS = Path(__file__).parents[1]
ROUNDS = 5
SOME = 10  # pages acknowledged before the end may come
TELLING = 0.05  # seconds; a page takes some ten milliseconds, so the end hits any part of one


def killed_while_adding(path: Path, first: int, rest: float) -> list[str]:
    """The ids that a process printed until it was killed, `rest` seconds after the first few."""
    command = [sys.executable, "-m", "crash.victims", "forever", str(path), str(first)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as victim:
        acknowledged = [victim.stdout.readline() for _ in range(SOME)]
        time.sleep(rest)
        victim.kill()
        acknowledged += victim.stdout.readlines()
    return [line.strip() for line in acknowledged if line.endswith("\n")]


def test_a_store_outlives_any_number_of_crashes(tmp_path):
    path, acknowledged, chance = tmp_path / "memory.db", [], random.Random(20260601)
    for crash in range(1, ROUNDS + 1):
        acknowledged += killed_while_adding(path, crash * 1_000, chance.random() * TELLING)
        assert_sound(path)
        with open_store(path) as memory:
            assert_consistent(memory)
            stored = [page.id for page in memory.pages()]
        assert [page for page in stored if page in acknowledged] == acknowledged, "all there, in order"
        assert len(stored) - len(acknowledged) <= crash, "at most the page that was being added"
    with open_store(path) as memory:
        assert len(acknowledged) >= ROUNDS * SOME
        assert add_page(memory, 0) in {page.id for page in memory.pages()}
