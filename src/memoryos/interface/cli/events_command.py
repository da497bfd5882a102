"""`memoryos events`: the log of changes: what happened to which memory."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory


def events(
    after: Annotated[int, typer.Option(min=0, help="Only events with a higher number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Most events.")] = 100,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the changes of memories, oldest first; `--after` the last number lists the next ones."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.log.events(after=after, limit=limit)
    if json:
        render.print_json({"events": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(f"{one.sequence} {one.at:%Y-%m-%d %H:%M:%S} {one.operation} {one.kind} {one.cube_id} {one.version}")
    if not found:
        render.say("There are no such events.")
