"""`memoryos audit`: the audit log of a store."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from memoryos.caller import Action
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.audit_entry import AuditEntry, Decision
from memoryos.infrastructure.vault.audit_part import AuditReport, ChainHead
from memoryos.interface.cli import render
from memoryos.interface.cli.hint import whose
from memoryos.interface.cli.options import Db, Json, Since, Tenant, Until, User, open_store
from memoryos.kinds import Kind
from memoryos.nouns.audit import AuditFilters, ExportFormat
from memoryos.scope import PRIVATE, Scope

_OFF = "The audit log has no such entry, and it is off: MEMORYOS_AUDIT=true switches it on."
SHOWN_IDS = 3  # of an entry, for people

OfUser = Annotated[str | None, typer.Option("--user", help="Entries about this user's memories.", show_default=False)]
OfAgent = Annotated[
    str | None, typer.Option("--agent", help="Entries about this agent's memories.", show_default=False)
]
OfTenant = Annotated[
    str | None, typer.Option("--tenant", help="Entries about this tenant's memories.", show_default=False)
]
By = Annotated[str | None, typer.Option("--caller", help="Entries of this caller.", show_default=False)]
Did = Annotated[Action | None, typer.Option("--action", help="Entries of this action.", show_default=False)]
Called = Annotated[
    str | None, typer.Option("--operation", help="Entries of this method, e.g. memory.search.", show_default=False)
]
Decided = Annotated[Decision | None, typer.Option("--decision", help="Entries of this decision.", show_default=False)]
OfKind = Annotated[Kind | None, typer.Option("--kind", help="Entries that name such a memory.", show_default=False)]
Named = Annotated[str | None, typer.Option("--memory-id", help="Entries that name this memory.", show_default=False)]


def list_entries(
    limit: Annotated[int, typer.Option(min=1, help="Most entries to list.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor that the previous list printed.")] = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="The oldest entries first.")] = False,
    user: OfUser = None,
    agent: OfAgent = None,
    tenant: OfTenant = None,
    caller: By = None,
    since: Since = None,
    until: Until = None,
    action: Did = None,
    operation: Called = None,
    decision: Decided = None,
    kind: OfKind = None,
    memory_id: Named = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """List entries of the audit log, the latest first."""
    only = _only(user, agent, tenant, caller, since, until, action, operation, decision, kind, memory_id)
    with open_store(db, must_exist=True) as store:
        found = store.audit.list(limit=limit, cursor=cursor, latest=not oldest, **only)
        is_on = store.settings.audit
    if json:
        render.print_json({"entries": found.to_dict()["items"], "cursor": found.cursor})
        return
    _print_entries(found, "The audit log has no such entry." if is_on else _OFF)
    if found.cursor:
        _print(f"More: --cursor {found.cursor}")


def export_entries(
    path: Annotated[Path, typer.Argument(help="A new file; - is standard output.")],
    form: Annotated[ExportFormat, typer.Option("--format", help="JSON Lines, or CSV for spreadsheets.")] = (
        ExportFormat.JSONL
    ),
    user: OfUser = None,
    agent: OfAgent = None,
    tenant: OfTenant = None,
    caller: By = None,
    since: Since = None,
    until: Until = None,
    action: Did = None,
    operation: Called = None,
    decision: Decided = None,
    kind: OfKind = None,
    memory_id: Named = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Write the audit log to a file, the oldest entry first."""
    is_stream = str(path) == "-"
    if is_stream and json:
        raise InvalidInput("--json", "and - both need standard output", "Name a file")
    only = _only(user, agent, tenant, caller, since, until, action, operation, decision, kind, memory_id)
    with open_store(db, must_exist=True) as store:
        entries = store.audit.export(sys.stdout if is_stream else path, format=form, **only)
    if json:
        render.print_json({"file": str(path), "entries": entries})
    elif not is_stream:
        _print(f"Exported {entries:,} entries to {path}.")


