"""Fixed bytes: large bytes in memory that nobody can change, mapped from a memory file of Linux.

The file has no name, and ends with its last mapping. The kernel lets nobody alter or cut it, not even this process:
its seals (memfd_create(2), F_ADD_SEALS) forbid that, also for those who opened it before.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from collections.abc import Callable

# Fewer are read: malloc gives them memory that the process has already, which takes less time, and no mapping keeps a
# file descriptor. What is larger, it maps anew, too (DEFAULT_MMAP_THRESHOLD_MAX of glibc).
LEAST = 32 << 20  # bytes
_LACKS = (errno.ENOMEM, errno.ENOSPC)


def fixed(size: int, fill: Callable[[int], int]) -> memoryview | None:
    """Return so many bytes, which `fill` writes into the file of a number; it returns how many it wrote.

    None if they are few or not all of them, or if this system or process can have no such file. Raises MemoryError.
    """
    if sys.platform != "linux" or size < LEAST:
        return None
    try:
        number = os.memfd_create("memoryos-blob", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            return _mapped(number, size) if fill(number) == size else None
        finally:
            os.close(number)
    except OSError as error:
        if error.errno in _LACKS:
            raise MemoryError(f"there is no memory for {size:,} bytes") from error
        return None


def fixed_copy(data: bytes) -> memoryview:
    """Return these bytes as fixed ones if they are large; otherwise as they are. Raises MemoryError."""
    copy = fixed(len(data), lambda number: _written(data, number))
    return memoryview(data) if copy is None else copy


def sent(source: int, size: int, target: int) -> int:
    """Copy so many bytes from one file to another, by their numbers; return how many there were."""
    done = 0
    while done < size and (count := os.sendfile(target, source, done, size - done)):
        done += count
    return done


def _written(data: bytes, number: int) -> int:
    with os.fdopen(number, "wb", closefd=False) as file:
        return file.write(data)


def _mapped(number: int, size: int) -> memoryview:
    import fcntl  # not on Windows

    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    # Before Linux 6.7, a sealed file cannot be mapped as a shared one, not even to be read.
    flags = mmap.MAP_PRIVATE | mmap.MAP_POPULATE
    return memoryview(mmap.mmap(number, size, flags=flags, prot=mmap.PROT_READ))
