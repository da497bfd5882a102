"""`memoryos profile`: what is known about the user and the agent, and fields that are set."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.hint import hint
from memoryos.interface.cli.options import Agent, AsOf, Db, Json, Tenant, User, memory_of, open_memory, open_store
from memoryos.kinds import Subject


def get(
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show the profile, the traits and the facts of the user and of the agent."""
    with open_store(db, must_exist=True) as store:
        profile = memory_of(store, user, agent, tenant).profile.get(as_of=as_of)
        is_empty = profile.user.is_empty and profile.agent.is_empty
        nobody = hint(store, user, agent, tenant) if is_empty else None
    if json:
        render.print_json({**profile.to_dict(), "hint": nobody})
    elif is_empty:
        render.console().print(nobody or "Nothing is known yet.", markup=False)
    else:
        render.console().print(render.profile_table(profile))


def set_(
    field: Annotated[str, typer.Argument(help="The field, e.g. name.")],
    value: Annotated[str, typer.Argument(help="Its value.")],
    subject: Annotated[Subject, typer.Option(help="Whom it describes.")] = Subject.USER,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Set a field of the profile; what is said about it later replaces the value."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        stored = memory.profile.set(field, value, subject=subject)
    if json:
        render.print_json({"id": stored})
    else:
        render.console().print(f"Set {field}: {value}", markup=False, soft_wrap=True)
