"""Words in raw files, however they are written there: as UTF-8 or UTF-16, or in something compressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_MOST = 1 << 20  # bytes that are unpacked from one place

_Unpack = Callable[[bytes], bytes]

_PACKED: dict[bytes, _Unpack] = {
    rb"\x1f\x8b\x08": lambda data: zlib.decompressobj(31).decompress(data, _MOST),
    rb"\x78[\x01\x5e\x9c\xda]": lambda data: zlib.decompressobj().decompress(data, _MOST),
    rb"BZh[1-9]1AY": lambda data: bz2.BZ2Decompressor().decompress(data, _MOST),
    rb"\xfd7zXZ\x00": lambda data: lzma.LZMADecompressor().decompress(data, _MOST),
}  # by how it begins


def files_with(folder: Path, word: str) -> list[str]:
    """The names of the files below the folder in which the word is."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [file.name for file in files if is_in(word, file.read_bytes())]


def is_in(word: str, data: bytes) -> bool:
    """Whether the word is in these bytes."""
    return _is_plain(word, data) or any(_is_plain(word, unpacked) for unpacked in _unpacked(data))


def _is_plain(word: str, data: bytes) -> bool:
    forms = [word.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    return any(form in data for form in forms) or _pieces(word).search(data) is not None


def _pieces(word: str) -> re.Pattern[bytes]:
    """The word as pglz of PostgreSQL writes it where it occurs first: with a byte of flags between any eight."""
    return re.compile(b".?".join(re.escape(bytes([byte])) for byte in word.encode()), re.DOTALL)


def _unpacked(data: bytes) -> Iterator[bytes]:
    for begins, unpack in _PACKED.items():
        for found in re.finditer(begins, data, re.DOTALL):
            try:
                yield unpack(data[found.start() :])
            except (zlib.error, OSError, lzma.LZMAError, EOFError, gzip.BadGzipFile):
                continue
