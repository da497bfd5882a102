"""SIGKILL while a whole store is moved: what is there looks like a store only when it is all there."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

import forked
from contract import server
from crash.killed import TESTS, copy, steps
from crash.stores import open_store
from memoryos import stores
from memoryos.errors import MemoryOSError, StorageError
from stores.conftest import content


@pytest.fixture(scope="module")
def expected(template):
    return content(str(template))


def is_refused(path: Path) -> bool:
    """Whether a store cannot be opened yet; one of which there is not even a table is a new one."""
    try:
        with open_store(path) as memory:
            assert memory.log.events() == []
            return False
    except StorageError as error:
        assert "not complete" in str(error)
        return True


def left(path: Path, suffix: str) -> Path:
    return path.with_suffix(suffix)


def test_a_backup_has_its_name_only_when_it_is_whole(victims, template, expected, tmp_path):
    found = victims("backup", template, tmp_path)
    assert steps(found) >= 155
    for victim in found:
        backup = left(victim.path, ".backup")
        assert backup.exists() or victim.done is None
        if backup.exists():
            assert stores.verify(backup).is_sound
        else:
            stores.backup(victim.path, backup)
        assert content(str(victim.path)) == expected
        shutil.copyfile(backup, tmp_path / "opened.db")
        assert {**content(str(tmp_path / "opened.db")), "meta": None} == {**expected, "meta": None}


@pytest.mark.parametrize("scenario", ["copy", "restore"])
def test_what_was_cut_off_is_refused_and_goes_on(victims, template, expected, tmp_path, scenario):
    if scenario == "restore":
        stores.backup(template, tmp_path / "template.backup")
        template = tmp_path / "template.backup"
    found = victims(scenario, template, tmp_path)
    assert steps(found) >= 155
    refused, looked_at = 0, tmp_path / "looked_at"
    looked_at.mkdir()
    for victim in found:
        target = left(victim.path, ".copy")
        if target.exists() and victim.done is None:
            refused += is_refused(copy(target, looked_at))
        if victim.done is None:
            getattr(stores, scenario)(victim.path, target)
        assert content(str(target)) == expected
    assert refused >= len(found) // 2


@pytest.mark.parametrize("share", [pytest.param(0.2, marks=pytest.mark.long), 0.7])
@pytest.mark.parametrize("target", ["sqlite", "postgres"])
@pytest.mark.parametrize("name", ["copy", "restore"])
def test_a_store_on_a_server_is_refused_until_it_is_whole(template, expected, tmp_path, name, target, share):
    source = copy(template, tmp_path)
    if name == "restore":
        stores.backup(source, tmp_path / "backup.db")
        source = tmp_path / "backup.db"
    server_url = server.new_database().render_as_string(hide_password=False)
    place = server_url if target == "postgres" else str(tmp_path / "target.db")
    killed = forked.python("-m", "crash.movers", name, str(source), place, str(share), cwd=TESTS)
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(StorageError, match=f"not complete.*memoryos {name}"):
        open_store(place)
    getattr(stores, name)(source, place)
    assert content(place) == expected


def test_a_backup_of_a_server_that_was_cut_off_leaves_no_backup(template, expected, tmp_path):
    place = server.new_database().render_as_string(hide_password=False)
    stores.copy(copy(template, tmp_path), place)
    backup = tmp_path / "backup.db"
    killed = forked.python("-m", "crash.movers", "backup", place, str(backup), "0.5", cwd=TESTS)
    assert killed.returncode == -signal.SIGKILL
    assert not backup.exists()
    (draft,) = tmp_path.glob("backup.db.*.partial")
    with pytest.raises(MemoryOSError):
        open_store(draft)
    stores.backup(place, backup)
    assert stores.restore(backup, tmp_path / "restored.db").rows
    assert content(str(tmp_path / "restored.db")) == expected
