"""Caller: who asks, and in which context (MemOS paper, section 5.5.1: user, context, memory object).

It travels beside the scope, which says whose memory is asked: a call has one caller, whatever it reads and writes, and
every session of the vault is admitted in the caller's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from memoryos.choice import Choice
from memoryos.errors import InvalidInput
from memoryos.plain import Plain
from memoryos.scope import Scope
from memoryos.text import checked_text

NAME_LIMIT = 256  # characters of an identity, a role, a purpose

T = TypeVar("T")


class Action(Choice):
    """What a caller wants to do with a scope."""

    READ = "read"
    WRITE = "write"
    ADMINISTER = "administer"  # the store as a whole: its owners, mounts and jobs


@dataclass(frozen=True, slots=True)
class Caller(Plain):
    """Who calls, in which roles, and the calling context."""

    identity: str
    roles: frozenset[str] = frozenset()
    purpose: str | None = None
    session: str | None = None
    application: str | None = None
    network: str | None = None
    at: datetime | None = None  #: when it is taken to be; None is now

    def __post_init__(self) -> None:
        checked_text("caller.identity", self.identity, limit=NAME_LIMIT)
        if isinstance(self.roles, str) or not isinstance(self.roles, Iterable):
            raise InvalidInput("caller.roles", "is no set of names", "Pass e.g. frozenset({'doctor'})")
        roles = tuple(self.roles)
        for role in roles:
            checked_text("caller.roles", role, limit=NAME_LIMIT)
        for name in ("purpose", "session", "application", "network"):
            if getattr(self, name) is not None:
                checked_text(f"caller.{name}", getattr(self, name), limit=NAME_LIMIT)
        if not isinstance(self.at, datetime | None):
            raise InvalidInput("caller.at", f"is a {type(self.at).__name__}", "Pass a datetime")
        object.__setattr__(self, "roles", frozenset(roles))


SYSTEM = Caller("memoryos")  # the work behind the calls: moves, extraction, repair
OPERATOR = Caller("operator", frozenset({"administrator"}))  # who opened the store, when nobody else is named


class Gate(Protocol):
    """Decides what a caller may do."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return, or raise PermissionDenied. No scope is the store as a whole."""
        ...


class OpenGate:
    """Admits everybody: the gate of a store without a policy."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return."""


_CURRENT: ContextVar[Caller] = ContextVar("memoryos_caller")


def acting(caller: Caller, call: Callable[[], T]) -> T:
    """What the call returns; it acts for the caller."""

    # In a context of its own, which no interrupt can leave behind.
    def run() -> T:
        _CURRENT.set(caller)
        return call()

    return copy_context().run(run)


def current() -> Caller:
    """Who the running call acts for. Raises LookupError where nobody said: such a path must not reach a vault."""
    return _CURRENT.get()
