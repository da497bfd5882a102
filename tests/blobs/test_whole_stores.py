"""Backup, restore, copy and verify know the bytes of attachments."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from blobs.test_attachments import CAT, CAT_ID, DOG, files, message, picture
from contract import server
from memoryos import stores
from memoryos.errors import InvalidInput, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.vault.damage import Fault
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

DOG_ID = sha256(DOG).hexdigest()


@pytest.fixture
def store(path, back_end):
    """What `stores` is given to name the store of this test."""
    return (
        str(path)
        if back_end == "sqlite"
        else server.store_for(path, Hashing.name).render_as_string(hide_password=False)
    )


@pytest.fixture
def pages(open_memory) -> dict[str, str]:
    """Ann's page with a cat, Ben's with a dog."""
    memory = open_memory()
    ((cat,), (dog,)) = (
        memory.add(message(picture())),
        memory.of(Scope(user="ben")).add(message(picture(DOG, "a dog"))),
    )
    memory.wait()
    memory.close()
    return {"ann": cat, "ben": dog}


def faults(store, settings):
    return [one.fault for one in stores.verify(store, settings=settings).damages]


def content(memory, pages):
    ben = memory.of(Scope(user="ben"))
    return memory.pages.attachment(pages["ann"], CAT_ID).data, ben.pages.attachment(pages["ben"], DOG_ID).data


def test_a_backup_carries_the_bytes_and_restore_brings_them_back(
    store, pages, tmp_path, settings, folder, open_memory, clock
):
    backup, target = tmp_path / "backup.db", tmp_path / "restored.db"
    stores.backup(store, backup, settings=settings, clock=clock)
    assert len(files(tmp_path / "backup.db.objects")) == 2
    assert stores.verify(backup, settings=settings).is_sound
    with open_memory() as memory:
        memory.delete(pages["ann"])  # what goes here stays there
    stores.restore(backup, target, settings=settings, clock=clock)
    assert faults(target, settings) == []
    with _opened(target, settings) as memory:
        assert content(memory, pages) == (CAT, DOG)
        memory.delete(pages["ann"])
    assert len(files(tmp_path / "backup.db.objects")) == 2
    assert stores.verify(backup, settings=settings).is_sound


def _opened(path: Path, settings):
    import memoryos
    from memoryos.infrastructure.vault.place import open_vault

    with pytest.MonkeyPatch.context() as patch:  # a file, whatever the store of the test is
        patch.setattr(memoryos.opening, "open_vault", open_vault)
        return memoryos.open(path, user="ann", settings=settings)


def test_a_backup_with_altered_bytes_is_not_restored(store, pages, tmp_path, settings):
    backup = tmp_path / "backup.db"
    stores.backup(store, backup, settings=settings)
    name = files(tmp_path / "backup.db.objects")[0]
    (tmp_path / "backup.db.objects" / name).write_bytes(b"not the same")
    assert faults(backup, settings) == [Fault.BLOB]
    with pytest.raises(StoreCorrupt, match="altered"):
        stores.restore(backup, tmp_path / "restored.db", settings=settings)


def test_a_backup_is_not_written_over_the_bytes_of_another(store, pages, tmp_path, settings):
    (tmp_path / "backup.db.objects").mkdir()
    with pytest.raises(InvalidInput, match="exists already"):
        stores.backup(store, tmp_path / "backup.db", settings=settings)
    assert not (tmp_path / "backup.db").exists()


def test_a_copy_has_bytes_of_its_own(store, pages, tmp_path, settings, folder, open_memory):
    target = tmp_path / "copy.db"
    stores.copy(store, target, settings=settings)
    assert faults(target, settings) == []
    with open_memory() as memory:
        memory.delete(pages["ann"])
        memory.of(Scope(user="ben")).delete(pages["ben"])
    with _opened(target, settings) as memory:
        assert content(memory, pages) == (CAT, DOG)


@pytest.mark.parametrize("back_end", ["postgres"], indirect=True, scope="session")
def test_a_copy_to_a_server_without_an_object_store_says_so(store, pages, settings):
    target = server.new_database().render_as_string(hide_password=False)
    with pytest.raises(ObjectsUnreachable):
        stores.copy(store, target, settings=settings.model_copy(update={"object_store": None}))
    stores.copy(store, target, settings=settings)
    assert faults(target, settings) == []


def test_a_copy_that_was_cut_off_goes_on(store, pages, tmp_path, settings, monkeypatch):
    from memoryos.infrastructure.objects.blobs import Blobs

    target, put, done = tmp_path / "copy.db", Blobs.put, []

    def dies(self, name, data):
        put(self, name, data)
        done.append(name)
        if len(done) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Blobs, "put", dies)
        with pytest.raises(KeyboardInterrupt):
            stores.copy(store, target, settings=settings)
    stores.copy(store, target, settings=settings)
    assert faults(target, settings) == []
    with _opened(target, settings) as memory:
        assert content(memory, pages) == (CAT, DOG)
    place = tmp_path / "copy.db.objects" if settings.object_store is None else tmp_path / "objects"
    assert len(files(place)) == (2 if settings.object_store is None else 4)


def test_verify_names_what_is_missing_and_what_was_altered(store, pages, folder, settings):
    assert faults(store, settings) == []
    first, second = files(folder)
    (folder / first).unlink()
    (folder / second).write_bytes(b"not the same")
    damages = stores.verify(store, settings=settings).damages
    assert [(one.fault, one.owner.user) for one in damages] == [(Fault.BLOB, "ann"), (Fault.BLOB, "ben")]
    assert ["missing" in one.detail for one in damages] == [True, False]


@pytest.mark.file
def test_verify_names_a_reference_to_nothing(store, pages, settings):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DELETE FROM blobs WHERE user_id = 'ann'")
        connection.commit()
    damages = stores.verify(store, settings=settings).damages
    assert [(one.fault, one.id) for one in damages] == [(Fault.BLOB, pages["ann"])]
