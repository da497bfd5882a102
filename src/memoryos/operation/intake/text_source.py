"""Text sources: a document as a text, a file, an open stream or an iterable of texts, read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO, cast

from memoryos.errors import InvalidInput
from memoryos.operation.intake.decoded import Decoded
from memoryos.regex import regex

TextSource = str | Path | TextIO | Iterable[str]  #: a text, the Path of a file, an open text stream, texts in order
LF = "\n"
_UNSTORABLE = regex("[\x00\ud800-\udfff]")
PIECE_CHARS = 65_536  # that one read asks for

_FIX = "Pass a text, the Path of a file, a stream that is open for reading text, or an iterable of texts"


def pieces_of(source: TextSource) -> Iterator[str]:
    """Yield the text in pieces, in order. Raises InvalidInput for what cannot be read as text."""
    if isinstance(source, str):
        yield source
    elif isinstance(source, Path):
        yield from _read_file(source)
    elif hasattr(source, "read"):
        yield from _read(cast("TextIO", source))
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | memoryview):
        yield from map(_checked, source)
    else:
        raise InvalidInput("text", f"is a {type(source).__name__}", _FIX)


def _read_file(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as stream:
            yield from Decoded(iter(lambda: stream.read(PIECE_CHARS), b""))
    except OSError as error:
        raise InvalidInput("text", f"{path}: {error.strerror}", "Name a file that can be read") from None


def _read(stream: TextIO) -> Iterator[str]:
    if getattr(stream, "closed", False):
        raise InvalidInput("text", "is closed", "Pass a stream that is open for reading text")
    done = 0
    while piece := _checked(_next(stream, done)):
        done += len(piece)
        yield piece


def _next(stream: TextIO, done: int) -> str:
    try:
        return stream.read(PIECE_CHARS)
    except UnicodeDecodeError as error:
        problem = f"is not {error.encoding} text {_place(stream, error, done)}"
        raise InvalidInput("text", problem, "Convert it to UTF-8, or open it with its own encoding") from None


def _place(stream: TextIO, error: UnicodeDecodeError, done: int) -> str:
    """Which byte of an open file cannot be read; of what cannot be asked where it is, how much was read before."""
    try:
        at = stream.buffer.tell()
    except (AttributeError, OSError):
        return f"after its character {done:,}"
    return f"at byte {at - len(error.object) + error.start + 1:,}"


def _checked(piece: str) -> str:
    if not isinstance(piece, str):
        raise InvalidInput("text", f"gives {type(piece).__name__} instead of text", _FIX)
    return piece


def check_whole(source: TextSource) -> None:
    """Raise InvalidInput for a text or file that has a character that cannot be stored, before any of it is stored.

    An open stream and an iterable can be read only once: `checked_pieces` tells where they have it.
    """
    if isinstance(source, str) or (isinstance(source, Path) and source.is_file()):  # a pipe is read once
        for _ in checked_pieces(source):
            pass


def checked_pieces(source: TextSource) -> Iterator[str]:
    """The pieces of a source. Raises InvalidInput, which names the place, at a character that cannot be stored."""
    done, line = 0, 1
    for piece in pieces_of(source):
        if found := _UNSTORABLE.search(piece):
            kind = "NUL" if found[0] == "\x00" else "a lone surrogate"
            place = f"its character {done + found.start() + 1:,}, in line {line + piece.count(LF, 0, found.start()):,}"
            fix = "Remove it; a repeated call with its idempotency_key stores what is missing"
            raise InvalidInput("text", f"has {kind} as {place}", fix)
        done, line = done + len(piece), line + piece.count(LF)
        yield piece
