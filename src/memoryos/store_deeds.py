"""Store deeds: what is done with whole stores, for which no gate is asked, on its way into the audit log.

An entry is written before the work begins, so that no copy can be made without one, and another if the work fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from memoryos.caller import OPERATOR, SYSTEM, Action, acting_caller
from memoryos.clock import Clock
from memoryos.errors import MemoryOSError, Refused, StorageError
from memoryos.infrastructure.vault.audit_entry import Decision, Deed
from memoryos.infrastructure.vault.backup import manifest_of
from memoryos.infrastructure.vault.sql_vault import SqlVault

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreDeeds:
    """Entries about one operation on whole stores."""

    operation: str  #: such as `stores.backup`
    is_on: bool  #: whether the settings switch the audit log on
    clock: Clock
    place: str | None = None  #: where the copy goes, or what was restored

    @contextmanager
    def around(self, vault: SqlVault) -> Iterator[None]:
        """Note in the store that this is done with it, and whether it fails. A backup stays as it is."""
        self.note(vault)
        try:
            yield
        except MemoryOSError as error:
            self.note(vault, error)
            raise

    def beside(self, opened: Callable[[], SqlVault], error: MemoryOSError | None = None) -> None:
        """Note it in a store that is only read, or may be damaged: what prevents it is logged, and stops nothing."""
        if not self.is_on:
            return
        try:
            with closing(opened()) as vault:
                self.note(vault, error)
        except StorageError as failure:
            told = {"action": "audit", "error": type(failure).__name__}
            logger.error("audit log not written: %s", type(failure).__name__, extra=told)  # noqa: TRY400

    def note(self, vault: SqlVault, error: MemoryOSError | None = None) -> None:
        """Write the entry, with the error that ended the work."""
        if not self.is_on or _is_backup(vault):
            return
        caller = acting_caller()
        context = {} if self.place is None else {"place": self.place}
        deed = Deed(
            None,
            self.clock(),
            OPERATOR if caller is SYSTEM else caller,
            Action.ADMINISTER,
            self.operation,
            decision=_decision(error),
            reason=None if error is None else type(error).__name__,
            context=context,
        )
        vault.audit.write([deed])


def _is_backup(vault: SqlVault) -> bool:
    with vault.snapshot() as connection:
        return manifest_of(connection) is not None


def _decision(error: MemoryOSError | None) -> Decision:
    if error is None:
        return Decision.ALLOWED
    return Decision.REFUSED if isinstance(error, Refused) else Decision.FAILED
