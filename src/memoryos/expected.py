"""Expected: checks that what callers pass is of the class that a call needs. They need no store."""

from __future__ import annotations

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


def caller(value: Caller | None, owner: Scope) -> Caller:
    """The caller who uses the memory: by default its user."""
    return Caller(owner.user) if value is None else instance("caller", value, Caller, "Pass Caller(...)")
