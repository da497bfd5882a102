"""Bytes that arrive in pieces: whatever the pieces, the text is the same, and so is the place of what is no UTF-8."""

from __future__ import annotations

import io
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.errors import InvalidInput
from memoryos.interface.cli import memory_command, privacy_command
from memoryos.operation.intake.decoded import Decoded
from memoryos.operation.portability.export_file import read_lines


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]


@given(st.text(max_size=30), st.lists(st.integers(0, 90), max_size=6), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_pieces_are_one_text(text: str, places: list[int], encoding: str) -> None:
    data = text.encode(encoding)
    assert "".join(Decoded(cut(data, places))) == data.decode("utf-8-sig")


@given(st.text(max_size=30), st.lists(st.integers(0, 90), max_size=6), st.sampled_from([b"\xff", b"\xe5\x8c", b"\xf0"]))
def test_the_place_does_not_depend_on_the_pieces(text: str, places: list[int], wrong: bytes) -> None:
    before = text.encode()
    line = before.count(b"\n") + 1
    for data in (before + wrong, before + wrong + b"a\n"):
        with pytest.raises(InvalidInput, match=f"is not UTF-8 at byte {len(before) + 1:,}, in line {line}"):
            list(Decoded(cut(data, places)))


@pytest.mark.once
def test_each_door_that_reads_a_large_text_names_the_place(tmp_path, monkeypatch):
    path = tmp_path / "large.jsonl"
    data = b'{"memory": 1}\n' * 800_000 + b"\xff\n"
    path.write_bytes(data)
    place = r"is not UTF-8 at byte 11,200,001, in line 800,001"
    with pytest.raises(InvalidInput, match=rf"file: .*large\.jsonl: {place}"):
        list(read_lines(path))
    with pytest.raises(InvalidInput, match=rf"file: .*large\.jsonl: {place}"):
        privacy_command._read(str(path))
    for read in (lambda: privacy_command._read("-"), memory_command._standard_input):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(InvalidInput, match=f"standard input: {place}"):
            read()
