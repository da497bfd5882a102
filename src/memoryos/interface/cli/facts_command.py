"""`memoryos facts`: state a fact about the user or the agent, list and count them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.listed_memories import Cursor, Limit, Listed, labels
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    AsOf,
    Db,
    Json,
    Meta,
    NoTags,
    Since,
    Tags,
    Tenant,
    Until,
    User,
    metadata_of,
    open_memory,
    seconds_of,
)
from memoryos.kinds import Subject, Tier

About = Annotated[Subject, typer.Option(help="Facts about the user or about the agent.")]
In = Annotated[Tier, typer.Option(help="`lpm`: what holds; `archive`: what was replaced, or exceeded the capacity.")]


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


def list_facts(
    limit: Limit = 50,
    cursor: Cursor = None,
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    tier: In = Tier.LPM,
    subject: About = Subject.USER,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the facts about the user or the agent in the order in which they were learned."""
    said = {"since": since, "until": until, "tier": tier, "subject": subject, "as_of": as_of}
    said |= labels(tag, any_tag, no_tag, meta)
    Listed("facts", db, user, agent, tenant, json=json).list(limit=limit, cursor=cursor, **said)


def count_facts(
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    tier: In = Tier.LPM,
    subject: About = Subject.USER,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Count the facts; the filters are those of `facts list`."""
    said = {"since": since, "until": until, "tier": tier, "subject": subject, "as_of": as_of}
    said |= labels(tag, any_tag, no_tag, meta)
    Listed("facts", db, user, agent, tenant, json=json).count(**said)
