"""A folder that may not be written, a disk that is full: a clear error, and nothing half-written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

import forked
from memoryos.errors import StorageError, StoreFull
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.kinds import Kind
from memoryos.scope import Scope

ALICE = Scope(user="alice")
TESTS = Path(__file__).parents[1]
NOBODY = 65534
LONG = "a long story about bees and their queen " * 2_000


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, which `tmp_path` is not."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


@pytest.fixture
def path(folder) -> Path:
    return folder / "memory.db"


@pytest.fixture
def open_vault(path, clock):
    return lambda: SqliteVault(path, embedder="hashing-384-v1", clock=clock, busy_timeout_seconds=1)


@pytest.fixture
def stored(open_vault, entry):
    vault = open_vault()
    made = entry("bees")
    with vault.write(ALICE) as writer:
        writer.insert([made])
    vault.close()
    return made.cube


def attempt(folder: Path, *, megabytes: int | None = None, as_nobody: bool = False) -> str:
    """What a process of its own says when it opens the store and adds a long page."""
    command = [forked.executable(), "-m", "migration.attempt", str(folder)]
    environment = {**os.environ, "ATTEMPT_USER": str(NOBODY) if as_nobody and os.geteuid() == 0 else ""}
    environment["ATTEMPT_MEGABYTES"] = str(megabytes or "")
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def pages(vault) -> list[str]:
    with vault.read(ALICE) as reader:
        return [cube.id for cube in reader.cubes(Kind.PAGE)]


def assert_works_again(path, open_vault, entry, known):
    vault = open_vault()
    assert pages(vault) == known
    with vault.write(ALICE) as writer:
        writer.insert([entry(LONG)])
    assert len(pages(vault)) == len(known) + 1
    vault.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_the_attempt_succeeds_when_nothing_is_in_its_way(path, folder, stored):
    folder.chmod(0o777)
    path.chmod(0o666)
    assert attempt(folder, as_nobody=True) == "added"


def test_a_file_that_may_not_be_written(path, folder, stored, open_vault, entry):
    folder.chmod(0o777)
    path.chmod(0o444)
    assert attempt(folder, as_nobody=True).startswith("StoreReadOnly: " + str(path))
    path.chmod(0o644)
    assert_works_again(path, open_vault, entry, [stored.id])


def test_a_file_that_may_not_be_read(path, folder, stored):
    path.chmod(0)
    said = f"StorageError: {path}: the file cannot be read: check its permissions"
    assert attempt(folder, as_nobody=True).startswith(said)


def test_a_folder_that_may_not_be_written(path, folder, stored, open_vault, entry):
    path.chmod(0o666)
    folder.chmod(0o555)
    assert attempt(folder, as_nobody=True).startswith("StoreReadOnly: " + str(path))
    folder.chmod(0o755)
    assert_works_again(path, open_vault, entry, [stored.id])


def test_a_new_store_in_a_folder_that_may_not_be_written(path, folder):
    folder.chmod(0o555)
    assert attempt(folder, as_nobody=True).startswith("StoreReadOnly: " + str(path))
    assert list(folder.iterdir()) == []


def test_a_full_disk_refuses_a_write_and_keeps_what_there_is(path, stored, open_vault, entry):
    size = path.stat().st_size

    def fill(driver, _record):
        driver.execute(f"PRAGMA max_page_count = {size // 4096 + 3}")

    event.listen(Engine, "connect", fill)
    try:
        vault = open_vault()
        with pytest.raises(StoreFull, match="nothing was written"), vault.write(ALICE) as writer:
            writer.insert([entry("small")])
            writer.insert([entry(LONG)])
        assert pages(vault) == [stored.id]
        vault.close()
    finally:
        event.remove(Engine, "connect", fill)
    assert_works_again(path, open_vault, entry, [stored.id])


def test_a_write_that_the_system_cuts_off_leaves_nothing(path, folder, stored, open_vault, entry):
    answer = attempt(folder, megabytes=1)
    assert answer.split(":")[0] == "StoreFull"
    assert_works_again(path, open_vault, entry, [stored.id])


def test_a_disk_that_is_full_from_the_start_leaves_no_broken_store(path, open_vault, entry):
    def fill(driver, _record):
        driver.execute("PRAGMA max_page_count = 5")

    event.listen(Engine, "connect", fill)
    try:
        with pytest.raises(StorageError):
            open_vault()
    finally:
        event.remove(Engine, "connect", fill)
    assert_works_again(path, open_vault, entry, [])
