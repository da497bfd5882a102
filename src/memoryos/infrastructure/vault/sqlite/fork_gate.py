"""Fork gate: a fork waits for the threads of this process that use SQLite.

SQLite has locks of its own for the whole process. A child inherits those that other threads hold at the fork, and no
thread that would release them. So a fork waits until no other thread is in a session, for `LONGEST_WAIT` at most. None
begins during the fork.

OpenSSL, on which SQLCipher is built, has one more: a thread takes it when it has ended for Python and its last
destructors run. So a fork also waits until the threads that were in a session and have ended are gone from the system.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType

LONGEST_WAIT = 1.0  # seconds; a long session uses SQLite in few of its moments
POLL = 0.001  # seconds; nobody tells that a thread is gone
MANY = 256  # threads that are remembered before those that are gone are forgotten
TASKS = Path("/proc/self/task")  # of Linux; elsewhere the end of a thread is not seen

_lock = threading.RLock()
_changed = threading.Condition(_lock)  # a session takes the lock itself, which is faster
_inside: Counter[int] = Counter()  # the sessions of each thread
_visitors: set[int] = set()  # what the system calls the threads that have been in a session


class InSession:
    """A block for which forks of other threads wait: a class, for a generator takes longer than the rest of it."""

    __slots__ = ("_thread",)

    def __enter__(self) -> None:
        self._thread = thread = threading.get_ident()
        with _lock:
            _inside[thread] += 1
            _remember(threading.get_native_id())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread = self._thread
        with _lock:
            _inside[thread] -= 1
            if not _inside[thread]:
                del _inside[thread]
                _changed.notify_all()


def _remember(visitor: int) -> None:
    if visitor not in _visitors:
        _visitors.add(visitor)
        if len(_visitors) % MANY == 0:
            _visitors.intersection_update(_tasks())


def _wait_for_others() -> None:
    """Wait for the sessions of other threads, and keep the lock until the fork is done."""
    _changed.acquire()
    thread, end = threading.get_ident(), time.monotonic() + LONGEST_WAIT
    while _inside.keys() - {thread} and (left := end - time.monotonic()) > 0:
        _changed.wait(left)
    while _ending() and time.monotonic() < end:
        time.sleep(POLL)
    _visitors.intersection_update(_living())  # the system may give an id again


def _ending() -> set[int]:
    """The threads that have ended for Python and not yet for the system."""
    return (_visitors - _living()) & _tasks()


def _living() -> set[int | None]:
    return {thread.native_id for thread in threading.enumerate()}


def _tasks() -> set[int]:
    return {int(task.name) for task in TASKS.iterdir()} if TASKS.is_dir() else set()


def _go_on() -> None:
    _changed.release()


def _go_on_alone() -> None:
    """Forget the sessions of threads that do not exist in the child."""
    for thread in _inside.keys() - {threading.get_ident()}:
        del _inside[thread]
    _visitors.clear()
    _changed.release()


os.register_at_fork(before=_wait_for_others, after_in_parent=_go_on, after_in_child=_go_on_alone)
