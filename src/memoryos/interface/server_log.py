"""The log of the servers: JSON Lines on standard error, without the words of a request."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("memoryos.server")


@contextmanager
def logged() -> Iterator[None]:
    """Write the lines of the log to standard error."""
    handler, level, goes_on = logging.StreamHandler(sys.stderr), log.level, log.propagate
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = goes_on
