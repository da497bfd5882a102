"""The worker: does the jobs of a whole store, scope after scope, until it is told to stop.

Several may run, in one process and in many: the lease of a scope's jobs keeps them apart. It looks for work again and
again instead of being told, so that it finds also what a process left that died.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event

from memoryos.errors import StorageError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.operation.housekeeping import Housekeeping
from memoryos.scope import Scope

LOOK_AROUND_SECONDS = 30.0  # between looks for pages that nobody moves

logger = logging.getLogger(__name__)


@dataclass
class Worker:
    """Does the work of one store."""

    vault: Vault
    housekeeping: Housekeeping

    def run(self, stop: Event, *, threads: int, poll_seconds: float | None) -> int:
        """Work until `stop` is set, or (None) until nothing is due; returns how many jobs were finished.

        Only in the second case it raises StorageError; who stays tries again.
        """
        with ThreadPoolExecutor(threads, thread_name_prefix="memoryos-worker") as pool:
            rounds = self._rounds(stop, poll_seconds)
            work = partial(self._work, stop=stop, stays=poll_seconds is not None)
            return sum(sum(pool.map(work, owners)) for owners in rounds)

    def _rounds(self, stop: Event, poll_seconds: float | None) -> Iterator[list[Scope]]:
        """The owners with work, again and again; it rests when there are none."""
        look_around = 0.0
        while not stop.is_set():
            owners = self.vault.waiting()
            if time.monotonic() >= look_around:
                owners = list(dict.fromkeys([*owners, *self.vault.unsettled()]))
                look_around = time.monotonic() + LOOK_AROUND_SECONDS
            yield owners
            if not owners and poll_seconds is None:
                return
            if not owners:
                stop.wait(poll_seconds)

    def _work(self, owner: Scope, *, stop: Event, stays: bool) -> int:
        try:
            return 0 if stop.is_set() else self.housekeeping.work(owner, lambda: not stop.is_set())
        except StorageError as error:  # busy or full: the next round tries again
            if not stays:
                raise
            logger.warning("work put off", extra={"action": "worker", "error": type(error).__name__})
            stop.wait(1.0)
            return 0
