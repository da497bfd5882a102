"""`memoryos roles`: the roles that identities were granted: grant, list and revoke them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, Tenant, open_store, seconds_of

if TYPE_CHECKING:
    from memoryos.role_grant import RoleGrant


def grant(
    identity: Annotated[str, typer.Argument(help="Who gets the roles: the identity of the caller.")],
    role: Annotated[list[str], typer.Argument(help="A role; several may be named.")],
    name: Annotated[str, typer.Option(help="What the roles are for.")] = "",
    ttl: Annotated[str | None, typer.Option(help="Time until it ends, e.g. 12h, 90d (default: no end).")] = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Give an identity roles, which policies then see beside those with which it calls."""
    with open_store(db) as store:
        made = store.roles.grant(identity, role, name=name, tenant=tenant, ttl=seconds_of(ttl) if ttl else None)
    if json:
        render.print_json(made.to_dict())
    else:
        told = f"{render.in_one_line(made.identity)} has the roles {', '.join(sorted(made.roles))}: grant {made.id}."
        render.console().print(told, markup=False, soft_wrap=True)


def list_grants(
    identity: Annotated[str | None, typer.Option(help="Only those of this identity.", show_default=False)] = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the grants of roles that have not ended."""
    with open_store(db, must_exist=True) as store:
        found = store.roles.list(identity=identity, tenant=tenant)
    if json:
        render.print_json({"roles": [one.to_dict() for one in found]})
        return
    table = Table(title=f"Roles in {tenant}", title_justify="left")
    table.add_column("id", no_wrap=True)
    for column in ("caller", "roles", "for", "until"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(*map(Text, _cells(one)))
    render.console().print(table if found else "No roles were granted.")


def revoke(
    grant_id: Annotated[str, typer.Argument(help="Id of the grant, from `roles list`.")],
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """End a grant now, in every process."""
    with open_store(db, must_exist=True) as store:
        store.roles.revoke(grant_id, tenant=tenant)
    if json:
        render.print_json({"revoked": grant_id})
    else:
        render.console().print(f"Revoked {grant_id}.", markup=False)


def _cells(one: RoleGrant) -> list[str]:
    until = one.expires_at.isoformat(timespec="seconds") if one.expires_at else ""
    return [one.id, one.identity, ", ".join(sorted(one.roles)), one.name, until]
