"""SIGKILL at every step of a page's way into the object store and back: it is always in one of the two, whole."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

import forked
from crash.checks import assert_consistent
from crash.killed import TESTS, Victim, steps
from crash.stores import OWNER, cold_settings, objects_of, open_store
from memoryos import Memory, stores
from memoryos.clock import system_clock
from memoryos.kinds import Tier
from public import store_of


@pytest.fixture(scope="module")
def texts(template) -> dict[str, str]:
    with open_store(template) as memory:
        assert len(memory.pages.list(tier=Tier.ARCHIVE)) >= 2
        return {page.id: page.text for page in memory.pages.list()}


def reopened(victim: Victim, **later: float) -> Memory:
    now = system_clock() + timedelta(**later)
    return open_store(victim.path, lambda: now, settings=cold_settings(victim.path))


def cold(memory: Memory) -> dict[str, str]:
    with memory._engine.vault.read(OWNER) as reader:
        return reader.cold(page.page for page in reader.passages())


def read(memory: Memory) -> dict[str, str]:
    return {page.id: page.text for page in memory.pages.list()}


def assert_swept(victim: Victim, memory: Memory) -> None:
    """What is in use is there, and nothing else."""
    store_of(memory).admin.cool(after_days=10_000)
    packs = {path.name for path in objects_of(victim.path).iterdir()}
    assert packs == set(cold(memory).values())
    with memory._engine.vault.read(OWNER) as reader:
        assert set(reader.packs()) == packs


@pytest.mark.parametrize("scenario", ["cool", "warm"])
def test_each_page_is_always_in_one_of_the_two(victims, template, texts, tmp_path, scenario):
    found = victims(scenario, template, tmp_path)
    assert steps(found) >= 15
    outcomes = []
    for victim in found:
        assert stores.verify(victim.path, settings=cold_settings(victim.path)).is_sound
        with reopened(victim) as memory:
            assert read(memory) == texts
            outcomes.append(bool(cold(memory)))
        with reopened(victim, hours=3) as memory:
            assert_swept(victim, memory)
            assert read(memory) == texts
            store_of(memory).admin.cool(after_days=0)
            assert cold(memory)
            assert read(memory) == texts
            assert_consistent_when_warm(memory, texts)
    assert set(outcomes) == {False, True}, "some died before the swap, and some after"


def assert_consistent_when_warm(memory: Memory, texts: dict[str, str]) -> None:
    for page in texts:
        memory.get(page)
    memory.wait()
    assert cold(memory) == {}
    assert_consistent(memory)


def test_what_was_deleted_is_in_no_pack_in_the_end(victims, template, texts, tmp_path):
    found = victims("erase", template, tmp_path)
    assert steps(found) >= 40
    outcomes = []
    for victim in found:
        with reopened(victim, hours=8) as memory:
            left = read(memory)
            gone = set(texts) - set(left)
            assert len(gone) <= 1
            assert victim.done is None or gone == {victim.done}
            outcomes.append(bool(gone))
            assert {page: texts[page] for page in left} == left
            assert_swept(victim, memory)
            if gone:
                assert list(objects_of(victim.path).iterdir()) == []
        assert stores.verify(victim.path, settings=cold_settings(victim.path)).is_sound
    assert set(outcomes) == {False, True}


def test_another_process_that_reads_meanwhile_always_sees_every_page(template, texts, tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(template.read_bytes())
    rounds = 25
    with open_store(path, settings=cold_settings(path)) as memory, reading(path, len(texts)) as reader:
        archived = [page.id for page in memory.pages.list(tier=Tier.ARCHIVE)]
        moved = 0
        for _ in range(rounds):
            moved += (
                store_of(memory).admin.cool(after_days=0).pages
            )  # none of those that the other one visits at that moment
            memory.get(archived[0])
            memory.wait()
        told, _ = reader.communicate("stop\n", timeout=120)
        assert reader.returncode == 0
        assert int(told) > 0  # looks that saw cold pages
        assert rounds <= moved <= rounds * len(archived)
        assert read(memory) == texts


@contextmanager
def reading(path: Path, pages: int) -> Iterator[subprocess.Popen[str]]:
    """A process that reads all pages again and again until it is told to stop."""
    command = [forked.executable(), "-m", "crash.cold_reader", str(path), str(pages)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=TESTS, text=True, **pipes) as reader:
        try:
            assert reader.stdout.readline() == "reading\n"
            yield reader
        finally:
            reader.kill()
