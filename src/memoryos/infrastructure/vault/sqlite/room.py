"""Room: whether a file could not grow for lack of space, which SQLite tells only of a disk that is full.

Of a quota and of a limit of file sizes it says "disk I/O error", as of a broken disk, and not what the system said.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile

LACKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_PAGE = bytes(4096)


def lack_beside(*files: Path) -> str | None:
    """What the system says to a file that grows beyond the largest of these, in their folder; None if it may.

    The file has a hole up to there, so this takes no more space than a page, and no time.
    """
    largest = max((file.stat().st_size for file in files if file.exists()), default=0)
    try:
        with TemporaryFile(dir=files[0].parent, buffering=0) as probe:
            probe.seek(largest)
            probe.write(_PAGE)
            os.fsync(probe.fileno())  # some file systems count a quota only now
    except OSError as error:
        return os.strerror(error.errno) if error.errno in LACKS else None
    return None
