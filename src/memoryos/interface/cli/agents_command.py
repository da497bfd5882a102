"""`memoryos agents`: which agents have memories in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, Tenant, open_store

if TYPE_CHECKING:
    from memoryos.nouns.agents import AgentInfo


def list_agents(
    user: Annotated[
        str | None, typer.Option(help="Only the agents of this user (default: all).", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most.")] = None,
    cursor: Annotated[str | None, typer.Option(help="From where to go on, from the last list.")] = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the agents of a tenant, with counts of users and memories and their last activity."""
    with open_store(db, must_exist=True) as store:
        found = store.agents.list(user=user, tenant=tenant, limit=limit, cursor=cursor)
    if json:
        render.print_json({"agents": [one.to_dict() for one in found], "cursor": found.cursor})
        return
    table = Table(title=f"Agents of tenant {tenant}", title_justify="left")
    table.add_column("agent", overflow="fold")
    for column in ("users", "memories", "last activity"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(*map(Text, _cells(one)))
    render.console().print(table if found else "There are no agents.")
    if found.cursor:
        render.console().print(f"There are more: --cursor {found.cursor}", markup=False, soft_wrap=True)


def _cells(one: AgentInfo) -> list[str]:
    name = "(shared by all agents)" if one.agent is None else one.agent
    return [name, f"{one.users:,}", f"{sum(one.memories.values()):,}", f"{one.last_activity:%Y-%m-%d %H:%M}"]
