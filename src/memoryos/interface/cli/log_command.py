"""`memoryos log`: the changes of memories, and what model calls took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.clock import system_clock
from memoryos.interface.cli import render
from memoryos.interface.cli.listed_memories import Cursor
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.infrastructure.vault.records import Spending

MOST_DAYS = 36_500
_MICROS = 1_000_000
_SUMMED = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")


def events(
    after: Annotated[int, typer.Option(min=0, help="Only events with a higher number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Most events.")] = 100,
    cursor: Cursor = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the changes of memories, oldest first; `--cursor` of the last list lists the next ones."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.log.events(after=after, limit=limit, cursor=cursor)
    if json:
        render.print_json({"events": [one.to_dict() for one in found], "cursor": found.cursor})
        return
    for one in found:
        render.say(f"{one.sequence} {one.at:%Y-%m-%d %H:%M:%S} {one.operation} {one.kind} {one.cube_id} {one.version}")
    if found.cursor:
        render.console().print(f"More: --cursor {found.cursor}", markup=False, soft_wrap=True)
    elif not found:
        render.say("There are no such events.")


def usage(
    days: Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="Number of days, including today (UTC).")] = 30,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the usage of models for a user: tokens by day, purpose and model, and the cost at your prices."""
    since = system_clock().date() - timedelta(days=days - 1)
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        spent = memory.log.usage(since=since)
    if json:
        render.print_json({"usage": [_as_json(one) for one in spent], "total": _total(spent)})
    elif spent:
        render.console().print(_table(spent))
    else:
        render.console().print("No model was used.")


def _total(spent: Sequence[Spending]) -> dict[str, Any]:
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in spent) for name in _SUMMED}
    return {**sums, "cost": sum(one.cost for one in spent) / _MICROS}


def _as_json(one: Spending) -> dict[str, Any]:
    amounts = {name: getattr(one, name) for name in _SUMMED}
    return {
        "day": one.day.isoformat(),
        "purpose": one.purpose,
        "model": one.model,
        **amounts,
        "cost": one.cost / _MICROS,
    }


def _table(spent: Sequence[Spending]) -> Table:
    table = Table(title="Model calls", title_justify="left", show_footer=True)
    total = _total(spent)
    table.add_column("day", footer="total")
    for column in ("purpose", "model"):
        table.add_column(column)
    for name in _SUMMED:
        table.add_column(name.replace("_", " "), justify="right", footer=f"{total[name]:,}")
    table.add_column("cost", justify="right", footer=f"{total['cost']:.4f}")
    for one in spent:
        amounts = [f"{getattr(one, name):,}" for name in _SUMMED]
        table.add_row(one.day.isoformat(), one.purpose, escape(one.model), *amounts, f"{one.cost / _MICROS:.4f}")
    return table
