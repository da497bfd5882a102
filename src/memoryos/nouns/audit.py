"""Audit: who did what to which memory, in which context, and with which decision."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from memoryos import arguments, expected
from memoryos.caller import NAME_LIMIT, Action, Caller
from memoryos.choice import Choice
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.audit_entry import (
    BACKGROUND,
    BEGUN,
    POLICIES,
    STORE_OPERATIONS,
    UNRECORDED,
    AuditEntry,
    Decision,
)
from memoryos.infrastructure.vault.audit_part import AuditReport, AuditSelection, ChainHead
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.listing import Listing, cursor_after, key_in
from memoryos.nouns.caller_access import CallerAccess, accesses
from memoryos.operation.calls.door import door, operations
from memoryos.operation.calls.hand import Hand
from memoryos.operation.portability.export_file import ExportTarget, write_lines
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text, nearest, shown

_KEY = [int, str, str, str, str, int]  # the types of the position of an entry

# What changes who may do what: rights, the state of a memory, how long it is kept, and which memories others find.
PERMISSION_OPERATIONS = (
    "admin.rotate_encryption_key",
    "archiving.add",
    "archiving.remove",
    "governance.delegate",
    "governance.expire",
    "governance.freeze",
    "governance.hold",
    "governance.relabel",
    "governance.release",
    "governance.retain",
    "governance.revoke",
    "governance.thaw",
    "governance.unretain",
    "keys.create",
    "keys.revoke",
    "keys.rotate",
    "mounts.add",
    "mounts.remove",
    POLICIES,
    "proposals.publish",
    "roles.grant",
    "roles.revoke",
    "tenant_retention.add",
    "tenant_retention.remove",
)

_COLUMNS = (
    *("at", "tenant", "user", "agent", "namespace", "number", "caller", "roles", "context", "action"),
    *("operation", "change", "memories", "decision", "reason", "hash"),
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet would compute


class AuditFilters(TypedDict, total=False):
    """The keyword arguments that filter the entries of the audit log; None, as the default, means any."""

    user: str | None  #: entries about memories of this user
    agent: str | None  #: entries about memories of this agent
    tenant: str | None  #: entries about memories of this tenant
    caller: str | None  #: entries of the caller with this identity
    since: datetime | str | None  #: entries since then
    until: datetime | str | None  #: entries until then; a day counts whole
    action: Action | str | None  #: read, write, share, delete or administer
    operation: str | None  #: the method that was called, such as `memory.search`
    decision: Decision | str | None  #: allowed, refused or failed
    kind: Kind | str | None  #: entries that name a memory of this kind
    memory_id: str | None  #: entries that name this memory


class ExportFormat(Choice):
    """The form of an exported audit log."""

    JSONL = "jsonl"  # one JSON object a line
    CSV = "csv"  # for spreadsheets


@door
class Audit:
    """The audit log of one store. The setting `audit` switches it on; entries stay when it is switched off."""

    def __init__(self, engine: Engine, caller: Caller, load_operations: Callable[[], None]) -> None:
        """`load_operations` imports every class with operations: this one is imported before some of them are."""
        self._engine = engine
        self._caller = caller
        self._load_operations = load_operations

    def list(
        self,
        *,
        limit: int | None = 1000,
        cursor: str | None = None,
        latest: bool = False,
        **only: Unpack[AuditFilters],
    ) -> Listing[AuditEntry]:
        """List entries, oldest first, or latest first with `latest`.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part. Reads of the last
        moment are included. Raises InvalidInput.
        """
        is_latest = arguments.flag("latest", latest)
        what = "audit-latest" if is_latest else "audit"
        after, most = key_in(what, cursor, _KEY), arguments.optional("limit", limit, least=1)
        asked = None if most is None else most + 1
        wanted = self._selection(**only)
        found = self._engine.audit().entries(wanted, after=after, limit=asked, is_latest=is_latest)
        shown = [entry for _, entry in found[:most]]
        return Listing(shown, cursor_after(what, *found[len(shown) - 1][0]) if len(found) > len(shown) else None)

    def export(
        self,
        target: ExportTarget,
        *,
        format: ExportFormat | str = ExportFormat.JSONL,  # noqa: A002 - what users call it
        **only: Unpack[AuditFilters],
    ) -> int:
        """Write entries to a new file or a stream, oldest first, and return their number.

        JSON Lines has the entries as `list` returns them. In CSV, a text that a spreadsheet would take for a formula
        begins with an apostrophe. Raises InvalidInput if the file exists.
        """
        form = arguments.one_of("format", format, ExportFormat)
        wanted = self._selection(**only)
        entries = (entry for _, entry in self._engine.audit().stream(wanted))
        counted = _Counted(entries)
        lines = _csv_lines(counted) if form is ExportFormat.CSV else (f"{entry.to_json()}\n" for entry in counted)
        write_lines(arguments.target(target), lines)
        return counted.number

    def access(
        self,
        user: str,
        *,
        tenant: str = "default",
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Listing[CallerAccess]:
        """Report who used the memories of a user, of all agents and namespaces: one row for each caller.

        The first row is the caller who used them last.
        """
        checked = checked_text("user", user, limit=ID_LIMIT)
        wanted = self._selection(
            user=checked, tenant=checked_text("tenant", tenant, limit=ID_LIMIT), since=since, until=until
        )
        return Listing(accesses(entry for _, entry in self._engine.audit().stream(wanted)))

    def permissions(self, **only: Unpack[AuditFilters]) -> Listing[AuditEntry]:
        """Report the changes of what may be done with memories, and by whom, oldest first.

        These are: API keys that were created, rotated or revoked, rights and roles that were given or taken back,
        freeze, thaw, expire, rules of retention and archiving, legal holds, mounts that were added or removed, facts
        that were published as read-only, changes of tags, sensitivity, access or end (`change` is `label`, whatever
        method made them), and policies that changed (`purpose` has the SHA-256 of the files; who changed them is not
        known); also those that were refused or failed.
        """
        wanted = self._selection(**only)
        return Listing(entry for _, entry in self._engine.audit().stream(wanted) if _is_permission(entry))

    def verify(self, *, known: Sequence[ChainHead] = ()) -> AuditReport:
        """Check that no entry was changed, removed or moved since it was written, and name the first that was.

        An owner whose whole chain is gone is named, too: the chain of the store knows its first entry. Whoever may
        write the store can forge the whole log. So keep the `heads` of a report elsewhere, and pass them as `known`
        later: their entries must still be there.
        """
        heads = [_checked_head(one) for one in arguments.sequence("known", known, ChainHead)]
        self._engine.admit(Action.ADMINISTER)
        return self._engine.audit().report(heads)

    def _selection(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        tenant: str | None = None,
        caller: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        action: Action | str | None = None,
        operation: str | None = None,
        decision: Decision | str | None = None,
        kind: Kind | str | None = None,
        memory_id: str | None = None,
    ) -> AuditSelection:
        self._engine.admit(Action.ADMINISTER)
        start, end = arguments.period(since, until)
        return AuditSelection(
            _name("tenant", tenant),
            _name("user", user),
            _name("agent", agent),
            _name("caller", caller),
            start,
            end,
            () if action is None else (arguments.one_of("action", action, Action),),
            () if operation is None else (_operation(operation, self._load_operations),),
            () if decision is None else (arguments.one_of("decision", decision, Decision),),
            None if kind is None else arguments.one_of("kind", kind, Kind).value,
            None if memory_id is None else arguments.cube_id(memory_id, field="memory_id"),
        )

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


class _Counted:
    """Entries that are counted while they are taken."""

    def __init__(self, entries: Iterator[AuditEntry]) -> None:
        self._entries = entries
        self.number = 0

    def __iter__(self) -> Iterator[AuditEntry]:
        for entry in self._entries:
            self.number += 1
            yield entry


def _checked_head(head: ChainHead) -> ChainHead:
    fix = "Pass the `heads` of an earlier report"
    if head.scope is not None:
        expected.instance("known.scope", head.scope, Scope, fix)
    if not isinstance(head.number, int) or head.number < 1:
        raise InvalidInput("known.number", "is not the number of an entry", fix)
    expected.instance("known.hash", head.hash, str, fix)
    return head


def _is_permission(entry: AuditEntry) -> bool:
    if entry.change == Operation.LABEL.value:
        return True
    is_beside = entry.change not in (None, Operation.TRANSITION.value, Operation.ADD.value)
    return entry.operation in PERMISSION_OPERATIONS and entry.action is not Action.READ and not is_beside


def _operation(value: str, load: Callable[[], None]) -> str:
    """Check the name of an operation, and suggest names that end with it, or are spelled like it."""
    name = checked_text("operation", value, limit=NAME_LIMIT)
    if name not in operations():
        load()
    known = {*operations(), BACKGROUND, BEGUN, POLICIES, UNRECORDED, *STORE_OPERATIONS}
    if name not in known:
        like = [one for one in sorted(known) if one.endswith(f".{name}")] or nearest(name, known) or sorted(known)
        raise InvalidInput("operation", f"{shown(name)} is unknown", f"Use one of: {', '.join(like)}")
    return name


def _name(field: str, value: str | None) -> str | None:
    return None if value is None else checked_text(field, value, limit=ID_LIMIT)


def _csv_lines(entries: _Counted) -> Iterator[str]:
    yield _csv_line(_COLUMNS)
    for entry in entries:
        yield _csv_line([_cell(one) for one in _cells(entry)])


def _cells(entry: AuditEntry) -> Iterator[Any]:
    scope = entry.scope
    yield entry.at.isoformat()
    yield from (scope.tenant, scope.user, scope.agent, scope.path) if scope else ("", "", "", "")
    yield from (entry.number, entry.caller, " ".join(entry.roles))
    yield " ".join(f"{name}={value}" for name, value in entry.context.items())
    yield from (entry.action.value, entry.operation, entry.change)
    yield " ".join(cube.id for cube in entry.cubes)
    yield from (entry.decision.value, entry.reason, entry.hash)


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _csv_line(cells: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
