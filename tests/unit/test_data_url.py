"""Data URLs: what is base64, and how much memory it takes to read it."""

from __future__ import annotations

import base64
import binascii
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.errors import InvalidInput
from memoryos.operation.attachments import data_url
from memoryos.operation.attachments.data_url import decoded

BASE64 = st.text(alphabet="AQz+/= é", max_size=20)


def told(text):
    """What the library of Python says of a text; None: that it is no base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def read(text):
    try:
        return decoded(f"data:image/png;base64,{text}", "uri")[0]
    except InvalidInput:
        return None


@given(st.one_of(BASE64, st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode())))
def test_a_text_read_in_pieces_is_what_the_whole_text_is(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_url, "_PIECE", 4)
        assert read(text) == told(text)


def test_a_text_with_escapes_is_read():
    assert read("%51UFB%51UFBQQ%3D%3D") == b"AAAAAAA"


def test_to_read_a_large_one_takes_no_copy_of_its_text():
    size = 8_000_000
    url = data_url.data_url(bytes(size), "image/png")
    tracemalloc.start()
    try:
        data, _ = decoded(url, "uri")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(data) == size
    assert peak < 1.5 * size
