"""A power cut in a commit: the last pages of the log are torn, and with them goes the last transaction alone."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from crash.checks import assert_consistent, assert_sound
from crash.killed import copy
from crash.stores import add_page, number_of, open_store
from memoryos.infrastructure.vault.records import Operation

PAGES = 5
HEADER, FRAME_HEADER = 32, 24  # bytes, by the file format of SQLite


@dataclass(frozen=True)
class Log:
    """The frames of a log, each a page of the file, and where the last transaction begins among them."""

    content: bytes
    size: int  # of a frame

    @property
    def last(self) -> range:
        """Where the frames of the last transaction begin, in bytes."""
        starts = range(HEADER, len(self.content), self.size)
        commits = [start for start in starts if struct.unpack(">I", self.content[start + 4 : start + 8])[0]]
        assert commits[-1] == starts[-1], "the log ends with a commit"
        return range(commits[-2] + self.size, len(self.content), self.size)


def log_of(path: Path) -> Log:
    content = Path(f"{path}-wal").read_bytes()
    (page_size,) = struct.unpack(">I", content[8:12])
    return Log(content, FRAME_HEADER + page_size)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A copy of a store in use, the last page of which came in last; all of it is in the log."""
    path = tmp_path_factory.mktemp("torn") / "memory.db"
    memory = open_store(path)
    for number in range(PAGES):
        add_page(memory, number)
        memory.wait()
    with memory._engine.housekeeping.call():  # what follows the add waits until the copy is made
        memory.add(*said(), idempotency_key="torn")
        copied = copy(path, path.parent)
    memory.close()
    return copied


def said() -> tuple[str, str]:
    return "I like spicy noodle soup from zq0009x.", "Garlic and ginger go well with noodle soup."


def cut_in_the_last_frame(log: Log) -> bytes:
    return log.content[: log.last[-1] + log.size // 2]


def cut_before_the_last_frame(log: Log) -> bytes:
    return log.content[: log.last[-1]]


def half_of_the_last_frame_is_zero(log: Log) -> bytes:
    return cut_in_the_last_frame(log) + bytes(log.size - log.size // 2)


def last_frame_is_of_another_time(log: Log) -> bytes:
    return cut_before_the_last_frame(log) + log.content[HEADER : HEADER + log.size]


def first_frame_never_arrived(log: Log) -> bytes:
    """A disk may write the last frame before the first."""
    first = log.last[0]
    return log.content[:first] + bytes(log.size) + log.content[first + log.size :]


def flipped(place: int):
    def one_bit(log: Log) -> bytes:
        content = bytearray(log.content)
        content[log.last[-1] + place] ^= 1
        return bytes(content)

    return one_bit


TEARS = {
    "cut in the last frame": cut_in_the_last_frame,
    "cut before the last frame": cut_before_the_last_frame,
    "half of the last frame is zero": half_of_the_last_frame_is_zero,
    "the last frame is of another time": last_frame_is_of_another_time,
    "the first frame never arrived": first_frame_never_arrived,
    "one bit of the page number": flipped(3),
    "one bit of the commit": flipped(7),
    "one bit of the checksum": flipped(20),
    "one bit of the page": flipped(FRAME_HEADER + 100),
    "the last bit": flipped(-1 + FRAME_HEADER + 4096),
}


def numbers(memory) -> list[int]:
    return [number_of(page.text) for page in memory.pages.list()]


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS)
def test_the_torn_transaction_is_lost_and_nothing_else(store, tmp_path, tear):
    path = copy(store, tmp_path)
    Path(f"{path}-wal").write_bytes(tear(log_of(path)))
    (tmp_path / "as found").mkdir()
    assert_sound(copy(path, tmp_path / "as found"))
    with open_store(path) as memory:
        assert numbers(memory) == list(range(PAGES))
        added = [event for event in memory.log.events() if event.operation is Operation.ADD and event.kind == "page"]
        assert len(added) == PAGES
        page = memory.add(*said(), idempotency_key="torn")  # the lost one; its key is lost with it
        assert memory.add(*said(), idempotency_key="torn") == page
        memory.wait()
        assert numbers(memory) == [*range(PAGES), 9]
        assert_consistent(memory)
    assert_sound(path)


def test_a_log_that_is_not_torn_holds_the_last_transaction(store, tmp_path):
    path = copy(store, tmp_path)
    assert len(log_of(path).last) >= 2, "a transaction of several pages, which can be torn apart"
    with open_store(path) as memory:
        assert numbers(memory) == [*range(PAGES), 9]
