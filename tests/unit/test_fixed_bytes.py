"""Large bytes that are mapped from memory files: nobody can change them, and they go back to the system."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.objects import fixed_bytes
from memoryos.infrastructure.objects.blobs import Blobs, new_name
from memoryos.infrastructure.objects.fixed_bytes import fixed_copy
from memoryos.infrastructure.objects.object_store import Folder

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="memory files that nobody can change are of Linux"),
]

DATA = os.urandom(700_000)  # three pieces of a sealed object
NAME = new_name(sha256(DATA).hexdigest())
EARLIER: set[str] = set()  # files that other tests of this process left


@pytest.fixture(autouse=True)
def _earlier() -> None:
    EARLIER.update(mappings())


@pytest.fixture
def least(monkeypatch) -> None:
    """Small bytes count as large."""
    monkeypatch.setattr(fixed_bytes, "LEAST", 1)


@pytest.fixture(params=["plain", "encrypted"])
def blobs(request, tmp_path) -> Blobs:
    made = Blobs(tmp_path.as_uri(), key=DataKey.random() if request.param == "encrypted" else None)
    made.put(NAME, DATA)
    return made


def mappings() -> dict[str, str]:
    """The rights to each mapping of fixed bytes, by the number of its file on its disk."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "memoryos-blob" in line]
    return {inode: rights for _, rights, _, _, inode, *_ in lines if inode not in EARLIER}


def numbers() -> list[int]:
    """The files of fixed bytes that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the number of this folder
            if "memoryos-blob" in str(one.readlink()) and str(one.stat().st_ino) not in EARLIER:
                found.append(int(one.name))
    return found


def test_nobody_can_change_or_cut_the_bytes_of_a_blob(least, blobs):
    view = blobs.view(NAME)
    assert view == DATA
    assert view.readonly
    assert list(mappings().values()) == ["r--p"]
    (number,) = numbers()
    for forbidden in (
        lambda: os.pwrite(number, b"other", 0),
        lambda: os.ftruncate(number, 10),
        lambda: os.ftruncate(number, len(DATA) + 1),
        lambda: Path(f"/proc/self/fd/{number}").write_bytes(b"other"),  # as another process of this user would
        lambda: mmap.mmap(number, len(DATA), flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE),
    ):
        with pytest.raises(PermissionError):
            forbidden()
    assert view == DATA


def test_the_memory_goes_back_as_a_whole_with_the_last_view(least, blobs):
    part = blobs.view(NAME)[10:20]
    assert len(mappings()) == 1
    assert part == DATA[10:20]
    del part
    assert (mappings(), numbers()) == ({}, [])


def test_a_blob_that_was_altered_is_refused_and_leaves_no_mapping(least, blobs, tmp_path):
    (file,) = tmp_path.iterdir()
    with file.open("r+b") as opened:
        opened.seek(-1, os.SEEK_END)
        last = opened.read(1)
        opened.seek(-1, os.SEEK_END)
        opened.write(bytes([last[0] ^ 1]))
    with pytest.raises(StoreCorrupt, match="altered"):
        blobs.view(NAME)
    assert (mappings(), numbers()) == ({}, [])


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.ENOMEM])
def test_without_memory_for_the_copy_an_error_says_so(least, tmp_path, monkeypatch, kind):
    blobs = Blobs(tmp_path.as_uri())
    blobs.put(NAME, DATA)

    def full(*_: object) -> int:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(os, "sendfile", full)
    with pytest.raises(MemoryError):
        blobs.view(NAME)
    assert numbers() == []


@pytest.mark.parametrize("kind", [errno.EMFILE, errno.ENOSYS, errno.EPERM])
def test_where_there_are_no_memory_files_a_blob_is_read(least, blobs, monkeypatch, kind):
    def refused(*_: object) -> int:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(os, "memfd_create", refused)
    assert blobs.view(NAME) == DATA
    assert mappings() == {}


def test_a_file_that_is_cut_while_it_is_copied_is_refused(least, tmp_path, monkeypatch):
    blobs = Blobs(tmp_path.as_uri())
    blobs.put(NAME, DATA)
    usual = os.sendfile

    def cut(target: int, source: int, at: int, count: int) -> int:
        os.truncate(tmp_path / NAME, 100_000)
        return usual(target, source, at, count)

    monkeypatch.setattr(os, "sendfile", cut)
    with pytest.raises(StoreCorrupt, match="altered"):
        blobs.view(NAME)


def test_bytes_that_come_over_the_network_are_copied_once_they_are_there(least):
    copy = fixed_copy(DATA)
    assert (copy == DATA, len(mappings())) == (True, 1)


def test_only_large_bytes_are_mapped(tmp_path):
    folder = Folder(tmp_path)
    for size, count in ((fixed_bytes.LEAST - 1, 0), (fixed_bytes.LEAST, 1)):
        with (tmp_path / "blob").open("wb") as file:
            file.truncate(size)
        view = folder.view("blob")
        assert view is not None
        assert (len(view), view.readonly, len(mappings())) == (size, bool(count), count)
