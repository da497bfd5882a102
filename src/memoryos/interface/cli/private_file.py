"""New file: a file that a command writes beside its answer, such as a receipt. Only its owner may read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memoryos.errors import InvalidInput


@contextmanager
def new_file(option: str, path: Path | None) -> Iterator[TextIO | None]:
    """A new file, made before anything is done; it goes again if nothing is written to it. None without a path.

    Raises InvalidInput, which names the option.
    """
    if path is None:
        yield None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(option, f"{path} exists already", "Name a new file") from None
    except OSError as error:
        problem = f"{path} cannot be written: {type(error).__name__}"
        raise InvalidInput(option, problem, "Name a new file in a folder that exists") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield file
    finally:
        if not path.stat().st_size:
            path.unlink()
