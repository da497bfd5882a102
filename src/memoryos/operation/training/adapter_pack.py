"""Adapter pack: the files of a peft folder as one blob, with the digest of the model that they fit.

It is a zip without compression and without times, so that equal adapters are equal bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from memoryos.errors import InvalidInput, StoreCorrupt
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS

ABOUT = "memoryos.json"
_NAMES = (CONFIG, WEIGHTS, ABOUT)
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
MOST_BYTES = 2_000_000_000


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return files as one blob."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), files[name])
    return made.getvalue()


def unpacked_files(data: bytes) -> dict[str, bytes]:
    """Return the files of a blob. Raises StoreCorrupt, also if one that peft needs is missing."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            wanted = {CONFIG, WEIGHTS, *archive.namelist()}.intersection(_NAMES)
            return {name: archive.read(name) for name in sorted(wanted)}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, NotImplementedError) as error:
        raise StoreCorrupt(f"the bytes of the adapter are damaged: {error}; train it again") from None


def write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of an adapter into a folder, which must be new or empty. Raises InvalidInput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InvalidInput("folder", f"{folder} is not empty", "Name a new folder")
        for name, data in files.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        told = error.strerror or type(error).__name__
        raise InvalidInput("folder", f"{folder} cannot be written: {told}", "Name another folder") from error


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files of an exported adapter. Raises InvalidInput if it is none."""
    fix = f"Name a folder that `memoryos adapters export` wrote: it has {', '.join(_NAMES)}"
    try:
        size = sum((folder / name).stat().st_size for name in _NAMES)
        files = {name: (folder / name).read_bytes() for name in _NAMES} if size <= MOST_BYTES else {}
        are_objects = all(isinstance(json.loads(files[name]), dict) for name in (CONFIG, ABOUT) if files)
    except (OSError, ValueError) as error:
        raise InvalidInput("folder", f"{folder} has no adapter ({type(error).__name__})", fix) from None
    if not files or not are_objects:
        raise InvalidInput("folder", f"{folder} has no adapter of at most {MOST_BYTES:,} bytes", fix)
    return files
