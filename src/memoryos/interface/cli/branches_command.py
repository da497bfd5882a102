"""`memoryos branches`: copies of a memory on which things can be tried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory, seconds_of

if TYPE_CHECKING:
    from memoryos.cube import MemCube

Name = Annotated[str, typer.Argument(help="Name of the branch.", autocompletion=names("branch"))]


def create(
    name: Annotated[str, typer.Argument(help="Name of the branch.")],
    ttl: Annotated[str, typer.Option(help="How long it is kept, e.g. 12h or 30d.")] = "7d",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Copy a memory into a branch, which Python programs use: `memory.branch(NAME)`."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        made = memory.branches.create(name, ttl=seconds_of(ttl))
    if json:
        render.print_json(made.to_dict())
    else:
        render.say(f"The branch {name} is made; it ends at {made.expires_at.isoformat(timespec='seconds')}.")


def list_branches(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the branches, by name."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.branches.list()
    if json:
        render.print_json({"branches": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(f"{one.name}: made at {one.created_at:%Y-%m-%d %H:%M}, until {one.expires_at:%Y-%m-%d %H:%M}")
    if not found:
        render.say("There are no branches.")


def diff(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what a branch has that the memory does not have now, and the other way round."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.branches.diff(name)
    if json:
        render.print_json(found.to_dict())
        return
    for title, cubes in (("+", found.added), ("-", found.removed), ("newer:", found.newer)):
        _say(title, cubes)
    for one in found.changed:
        render.say(f"~ {one.id}: {one.before} -> {one.after}")
        for change in one.changes:
            for line in (change.field, *change.unified):
                render.say(f"  {line}")


def discard(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a branch with everything in it; the memory stays as it is."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.branches.discard(name)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The branch {name} is removed.")


def _say(title: str, cubes: Iterable[MemCube]) -> None:
    for cube in cubes:
        render.say(f"{title} {cube.kind} {cube.id}: {cube.text}")
