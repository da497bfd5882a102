"""The data of the events of a stream, however its bytes are cut into parts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from memoryos.models.event_data import EventData

LINES = ["data: {}", "data:1", "data: [1,", "data:  2]", "data", "data:", "datum: 5", ": wait", "", "", "event: x", "é"]
ENDS = ["\n", "\r\n", "\r"]
streams = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS)), max_size=30).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)


def read(parts: list[bytes]) -> list[str]:
    data = EventData()
    return [event.decode() for part in parts for event in data.ended(part)]


@given(streams, st.lists(st.integers(0, 300), max_size=6))
def test_the_data_is_what_the_sdk_reads_wherever_the_parts_end(stream, cuts):
    """Other than the SDK, an event without data is none."""
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    parts = [stream[start:end] for start, end in pairwise(places) if end > start]
    known = stream.replace(b"event: x", b"other: x")
    assert read(parts) == [event.data for event in SSEDecoder().iter_bytes(iter([known]))]


@pytest.mark.parametrize("end", ENDS)
def test_an_event_in_lines_is_read_byte_by_byte(end):
    stream = f": hello{end}data: [1,{end}data: 2]{end}{end}{end}data: over{end}".encode()
    assert read([bytes((byte,)) for byte in stream]) == ["[1,\n2]"]


def test_an_event_waits_for_its_end():
    assert read([b"data: 1\n"]) == read([]) == []
    assert read([b"data: 1\n", b"\n"]) == ["1"]
