"""Work on arrays in another thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from threading import Barrier, get_ident

import pytest

from forked import fork
from memoryos.operation.index.beside import beside, shared

SECONDS = 60


def test_each_part_is_done_once():
    done = Counter()
    for parts in (0, 1, 2, 500):
        done.clear()
        shared([lambda number=number: done.update([number]) for number in range(parts)])
        assert done == Counter(range(parts))


def test_two_threads_share_the_parts():
    """Each of the two parts waits for the other."""
    both, threads = Barrier(2), set()

    def part() -> None:
        both.wait(SECONDS)
        threads.add(get_ident())

    shared([part, part])
    assert len(threads) == 2


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_in_either_thread_is_raised_when_both_have_ended(failing):
    both, ended = Barrier(2), []

    def part() -> None:
        place = both.wait(SECONDS)
        ended.append(place)
        if (get_ident() == caller) is (failing == 0):
            raise ValueError("broken")

    caller = get_ident()
    with pytest.raises(ValueError, match="broken"):
        shared([part, part, lambda: ended.append("later"), lambda: ended.append("later")])
    assert {0, 1} <= set(ended)
    assert beside(lambda: 7).result(SECONDS) == 7


def test_a_forked_process_has_threads_of_its_own():
    shared([int, int])
    if not (child := fork()):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it hangs, and ends
        signal.alarm(SECONDS)
        both = Barrier(2)
        shared([lambda: both.wait(SECONDS) and None, lambda: both.wait(SECONDS) and None])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


_LATE = """
import atexit, sys, threading
from memoryos.operation.index.beside import beside, shared

done = []

def late():
    shared([lambda number=number: done.append(number) for number in range(3)])
    done.append(beside(lambda: 7).result())
    try:
        shared([[].pop])
    except IndexError:
        print(done)

if sys.argv[1] == "atexit":
    atexit.register(late)
else:
    threading.Thread(target=lambda: threading.main_thread().join() or late()).start()
"""


@pytest.mark.parametrize("when", ["atexit", "thread"])
def test_the_caller_does_all_at_the_end_of_the_program(when):
    """No other thread takes work then."""
    told = subprocess.run([sys.executable, "-c", _LATE, when], capture_output=True, text=True, timeout=SECONDS)
    assert (told.stdout, told.stderr) == ("[0, 1, 2, 7]\n", "")
