"""`memoryos keys`: the API keys of callers: create, list, rotate and revoke them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memoryos.caller import Action
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, Tenant, open_store, seconds_of

if TYPE_CHECKING:
    from memoryos.api_key import ApiKey, NewApiKey

Id = Annotated[str, typer.Argument(help="Id of the key, from `keys list`.")]


def create(
    identity: Annotated[str, typer.Argument(help="Who gets the key: the identity of the caller.")],
    role: Annotated[list[str] | None, typer.Option("--role", help="A role of the caller; may be repeated.")] = None,
    action: Annotated[
        list[Action] | None,
        typer.Option("--action", help="What it may do; may be repeated (default: read and write).", show_default=False),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option("--user", help="Only memories of this user; may be repeated.", show_default=False),
    ] = None,
    ttl: Annotated[str | None, typer.Option(help="Time until it ends, e.g. 12h, 90d (default: no end).")] = None,
    purpose: Annotated[
        list[str] | None,
        typer.Option("--purpose", help="What it may call for; may be repeated (default: nothing).", show_default=False),
    ] = None,
    application: Annotated[str | None, typer.Option(help="The program that calls with it.", show_default=False)] = None,
    session: Annotated[
        str | None,
        typer.Option(help="The one session in which it calls (default: the one it states).", show_default=False),
    ] = None,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Create a key and show it. It is shown only now: the store keeps a hash."""
    with open_store(db) as store:
        made = store.keys.create(
            identity,
            tenant=tenant,
            roles=role or (),
            actions=action or (Action.READ, Action.WRITE),
            users=user or None,
            ttl=seconds_of(ttl) if ttl else None,
            purposes=purpose or (),
            application=application,
            session=session,
        )
    _tell(made, json=json)


def list_keys(tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """List the keys of a tenant, also those that have ended."""
    with open_store(db, must_exist=True) as store:
        found = store.keys.list(tenant=tenant)
    if json:
        render.print_json({"keys": [one.to_dict() for one in found]})
        return
    table = Table(title=f"Keys of {tenant}", title_justify="left")
    table.add_column("id", no_wrap=True)
    for column in ("caller", "roles", "actions", "users", "purposes", "application", "session", "until"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(*map(Text, _cells(one)))
    render.console().print(table if found else "There are no keys.")


def rotate(
    key_id: Id,
    overlap: Annotated[str, typer.Option(help="How long the old key goes on, e.g. 1h.")] = "0",
    db: Db = None,
    json: Json = False,
) -> None:
    """Replace a key by a new one with the same rights, and show it."""
    with open_store(db, must_exist=True) as store:
        made = store.keys.rotate(key_id, overlap=seconds_of(overlap))
    _tell(made, json=json)


def revoke(key_id: Id, db: Db = None, json: Json = False) -> None:
    """End a key now, in every process."""
    with open_store(db, must_exist=True) as store:
        store.keys.revoke(key_id)
    if json:
        render.print_json({"revoked": key_id})
    else:
        render.console().print(f"Revoked {key_id}.", markup=False)


def _tell(made: NewApiKey, *, json: bool) -> None:
    if json:
        render.print_json({"key": made.key, **made.info.to_dict()})
        return
    render.console().print(made.key, markup=False, soft_wrap=True)
    told = (
        f"This is the key {made.info.id} of {render.in_one_line(made.info.identity)}. Keep it: it is not shown again."
    )
    render.console().print(told, markup=False, soft_wrap=True)


def _cells(one: ApiKey) -> list[str]:
    ends = [end for end in (one.expires_at, one.revoked_at) if end]
    until = min(ends).isoformat(timespec="seconds") if ends else ""
    users = "all" if one.users is None else ", ".join(sorted(one.users))
    named = [", ".join(sorted(some)) for some in (one.roles, one.actions)]
    stated = [", ".join(sorted(one.purposes)), one.application or "", one.session or ""]
    return [one.id, one.identity, *named, users, *stated, until]
