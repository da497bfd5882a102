"""SIGKILL at any moment, again and again on the same store: what was acknowledged is never lost."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest

import forked
from contract import server
from crash.checks import assert_consistent, assert_sound
from crash.stores import SETTINGS, add_page, open_store
from memoryos import stores
from memoryos.infrastructure.vault.place import database_url, is_url

TESTS = Path(__file__).parents[1]
ROUNDS, LONG_ROUNDS = 3, 60
SOME = 10  # pages acknowledged before the end may come
TELLING = 0.05  # seconds; a page takes some ten milliseconds, so the end hits any part of one


def killed_while_adding(place: str, first: int, rest: float) -> list[str]:
    """The ids that a process printed until it was killed, `rest` seconds after the first few."""
    command = [forked.executable(), "-m", "crash.victims", "forever", place, str(first)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as victim:
        acknowledged = [victim.stdout.readline() for _ in range(SOME)]
        time.sleep(rest)
        victim.kill()
        acknowledged += victim.stdout.readlines()  # to the end, which is that of the process
    return [line.strip() for line in acknowledged if line.endswith("\n")]


def assert_left_sound(place: str) -> None:
    """What the dead process left fits together, before anybody goes on with it."""
    if is_url(place):
        server.wait_for_sessions(database_url(place).database)  # the server may still do what it was told
    else:
        assert_sound(Path(place))
    assert stores.verify(place, settings=SETTINGS).is_sound


@pytest.mark.timeout(3_600)  # with `--long`, each of 60 rounds looks for every page
def test_a_store_outlives_any_number_of_crashes(place, long):
    rounds = LONG_ROUNDS if long else ROUNDS
    acknowledged, chance = [], random.Random(20260601)
    for crash in range(1, rounds + 1):
        acknowledged += killed_while_adding(place, crash * 1_000, chance.random() * TELLING)
        assert_left_sound(place)
        with open_store(place) as memory:
            assert_consistent(memory)
            stored = [page.id for page in memory.pages.list()]
        assert [page for page in stored if page in acknowledged] == acknowledged, "all there, in order"
        assert len(stored) - len(acknowledged) <= crash, "at most the page that was being added"
    with open_store(place) as memory:
        assert len(acknowledged) >= rounds * SOME
        assert add_page(memory, 0) in {page.id for page in memory.pages.list()}
