"""Encrypting, decrypting and encrypting again; and a key that is rotated while the store is in use."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest

import forked
import memoryos
from attack.raw import files_with
from memoryos import EncryptionStatus, Memory, MemoryOS, load_settings, stores
from memoryos.errors import InvalidInput, StorageError, StoreBusy, StoreCorrupt, WrongKey
from memoryos.infrastructure.vault import rows
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sqlite import reencryption
from memoryos.infrastructure.vault.sqlite.inherited import is_open
from public import store_of

from .conftest import KEY, OTHER

pytestmark = pytest.mark.file

WORD = "zanzibarquux"
PICTURE = WORD.encode() * 9
TESTS = Path(__file__).parents[1]

# Another process: it opens the store with the key, and adds a page and prints the number of pages at each line.
USER = """
import sys, memoryos
memory = memoryos.open(sys.argv[-2], user="ann", settings=memoryos.load_settings(embedder="hashing"),
                       encryption_key=sys.argv[-1])
print("open", flush=True)
for line in sys.stdin:
    memory.add(line)
    print(memory.pages.count(), flush=True)
memory.close()
"""


def fill(memory: Memory) -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": PICTURE}}
    memory.add([{"role": "user", "content": [f"My parrot is called {WORD}.", picture]}])
    memory.add(f"I live in the town of {WORD}.")
    store_of(memory).memory("bob").add("The bees like lavender.")
    memory.wait()


def content(memory: Memory) -> list[object]:
    """All rows of the store."""
    with memory._engine.vault.snapshot() as connection:
        return [tuple(row) for table in rows.CONTENT for row in rows.stream(connection, table)]


@pytest.fixture
def plain(open_memory, in_clear, path) -> list[object]:
    memory = open_memory(settings=in_clear)
    fill(memory)
    store_of(memory).close()
    memory = open_memory(settings=in_clear)
    found = content(memory)
    memory.close()
    return found


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_store_is_encrypted_and_decrypted_and_stays_the_same(open_memory, settings, in_clear, plain, path, tmp_path):
    before = path.stat()
    stores.encrypt(path, settings=settings)
    assert files_with(tmp_path, WORD) == []
    assert {one.name for one in tmp_path.iterdir()} == {"memory.db", "memory.db.sealed", "memory.db.objects"}
    assert path.stat().st_mode == before.st_mode
    memory = open_memory()
    assert content(memory) == plain
    (picture,) = (page for page in memory.pages.list() if "parrot" in page.text)
    (attached,) = memory.pages.attachments(picture.id)
    assert memory.pages.attachment(picture.id, attached.id).data == PICTURE
    assert store_of(memory).admin.encryption() == EncryptionStatus(is_encrypted=True, keys=1)
    store_of(memory).close()
    assert stores.verify(path, settings=settings).is_sound
    stores.decrypt(path, settings=settings)
    assert {one.name for one in tmp_path.iterdir()} == {"memory.db", "memory.db.objects"}
    assert len(list((tmp_path / "memory.db.objects").iterdir())) == 1
    assert content(open_memory(settings=in_clear)) == plain
    assert stores.verify(path, settings=in_clear).is_sound


def test_a_store_is_encrypted_with_a_new_data_key(open_memory, settings, plain, path, tmp_path):
    stores.encrypt(path, settings=settings)
    stores.rotate_encryption_key(path, OTHER, keep_old=True, settings=settings)
    before = everything(tmp_path)
    stores.reencrypt(path, settings=settings)
    after = everything(tmp_path)
    assert not {data[:4096] for data in before.values()} & {data[:4096] for data in after.values()}
    assert before.keys() - after.keys() == {name for name in before if ".objects" in name}
    assert content(open_memory()) == plain
    with pytest.raises(WrongKey):
        open_memory(encryption_key=OTHER)


def test_what_is_done_is_done(open_memory, settings, in_clear, plain, path):
    stores.encrypt(path, settings=settings)
    stores.encrypt(path, settings=settings)
    with pytest.raises(WrongKey, match="another key"):
        stores.encrypt(
            path,
            settings=settings.model_copy(update={"encryption_key": load_settings(encryption_key=OTHER).encryption_key}),
        )
    stores.decrypt(path, settings=settings)
    for change in (stores.decrypt, stores.reencrypt):
        with pytest.raises(WrongKey, match="is not encrypted"):
            change(path, settings=settings)
    with pytest.raises(InvalidInput, match="encryption_key: is not set"):
        stores.encrypt(path, settings=in_clear)
    assert content(open_memory(settings=in_clear)) == plain


def test_what_is_no_store_is_refused(settings, tmp_path):
    (tmp_path / "empty.db").touch()
    for change in (stores.encrypt, stores.decrypt, stores.reencrypt):
        for place in (tmp_path / "missing.db", tmp_path / "empty.db"):
            with pytest.raises(InvalidInput, match="is not a store"):
                change(place, settings=settings)
        with pytest.raises(InvalidInput, match="whose operator encrypts its disk"):
            change("postgresql://nobody@localhost:1/nothing", settings=settings)
    assert stores.encryption_status("postgresql://nobody@localhost:1/nothing") == EncryptionStatus(False, 0)
    assert [one.name for one in tmp_path.iterdir()] == ["empty.db"]


def test_a_store_that_is_open_here_is_left_alone(open_memory, settings, in_clear, plain, path, tmp_path):
    memory = open_memory(settings=in_clear)
    names = {one.name for one in tmp_path.iterdir()}
    assert is_open(path)
    with pytest.raises(StoreBusy, match="is open in this process"):
        stores.encrypt(path, settings=settings)
    assert {one.name for one in tmp_path.iterdir()} == names
    memory.add("I keep hens.")


def started(path: Path, key: str) -> subprocess.Popen[str]:
    command = [forked.executable(), "-c", USER, str(path), key]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    other = subprocess.Popen(command, cwd=TESTS, text=True, **pipes)
    assert other.stdout.readline() == "open\n"
    return other


def added(other: subprocess.Popen[str]) -> int:
    other.stdin.write("I keep hens.\n")
    other.stdin.flush()
    return int(other.stdout.readline())


def test_a_store_that_another_process_has_open_is_left_alone(open_memory, settings, plain, path, tmp_path):
    stores.encrypt(path, settings=settings)
    with started(path, KEY) as other:
        before = (tmp_path / "memory.db.sealed").read_bytes()
        for change in (stores.reencrypt, stores.decrypt):
            with pytest.raises(StoreBusy, match="open elsewhere"):
                change(path, settings=settings)
        assert (tmp_path / "memory.db.sealed").read_bytes() == before
        assert added(other) == 3
        other.stdin.close()
    stores.reencrypt(path, settings=settings)
    assert open_memory().pages.count() == 3


def test_a_key_is_rotated_while_processes_go_on(open_memory, path):
    memory = open_memory()
    memory.add("I keep bees.")
    with started(path, KEY) as other:
        store_of(memory).admin.rotate_encryption_key(OTHER, keep_old=True)
        assert store_of(memory).admin.encryption().keys == 2
        assert open_memory(encryption_key=OTHER).pages.count() == open_memory(encryption_key=KEY).pages.count() == 1
        assert added(other) == 2
        later = open_memory(encryption_key=OTHER)
        store_of(later).admin.rotate_encryption_key(OTHER)
        assert stores.encryption_status(path).keys == 1
        with pytest.raises(WrongKey, match="another key"):
            open_memory(encryption_key=KEY)
        assert added(other) == 3
        memory.add("I keep geese.")
        assert later.pages.count() == 4
        other.stdin.close()


def test_a_rotation_is_in_the_report_of_permissions(open_memory, settings, path):
    memory = open_memory(settings=settings.model_copy(update={"audit": True}))
    memory.add("I keep bees.")
    store_of(memory).admin.rotate_encryption_key(OTHER)
    entries = [*store_of(memory).audit.permissions()]
    assert [one.operation for one in entries] == ["admin.rotate_encryption_key"]
    assert not any(text in repr(entries) for text in (KEY, OTHER))


def test_rotating_needs_the_key_in_use(open_memory, settings, in_clear, path):
    memory = open_memory()
    wrong = settings.model_copy(update={"encryption_key": load_settings(encryption_key=OTHER).encryption_key})
    with pytest.raises(WrongKey, match="another key"):
        stores.rotate_encryption_key(path, OTHER, settings=wrong)
    with pytest.raises(InvalidInput, match="new_key: has fewer than 32"):
        store_of(memory).admin.rotate_encryption_key("short")
    with MemoryOS.open(path.with_name("plain.db"), settings=in_clear) as other:
        assert other.admin.encryption() == EncryptionStatus(is_encrypted=False, keys=0)
        with pytest.raises(WrongKey, match="is not encrypted"):
            other.admin.rotate_encryption_key(OTHER)
    with pytest.raises(WrongKey, match="is not encrypted"):
        stores.rotate_encryption_key(path.with_name("plain.db"), OTHER, settings=settings)


def test_who_waited_for_the_old_file_loses_nothing(settings, plain, path):
    reading, ends = os.pipe()
    waits, begun = os.pipe()
    child = forked.fork()
    if child == 0:
        with closing(sqlite3.connect(path)) as late:  # the file is open now, and not locked yet
            os.write(begun, b".")
            os.read(reading, 1)
            try:
                late.execute("DELETE FROM cubes")
            except sqlite3.DatabaseError as error:
                os._exit(0 if "not a database" in str(error) else 2)
        os._exit(1)
    os.read(waits, 1)
    stores.encrypt(path, settings=settings)
    os.write(ends, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with memoryos.open(path, user="ann", settings=settings) as memory:
        assert content(memory) == plain


@pytest.mark.parametrize("at", ["_export", "_reseal"])
def test_a_change_that_fails_leaves_the_store_as_it_was(
    open_memory, settings, in_clear, plain, path, tmp_path, monkeypatch, at
):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = everything(tmp_path)
    owner = reencryption if at == "_export" else reencryption.Reencryption
    with monkeypatch.context() as patch:
        patch.setattr(owner, at, fail)
        with pytest.raises(StorageError, match="No space left"):
            stores.encrypt(path, settings=settings)
    assert everything(tmp_path).keys() == before.keys()
    assert content(open_memory(settings=in_clear)) == plain


def test_an_object_that_is_missing_stops_a_change_before_it_counts(
    open_memory, settings, in_clear, plain, path, tmp_path
):
    (picture,) = (tmp_path / "memory.db.objects").iterdir()
    picture.rename(tmp_path / "away")
    before = everything(tmp_path)
    with pytest.raises(StoreCorrupt, match=r"is missing: run `memoryos verify`; nothing was changed"):
        stores.encrypt(path, settings=settings)
    assert everything(tmp_path).keys() == before.keys()
    assert content(open_memory(settings=in_clear)) == plain


def test_a_store_keeps_its_mode_and_is_found_by_a_link(open_memory, settings, plain, path, tmp_path):
    path.chmod(0o640)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with pytest.raises(InvalidInput, match="is a link"):
        stores.encrypt(link, settings=settings)
    stores.encrypt(path, settings=settings)
    assert path.stat().st_mode & 0o777 == 0o640
    with memoryos.open(link, user="ann", settings=settings) as memory:
        assert memory.pages.count() == 2


def test_backups_restore_under_the_key_that_they_were_made_with(open_memory, settings, in_clear, plain, path, tmp_path):
    backup, wrong = tmp_path / "backup.db", load_settings(embedder="hashing", encryption_key=OTHER)
    stores.encrypt(path, settings=settings)
    stores.backup(path, backup, settings=settings)
    stores.rotate_encryption_key(path, OTHER, settings=settings)
    for refused in (in_clear, wrong):
        with pytest.raises(WrongKey):
            stores.restore(backup, tmp_path / "restored.db", settings=refused)
    stores.restore(backup, tmp_path / "restored.db", settings=settings)
    with memoryos.open(tmp_path / "restored.db", user="ann", settings=settings) as memory:
        assert [row for row in content(memory) if row in plain]
        assert memory.pages.count() == 2
    assert files_with(tmp_path, WORD) == []


@pytest.mark.parametrize("is_encrypted", [True, False], ids=["encrypted", "in clear"])
def test_the_receipt_of_a_tenant_names_the_backups_that_still_hold_it(settings, in_clear, path, tmp_path, is_encrypted):
    chosen, named = settings if is_encrypted else in_clear, {}
    with MemoryOS.open(path, settings=chosen) as store:
        store.memory("ann", tenant="acme").add(f"My parrot is called {WORD}.")
        store.memory("bob").add("The bees like lavender.")
    stores.backup(path, tmp_path / "backup.db", settings=chosen)
    stores.copy(path, tmp_path / "copy.db", settings=chosen)
    with MemoryOS.open(path, settings=chosen) as store:
        receipt = store.admin.forget_tenant("acme").receipt
        named = {Path(one.place).name: one.not_noted for one in receipt.copies}
    assert named == {"backup.db": None, "copy.db": None}, "both hold it, and a restore of either forgets it again"
    with MemoryOS.open(tmp_path / "copy.db", settings=chosen) as copy:
        assert copy.memory("ann", tenant="acme").pages.count() == 1
    stores.restore(tmp_path / "backup.db", tmp_path / "restored.db", settings=chosen)
    with MemoryOS.open(tmp_path / "restored.db", settings=chosen) as store:
        assert [store.memory(*who).pages.count() for who in (("ann",), ("bob",))] == [0, 1]
        assert store.memory("ann", tenant="acme").pages.count() == 0
    assert bool(files_with(tmp_path, WORD)) is not is_encrypted
    if is_encrypted:  # without its data key, nobody reads the backup any more
        (tmp_path / "backup.db.sealed").unlink()
        with pytest.raises(StoreCorrupt, match=r"backup\.db\.sealed beside it"):
            stores.restore(tmp_path / "backup.db", tmp_path / "again.db", settings=chosen)


def test_a_backup_in_clear_is_restored_into_an_encrypted_store(settings, in_clear, plain, path, tmp_path):
    stores.backup(path, tmp_path / "backup.db", settings=in_clear)
    stores.restore(tmp_path / "backup.db", tmp_path / "restored.db", settings=settings)
    stores.copy(path, tmp_path / "copied.db", settings=settings)
    for name in ("restored.db", "copied.db"):
        assert stores.encryption_status(tmp_path / name).is_encrypted
        with memoryos.open(tmp_path / name, user="ann", settings=settings) as memory:
            assert memory.pages.count() == 2


def test_a_store_with_a_long_name_is_changed_too(in_clear, settings, tmp_path):
    path = tmp_path / f"{'蜂' * 70}{'m' * 20}.db"
    with memoryos.open(path, user="ann", settings=in_clear) as memory:
        memory.add("I keep bees.")
    for change, known in ((stores.encrypt, settings), (stores.reencrypt, settings), (stores.decrypt, in_clear)):
        change(path, settings=settings)
        with memoryos.open(path, user="ann", settings=known) as memory:
            assert memory.pages.count() == 1


def test_a_change_waits_for_that_of_another_store_of_the_folder(open_memory, settings, plain, path, tmp_path):
    patient = settings.model_copy(update={"busy_timeout_seconds": 60.0})
    with ThreadPoolExecutor(1) as pool:
        with KeyFile(tmp_path / "another.db").alone():
            change = pool.submit(stores.encrypt, path, settings=patient)
            assert not wait([change], 0.3).done
        change.result(60)
    assert stores.encryption_status(path).is_encrypted
    assert open_memory().pages.count() == 2


def test_a_change_says_that_it_waited_for_one_of_the_folder(settings, plain, path, tmp_path):
    short = settings.model_copy(update={"busy_timeout_seconds": 0.05})
    told = f"begins a store in {tmp_path}, or changes the encryption of one; nothing was done to {path}"
    with KeyFile(tmp_path / "another.db").alone(), pytest.raises(StoreBusy, match=told):
        stores.encrypt(path, settings=short)
    stores.encrypt(path, settings=settings)
    change = [stores.decrypt, stores.reencrypt, lambda *one, **more: stores.rotate_encryption_key(*one, OTHER, **more)]
    for one in change:
        with KeyFile(tmp_path / "another.db").alone(), pytest.raises(StoreBusy, match=told):
            one(path, settings=short)


def test_who_waited_for_a_change_of_the_same_store_reads_its_new_keys(open_memory, settings, plain, path):
    patient = settings.model_copy(update={"busy_timeout_seconds": 60.0})
    with ThreadPoolExecutor(3) as pool:
        with KeyFile(path).alone():
            changes = [pool.submit(one, path, settings=patient) for one in (stores.encrypt,) * 3]
            assert not wait(changes, 0.3).done
        assert [one.result(60) for one in changes] == [None] * 3
        again = [pool.submit(stores.reencrypt, path, settings=patient) for _ in range(3)]
        assert [one.result(60) for one in again] == [None] * 3
    assert open_memory().pages.count() == 2
