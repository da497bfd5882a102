"""Keyed gate: a caller who came with an API key may do what the key opens."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.caller import Action, Caller, Gate
from memoryos.clock import Clock
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class KeyedGate:
    """A gate that asks the caller's key first, and then another gate."""

    gate: Gate
    vault: Vault  #: has the keys; asked anew each time, so that a revoked key opens nothing
    clock: Clock

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return if the key and the other gate admit the caller. Raises PermissionDenied."""
        if caller.key is not None:
            found = self.vault.keys.find(caller.key)
            if found is None or not found[0].is_valid(self.clock()) or not found[0].opens(caller, action, scope):
                raise PermissionDenied(f"{caller.identity} may not {action.value} this with its key")
        self.gate.admit(caller, action, scope)
