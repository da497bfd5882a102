"""Short waits: the threads that compute wait for each other for a moment before they sleep.

GNU OpenMP, which torch and llama.cpp use on Linux, has them spin for milliseconds at each of the hundreds of barriers
of a token. Where other programs use the cores, they so take the time of the thread that they wait for. It reads its
variables when it is loaded: they are set while a runtime is loaded, and no program that is started later gets them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_TURNS = "2000"  # of a thread that waits, which are far below a millisecond


@contextmanager
def short_waits() -> Iterator[None]:
    """Load a runtime in the block with short waits, unless the environment says how long they are."""
    if any(name in os.environ for name in _NAMES):
        yield
        return
    os.environ[_NAMES[0]] = _TURNS
    try:
        yield
    finally:
        os.environ.pop(_NAMES[0], None)
