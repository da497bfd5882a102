"""`memoryos governance`, how long memories are kept: retention rules and legal holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tags, Tenant, User, open_memory, seconds_of
from memoryos.scope import path_of

if TYPE_CHECKING:
    from memoryos.hold import LegalHold
    from memoryos.retention import RetentionRule

Name = Annotated[str, typer.Argument(help="Name of the rule.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", help="page, fact, trait or profile; may be repeated (default: all).")
]


def retain(
    name: Name,
    ttl: Annotated[str | None, typer.Option(help="Time from storing to expiry, e.g. 12h or 30d.")] = None,
    until: Annotated[str | None, typer.Option(help="When they expire, e.g. 2027-01-01.")] = None,
    half_life: Annotated[
        str | None, typer.Option(help="Decay: time after the last use, e.g. 30d; longer if it was used often.")
    ] = None,
    kind: Kinds = None,
    tag: Tags = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Keep memories only so long: those stored already and those to come. A rule of the same name is replaced."""
    seconds = seconds_of(ttl) if ttl else None
    fading = seconds_of(half_life, "--half-life") if half_life else None
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        rule = memory.governance.retain(
            name, ttl=seconds, until=until, half_life=fading, kinds=kind or (), tags=tag or ()
        )
    if json:
        render.print_json(rule.to_dict())
    else:
        render.console().print(f"The rule {name} is in force.", markup=False)


def retention(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the retention rules of this owner, and those of its tenant."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        rules = memory.governance.retention()
    if json:
        render.print_json({"rules": [rule.to_dict() for rule in rules]})
    else:
        print_rules(rules)


def unretain(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a retention rule: what it has not ended yet keeps its own end."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.governance.unretain(name)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.console().print(f"The rule {name} is removed.", markup=False)


def hold(
    reason: Annotated[str, typer.Option(help="Why; named by each refusal.")],
    memory: Annotated[str | None, typer.Option(help="Id of one memory.", show_default=False)] = None,
    session: Annotated[str | None, typer.Option(help="A session.", show_default=False)] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Place a legal hold on a memory, a session or everything: nothing deletes, changes or expires it."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as opened:
        placed = opened.governance.hold(reason=reason, memory=memory, session=session)
    if json:
        render.print_json(placed.to_dict())
    else:
        render.console().print(f"The hold {placed.id} is in force.", markup=False)


def holds(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the legal holds in force."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.governance.holds()
    if json:
        render.print_json({"holds": [one.to_dict() for one in found]})
    else:
        _print_table(("id", "on", "by", "at", "reason"), map(_hold_row, found), "There are no legal holds.")


def release(
    hold_id: Annotated[str, typer.Argument(help="Id of the hold, from `holds`.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Release a legal hold: what has expired meanwhile is removed."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.governance.release(hold_id)
    if json:
        render.print_json({"id": hold_id, "released": True})
    else:
        render.console().print(f"The hold {hold_id} is released.", markup=False)


def print_rules(rules: Iterable[RetentionRule]) -> None:
    """Print retention rules as a table."""
    columns = ("name", "of", "kinds", "tags", "ends")
    _print_table(columns, map(_rule_row, rules), "There are no retention rules.")


def _rule_row(rule: RetentionRule) -> Sequence[str]:
    whose = "owner" if rule.tenant is None else f"tenant {rule.tenant}"
    place = "" if rule.namespace is None else f", namespace {path_of(rule.namespace)}"
    kinds = ", ".join(kind.value for kind in rule.kinds) or "all"
    return rule.name, f"{whose}{place}", kinds, ", ".join(rule.tags), _end(rule)


def _end(rule: RetentionRule) -> str:
    if rule.until is not None:
        return rule.until.isoformat(timespec="seconds")
    if rule.half_life_seconds is not None:
        return f"by decay, half-life {rule.half_life_seconds:,.0f} s"
    return f"{rule.ttl_seconds:,.0f} s after it was stored"


def _hold_row(one: LegalHold) -> Sequence[str]:
    on = one.on.value if one.subject is None else f"{one.on.value} {one.subject}"
    return one.id, on, one.by, one.at.isoformat(timespec="seconds"), one.reason


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> None:
    table = Table()
    for column in columns:
        if column == "id":
            table.add_column(column, no_wrap=True, min_width=render.ID_CHARS)
        else:
            table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    render.console().print(table if table.row_count else nothing)
