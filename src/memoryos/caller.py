"""Caller: who makes a call, and in which context (MemOS paper, section 5.5.1: user, context, memory object).

The caller is passed beside the scope, which says whose memory is used. A call has one caller, whatever it reads and
writes, and the gate checks every session of the vault for this caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

from memoryos.choice import Choice
from memoryos.errors import InvalidInput
from memoryos.items import items
from memoryos.plain import Plain
from memoryos.scope import Scope
from memoryos.text import checked_text

NAME_LIMIT = 256  # characters of an identity, a role, a purpose

T = TypeVar("T")


class Action(Choice):
    """What a caller may do with a scope."""

    READ = "read"  # search, list and get
    WRITE = "write"  # add and change
    SHARE = "share"  # let others use a memory
    DELETE = "delete"  # remove a memory, or all of them
    ADMINISTER = "administer"  # operations on the whole store (its owners, mounts and jobs), and thawing


@dataclass(frozen=True, slots=True)
class Caller(Plain):
    """The identity and roles of a caller, and the context of the call."""

    identity: str  #: who calls
    roles: frozenset[str] = frozenset()  #: names that the gate may decide by
    purpose: str | None = None  #: why, for the gate and the log
    session: str | None = None  #: session of the caller
    application: str | None = None  #: program of the caller
    network: str | None = None  #: address or zone of the caller
    at: datetime | None = None  #: time of the call; None: now
    key: str | None = None  #: id of the API key that it called with, which each session checks; None: none

    def __post_init__(self) -> None:
        checked_text("caller.identity", self.identity, limit=NAME_LIMIT)
        if isinstance(self.roles, str) or not isinstance(self.roles, Iterable):
            raise InvalidInput("caller.roles", "is not a set of names", "Pass e.g. frozenset({'doctor'})")
        roles = tuple(items("caller.roles", self.roles))
        for role in roles:
            checked_text("caller.roles", role, limit=NAME_LIMIT)
        for name in ("purpose", "session", "application", "network", "key"):
            if getattr(self, name) is not None:
                checked_text(f"caller.{name}", getattr(self, name), limit=NAME_LIMIT)
        if not isinstance(self.at, datetime | None):
            raise InvalidInput("caller.at", f"is a {type(self.at).__name__}", "Pass a datetime")
        object.__setattr__(self, "roles", frozenset(roles))


@dataclass(frozen=True, slots=True)
class CallContext(Plain):
    """In which context a memory was written; None: it was not said, or an older store did not note it."""

    job: str | None = None  #: the kind of the background job that wrote it
    purpose: str | None = None  #: what the caller called for
    session: str | None = None  #: session of the caller
    application: str | None = None  #: program of the caller


SYSTEM = Caller("memoryos")  # the work behind the calls: moves, extraction, repair
OPERATOR = Caller("operator", frozenset({"administrator"}))  # who opened the store, when nobody else is named


class Gate(Protocol):
    """Decides what a caller may do."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return if the caller may do this, or raise PermissionDenied. A scope of None means the whole store."""
        ...


