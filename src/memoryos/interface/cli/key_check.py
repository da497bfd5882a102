"""Key check: whether MEMORYOS_KEY permits operations on whole stores, which no gate checks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from memoryos.arguments import naming, store_place
from memoryos.caller import Action, OpenGate
from memoryos.clock import system_clock
from memoryos.config import Settings
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.place import Place, open_vault
from memoryos.interface.cli.options import existing_place
from memoryos.interface.cli.stated_context import stated_settings
from memoryos.opening import gate_of
from memoryos.operation.calls.keyed_gate import KeyedGate, valid_key

if TYPE_CHECKING:
    from memoryos.infrastructure.vault.sql_vault import SqlVault


def check_key(store: str | Path) -> None:
    """Check that the key in MEMORYOS_KEY, if there is one, may administer this store. Raises PermissionDenied."""
    settings = stated_settings()
    if settings.key is None:
        return
    existing_place(store, "Name the file of a store")
    with naming("--db"):
        place = store_place(store)
    with closing(_opened(place, settings)) as vault:
        known = valid_key(vault.keys, settings.key.get_secret_value(), system_clock())
        caller = known.calling(settings.purpose, settings.application, session=settings.caller_session)
        gate = gate_of(None, settings.policies, system_clock) or OpenGate()
        KeyedGate(gate, vault, system_clock).admit(caller, Action.ADMINISTER, None)


def _opened(place: Place, settings: Settings) -> SqlVault:
    return open_vault(
        place,
        embedder=None,
        clock=system_clock,
        busy_timeout_seconds=settings.busy_timeout_seconds,
        object_store=settings.object_store,
        is_only_read=True,
        key=EncryptionKey.of(settings),
    )
