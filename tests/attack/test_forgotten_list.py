"""The list of erasures beside a backup, after a crash and in the hands of somebody else."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryos.errors import StorageError
from memoryos.infrastructure.vault.forgotten_list import ForgottenList

pytestmark = pytest.mark.once

KEY = b"k" * 32
AT = datetime(2026, 1, 1, tzinfo=UTC)
ANN, BOB = {"tenant": "default", "user": "ann"}, {"tenant": "default", "user": "bob"}


@pytest.fixture
def beside(tmp_path: Path) -> ForgottenList:
    return ForgottenList(tmp_path / "one.backup")


def test_a_note_that_was_cut_off_is_named_and_the_next_one_is_whole(beside):
    beside.add(ANN, AT, KEY)
    with beside.path.open("r+") as file:
        file.truncate(beside.path.stat().st_size - 9)
    for line in ("before the next note", "after it"):
        with pytest.raises(StorageError, match=r"one\.backup\.forgotten cannot be read: line 1 .*remove that line"):
            beside.reader(KEY)
        if line != "after it":
            beside.add(BOB, AT, KEY)
    first, *others = beside.path.read_text().splitlines(keepends=True)
    beside.path.write_text("".join(others))
    was_forgotten = beside.reader(KEY)
    assert (was_forgotten(ANN), was_forgotten(BOB)) == (False, True)
    assert first.startswith('{"at"')


def test_a_last_line_without_its_end_is_cut_off_even_if_it_can_be_read(beside):
    beside.add(ANN, AT, KEY)
    beside.path.write_text(beside.path.read_text().rstrip("\n"))
    with pytest.raises(StorageError, match="line 1"):
        beside.reader(KEY)
    beside.add(BOB, AT, KEY)
    assert beside.reader(KEY)(ANN)


def test_a_call_that_writes_less_is_continued(beside, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:7]))
    beside.add(ANN, AT, KEY)
    assert beside.reader(KEY)(ANN)


GOOD = {"at": AT.isoformat(), "key": "k", "subject": "s"}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({**GOOD, "at": "2026-01-01T00:00:00"}).encode(),
        json.dumps({**GOOD, "at": "yesterday"}).encode(),
        json.dumps({**GOOD, "at": 5}).encode(),
        json.dumps({**GOOD, "subject": None}).encode(),
        json.dumps({"at": GOOD["at"]}).encode(),
        json.dumps(GOOD).encode(),
        b"[" * 100_000,
        b"[]",
        b"5",
        b"\0" * 80,
        b"\xff\xfe",
        "é".encode(),
    ],
)
def test_whatever_is_written_there_is_one_error_that_says_what_to_do(beside, content):
    beside.path.write_bytes(content + b"\n")
    with pytest.raises(StorageError, match=r"one\.backup\.forgotten .*(remove|Remove)"):
        beside.reader(KEY)


def test_what_is_no_file_is_an_error_and_is_neither_followed_nor_waited_for(beside, tmp_path):
    victim = tmp_path / "victim"
    for make in (os.mkfifo, os.mkdir, lambda path: path.symlink_to(victim)):
        make(beside.path)
        with pytest.raises(StorageError, match=r"one\.backup\.forgotten cannot be read"):
            beside.reader(KEY)
        with pytest.raises(OSError, match=r"regular|directory|symbolic") as told:
            beside.add(ANN, AT, KEY)
        assert told.value.errno in (errno.EINVAL, errno.EISDIR, errno.ELOOP)
        assert not victim.exists()
        beside.path.rmdir() if beside.path.is_dir() else beside.path.unlink()
    assert beside.reader(KEY) is None


def test_a_folder_in_its_place_is_named_when_a_backup_is_written(beside):
    beside.path.mkdir()
    with pytest.raises(StorageError, match=r"one\.backup\.forgotten is of an earlier backup"):
        beside.remove()
