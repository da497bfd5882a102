"""`memoryos duplicates`: memories that say the same, merged into one and given back."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.kinds import Kind


def list_duplicates(
    kind: Annotated[Kind, typer.Option(help="page or fact.")] = Kind.PAGE,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the groups of memories that say the same; nothing is changed."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.duplicates.list(kind=kind)
    if json:
        render.print_json({"groups": [one.to_dict() for one in found]})
        return
    for group in found:
        render.say("equal:" if group.is_exact else "nearly equal:")
        for cube in group.memories:
            render.say(f"  {cube.id} {cube.text}")
    if not found:
        render.say("There are no duplicates.")


def merge(
    ids: Annotated[list[str], typer.Argument(help="Ids of memories that say the same; the first takes in the others.")],
    reason: Annotated[str, typer.Option(help="Why; kept with the transitions.")] = "merge",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Merge memories that say the same into the first one; `unmerge` undoes it."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        survivor = memory.duplicates.merge(ids, reason=reason)
    if json:
        render.print_json({"id": survivor.id, "merged": [one for one in ids if one != survivor.id]})
    else:
        render.say(f"{survivor.id} took in {len(set(ids)) - 1}.")


def merged(
    memory_id: Annotated[str, typer.Argument(help="Id of a memory that took in others.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the memories that this one took in."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.duplicates.merged(memory_id)
    if json:
        render.print_json({"memories": [one.to_dict() for one in found]})
        return
    for cube in found:
        render.say(f"{cube.id} {cube.text}")
    if not found:
        render.say("It took in none.")


def unmerge(
    memory_id: Annotated[str, typer.Argument(help="Id of a memory that was merged.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Give back a memory that was merged into another one."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.duplicates.unmerge(memory_id)
    if json:
        render.print_json({"id": cube.id, "state": cube.state.value})
    else:
        render.say(f"{cube.id} is {cube.state}.")
