"""`memoryos pages`: list and count what was said, and the files that came with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.listed_memories import By, Cursor, Limit, Listed, Speaker, labels
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    AsOf,
    Db,
    Json,
    Meta,
    NoTags,
    Session,
    Since,
    Tags,
    Tenant,
    Until,
    User,
    open_memory,
)
from memoryos.kinds import Tier

In = Annotated[Tier | None, typer.Option(help="Pages of this tier.")]
Topic = Annotated[str | None, typer.Option(help="Pages of this segment (id).", show_default=False)]
Page = Annotated[str, typer.Argument(help="Id of the page.")]


def list_pages(
    limit: Limit = 50,
    cursor: Cursor = None,
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    tier: In = None,
    segment: Topic = None,
    session: Session = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the pages of a user in the order in which they were added."""
    said = {"since": since, "until": until, "session": session, "speaker": speaker, "role": role, "tier": tier}
    said |= {"as_of": as_of, "segment": segment, **labels(tag, any_tag, no_tag, meta)}
    Listed("pages", db, user, agent, tenant, json=json).list(limit=limit, cursor=cursor, **said)


def count_pages(
    since: Since = None,
    until: Until = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    speaker: Speaker = None,
    role: By = None,
    tier: In = None,
    segment: Topic = None,
    session: Session = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Count the pages; the filters are those of `pages list`."""
    said = {"since": since, "until": until, "session": session, "speaker": speaker, "role": role, "tier": tier}
    said |= {"as_of": as_of, "segment": segment, **labels(tag, any_tag, no_tag, meta)}
    Listed("pages", db, user, agent, tenant, json=json).count(**said)


def attachments(
    page: Page,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the attachments of a page."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.pages.attachments(page)
    if json:
        render.print_json({"attachments": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(f"{one.id or one.url}: {one.caption}, {one.media_type}")
    if not found:
        render.say("The page has no attachments.")


def attachment(
    page: Page,
    attachment_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the attachment, from `pages attachments`.")],
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Write an attachment into a new file."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.pages.attachment(page, attachment_id)
    try:
        with target.open("xb") as file:
            file.write(found.data)
    except OSError as error:
        raise InvalidInput("FILE", f"{target}: {error.strerror}", "Name a new file in a folder that exists") from None
    if json:
        render.print_json({"file": str(target), "bytes": len(found.data), "media_type": found.media_type})
    else:
        render.say(f"Wrote {len(found.data):,} bytes to {target}.")
