"""Expected: checks that what callers pass is of the class that a call needs. They need no store."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from memoryos.caller import Caller
from memoryos.errors import InvalidInput
from memoryos.scope import Scope

_Item = TypeVar("_Item")


def instance(field: str, value: object, kind: type[_Item], fix: str) -> _Item:
    """Check that a value is an instance of the class."""
    if not isinstance(value, kind):
        raise InvalidInput(field, f"expected {kind.__name__}, got {type(value).__name__}", fix)
    return value


def scope(value: object) -> Scope:
    """Check that the value is a Scope."""
    if not isinstance(value, Scope):
        raise InvalidInput("scope", f"expected a Scope, got {type(value).__name__}", "Pass Scope(user=...)")
    return value


def caller(value: Caller | None, owner: Scope, of_store: Caller) -> Caller:
    """The caller who uses the memory: by default that of the store, if it has a key, or else the user in its place."""
    if value is not None:
        return instance("caller", value, Caller, "Pass Caller(...)")
    return of_store if of_store.key is not None else replace(of_store, identity=owner.user, roles=frozenset())
