"""`memoryos facts`: state a fact about the user or the agent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Meta, Tenant, User, metadata_of, open_memory, seconds_of
from memoryos.kinds import Subject


def add(
    text: Annotated[str, typer.Argument(help="The fact, as a sentence that stands alone.")],
    subject: Annotated[Subject, typer.Option(help="Whom it is about.")] = Subject.USER,
    at: Annotated[str | None, typer.Option(help="When it was said, e.g. 2026-05-08 (default: now).")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    meta: Meta = None,
    ttl: Annotated[str | None, typer.Option(help="Time until it expires, e.g. 90 (seconds), 12h, 7d.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it expires, e.g. 2027-01-01.")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Store a fact; one that is known already, in the same or other words, is not stored twice."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        said: dict[str, Any] = {"ttl": seconds_of(ttl) if ttl else None, "expires_at": expires_at}
        said |= {"tags": tag or (), "metadata": metadata_of(meta)}
        fact = memory.facts.add(text, subject=subject, at=at, **said)
    if json:
        render.print_json({"id": fact})
    else:
        waits = "The same change waits for a decision: `memoryos proposals list`."
        render.console().print(f"Stored as {fact}." if fact else waits, soft_wrap=True)
