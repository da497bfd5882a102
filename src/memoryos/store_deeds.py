"""Store deeds: what is done with whole stores, for which no gate is asked, on its way into the audit log.

An entry is written before the work begins, so that no copy can be made without one, and another if the work fails or
is interrupted. A repair and a check go on without their entry: the audit log itself may be what is damaged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from memoryos.caller import OPERATOR, SYSTEM, Action, acting_caller
from memoryos.clock import Clock
from memoryos.errors import MemoryOSError, Refused
from memoryos.infrastructure.vault.audit_entry import Decision, Deed
from memoryos.infrastructure.vault.backup import manifest_of
from memoryos.infrastructure.vault.sql_vault import SqlVault

logger = logging.getLogger(__name__)


class OpenToNote(Protocol):
    """Opens the store that an entry is about."""

    def __call__(self, *, is_only_read: bool) -> SqlVault:
        """Return the store; one that is only read is not changed."""
        ...


@dataclass(frozen=True, slots=True)
class StoreDeeds:
    """Entries about one operation on whole stores."""

    operation: str  #: such as `stores.backup`
    is_on: bool  #: whether the settings switch the audit log on
    clock: Clock
    place: str | None = None  #: where the copy goes, or what was restored

    @contextmanager
    def around(self, vault: SqlVault, *, needs_entry: bool = True) -> Iterator[None]:
        """Note in the store that this is done with it, and whether it fails. A backup stays as it is.

        Raises StorageError if the entry cannot be written and the work `needs_entry`.
        """
        with nullcontext() if needs_entry else _only_logged():
            self.note(vault)
        try:
            yield
        except BaseException as error:
            with _only_logged():
                self.note(vault, error)
            raise

    def beside(self, opened: OpenToNote, error: MemoryOSError | None = None) -> None:
        """Note it in a store that is only read, or may be damaged: what prevents it is logged, and stops nothing.

        A backup is not opened to be written, which would change its file.
        """
        if not self.is_on:
            return
        with _only_logged():
            with closing(opened(is_only_read=True)) as vault:
                if _is_backup(vault):
                    return
            with closing(opened(is_only_read=False)) as vault:
                self.note(vault, error)

    def note(self, vault: SqlVault, error: BaseException | None = None) -> None:
        """Write the entry, with what ended the work."""
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


@contextmanager
def _only_logged() -> Iterator[None]:
    """Log what prevents an entry, and go on."""
    try:
        yield
    except MemoryOSError as failure:
        told = {"action": "audit", "error": type(failure).__name__}
        logger.error("audit log not written: %s", type(failure).__name__, extra=told)  # noqa: TRY400


def _is_backup(vault: SqlVault) -> bool:
    with vault.snapshot() as connection:
        return manifest_of(connection) is not None


def _decision(error: BaseException | None) -> Decision:
    if error is None:
        return Decision.ALLOWED
    return Decision.REFUSED if isinstance(error, Refused) else Decision.FAILED
