"""Key check: whether MEMORYOS_KEY permits operations on whole stores, which no gate checks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memoryos.api_key import ApiKey
from memoryos.arguments import naming, store_place
from memoryos.caller import OPERATOR, Action, Caller, OpenGate, acting
from memoryos.clock import system_clock
from memoryos.config import Settings
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.place import Place, open_vault
from memoryos.interface.cli.options import existing_place
from memoryos.interface.cli.stated_context import stated_settings
from memoryos.opening import gate_of
from memoryos.operation.calls.keyed_gate import KeyedGate, valid_key
from memoryos.store_deeds import StoreDeeds

if TYPE_CHECKING:
    from memoryos.infrastructure.vault.sql_vault import SqlVault


def check_key(store: str | Path, operation: str) -> Caller:
    """Return the caller of the operation: who has the key in MEMORYOS_KEY, or else the operator.

    Raises PermissionDenied if the key may not administer this store, which the audit log has as what was refused.
    """
    settings = stated_settings()
    if settings.key is None:
        return OPERATOR
    existing_place(store, "Name the file of a store")
    with naming("--db"):
        place = store_place(store)
    with closing(_opened(place, settings, is_only_read=True)) as vault:
        known = valid_key(vault.keys, settings.key.get_secret_value(), system_clock())
        caller, refusing = _stated(known, settings), "keys.caller"
        try:
            caller = known.calling(settings.purpose, settings.application, session=settings.caller_session)
            refusing = operation
            _admit(vault, caller, settings)
        except PermissionDenied as error:
            refused = error
        else:
            return caller
    deeds = StoreDeeds(refusing, settings.audit, system_clock)
    acting(caller, lambda: deeds.beside(partial(_opened, place, settings), refused))
    raise refused


def _stated(known: ApiKey, settings: Settings) -> Caller:
    """The caller with what the settings state, whether the key has it or not."""
    holder = known.caller
    return replace(
        holder,
        purpose=settings.purpose or holder.purpose,
        session=settings.caller_session or holder.session,
        application=settings.application or holder.application,
    )


def _admit(vault: SqlVault, caller: Caller, settings: Settings) -> None:
    gate = gate_of(None, settings.policies, system_clock) or OpenGate()
    KeyedGate(gate, vault, system_clock).admit(caller, Action.ADMINISTER, None)


def _opened(place: Place, settings: Settings, *, is_only_read: bool) -> SqlVault:
    return open_vault(
        place,
        embedder=None,
        clock=system_clock,
        busy_timeout_seconds=settings.busy_timeout_seconds,
        object_store=settings.object_store,
        is_only_read=is_only_read,
        key=EncryptionKey.of(settings),
    )
