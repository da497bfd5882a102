"""Checksum: a stored number that shows a later reader whether a byte has changed.

CRC-32, of zlib: it finds every single flipped bit and every burst of up to 32 bits, takes less than a microsecond for a
usual page, is in the standard library and stands in one integer column. It guards against drives and memory that fail,
not against somebody who writes both the words and the number; no short hash would, without a secret.

NULL is the checksum of a row that an older program wrote: it is not compared.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final
from zlib import crc32

_FACTS: Final = itemgetter("said_at", "speaker", "marks", "turn", "start", "end")

_NUMBER_BYTES: Final = 4

ESCAPED: Final = "surrogateescape"  # how bytes that are no UTF-8 are held in text, so that they can be told again


def of_text(text: str) -> int:
    """The checksum of a document."""
    return crc32(text.encode("utf-8", ESCAPED))


def of_passage(row: Any) -> int:
    """The checksum of a passage, from its columns by name."""
    facts = (row.part, row.said_at, row.speaker, row.marks, row.turn, row.start, row.end)
    return _of_passage(facts, row.words, row.vector)


def of_columns(part: int, columns: Any) -> int:
    """The checksum of a new passage."""
    return _of_passage((part, *_FACTS(columns)), columns["words"], columns["vector"])


def of_bytes(data: bytes) -> int:
    """The checksum of a vector."""
    return crc32(data)


def is_text_sound(text: Any, checksum: int | None) -> bool:
    """Whether a document matches its checksum; True without one."""
    if not isinstance(text, str):
        return False
    return is_utf8(text) if checksum is None else of_text(text) == checksum


def is_passage_sound(row: Any) -> bool:
    """Whether a passage matches its checksum; True without one."""
    if not isinstance(row.words, str) or not isinstance(row.vector, bytes):
        return False
    return is_utf8(row.words) if row.checksum is None else of_passage(row) == row.checksum


def is_vector_sound(data: Any, checksum: int | None, dim: int | None = None) -> bool:
    """Whether a vector matches its checksum; without one, whether it has so many numbers, or a whole number of them."""
    if not isinstance(data, bytes):
        return False
    if checksum is not None:
        return of_bytes(data) == checksum
    return len(data) == dim * _NUMBER_BYTES if dim else len(data) % _NUMBER_BYTES == 0


def is_utf8(text: Any) -> bool:
    """Whether it is text that can be written as UTF-8."""
    try:
        return isinstance(text, str) and text.encode() is not None
    except UnicodeEncodeError:
        return False


def shown(name: object) -> str:
    """Make an id or a database message printable, even if it is not valid UTF-8."""
    return str(name).encode("utf-8", "backslashreplace").decode()


def _of_passage(facts: tuple[Any, ...], words: str, vector: bytes) -> int:
    head = crc32(repr(facts).encode())  # `repr` writes what is no UTF-8 in ASCII
    return crc32(vector, crc32(words.encode("utf-8", ESCAPED), head))