def access(
    user: User,
    tenant: Tenant = "default",
    since: Since = None,
    until: Until = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Report who used the memories of a user."""
    with open_store(db, must_exist=True) as store:
        found = store.audit.access(user, tenant=tenant, since=since, until=until)
    if json:
        render.print_json({"user": user, "access": [one.to_dict() for one in found]})
        return
    for one in found:
        did = f"{one.reads:,} reads, {one.writes:,} writes, {one.refused:,} refused, {one.failed:,} failed"
        last = one.last.isoformat(timespec="seconds")
        _print(f"{one.caller}: {did}; {one.memories:,} memories; last {last}; {' '.join(one.operations)}")
    if not found:
        _print(f"The audit log has no entry about {user}.")


def permissions(
    user: OfUser = None,
    tenant: OfTenant = None,
    caller: By = None,
    since: Since = None,
    until: Until = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Report the changes of what may be done with memories: states, rules, holds, mounts, read-only facts."""
    with open_store(db, must_exist=True) as store:
        found = store.audit.permissions(user=user, tenant=tenant, caller=caller, since=since, until=until)
    if json:
        render.print_json({"entries": [one.to_dict() for one in found]})
    else:
        _print_entries(found, "The audit log has no such change.")


def verify_entries(
    heads: Annotated[
        Path | None, typer.Option(help="What an earlier `audit verify --json` printed.", show_default=False)
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Check that no entry was changed or removed; exit code 1 if one was. Keep what --json prints for --heads."""
    known = () if heads is None else _heads_in(heads)
    with open_store(db, must_exist=True) as store:
        report = store.audit.verify(known=known)
    if json:
        render.print_json({"sound": report.is_sound, **report.to_dict()})
    else:
        _tell(report)
    if not report.is_sound:
        raise typer.Exit(1)


def _only(
    user: str | None,
    agent: str | None,
    tenant: str | None,
    caller: str | None,
    since: str | None,
    until: str | None,
    action: Action | None,
    operation: str | None,
    decision: Decision | None,
    kind: Kind | None,
    memory_id: str | None,
) -> AuditFilters:
    return {
        "user": user,
        "agent": agent,
        "tenant": tenant,
        "caller": caller,
        "since": since,
        "until": until,
        "action": action,
        "operation": operation,
        "decision": decision,
        "kind": kind,
        "memory_id": memory_id,
    }


def _heads_in(path: Path) -> list[ChainHead]:
    """The heads in the file of an earlier report."""
    try:
        told = json_module.loads(path.read_text("utf-8"))
        return [ChainHead(_scope(one["scope"]), int(one["number"]), str(one["hash"])) for one in told["heads"]]
    except (OSError, ValueError, LookupError, TypeError):
        raise InvalidInput(
            "--heads", f"{path} is not a report of the audit log", "Pass what `audit verify --json` printed"
        ) from None


def _scope(told: dict[str, str] | None) -> Scope | None:
    if told is None:
        return None
    return Scope(told["user"], told["agent"], tenant=told["tenant"], namespace=tuple(told["namespace"]))


def _print_entries(found: Sequence[AuditEntry], nothing: str) -> None:
    """One line for each entry; a table with whole ids would be too wide."""
    for one in found:
        _print(" ".join(_words(one)))
    if not found:
        _print(nothing)


def _words(entry: AuditEntry) -> Iterator[str]:
    yield f"{entry.at.isoformat(timespec='seconds')} {entry.caller}: {entry.operation}"
    yield f"({entry.change})" if entry.change else f"({entry.action.value})"
    yield f"{entry.decision.value}{f' ({entry.reason})' if entry.reason else ''}, {_owner(entry.scope)}"
    yield from (f"{name}={json_module.dumps(told, ensure_ascii=False)}" for name, told in entry.context.items())
    yield from (f"[{cube.kind} {cube.id}]" for cube in entry.cubes[:SHOWN_IDS])
    if len(entry.cubes) > SHOWN_IDS:
        yield f"and {len(entry.cubes) - SHOWN_IDS:,} more"


def _owner(scope: Scope | None) -> str:
    if scope is None:
        return "the store"
    namespace = "" if scope.namespace == PRIVATE else f", namespace {scope.path}"
    return f"{whose(scope.user, scope.agent)} in tenant {scope.tenant}{namespace}"


def _tell(report: AuditReport) -> None:
    said = [f"Checked {report.entries:,} entries in {len(report.heads):,} chains."]
    said += [f"Entry {one.number} of {_owner(one.scope)}: {one.problem}." for one in report.broken]
    said += ["Every entry is as it was written."] if report.is_sound else []
    for line in said:
        _print(line)


def _print(line: str) -> None:
    render.console().print(render.in_one_line(line), markup=False, soft_wrap=True)
