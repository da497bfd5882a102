"""AuditPart: the audit log of a store, in SQL.

Each owner has a chain of entries, and so has the store as a whole. An entry has the hash of the one before it in its
own hash, so a changed, removed or moved entry shows. The last number and hash of each chain are kept apart, so a
missing end shows, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Result, Select, bindparam, select, tuple_

from memoryos.caller import SYSTEM, Action, acting_caller, current_action, running_call
from memoryos.clock import micros
from memoryos.errors import InvalidInput, StoreCorrupt
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.audit_entry import (
    BACKGROUND,
    BEGUN,
    AuditedCube,
    AuditEntry,
    Decision,
    Deed,
    entry_of,
    hash_of,
    owner_of,
)
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.records import Operation
from memoryos.infrastructure.vault.rows import AT_A_TIME
from memoryos.infrastructure.vault.statements import ask, insert_rows, put_rows
from memoryos.infrastructure.vault.tables import OWNER, owner_row
from memoryos.plain import Plain
from memoryos.scope import Scope

_audit, _heads = tables.audit, tables.audit_heads

_ORDER = tuple(_audit.c[name] for name in ("at", *OWNER, "number"))

_HEAD = select(_heads.c.number, _heads.c.hash).where(*(_heads.c[name] == bindparam(name) for name in OWNER))

AuditKey = tuple[int, str, str, str, str, int]  #: the position of an entry among all of a store


@dataclass(frozen=True, slots=True)
class AuditSelection:
    """The conditions for entries of the log; None: any."""

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    caller: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    actions: tuple[Action, ...] = ()
    operations: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    kind: str | None = None
    cube_id: str | None = None

    def admits(self, entry: AuditEntry) -> bool:
        """Whether the entry meets the conditions about its memories."""
        if self.kind is None and self.cube_id is None:
            return True
        return any(self.kind in (None, one.kind) and self.cube_id in (None, one.id) for one in entry.cubes)

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """The conditions that columns can check."""
        same = {"tenant": self.tenant, "user_id": self.user, "agent_id": self.agent, "caller": self.caller}
        yield from (_audit.c[name] == value for name, value in same.items() if value is not None)
        among = {"action": self.actions, "operation": self.operations, "decision": self.decisions}
        yield from (_audit.c[name].in_([str(one) for one in values]) for name, values in among.items() if values)
        if self.since is not None:
            yield _audit.c.at >= micros(self.since)
        if self.until is not None:
            yield _audit.c.at <= micros(self.until)
        if self.kind is not None or self.cube_id is not None:
            yield _audit.c.cubes.is_not(None)


@dataclass(frozen=True, slots=True)
class ChainBreak(Plain):
    """The first entry of a chain that is not as it was written."""

    scope: Scope | None  #: whose chain it is; None: that of the whole store
    number: int  #: number of the entry
    problem: str  #: what is wrong with it


@dataclass(frozen=True, slots=True)
class ChainHead(Plain):
    """The last entry of a chain."""

    scope: Scope | None  #: whose chain it is; None: that of the whole store
    number: int  #: number of the entry
    hash: str  #: hash of the entry


@dataclass(frozen=True, slots=True)
class AuditReport(Plain):
    """What a check of the audit log found."""

    entries: int  #: how many were read
    heads: tuple[ChainHead, ...]  #: the last entry of each chain: keep them elsewhere to compare
    broken: tuple[ChainBreak, ...]  #: the first broken entry of each broken chain

    @property
    def is_sound(self) -> bool:
        """Whether every chain is as it was written."""
        return not self.broken


def deeds_of(owner: Scope, at: datetime, changes: Mapping[Operation, Sequence[AuditedCube]]) -> list[Deed]:
    """The entries of a transaction on an owner, given what it did to cubes: one for each operation on them.

    A transaction of a caller that changed no cube is one entry, about those that the caller named. One of the work
    behind the calls is none.
    """
    caller, call = acting_caller(), running_call()
    operation, context = (call.operation, call.context) if call else (BACKGROUND, {})
    deed = Deed(owner, at, caller, current_action(), operation, context=context)
    if not changes:
        named = sorted((one, kind) for scope, one, kind in call.concerned if scope == owner) if call else ()
        return [] if caller is SYSTEM else [replace(deed, cubes=tuple(AuditedCube(*one) for one in named))]
    return [replace(deed, change=change.value, cubes=tuple(cubes)) for change, cubes in changes.items()]


def append(connection: Connection, scope: Scope | None, deeds: Sequence[Deed]) -> list[Deed]:
    """Add entries to the chain of an owner, in a transaction that excludes other writers of the owner.

    Returns what the chain of the store has to tell: that a chain began, and with which entry. Raises StoreCorrupt.
    """
    if not deeds:
        return []
    owner = dict(zip(OWNER, _columns(scope), strict=True))
    number, previous = next(iter(ask(connection, _HEAD, owner)), (0, ""))
    if not isinstance(number, int):
        raise StoreCorrupt("the record of the last audit entry is damaged: `memoryos verify` names it")
    is_new = scope is not None and not number
    rows = []
    for columns in (columns for deed in deeds for columns in deed.columns()):
        number += 1
        row = {**owner, "number": number, **columns}
        previous = hash_of(row, previous)
        rows.append({**row, "hash": previous})
    insert_rows(connection, _audit, rows)
    put_rows(connection, _heads, [{**owner, "number": number, "hash": previous}])
    return [_begun(owner, deeds[0].at, rows[0]["hash"])] if is_new else []


@dataclass(frozen=True, slots=True)
class AuditPart:
    """The audit log of one store."""

    snapshot: Callable[[], AbstractContextManager[Connection]]  #: of the whole store
    writing: Callable[[Scope], AbstractContextManager[Connection]]  #: a transaction on one owner
    chaining: Callable[[], AbstractContextManager[Connection]]  #: a transaction on the chain of the store
    is_one_writer: bool  #: whether a transaction on one owner may write to the others, too

    def batches(self, deeds: Sequence[Deed]) -> list[list[Deed]]:
        """Split what is to be written into one part for each transaction."""
        if self.is_one_writer:
            return [list(deeds)] if deeds else []
        return [mine for _, mine in _by_owner(deeds)]

    def write(self, batch: Sequence[Deed]) -> list[Deed]:
        """Write one of the `batches`, in one transaction; return what is to be written after it."""
        owners, begun = _by_owner(batch), list[Deed]()
        first = next((scope for scope, _ in owners if scope is not None), None)
        with self.chaining() if first is None else self.writing(first) as connection:
            for scope, mine in owners:
                begun += append(connection, scope, mine)
            return append(connection, None, begun) if self.is_one_writer else begun

    def entries(
        self, wanted: AuditSelection, *, after: AuditKey | None = None, limit: int | None = None, is_latest: bool
    ) -> list[tuple[AuditKey, AuditEntry]]:
        """Return entries with their positions, oldest first or latest first."""
        with closing(self.stream(wanted, after=after, is_latest=is_latest)) as found:
            return list(islice(found, limit))

    def stream(
        self, wanted: AuditSelection, *, after: AuditKey | None = None, is_latest: bool = False
    ) -> Generator[tuple[AuditKey, AuditEntry], None, None]:
        """Yield entries with their positions."""
        order = [column.desc() if is_latest else column for column in _ORDER]
        query = select(_audit).where(*wanted.conditions()).order_by(*order)
        if after is not None:
            place = tuple_(*_ORDER)
            query = query.where(place < after if is_latest else place > after)
        with self.snapshot() as connection, legible("audit"), _all(connection, query) as rows:
            for row in rows.mappings():
                entry = entry_of(dict(row))
                if wanted.admits(entry):
                    yield tuple(row[column.name] for column in _ORDER), entry

    def report(self, known: Iterable[ChainHead] = ()) -> AuditReport:
        """Follow each chain from its first entry; the `known` heads of an earlier report must be on the way."""
        with self.snapshot() as connection:
            return followed(connection, known)


def followed(connection: Connection, known: Iterable[ChainHead] = ()) -> AuditReport:
    """Follow each chain of a store from its first entry, as `AuditPart.report`."""
    passed: dict[tuple[str, ...], dict[int, str]] = {}
    for head in known:
        passed.setdefault(_columns(head.scope), {})[head.number] = head.hash
    kept = {_owner(row): row for row in connection.execute(select(_heads)).mappings()}
    heads: list[ChainHead] = []
    broken: list[ChainBreak] = []
    count = 0
    with _all(connection, select(_audit).order_by(*_audit.primary_key.columns)) as rows:
        for owner, chain in groupby(rows.mappings(), _owner):  # that of the store comes first
            walked = _Chain(owner, passed.pop(owner, {}))
            count += walked.follow(chain)
            for other, first in walked.begun.items():
                passed.setdefault(other, {}).setdefault(1, first)
            walked.compare(kept.pop(owner, None))
            heads.append(ChainHead(walked.scope, walked.number, walked.hash))
            broken += walked.breaks
    broken += [ChainBreak(_scope(owner), 1, "all entries are missing") for owner in {**kept, **passed}]
    return AuditReport(count, tuple(heads), tuple(broken))


class _Chain:
    """A chain on the way from its first entry to its last."""

    def __init__(self, owner: tuple[str, ...], known: dict[int, str]) -> None:
        self.scope = _scope(owner)
        self._known = known  # hashes by number
        self.number, self.hash = 0, ""
        self.breaks: list[ChainBreak] = []
        self.begun: dict[tuple[str, ...], str] = {}  #: hashes of the first entries of others, of which it tells

    def follow(self, rows: Iterable[Any]) -> int:
        """Compare each entry with the one before it; return how many there are."""
        count = 0
        for row in rows:
            count += 1
            if row["number"] != self.number + 1:
                self._break(self.number + 1, "it is missing")
            elif row["hash"] != _hash_of(row, self.hash):
                self._break(row["number"], "it was changed, or does not belong behind the one before it")
            elif self._known.pop(row["number"], row["hash"]) != row["hash"]:
                self._break(row["number"], "it is not the entry that an earlier report or the chain of the store has")
            self.number, self.hash = row["number"], row["hash"]
            if row["operation"] == BEGUN and self.scope is None:
                self.begun = _told(row) | self.begun  # the first one counts
        return count

    def compare(self, head: Any) -> None:
        """Compare the last entry with the record of it."""
        if self._known:
            self._break(self.number + 1, "it is missing, and the earlier report has it")
        elif head is None:
            self._break(self.number, "the record of the last entry is missing")
        elif (head["number"], head["hash"]) == (self.number, self.hash):
            return
        elif isinstance(self.number, int) and isinstance(head["number"], int) and head["number"] > self.number:
            self._break(self.number + 1, "it is missing")
        else:
            self._break(self.number, "it is not the last entry that was recorded")

    def _break(self, number: int, problem: str) -> None:
        if not self.breaks:
            self.breaks.append(ChainBreak(self.scope, number, problem))


def _begun(owner: Mapping[str, str], at: datetime, first: str) -> Deed:
    """The entry of the store that a chain of this owner began, with the hash of its first entry."""
    return Deed(None, at, SYSTEM, Action.ADMINISTER, BEGUN, context={**owner, "hash": first})


def _told(row: Any) -> dict[tuple[str, ...], str]:
    """The owner and the hash that such an entry tells; nothing, if it was damaged."""
    try:
        told = json.loads(row["context"])
        return {tuple(told[name] for name in OWNER): told["hash"]}
    except (ValueError, LookupError, TypeError):
        return {}


def _all(connection: Connection, query: Select[Any]) -> Result[Any]:
    """The rows of a query with a large result."""
    return connection.execute(query, execution_options={"yield_per": AT_A_TIME})


def _hash_of(row: Any, previous: str) -> str | None:
    """The hash that an entry should have; None if it cannot be computed, e.g. because a text column has bytes."""
    try:
        return hash_of(row, previous)
    except TypeError:
        return None


def _columns(scope: Scope | None) -> tuple[str, ...]:
    """The owner columns; all are empty for the whole store."""
    return ("",) * len(OWNER) if scope is None else tuple(owner_row(scope).values())


def _owner(row: Any) -> tuple[str, ...]:
    return tuple(row[name] for name in OWNER)


def _scope(owner: tuple[str, ...]) -> Scope | None:
    """The owner of a chain; None also for columns that no program writes."""
    try:
        return owner_of(dict(zip(OWNER, owner, strict=True)))
    except InvalidInput:
        return None


def _by_owner(deeds: Iterable[Deed]) -> list[tuple[Scope | None, list[Deed]]]:
    found: dict[Scope | None, list[Deed]] = {}
    for deed in deeds:
        found.setdefault(deed.scope and deed.scope.owner, []).append(deed)
    return list(found.items())
