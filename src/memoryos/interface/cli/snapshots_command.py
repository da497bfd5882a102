"""`memoryos snapshots`: named moments of the log, for `--as-of`."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory, seconds_of

Name = Annotated[str, typer.Argument(help="Name of the snapshot.", autocompletion=names("snapshot"))]


def create(
    name: Annotated[str, typer.Argument(help="Name of the snapshot.")],
    at: Annotated[str | None, typer.Option(help="An earlier moment (default: now).")] = None,
    ttl: Annotated[str | None, typer.Option(help="How long it is kept, e.g. 30d.")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Name a moment: `--as-of NAME` then shows the memory as it was. Nothing is copied."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        made = memory.snapshots.create(name, at=at, ttl=seconds_of(ttl) if ttl else None)
    if json:
        render.print_json(made.to_dict())
    else:
        render.say(f"The snapshot {name} shows the memory at {made.at.isoformat(timespec='seconds')}.")


def list_snapshots(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the snapshots, by their moments."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.snapshots.list()
    if json:
        render.print_json({"snapshots": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(f"{one.name}: {one.at.isoformat(timespec='seconds')}, until {one.expires_at:%Y-%m-%d}")
    if not found:
        render.say("There are no snapshots.")


def remove(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a snapshot; the memories stay as they are."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.snapshots.remove(name)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The snapshot {name} is removed.")
