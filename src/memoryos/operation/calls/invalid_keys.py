"""Invalid keys: their uses on the way into the audit log, counted, so that whoever tries many cannot fill it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock

from memoryos.caller import Action, Caller
from memoryos.infrastructure.vault.audit_entry import Decision, Deed

UNKNOWN = Caller("unknown")  # who uses a key that is not valid
INVALID = "invalid"  # `key` in the context: others may be called "unknown", too
MOST_SOURCES = 16  # in one window; the uses of more are counted together
WINDOW, LONGEST = timedelta(minutes=1), timedelta(hours=1)  # the first window, and those of an attack that goes on

_OTHERS = replace(UNKNOWN, network="other addresses")


class InvalidKeys:
    """Counts the uses of invalid keys by address: of each window at most two entries for each of a few addresses.

    As long as uses follow soon, each window is twice as long as the one before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun: datetime | None = None
        self._lasts = WINDOW
        self._ended: datetime | None = None  # the window before
        self._further: dict[Caller, int] = {}  # uses after the first of the window

    def used(self, network: str | None, now: datetime) -> list[Deed]:
        """Count a use, and return the entries that are due: the first of an address is one. Raises InvalidInput."""
        source = replace(UNKNOWN, network=network)
        with self._lock:
            due = self._over(now)
            if source not in self._further and len(self._further) >= MOST_SOURCES:
                source = _OTHERS
            is_first = source not in self._further
            self._further[source] = 0 if is_first else self._further[source] + 1
            if self._begun is None:
                self._begin(now)
        return [*due, _deed(source, now)] if is_first else due

    @property
    def has_counted(self) -> bool:
        """Whether there are uses that no entry tells of yet."""
        with self._lock:
            return any(self._further.values())

    def over(self, now: datetime | None) -> list[Deed]:
        """The entries of windows that are over, each with the number of its uses; without a time, of all."""
        with self._lock:
            return self._over(now)

    def _begin(self, now: datetime) -> None:
        goes_on = self._ended is not None and now - self._ended < self._lasts
        self._begun, self._lasts = now, min(2 * self._lasts, LONGEST) if goes_on else WINDOW

    def _over(self, now: datetime | None) -> list[Deed]:
        if self._begun is None or (now is not None and now - self._begun < self._lasts):
            return []
        self._ended = self._begun + self._lasts
        at = now or self._begun
        found = [_deed(source, at, times=str(count)) for source, count in self._further.items() if count]
        self._begun, self._further = None, {}
        return found


def _deed(source: Caller, at: datetime, **context: str) -> Deed:
    return Deed(
        scope=None,
        at=at,
        caller=source,
        action=Action.READ,
        operation="keys.caller",
        decision=Decision.REFUSED,
        reason="PermissionDenied",
        context={"key": INVALID, **context},
    )
