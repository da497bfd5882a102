"""SIGKILL at any step of a change of the encryption: the store opens with the old or the new key, with all it had.

A process is forked for each step, and is killed right before it: a step is a call from the modules that change the
encryption to the system, to SQLCipher, or to each other.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import memoryos
from attack.raw import files_with
from forked import fork
from memoryos import MemoryOS, Settings, load_settings, stores
from memoryos.errors import StorageError, WrongKey
from memoryos.infrastructure.vault.sqlite import swap
from memoryos.infrastructure.vault.sqlite.reencryption import Reencryption

from .conftest import KEY, OTHER
from .test_changes import WORD, content, fill

pytestmark = pytest.mark.file

WATCHED = ("reencryption.py", "swap.py", "key_file.py")
STRIDE, STRIDE_OF_ROTATION = 89, 29  # steps from one death to the next; with --long, each is one

ENCRYPTED = load_settings(embedder="hashing", encryption_key=KEY)
ROTATED = load_settings(embedder="hashing", encryption_key=OTHER)
CLEAR = load_settings(embedder="hashing")


def rotate(path: Path, settings: Settings) -> None:
    stores.rotate_encryption_key(path, OTHER, settings=settings)


def kill_at(step: int) -> None:
    """From now on, count the steps of this process; die before the given one."""
    steps = count()

    def look(frame: Any, event: str, _: object) -> None:
        caller = {"c_call": frame, "call": frame.f_back}.get(event)
        is_step = caller is not None and Path(caller.f_code.co_filename).name in WATCHED
        if is_step and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(look)
    threading.setprofile(look)  # of the thread that makes the change


def victims(
    folder: Path, template: Path, change: Callable[..., None], settings: Settings, stride: int
) -> Iterator[Path]:
    """The stores of all who died, one after the other."""
    for step in count(0, stride):
        place = folder / f"{step}"
        shutil.copytree(template, place)
        child = fork()
        if child == 0:
            kill_at(step)
            try:
                change(place / "memory.db", settings=settings)
            except BaseException:  # noqa: BLE001 - the parent tells of it
                os._exit(3)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended != -signal.SIGKILL:
            assert ended == 0
            return
        yield place / "memory.db"
        shutil.rmtree(place)


def fitting(path: Path, *candidates: Settings) -> Settings:
    """The settings that open the store; the others are refused for their key."""
    found = []
    for settings in candidates:
        try:
            memoryos.open(path, user="ann", settings=settings, read_only=False).close()
        except WrongKey:
            continue
        found.append(settings)
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        pytest.param(stores.encrypt, CLEAR, ENCRYPTED, id="encrypt"),
        pytest.param(stores.decrypt, ENCRYPTED, CLEAR, id="decrypt"),
        pytest.param(stores.reencrypt, ENCRYPTED, ENCRYPTED, id="reencrypt"),
        pytest.param(rotate, ENCRYPTED, ROTATED, id="rotate"),
    ],
)
def test_a_store_outlives_death_at_any_step(tmp_path: Path, change, before, after, pytestconfig):
    stride = 1 if pytestconfig.getoption("--long") else STRIDE_OF_ROTATION if change is rotate else STRIDE
    template = tmp_path / "template"
    template.mkdir()
    with memoryos.open(template / "memory.db", user="ann", settings=before) as memory:
        fill(memory)
    with memoryos.open(template / "memory.db", user="ann", settings=before) as memory:
        expected = content(memory)
    deaths, ended = 0, set()
    for path in victims(tmp_path, template, change, ENCRYPTED, stride):
        deaths += 1
        settings = before if before is after else fitting(path, before, after)
        ended.add(id(settings))
        with memoryos.open(path, user="ann", settings=settings) as memory:
            assert content(memory) == expected
            assert memory.search(WORD).hits
        assert stores.verify(path, settings=settings).is_sound
        if change is not rotate:
            finish(path, change, settings, after)
    assert deaths * stride >= (60 if change is rotate else 200)
    assert len(ended) == len({id(before), id(after)}), "some died before the change counted, some after"


def finish(path: Path, change: Callable[..., None], settings: Settings, after: Settings) -> None:
    """The same command finishes what was begun, and leaves nothing of the other form."""
    if not (settings is CLEAR and change is stores.decrypt and not path.with_name("memory.db.sealed").exists()):
        change(path, settings=ENCRYPTED)
    names = {file.name for file in path.parent.iterdir()}
    assert names <= {"memory.db", "memory.db.sealed", "memory.db.objects", "memory.db-shm", "memory.db-wal"}
    assert ("memory.db.sealed" in names) == (after is not CLEAR)
    assert len(list(path.with_name("memory.db.objects").iterdir())) == 1
    assert bool(files_with(path.parent, WORD)) == (after is CLEAR)
    assert stores.verify(path, settings=after).is_sound


@pytest.mark.parametrize("death", ["put_in_place", "spoil"])
def test_a_change_that_died_is_settled_through_a_link_from_another_folder(tmp_path: Path, monkeypatch, death):
    path, link = tmp_path / "real" / "memory.db", tmp_path / "links" / "memory.db"
    for place in (path, link):
        place.parent.mkdir()
    with memoryos.open(path, user="ann", settings=ENCRYPTED) as memory:
        memory.add("I keep bees.")
    link.symlink_to(path)
    with monkeypatch.context() as patch:
        patch.setattr(swap, death, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert ended_of(lambda: stores.reencrypt(path, settings=ENCRYPTED)) == -signal.SIGKILL
    for place in (link, path):
        with memoryos.open(place, user="ann", settings=ENCRYPTED) as memory:
            assert memory.pages.count() == 1
    assert link.is_symlink()
    assert not list(path.parent.glob("*.partial"))


def test_a_change_whose_draft_is_gone_is_told_and_keeps_the_keys(tmp_path: Path, monkeypatch):
    path = tmp_path / "memory.db"
    with memoryos.open(path, user="ann", settings=ENCRYPTED) as memory:
        memory.add("I keep bees.")
    with monkeypatch.context() as patch:
        patch.setattr(swap, "put_in_place", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert ended_of(lambda: stores.reencrypt(path, settings=ENCRYPTED)) == -signal.SIGKILL
    (draft,) = tmp_path.glob("*.partial")
    elsewhere = draft.rename(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is missing: put it back"):
        memoryos.open(path, user="ann", settings=ENCRYPTED)
    elsewhere.rename(draft)
    with memoryos.open(path, user="ann", settings=ENCRYPTED) as memory:
        assert memory.pages.count() == 1


@pytest.mark.parametrize(
    ("change", "before", "owner", "death"),
    [
        pytest.param(stores.encrypt, CLEAR, Reencryption, "_clean", id="encrypt"),
        pytest.param(stores.decrypt, ENCRYPTED, swap, "spoil", id="decrypt"),
    ],
)
def test_what_was_erased_after_a_change_died_is_not_left_in_clear(
    tmp_path: Path, monkeypatch, change, before, owner, death
):
    path = tmp_path / "memory.db"
    with memoryos.open(path, user="ann", settings=before) as memory:
        fill(memory)
    with monkeypatch.context() as patch:
        patch.setattr(owner, death, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert ended_of(lambda: change(path, settings=ENCRYPTED)) == -signal.SIGKILL
    with MemoryOS.open(path, settings=ENCRYPTED) as store:
        store.admin.forget("ann")
    stores.encrypt(path, settings=ENCRYPTED)
    assert not files_with(tmp_path, WORD)
    assert not list((tmp_path / "memory.db.objects").iterdir())


def ended_of(call: Callable[[], None]) -> int:
    """How a child that makes this call ends."""
    child = fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
