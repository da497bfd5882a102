"""Decoded text: bytes that arrive in pieces as UTF-8 text; an error names the byte and the line."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memoryos.errors import InvalidInput

_AT_ONCE = 1_000_000  # bytes
_MARK = "\ufeff"  # that some programs write before the text


@dataclass
class Decoded:
    """The text of the pieces, without a byte order mark."""

    pieces: Iterable[bytes]
    field: str = "text"  #: what the error names
    fix: str = "Convert it to UTF-8"
    _size: int = 0  # bytes that have come
    _lines: int = 1  # that have begun in what was decoded

    def __iter__(self) -> Iterator[str]:
        """Decode piece by piece. Raises InvalidInput for what is not UTF-8."""
        decoder, is_first = getincrementaldecoder("utf-8")(), True
        try:
            for data in self.pieces:
                self._size += len(data)
                text = decoder.decode(data)
                self._lines += text.count("\n")
                yield text.removeprefix(_MARK) if is_first else text
                is_first = is_first and not text
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: UnicodeDecodeError) -> InvalidInput:
        good = error.object[: error.start]
        byte = self._size - len(error.object) + error.start + 1
        line = self._lines + good.count(b"\n")
        return InvalidInput(self.field, f"is not UTF-8 at byte {byte:,}, in line {line:,}", self.fix)


def undecodable(path: Path, field: str, fix: str) -> InvalidInput:
    """The refusal of a file that could not be decoded, with the place."""
    try:
        with path.open("rb") as file:
            for _ in Decoded(iter(lambda: file.read(_AT_ONCE), b""), f"{field}: {path}", fix):
                pass
    except InvalidInput as error:
        return error
    return InvalidInput(field, f"{path} was not UTF-8, and has changed since", fix)
