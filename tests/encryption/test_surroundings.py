"""What else there is where a store is encrypted: other names, links, limits, other processes, and remains."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from durability.mounts import files_limited
from memoryos import stores
from memoryos.config import Settings
from memoryos.errors import InvalidInput, StorageError, StoreBusy, StoreFull
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sqlite.cipher import driver
from memoryos.infrastructure.vault.sqlite.swap import opens

from .conftest import KEY

pytestmark = pytest.mark.file

STORY = "The bees like lavender. " * 3_000


@pytest.fixture
def clear_store(open_memory, in_clear: Settings, path: Path) -> Path:
    with open_memory(settings=in_clear) as memory:
        memory.add(STORY)
    return path


def sealed_keys(path: Path):
    return KeyFile(path).open(EncryptionKey(KEY))


@pytest.mark.parametrize("change", [stores.encrypt, stores.decrypt])
def test_a_store_with_two_names_is_refused(clear_store, settings, tmp_path, change):
    if change is stores.decrypt:
        stores.encrypt(clear_store, settings=settings)
    other = tmp_path / "other.db"
    os.link(clear_store, other)
    before = other.read_bytes()
    with pytest.raises(InvalidInput, match="has another name"):
        change(clear_store, settings=settings)
    assert clear_store.read_bytes() == other.read_bytes() == before
    other.unlink()
    change(clear_store, settings=settings)
    assert stores.encryption_status(clear_store).is_encrypted is (change is stores.encrypt)


def test_sealed_keys_behind_a_link_that_leads_nowhere_are_missing_and_not_new(
    clear_store, open_memory, settings, in_clear, path, tmp_path
):
    stores.encrypt(path, settings=settings)
    keys, away = KeyFile(path).path, tmp_path / "away"
    keys.rename(away)
    keys.symlink_to(tmp_path / "nowhere")
    for attempt in (
        lambda: open_memory(settings=settings),
        lambda: open_memory(settings=in_clear),
        lambda: stores.encrypt(path, settings=settings),
        lambda: stores.encryption_status(path),
    ):
        with pytest.raises(StorageError, match="is a link, and the file with the sealed keys that it names is missing"):
            attempt()
    away.rename(tmp_path / "nowhere")
    assert open_memory(settings=settings).pages.count() == 1


def test_a_new_store_is_not_begun_beside_such_a_link(open_memory, settings, path, tmp_path):
    KeyFile(path).path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="put that back, or remove the link"):
        open_memory(settings=settings)
    assert not path.exists()


@pytest.mark.parametrize("limit", [4_096, 100_000])
def test_a_limit_of_file_sizes_is_told_and_leaves_the_store_as_it_was(
    clear_store, open_memory, settings, in_clear, tmp_path, limit
):
    before = sorted(file.name for file in tmp_path.iterdir())
    with files_limited(limit), pytest.raises(StoreFull, match="free some space"):
        stores.encrypt(clear_store, settings=settings)
    assert sorted(file.name for file in tmp_path.iterdir()) == before
    assert open_memory(settings=in_clear).pages.count() == 1


def test_a_limit_of_file_sizes_is_told_by_an_encrypted_store(open_memory, settings):
    memory = open_memory(settings=settings)
    memory.add("I keep hens.")
    memory.wait()
    picture = {"type": "image", "source": {"media_type": "image/png", "data": b"x" * 100_000}}
    with files_limited(4_096):
        for turn in (STORY, [{"role": "user", "content": ["My hens.", picture]}]):
            with pytest.raises(StoreFull, match="free some space"):
                memory.add(turn)
    assert memory.pages.count() == 1
    memory.add(STORY)
    assert memory.pages.count() == 2


def test_only_a_file_in_another_form_is_taken_for_one(tmp_path):
    key, sealed, clear, damaged = DataKey.random(), tmp_path / "s.db", tmp_path / "c.db", tmp_path / "d.db"
    for path, form in ((sealed, key), (clear, None), (damaged, None)):
        with closing(driver(form).connect(str(path))) as connection:
            connection.execute("CREATE TABLE t (x)")
            connection.commit()
    data = bytearray(damaged.read_bytes())
    data[100:108] = b"\xff" * 8  # the header of the first page, behind that of the file
    damaged.write_bytes(data)
    found = {path.name: [opens(path, form) for form in (key, DataKey.random(), None)] for path in (sealed, clear)}
    assert found == {"s.db": [True, False, False], "c.db": [False, False, True]}
    assert opens(damaged, None)
    assert not opens(tmp_path / "none.db", None)
    with pytest.raises(StorageError, match="cannot be read"):
        opens(tmp_path, None)


def test_a_file_that_is_in_use_is_told_and_no_change_is_undone(tmp_path, monkeypatch):
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (x)")
        (tmp_path / "c.db-wal").touch()  # it would be read as a file that nobody changes
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        real = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: real(*given, **named, timeout=0))
        with pytest.raises(StoreBusy, match="is in use"):
            opens(path, None)


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_a_receipt_names_what_an_interrupted_change_may_have_left(
    clear_store, open_memory, settings, in_clear, path, is_encrypted
):
    stores.encrypt(path, settings=settings)
    file, keys = KeyFile(path), sealed_keys(path)
    if not is_encrypted:
        stores.decrypt(path, settings=settings)
    ring = keys.ring
    ring = replace(ring, stale=(None,)) if is_encrypted else replace(ring, current=None, stale=(ring.current,))
    file.replace(keys.with_ring(ring))  # what a process leaves that dies before it cleans up
    used = settings if is_encrypted else in_clear
    assert any("earlier form" in one for one in told(open_memory, used))
    (stores.encrypt if is_encrypted else stores.decrypt)(path, settings=settings)
    assert not any("earlier form" in one for one in told(open_memory, used))


def told(open_memory, settings: Settings) -> tuple[str, ...]:
    """What a receipt advises."""
    with open_memory(settings=settings) as memory:
        return memory.forget().receipt.advice
