"""Encrypted stores whose bytes change by themselves: errors are those of damage, name that store and quote nothing."""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

import memoryos
from contract import server
from memoryos import load_settings, stores
from memoryos.errors import InvalidInput, MemoryOSError, StoreCorrupt, WrongKey

pytestmark = pytest.mark.file

KEY = SecretStr("a key of these tests, forty characters of it")
SETTINGS = load_settings(embedder="hashing", short_term_capacity=2, heat_threshold=0, encryption_key=KEY)
SECRET = "zanzibarquux"
DAMAGES, LONG_DAMAGES = 24, 500
SIZES = {"bit": 1, "bits": 8, "block": 64}  # of what is changed
PAGE = 4096  # bytes
STATED = (StoreCorrupt, WrongKey)  # by the sealed keys, another key and damage look the same


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """An encrypted store with something of everything."""
    folder = tmp_path_factory.mktemp("whole")
    with memoryos.open(folder / "memory.db", user="ann", settings=SETTINGS) as memory:
        for number in range(12):
            memory.add(f"The {SECRET} number {number} is under the mat, and I live in Town{number}.", "Noted.")
        memory.wait()
        memory.consolidate()
    return folder


@pytest.fixture
def store(whole, tmp_path) -> Path:
    return fresh(whole, tmp_path / "store")


def fresh(whole: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    return folder / "memory.db"


def damage(file: Path, chance: random.Random) -> None:
    """Change, cut off or empty a file."""
    data = bytearray(file.read_bytes())
    how = chance.choice([*SIZES, "cut"])
    for _ in range(SIZES.get(how, 0)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data[: chance.randrange(1, len(data))] if how == "cut" else data)


def use(path: Path) -> None:
    with memoryos.open(path, user="ann", settings=SETTINGS) as memory:
        memory.search(SECRET)
        memory.pages.list()
        memory.add("One more.")
        memory.wait()


USES: list[Callable[[Path], object]] = [
    stores.encryption_status,
    lambda path: stores.verify(path, settings=SETTINGS),
    use,
    lambda path: stores.backup(path, path.with_name("backup.db"), settings=SETTINGS),
    lambda path: stores.scrub(path, settings=SETTINGS),
    lambda path: stores.reencrypt(path, settings=SETTINGS),
    lambda path: stores.decrypt(path, settings=SETTINGS),
]


def test_whatever_changes_in_an_encrypted_store_is_called_damage(whole, tmp_path, long, caplog):
    caplog.set_level(logging.DEBUG)
    chance, said = random.Random(19), []
    for number in range(LONG_DAMAGES if long else DAMAGES):
        path = fresh(whole, tmp_path / "store")
        damage(chance.choice([path, path.with_name("memory.db.sealed")]), chance)
        for used in USES:
            try:
                used(path)
            except STATED as error:
                said.append(str(error))
            except MemoryOSError as error:
                pytest.fail(f"{number}: {type(error).__name__}: {error}")
    assert len(said) > DAMAGES
    assert not [one for one in said if SECRET in one or "backup.db" in one]
    assert SECRET not in caplog.text


def test_a_damaged_store_that_cannot_be_decrypted_stays_as_it_is(store):
    data = bytearray(store.read_bytes())
    for page in range(PAGE, len(data), PAGE):
        data[page + 100] ^= 1
    store.write_bytes(data)
    with pytest.raises(StoreCorrupt, match=r"memory\.db: .*malformed"):
        stores.decrypt(store, settings=SETTINGS)
    assert store.read_bytes()[PAGE:] == data[PAGE:]  # the first page says how the file was opened
    assert stores.encryption_status(store).is_encrypted
    assert sorted(file.name for file in store.parent.iterdir()) == ["memory.db", "memory.db.sealed"]


def test_an_empty_file_in_the_place_of_an_encrypted_store_is_refused(store):
    store.write_bytes(b"")
    with pytest.raises(InvalidInput, match="empty"):
        stores.verify(store, settings=SETTINGS)


@pytest.mark.parametrize("is_on_a_server", [False, True])
def test_a_copy_of_a_damaged_store_names_that_store(store, tmp_path, is_on_a_server):
    """It named the target, of which nothing was wrong, and a server as a target called it no damage."""
    data = bytearray(store.read_bytes())
    for start in range(4 * PAGE, len(data), PAGE):
        data[start + 100] ^= 1
    store.write_bytes(data)
    database = server.store_of(tmp_path) if is_on_a_server else None
    target = database.render_as_string(hide_password=False) if database else tmp_path / "copy.db"
    with pytest.raises(StoreCorrupt, match=r"memory\.db: .*malformed"):
        stores.copy(store, target, settings=SETTINGS)
