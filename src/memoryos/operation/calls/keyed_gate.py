"""Keyed gate: a caller who came with an API key may do what the key opens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos import api_key
from memoryos.api_key import STORE_TENANT, ApiKey
from memoryos.caller import SYSTEM, Action, Caller, Gate, acting
from memoryos.clock import Clock
from memoryos.errors import PermissionDenied
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.key_part import KeyPart
from memoryos.infrastructure.vault.role_part import RolePart
from memoryos.operation.calls.audit_trail import AuditTrail
from memoryos.operation.calls.hand import Hand
from memoryos.scope import Scope

STREAM = "memory.respond_stream"  # the operation of the streams, which go on after their call


def valid_key(keys: KeyPart, key: str, now: datetime) -> ApiKey:
    """What the store knows of a key.

    Raises PermissionDenied, with the same words whether the key is unknown, altered, revoked or has expired.
    """
    parts = api_key.read(key) if isinstance(key, str) else None
    key_id, secret = parts or ("", "")
    info, stored = keys.find(key_id) or (None, api_key.hashed("", "none"))
    is_right = api_key.is_same(stored, key_id, secret)
    if info is None or not is_right or not info.is_valid(now):
        raise PermissionDenied("the key is not valid")
    return info


@dataclass(frozen=True, slots=True)
class GrantedGate:
    """Another gate, which sees callers with the roles that were granted to them; policies look these up themselves."""

    gate: Gate
    roles: RolePart

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return if the other gate admits the caller. Raises PermissionDenied."""
        if caller is not SYSTEM:
            granted = self.roles.rights(caller.identity, scope.tenant if scope else STORE_TENANT).roles
            caller = replace(caller, roles=caller.roles | granted) if granted - caller.roles else caller
        self.gate.admit(caller, action, scope)


@dataclass(frozen=True, slots=True)
class KeyedGate:
    """A gate that asks the caller's key first, and then another gate."""

    gate: Gate
    vault: Vault  #: has the keys; asked anew each time, so that a revoked key opens nothing
    clock: Clock

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return if the key and the other gate admit the caller. Raises PermissionDenied."""
        check_key(self.vault, self.clock, caller, action, scope)
        self.gate.admit(caller, action, scope)


def check_key(vault: Vault, clock: Clock, caller: Caller, action: Action, scope: Scope | None) -> None:
    """Return if the caller has no key, or one that permits this now. Raises PermissionDenied."""
    if caller.key is not None:
        found = vault.keys.find(caller.key)
        if found is None or not found[0].is_valid(clock()) or not found[0].opens(caller, action, scope):
            raise PermissionDenied(
                f"{caller.identity} may not {action.value} this with its key{_fix(found[0] if found else None, action)}"
            )


def _fix(key: ApiKey | None, action: Action) -> str:
    """How a key with one more action is made; nothing for a key that lacks no action."""
    if key is None or action in key.actions:
        return ""
    wanted = " ".join(f"--action {one}" for one in sorted(one.value for one in {*key.actions, action}))
    return f": the key lacks this action, and `memoryos keys create NAME {wanted}` makes one that has it"


def key_check(hand: Hand, vault: Vault, clock: Clock, trail: AuditTrail | None) -> Callable[[Caller, Scope], None]:
    """What raises PermissionDenied once the key of the reader of a stream reads nothing of that owner any more."""

    def ask(caller: Caller, owner: Scope) -> None:
        try:
            check_key(vault, clock, caller, Action.READ, owner)
        except PermissionDenied as error:
            if trail is not None:
                trail.refused(caller, Action.READ, owner, error, STREAM)
            raise

    def check(caller: Caller, owner: Scope) -> None:
        if caller.key is not None:
            hand.run(lambda: acting(caller, lambda: ask(caller, owner)))

    return check
