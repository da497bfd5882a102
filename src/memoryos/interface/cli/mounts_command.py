"""`memoryos mounts list` and `memoryos tagged`: other memories, and what carries a label here and there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.interface.cli import render
from memoryos.interface.cli.options import (
    Agent,
    AsOf,
    Db,
    Json,
    Mounts,
    Since,
    Tenant,
    Until,
    User,
    open_memory,
    open_store,
)

if TYPE_CHECKING:
    from memoryos.mount import Mount


_NONE = 'Nothing is mounted; set MEMORYOS_MOUNTS, e.g. to [{"name": "wiki", "place": "/path/to/wiki.db"}].'


def list_mounts(db: Db = None, json: Json = False) -> None:
    """List the mounted memories, which searches include (MEMORYOS_MOUNTS)."""
    with open_store(db, must_exist=True) as store:
        found = store.mounts.list()
    if json:
        render.print_json({"mounts": [_mount_json(mount) for mount in found]})
        return
    table = Table(title="Mounts", title_justify="left", expand=True)
    for name in ("name", "place", "whose", "path", "writable"):
        table.add_column(name, overflow="fold")
    for mount in found:
        whose, path = (mount.scope.user, mount.scope.path) if mount.scope else ("", "")
        place = mount.shown or "this store"
        table.add_row(*map(escape, (mount.name, place, whose, path, "yes" if mount.writable else "no")))
    render.console().print(table if found else _NONE, markup=False)


def tagged(
    tag: Annotated[list[str], typer.Argument(help="A tag; with several, memories must have all of them.")],
    limit: Annotated[int, typer.Option(min=1, help="How many memories to show.")] = 100,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    mount: Mounts = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the memories with a tag, here and in mounted memories, latest first."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.tagged(*tag, limit=limit, since=since, until=until, as_of=as_of, mounts=mount)
    if json:
        render.print_json({"tags": tag, "hits": [hit.to_dict() for hit in found]})
    elif found:
        render.console().print(render.hits_table(", ".join(tag), found))
    else:
        render.console().print("No memory has that tag.")


def _mount_json(mount: Mount) -> dict[str, object]:
    scope = mount.scope
    return {
        "name": mount.name,
        "place": mount.shown or None,
        "user": scope.user if scope else None,
        "tenant": scope.tenant if scope else None,
        "namespace": scope.path if scope else None,
        "writable": mount.writable,
    }
