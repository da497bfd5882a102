"""Version delta: a document as its difference to a later one.

It is compressed by deflate, which copies what the later document says about the same place instead of repeating it. A
window of deflate has 32 kB, so a long document is taken in pieces, each with the part of the later one around it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct

PIECE, BEFORE, WINDOW = 16_384, 8_192, 32_768  # bytes: compressed at once; known of what was before; known at all

_LENGTH = Struct(">I")
_RAW = -15  # deflate with the largest window, without a header


def delta(document: str, later: str | None) -> bytes:
    """The document as its difference to a later one; without one, only compressed."""
    data, known = document.encode(), (later or "").encode()
    return b"".join(_LENGTH.pack(len(piece)) + piece for piece in _packed(data, known))


def restored(packed: bytes, later: str | None) -> str:
    """The inverse of `delta`. Raises ValueError if the bytes are not what was written, or `later` is another one."""
    known = (later or "").encode()
    try:
        return b"".join(_unpacked(packed, known)).decode()
    except (zlib.error, IndexError) as error:
        raise ValueError(f"no difference to that document: {type(error).__name__}") from None


def _packed(data: bytes, known: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE):
        packer = zlib.compressobj(9, zlib.DEFLATED, _RAW, 9, zdict=_around(known, start))
        yield packer.compress(data[start : start + PIECE]) + packer.flush()


def _unpacked(packed: bytes, known: bytes) -> Iterator[bytes]:
    place, number = 0, 0
    while place < len(packed):
        if len(packed) - place < _LENGTH.size:
            raise IndexError("a piece is cut off")
        (length,) = _LENGTH.unpack_from(packed, place)
        place += _LENGTH.size
        unpacker = zlib.decompressobj(_RAW, zdict=_around(known, number * PIECE))
        yield unpacker.decompress(packed[place : place + length], PIECE)
        if not unpacker.eof:
            raise IndexError("a piece is cut off")
        place, number = place + length, number + 1


def _around(known: bytes, start: int) -> bytes:
    first = max(0, start - BEFORE)
    return known[first : first + WINDOW]
