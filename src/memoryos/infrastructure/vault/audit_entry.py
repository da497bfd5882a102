"""Audit entry: one line of the audit log, and how the hash of an entry is made from the one before it.

An entry has ids, names and times. It has no content of a memory, no question and no argument of a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from memoryos.caller import Action, Caller
from memoryos.choice import Choice
from memoryos.clock import from_micros, micros
from memoryos.infrastructure.vault.tables import OWNER, scope_of
from memoryos.plain import Plain, plain
from memoryos.scope import Scope

BACKGROUND = "background"  # the operation of the work behind the calls
BEGUN = "audit.begin"  # the operation of the entry, in the chain of the store, that the chain of an owner began
UNRECORDED = "audit.unrecorded"  # the operation of the entry that tells how many reads have none
POLICIES = "policies.change"  # the operation of whoever changed the files with the policies
STORE_OPERATIONS = tuple(
    f"stores.{name}"
    for name in (
        *("backup", "copy", "reembed", "restore", "scrub", "verify"),
        *("decrypt", "encrypt", "reencrypt", "rotate_encryption_key"),  # only if they are refused
    )
)
CUBES_AT_MOST = 500  # in one entry; more go into further ones

_CONTEXT = ("purpose", "session", "application", "network", "at")  # of a caller, beside identity and roles
_HASHED = (*OWNER, "number", "at", "caller", "context", "action", "operation", "change", "cubes", "decision", "reason")


class Decision(Choice):
    """What became of a call."""

    ALLOWED = "allowed"  # it was done
    REFUSED = "refused"  # the gate, or the state of a memory, did not allow it
    FAILED = "failed"  # it was allowed and ended with an error; nothing was written


@dataclass(frozen=True, slots=True)
class AuditedCube(Plain):
    """A memory that a call read or changed."""

    id: str  #: the id of the memory
    kind: str | None = None  #: page, fact, ...; None: the call returned only the id
    version: int | None = None  #: the version that was written; None: it was read


@dataclass(frozen=True, slots=True)
class AuditEntry(Plain):
    """Who did what to which memories, in which context, and with which decision."""

    scope: Scope | None  #: whose memory it is; None: an operation on the whole store
    number: int  #: number of the entry in the chain of this owner, from 1
    at: datetime  #: when it was noted
    caller: str  #: identity of the caller; "memoryos" for the work behind the calls
    roles: tuple[str, ...]  #: roles of the caller
    context: Mapping[
        str, str
    ]  #: purpose, session, application, network, time, pipeline; place of a copy; `key: invalid`; further `times`
    action: Action  #: read, write, share, delete or administer
    operation: str  #: the method that was called, such as `memory.search`
    change: str | None  #: what happened to the memories, as in `log.events`; None: nothing was changed
    cubes: tuple[AuditedCube, ...]  #: the memories; empty if there are none, or all of the owner
    decision: Decision  #: allowed, refused or failed
    reason: str | None  #: the name of the error; None: there was none
    hash: str  #: hash of this entry and the one before it


@dataclass(frozen=True, slots=True)
class Deed:
    """What goes into the log; the chain adds a number and a hash."""

    scope: Scope | None
    at: datetime
    caller: Caller
    action: Action
    operation: str
    change: str | None = None
    cubes: tuple[AuditedCube, ...] = field(default=())
    decision: Decision = Decision.ALLOWED
    reason: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)  #: of the call, beside that of the caller

    def columns(self) -> Iterator[dict[str, Any]]:
        """The columns of its entries, without owner, number and hash."""
        for start in range(0, max(1, len(self.cubes)), CUBES_AT_MOST):
            some = self.cubes[start : start + CUBES_AT_MOST]
            yield {
                "at": micros(self.at),
                "caller": self.caller.identity,
                "context": _context_text(self.caller, self.context),
                "action": self.action.value,
                "operation": self.operation,
                "change": self.change,
                "cubes": _json([[cube.id, cube.kind, cube.version] for cube in some]) if some else None,
                "decision": self.decision.value,
                "reason": self.reason,
            }


KeepDeed = Callable[[Deed], object]  #: has an entry written later


def hash_of(row: Mapping[str, Any], previous: str) -> str:
    """The hash of an entry, given by its columns, after the entry with that hash ("": it is the first)."""
    return sha256(_json([previous, *(row[name] for name in _HASHED)]).encode()).hexdigest()


def entry_of(row: Mapping[str, Any]) -> AuditEntry:
    """The entry in these columns. Raises ValueError if they were damaged."""
    context = dict(json.loads(row["context"] or "{}"))
    roles = context.pop("roles", ())
    return AuditEntry(
        owner_of(row),
        row["number"],
        from_micros(row["at"]),
        row["caller"],
        tuple(roles),
        context,
        Action(row["action"]),
        row["operation"],
        row["change"],
        tuple(AuditedCube(*one) for one in json.loads(row["cubes"] or "[]")),
        Decision(row["decision"]),
        row["reason"],
        row["hash"],
    )


def owner_of(row: Mapping[str, Any]) -> Scope | None:
    """The owner in these columns; None for the whole store."""
    return scope_of(*(row[name] for name in OWNER)) if row["tenant"] else None


def _context_text(caller: Caller, more: Mapping[str, str]) -> str | None:
    told = {name: plain(value) for name in _CONTEXT if (value := getattr(caller, name)) is not None} | dict(more)
    roles = {"roles": sorted(caller.roles)} if caller.roles else {}
    return _json({**told, **roles}) if told or roles else None


def _json(value: Sequence[Any] | Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))
