"""ErasureWatch: has this process let go of what others, or it itself, removed from the store.

A search follows the store before it answers. A process that is idle would keep what it has read, so a thread asks the
store every few seconds whether memories went: for the number of its last event and, if there are new ones, whose they
are. The thread begins when an owner's memory is first used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, Thread
from weakref import finalize, ref

from memoryos.caller import SYSTEM, acting
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.patience import apart
from memoryos.operation.index.residency import Residency
from memoryos.process_lock import ProcessLock
from memoryos.scope import Scope
from memoryos.text_cache import forget_texts

LOOK_SECONDS = 10.0  # between two looks
_NEVER = 1 << 62  # the number of no event
_BEGINNING = ProcessLock()  # while a thread begins, or is told to end

logger = logging.getLogger(__name__)


class ErasureWatch:
    """Follows the removals of one store."""

    def __init__(self, vault: Vault, residency: Residency) -> None:
        self._vault = vault
        self._residency = residency
        self._thread: Thread | None = None  # a forked process begins its own
        self._stop = Event()
        self._is_closed = False
        self._seen: tuple[int, int] | None = None  # the last event at the look before the last one, and at that one
        residency.on_use = self.start

    def start(self) -> None:
        """Look from now on, until the store is closed."""
        if self._is_looking:
            return
        with _BEGINNING:
            if not (self._is_closed or self._is_looking):
                self._begin()

    def look(self) -> None:
        """Let go of what went since the look before the last one: a transaction may end after one with later events.

        The first look follows everything that is in memory.
        """
        if self._seen is None:
            last, _ = self._vault.erasure.erased_since(_NEVER)
            gone, self._seen = set(self._residency.owners), (last, last)
        else:
            before, at = self._seen
            last, gone = self._vault.erasure.erased_since(before)
            self._seen = at, last
        if gone:
            acting(SYSTEM, partial(self._let_go, gone))

    def close(self) -> None:
        """Stop looking, and let go of all texts."""
        with _BEGINNING:
            self._is_closed = True
            self._stop.set()
        if self._thread is not None and self._is_looking:
            self._thread.join()
        forget_texts()

    @property
    def _is_looking(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        self._stop, self._seen = Event(), None
        finalize(self, self._stop.set)  # the thread must not keep a store that nobody uses any more
        work = partial(_run, ref(self), self._stop)
        thread = Thread(target=apart, args=[work], name="memoryos-erasures", daemon=True)
        thread.start()
        self._thread = thread

    def _let_go(self, owners: Iterable[Scope]) -> None:
        for owner in owners:
            self._residency.follow_erasure(owner, self._vault.read)
        forget_texts()
        if self._vault.on_erased:
            self._vault.on_erased()


def _run(find: Callable[[], ErasureWatch | None], stop: Event) -> None:
    """Look until the store is closed or forgotten; where it cannot be read now, the next look finds the same."""
    while not stop.wait(LOOK_SECONDS):
        if (watch := find()) is None:
            return
        try:
            watch.look()
        except StorageError as error:
            logger.debug("removals not looked for: %s", type(error).__name__)
        del watch
