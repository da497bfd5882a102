"""Export files: writing to and reading from a file or a text stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.json_size import has_more_values
from memoryos.operation.intake.decoded import undecodable

ExportTarget = str | Path | TextIO  #: the path of a file, or a text stream that is open for writing
LONGEST_LINE = 256_000_000  # characters, with the bytes of attachments
MOST_VALUES = 1_000_000  # of a line, and one more for each `USUAL_CHARS`: most values of a large memory are ids
USUAL_CHARS = 16


def write_lines(target: ExportTarget, lines: Iterable[str]) -> None:
    """Write all lines; a file is renamed once it is complete, and only its owner may read it.

    Raises InvalidInput when the file exists already, or cannot be written.
    """
    if not isinstance(target, str | Path):
        target.writelines(lines)
        return
    try:
        _write_new(Path(target), lines)
    except MemoryOSError:  # a refusal is an OSError, too
        raise
    except OSError as error:
        raise InvalidInput("target", f"{target}: {error.strerror}", "Name a file that can be written") from None


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file; a line that is too long is cut one character after the limit.

    Raises InvalidInput if the file cannot be read as text, or a line has so many values that parsing takes too much
    memory.
    """
    try:
        with Path(path).open(encoding="utf-8") as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                _check_values(line)
                yield line
    except OSError as error:
        raise InvalidInput("file", f"{path}: {error.strerror}", "Name a file that can be read") from None
    except UnicodeDecodeError:
        raise undecodable(Path(path), "file", "Pass a file that `export` wrote") from None


def _check_values(line: str) -> None:
    most = MOST_VALUES + len(line) // USUAL_CHARS
    if len(line) > MOST_VALUES and has_more_values(line.encode(), most):
        raise InvalidInput("file", f"a line has more than {most:,} values", "Pass a file that `export` wrote")


def _write_new(path: Path, lines: Iterable[str]) -> None:
    if path.exists():
        raise InvalidInput("target", f"{path} exists already", "Name another file, or remove it")
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        _write(part, lines)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _write(path: Path, lines: Iterable[str]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(lines)
        stream.flush()
        os.fsync(stream.fileno())
