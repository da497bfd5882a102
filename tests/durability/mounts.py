"""Real places that cannot be written, and disks that are full."""

from __future__ import annotations

import encodings.cp437  # noqa: F401 - of saved indexes: who becomes nobody may not import from root's Python
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import alembic.command  # noqa: F401 - of older stores, for the same reason
import pytest

NOBODY = 65534


@contextmanager
def read_only_mount(folder: Path) -> Iterator[Path]:
    """The folder where it may only be read; in its own place it may still be written."""
    place = folder.with_name(folder.name + "-read-only")
    place.mkdir(exist_ok=True)
    with mounted(place, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield place


@contextmanager
def without_permission(folder: Path, mode_of_folder: int = 0o555) -> Iterator[Path]:
    """The folder while its files may not be written. Root may write anywhere, so root becomes somebody else."""
    paths = [folder, *folder.iterdir()]
    modes = [path.stat().st_mode for path in paths]
    with ExitStack() as undo:
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode_of_folder if path.is_dir() else 0o444)
            undo.callback(path.chmod, mode)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
            undo.callback(os.seteuid, 0)
        yield folder


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    """A file system of its own that is soon full."""
    place.mkdir()
    with mounted(place, "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"):
        yield place


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[None]:
    """Something mounted there; the test is skipped, and says so, where that is not allowed."""
    done = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def files_limited(size: int) -> Iterator[None]:
    """No file grows beyond that many bytes: what a quota does, and all that is left where nothing can be mounted."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