class View(Protocol):
    """Decides which cubes a caller may use in some way, by their class: owner, kind and labels."""

    @property
    def mark(self) -> object:
        """The same object for as long as all decisions stay the same: what is remembered of them is kept under it."""
        ...

    def has_all(self, scope: Scope) -> bool:
        """Whether the caller may use every cube of the scope."""
        ...

    def admits(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """Whether the caller may use cubes of this class; `labels` are JSON lists that the store keeps."""
        ...

    def admits_anew(self, scope: Scope, kind: str, *labels: str | None) -> bool:
        """The same without memory, so that it takes as long for every class."""
        ...

    def decided(self, scope: Scope, sequence: int, are_same: Callable[[int], bool]) -> dict[str, bool]:
        """Decisions about cubes of the scope, by id, as of that event; the caller adds to the dict.

        `are_same` tells whether all cubes are in the classes in which they were at an earlier event.
        """
        ...

    def takes_as_long(self, scope: Scope) -> None:
        """Take as long as a decision about a cube."""
        ...


@runtime_checkable
class Views(Gate, Protocol):
    """A gate that also decides about single cubes."""

    rights: Callable[[str, str], Any]  #: what was passed on and granted to a caller, by identity and tenant

    def view(self, caller: Caller, action: Action, scope: Scope) -> View | None:
        """What decides which cubes of the scope the caller may use in this way; None: the caller may use all."""
        ...


@runtime_checkable
class ChangingGate(Protocol):
    """A gate whose policies may change while it is used."""

    def observe(self, note: Callable[[str], None]) -> str:
        """Have the fingerprint of other policies noted whenever they change; returns that of the present ones."""
        ...


class OpenGate:
    """Admits everybody: the gate of a store without a policy."""

    def admit(self, caller: Caller, action: Action, scope: Scope | None) -> None:
        """Return."""


AtEnd = Callable[[Any, BaseException | None], None]  #: gets the result of a call, or its error


class Call:
    """A call of a public method: the outermost one, when methods call each other."""

    __slots__ = ("_at_end", "concerned", "context", "is_over", "notes", "operation", "shown", "written")

    def __init__(self, operation: str) -> None:
        self.operation = operation  #: module and name of the method, such as `memory.search`
        self.is_over = False
        self.concerned: set[tuple[Scope, str, str]] = set()  #: owner, id and kind of memories that the caller named
        self.shown: list[Any] = []  #: results of searches that a model was shown
        self.written: set[Scope] = set()  #: owners whose memory a transaction of the call changed
        self.context: dict[str, str] = {}  #: what its entries in the audit log tell beside the caller's context
        self.notes: dict[object, Any] = {}  #: what an observer keeps about the call, by observer
        self._at_end: list[AtEnd] = []

    def at_end(self, do: AtEnd) -> None:
        """Have this called when the call ends."""
        self._at_end.append(do)

    def run(self, work: Callable[[], T]) -> T:
        """Do the work of the call and return its result."""
        result: T | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:
            error = raised
            raise
        else:
            return result
        finally:
            self.is_over = True
            for do in self._at_end:
                do(result, error)
            del error  # it refers to this frame


_CURRENT: ContextVar[Caller] = ContextVar("memoryos_caller")
_CALL: ContextVar[Call | None] = ContextVar("memoryos_call", default=None)
_ACTION: ContextVar[Action] = ContextVar("memoryos_action")
_JOB: ContextVar[str | None] = ContextVar("memoryos_job", default=None)


def acting(caller: Caller, call: Callable[[], T], entered: Call | None = None) -> T:
    """Run a function on behalf of the caller and return its result; `entered` is the public method, if one was called.

    The work behind the calls is no part of a call.
    """

    # In a context of its own, which no interrupt can leave behind.
    def run() -> T:
        _CURRENT.set(caller)
        if entered is not None or caller is SYSTEM:
            _CALL.set(entered)
        return call()

    return copy_context().run(run)


def doing(action: Action, call: Callable[[], T]) -> T:
    """Run a function whose writes are asked as this action, and return its result."""

    def run() -> T:
        _ACTION.set(action)
        return call()

    return copy_context().run(run)


def working(job: str, call: Callable[[], T]) -> T:
    """Run a function as the work of a job of this kind, and return its result."""

    def run() -> T:
        _JOB.set(job)
        return call()

    return copy_context().run(run)


def call_context() -> CallContext:
    """In which context the running call writes, or the running job."""
    caller = acting_caller()
    return CallContext(_JOB.get(), caller.purpose, caller.session, caller.application)


def current_action() -> Action:
    """What writing sessions are asked as."""
    return _ACTION.get(Action.WRITE)


def acting_caller() -> Caller:
    """The caller of the running call, or SYSTEM if there is none."""
    return _CURRENT.get(SYSTEM)


def running_call() -> Call | None:
    """The public method that runs, or None behind the calls and after their end."""
    call = _CALL.get()
    return None if call is None or call.is_over else call


def concerns(owner: Scope, cube_id: str, kind: str) -> None:
    """Note that the running call is about this memory, which exists."""
    if call := running_call():
        call.concerned.add((owner, cube_id, kind))


def is_background() -> bool:
    """Whether this runs in the work behind the calls."""
    return _CURRENT.get(None) is SYSTEM


def current() -> Caller:
    """The caller of the running call. Raises LookupError if there is none: such a path must not reach a vault."""
    return _CURRENT.get()
