"""`memoryos users`: whose memories the store holds: list, show and forget them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import people, render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.listed_memories import tell_count
from memoryos.interface.cli.options import Db, Json, Tenant, Yes, open_store

if TYPE_CHECKING:
    from memoryos.nouns.users import UserInfo

Name = Annotated[str, typer.Argument(help="The user.", autocompletion=names("user"))]


def list_users(
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most.")] = None,
    cursor: Annotated[str | None, typer.Option(help="From where to go on, from the last list.")] = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the users of a tenant, with counts of memories and their last activity."""
    with open_store(db, must_exist=True) as store:
        found = store.users.list(tenant=tenant, limit=limit, cursor=cursor)
    if json:
        render.print_json({"users": [one.to_dict() for one in found], "cursor": found.cursor})
        return
    table = Table(title=f"Users of tenant {tenant}", title_justify="left")
    table.add_column("user", overflow="fold")
    for column in ("memories", "scopes", "last activity"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(*map(Text, _cells(one)))
    render.console().print(table if found else "There are no users.")
    if found.cursor:
        render.console().print(f"There are more: --cursor {found.cursor}", markup=False, soft_wrap=True)


def count_users(tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """Count the users of a tenant who have a memory."""
    with open_store(db, must_exist=True) as store:
        number = store.admin.count_users(tenant=tenant)
    tell_count("users", number, json=json)


def show(user: Name, tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """Show one user: counts of memories by kind, last activity, and the roles that it was granted."""
    with open_store(db, must_exist=True) as store:
        found = store.users.show(user, tenant=tenant)
        grants = store.roles.list(identity=user, tenant=tenant)
    roles = sorted(frozenset[str]().union(*(one.roles for one in grants)))
    if json:
        render.print_json({**found.to_dict(), "roles": roles})
        return
    scopes = f"{found.scopes:,} scope{'' if found.scopes == 1 else 's'}"
    counts = people.counts_of(found.memories)
    told = f"{render.in_one_line(found.user)}: {counts}; {scopes}; last activity {found.last_activity:%Y-%m-%d %H:%M}"
    render.console().print(f"{told}; roles: {', '.join(roles) or 'none'}.", markup=False, soft_wrap=True)


def forget(
    user: Name,
    tenant: Tenant = "default",
    yes: Yes = False,
    receipt: people.Receipt = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove everything about a user for good, as `memoryos forget --user` does."""
    people.forget(user=user, tenant=tenant, yes=yes, receipt=receipt, db=db, json=json)


def _cells(one: UserInfo) -> list[str]:
    return [
        render.in_one_line(one.user),
        f"{sum(one.memories.values()):,}",
        f"{one.scopes:,}",
        f"{one.last_activity:%Y-%m-%d %H:%M}",
    ]
