"""`memoryos governance`, rights that are passed on: delegate, list and revoke them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory, seconds_of

if TYPE_CHECKING:
    from memoryos.delegation import Delegation

Actions = Annotated[
    list[str] | None,
    typer.Option("--action", help="read, write, share, delete or administer; repeatable (default: read)."),
]


def delegate(
    to: Annotated[str, typer.Argument(help="Who gets the right: the identity of a caller.")],
    ttl: Annotated[str, typer.Option(help="Time until it ends, e.g. 12h or 30d.")],
    action: Actions = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Let another caller do with the memories of a user what the user may do, until it ends."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        made = memory.governance.delegate(to, action or ("read",), ttl=seconds_of(ttl))
    if json:
        render.print_json(made.to_dict())
    else:
        told = f"{made.to} may {', '.join(sorted(made.actions))} until {_until(made)}: delegation {made.id}."
        render.console().print(told, markup=False, soft_wrap=True)


def delegations(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the rights about the memories of a user that were passed on and have not ended."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.governance.delegations()
    if json:
        render.print_json({"delegations": [one.to_dict() for one in found]})
        return
    table = Table()
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    for column in ("by", "to", "may", "until"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(*map(Text, (one.id, one.by, one.to, ", ".join(sorted(one.actions)), _until(one))))
    render.console().print(table if found else "No rights were passed on.")


def revoke(
    delegation_id: Annotated[str, typer.Argument(help="Id of the delegation, from `delegations`.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """End a right that was passed on, in every process at once."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.governance.revoke(delegation_id)
    if json:
        render.print_json({"revoked": delegation_id})
    else:
        render.console().print(f"Revoked {delegation_id}.", markup=False)


def _until(one: Delegation) -> str:
    return one.expires_at.isoformat(timespec="seconds")
