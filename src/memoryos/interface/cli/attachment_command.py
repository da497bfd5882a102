"""`memoryos attachments` and `memoryos attachment`: the files of a page, and the bytes of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory

Page = Annotated[str, typer.Argument(help="Id of the page.")]


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
    attachment_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the attachment, from `attachments`.")],
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
