"""Fork gate: a fork waits for the threads of this process that use SQLite.

SQLite has locks of its own for the whole process. A child inherits those that other threads hold at the fork, and no
thread that would release them. So a fork waits until no other thread is in a session, for `LONGEST_WAIT` at most. None
begins during the fork.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT = 1.0  # seconds; a long session uses SQLite in few of its moments

_changed = threading.Condition()
_inside: Counter[int] = Counter()  # the sessions of each thread


@contextmanager
def in_session() -> Iterator[None]:
    """Let forks of other threads wait for the block."""
    thread = threading.get_ident()
    with _changed:
        _inside[thread] += 1
    try:
        yield
    finally:
        with _changed:
            _inside[thread] -= 1
            if not _inside[thread]:
                del _inside[thread]
                _changed.notify_all()


def _wait_for_others() -> None:
    """Wait for the sessions of other threads, and keep the lock until the fork is done."""
    _changed.acquire()
    thread, end = threading.get_ident(), time.monotonic() + LONGEST_WAIT
    while _inside.keys() - {thread} and (left := end - time.monotonic()) > 0:
        _changed.wait(left)


def _go_on() -> None:
    _changed.release()


def _go_on_alone() -> None:
    """Forget the sessions of threads that do not exist in the child."""
    for thread in _inside.keys() - {threading.get_ident()}:
        del _inside[thread]
    _changed.release()


os.register_at_fork(before=_wait_for_others, after_in_parent=_go_on, after_in_child=_go_on_alone)
