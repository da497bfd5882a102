"""Which key opens which store; a wrong one is one clear error, and nothing is written."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

import forked
import memoryos
from memoryos import MemoryOS, Mount, Scope, load_settings, stores
from memoryos.errors import InvalidInput, MissingExtra, StorageError, StoreCorrupt, StoreFull, StoreReadOnly, WrongKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey, new_key
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.interface.faults import exit_code
from public import store_of

from .conftest import KEY, OTHER

pytestmark = pytest.mark.file

TEXT = "I keep bees."


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.fixture
def stored(open_memory, path: Path) -> Path:
    memory = open_memory()
    memory.add(TEXT)
    memory.close()
    return path


@pytest.fixture
def plain(open_memory, in_clear, path: Path) -> Path:
    memory = open_memory(settings=in_clear)
    memory.add(TEXT)
    memory.close()
    return path


def test_what_was_stored_is_there_with_the_key(stored, open_memory):
    assert open_memory().search("bees").hits[0].text == f"user: {TEXT}"


def test_the_argument_is_taken_before_the_settings(stored, open_memory, settings):
    wrong = settings.model_copy(update={"encryption_key_file": Path("missing"), "encryption_key": None})
    assert open_memory(settings=wrong, encryption_key=KEY).pages.count() == 1


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(("key", "told"), [(None, "is encrypted: set MEMORYOS_ENCRYPTION_KEY"), (OTHER, "another key")])
def test_no_key_and_a_wrong_key_are_refused_and_write_nothing(stored, open_memory, in_clear, key, told, read_only):
    before = files(stored.parent)
    with pytest.raises(WrongKey, match=told) as refused:
        open_memory(settings=in_clear, encryption_key=key, read_only=read_only)
    assert isinstance(refused.value, StorageError)
    assert exit_code(refused.value) == 1
    assert files(stored.parent) == before


@pytest.mark.parametrize("operation", [stores.verify, stores.scrub])
def test_operations_on_whole_stores_are_refused_too(stored, in_clear, operation):
    before = files(stored.parent)
    for key in (None, OTHER):
        wrong = load_settings(embedder="hashing", encryption_key=key)
        with pytest.raises(WrongKey):
            operation(stored, settings=wrong)
        with pytest.raises(WrongKey):
            stores.backup(stored, stored.with_name("backup.db"), settings=wrong)
    assert files(stored.parent) == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_in_clear_with_a_key_is_refused_and_nothing_is_written(plain, open_memory, read_only):
    before = files(plain.parent)
    with pytest.raises(WrongKey, match="is not encrypted"):
        open_memory(read_only=read_only)
    assert files(plain.parent) == before


def test_a_store_that_is_open_in_clear_is_refused_too(open_memory, in_clear):
    memory = open_memory(settings=in_clear)
    memory.add(TEXT)
    with pytest.raises(WrongKey, match="is not encrypted"):
        open_memory()
    memory.add("I keep hens.")
    assert memory.pages.count() == 2


def test_the_key_of_a_store_whose_sealed_keys_are_gone_says_so(stored, open_memory):
    (stored.parent / "memory.db.sealed").rename(stored.parent / "away")
    with pytest.raises(WrongKey, match=r"memory\.db\.sealed, .* is missing: restore it"):
        open_memory()


def test_without_a_key_and_sealed_keys_the_error_names_their_file(stored, open_memory, in_clear):
    """An encrypted file cannot be told from any other that is no database."""
    (stored.parent / "memory.db.sealed").rename(stored.parent / "away")
    with pytest.raises(StoreCorrupt, match=r"if it is an encrypted store, put memory\.db\.sealed back beside it"):
        open_memory(settings=in_clear)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format": "memoryos sealed keys 1"}', b"\xff", b"[" * 100_000])
def test_damaged_sealed_keys_are_told(stored, open_memory, in_clear, data):
    (stored.parent / "memory.db.sealed").write_bytes(data)
    with pytest.raises(StoreCorrupt, match=r"/memory\.db\.sealed: "):
        open_memory()
    with pytest.raises(StorageError, match=r"/memory\.db(\.sealed: | is encrypted)"):
        open_memory(settings=in_clear)


def test_a_changed_ring_of_keys_is_told(stored, open_memory):
    file = stored.parent / "memory.db.sealed"
    told = file.read_text().partition('"ring": "')
    file.write_text(told[0] + told[1] + told[2][:40] + ("B" if told[2][40] != "B" else "C") + told[2][41:])
    with pytest.raises(StoreCorrupt, match="sealed keys are damaged"):
        open_memory()


def test_the_sealed_keys_of_another_store_do_not_open_it(stored, open_memory, settings):
    other = stored.with_name("other.db")
    memoryos.open(other, user="ann", settings=settings).close()
    stored.with_name("other.db.sealed").replace(stored.with_name("memory.db.sealed"))
    with pytest.raises(StoreCorrupt, match="not a database"):
        open_memory()


def test_the_key_is_nowhere_in_what_people_read(stored, open_memory, settings, caplog):
    caplog.set_level(logging.DEBUG)
    memory = open_memory()
    told = [repr(memory.settings), str(settings), repr(EncryptionKey.of(settings)), repr(store_of(memory)), caplog.text]
    vault = memory._engine.vault
    told += [repr(vault.key), repr(vault.key_file), repr(vault.key_file.open(EncryptionKey.of(settings)))]
    for wrong in (OTHER, "too-short", "ÿ" * 5_000):
        with pytest.raises((WrongKey, InvalidInput)) as refused:
            open_memory(encryption_key=wrong)
        told += [str(refused.value), repr(refused.value)]
        assert not any(wrong in one for one in told)
    assert not any(KEY in one or vault.key.secret.hex() in one for one in told)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_the_key_comes_from_a_file(stored, open_memory, in_clear, tmp_path, ending):
    (tmp_path / "key").write_bytes(f"{KEY}{ending}".encode())
    wanted = in_clear.model_copy(update={"encryption_key_file": tmp_path / "key"})
    assert open_memory(settings=wanted).pages.count() == 1


@pytest.mark.parametrize("name", ["missing", ".", "bytes", "empty"])
def test_a_file_without_a_key_is_told_by_its_name(stored, open_memory, in_clear, tmp_path, name):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe" * 40)
    (tmp_path / "empty").touch()
    wanted = in_clear.model_copy(update={"encryption_key_file": tmp_path / name})
    with pytest.raises(InvalidInput, match="encryption_key_file"):
        open_memory(settings=wanted)


def test_the_key_comes_from_the_environment(stored, monkeypatch):
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    monkeypatch.setenv("MEMORYOS_ENCRYPTION_KEY", KEY)
    with memoryos.open(stored, user="ann") as memory:
        assert memory.pages.count() == 1


class Keyring(ModuleType):
    """What is installed as `keyring` on a machine with one."""

    def __init__(self, passwords: dict[tuple[str, str], str]) -> None:
        super().__init__("keyring")
        self.errors = ModuleType("keyring.errors")
        self.errors.KeyringError = OSError
        self.get_password = lambda service, user: passwords.get((service, user))


def test_the_key_comes_from_the_keyring(stored, open_memory, in_clear, monkeypatch):
    installed = Keyring({("memoryos", "ann"): KEY})
    monkeypatch.setitem(sys.modules, "keyring", installed)
    monkeypatch.setitem(sys.modules, "keyring.errors", installed.errors)
    assert open_memory(settings=in_clear.model_copy(update={"encryption_keyring": "memoryos/ann"})).pages.count() == 1
    for place, told in (("memoryos/bob", "keyring set memoryos bob"), ("memoryos", "SERVICE/NAME")):
        with pytest.raises(InvalidInput, match=told):
            open_memory(settings=in_clear.model_copy(update={"encryption_keyring": place}))


def test_libraries_that_are_missing_are_named_with_their_command(stored, open_memory, in_clear, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[keyring\]'"):
        open_memory(settings=in_clear.model_copy(update={"encryption_keyring": "memoryos/ann"}))
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memoryos-engine\[encryption\]'"):
        open_memory()


def test_a_store_in_clear_needs_none_of_them(open_memory, in_clear, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert open_memory(settings=in_clear).add(TEXT)


def test_only_one_source_may_be_set(settings):
    with pytest.raises(InvalidInput, match="encryption_key: is set together with encryption_key_file"):
        EncryptionKey.of(settings.model_copy(update={"encryption_key_file": Path("key")}))


def test_a_new_key_is_long_enough_and_always_another():
    assert EncryptionKey.checked("key", new_key()).text != new_key()


def test_a_database_of_a_server_takes_no_key(settings):
    with pytest.raises(InvalidInput, match="encryption_key: cannot encrypt a PostgreSQL database"):
        MemoryOS.open("postgresql://nobody@localhost:1/nothing", settings=settings)


def test_those_who_begin_a_store_at_once_share_its_key(open_memory):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: open_memory(), range(4)))
    for number, memory in enumerate(found):
        memory.add(f"I keep {number} bees.")
    assert found[0].pages.count() == 4


def test_a_full_disk_leaves_no_half_of_the_sealed_keys(open_memory, path, monkeypatch):
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StoreFull, match=r"memory\.db\.sealed cannot be written: No space left"):
            open_memory()
    assert [file.name for file in path.parent.iterdir()] == ["memory.db"]
    assert open_memory().add(TEXT)


def test_a_store_that_may_only_be_read_is_read(stored, open_memory):
    memory = open_memory(read_only=True)
    assert memory.search("bees").hits
    with pytest.raises(StoreReadOnly):
        memory.add("I keep hens.")


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_mounted_store_may_be_encrypted_or_not(stored, open_memory, settings, in_clear, tmp_path, is_plain):
    other = tmp_path / "other.db"
    with memoryos.open(other, user="ann", settings=in_clear if is_plain else settings) as memory:
        memory.add("The zebra sleeps.")
    memory = open_memory()
    memory.mounts.add(Mount("zoo", place=str(other), scope=Scope("ann", "default")))
    assert any("zebra" in hit.text for hit in memory.search("zebra").hits)


def test_a_store_in_memory_is_encrypted_and_gone(settings):
    with memoryos.open(":memory:", user="ann", settings=settings) as memory:
        memory.add(TEXT)
        assert memory._engine.vault.key is not None


def test_one_begins_a_store_with_a_key_and_one_without_and_the_first_decides(open_memory, in_clear, path, monkeypatch):
    begun, in_time = Event(), []
    make = KeyFile.make

    def slowly(file: KeyFile, keys: object) -> bool:
        begun.set()
        in_time.append(ended.wait(0.5))  # the other one must not begin the store now
        return make(file, keys)

    ended = Event()
    monkeypatch.setattr(KeyFile, "make", slowly)

    def in_clear_too() -> str:
        begun.wait(10)
        try:
            open_memory(settings=in_clear).add("I keep bees.")
        except WrongKey as error:
            return str(error)
        finally:
            ended.set()
        return "stored"

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(in_clear_too)
        open_memory().add("I keep cats.")
        assert "is encrypted" in other.result(30)
    assert in_time == [False]
    assert open_memory().pages.count() == 1


def test_a_lock_on_the_keys_does_not_live_on_in_a_forked_child(path):
    with KeyFile(path).alone():
        child = forked.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
    try:
        with KeyFile(path).alone():
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the child lives on"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_key_of_bytes_is_refused_with_what_to_pass(tmp_path):
    with pytest.raises(InvalidInput, match="encryption_key: expected text, got bytes"):
        MemoryOS.open(tmp_path / "a.db", encryption_key=b"x" * 32)
