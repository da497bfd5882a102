"""`memoryos documents`: add a document of any length."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import (
    Agent,
    Db,
    Json,
    Meta,
    Session,
    Tenant,
    User,
    metadata_of,
    open_memory,
    seconds_of,
)
from memoryos.operation.intake.decoded import Decoded
from memoryos.operation.intake.text_source import PIECE_CHARS


def add(
    path: Annotated[str, typer.Argument(help="A file of UTF-8 text; - reads standard input.")],
    title: Annotated[str | None, typer.Option(help="Title of the document; shown with each part of it.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Origin, e.g. a URL (default: the name of the file).", show_default=False)
    ] = None,
    at: Annotated[str | None, typer.Option(help="Time of the document, e.g. 2026-05-08 (default: now).")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    meta: Meta = None,
    ttl: Annotated[str | None, typer.Option(help="Time until it expires, e.g. 90 (seconds), 12h, 7d.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it expires, e.g. 2027-01-01.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Key of this call; a second call with it adds only the parts that are missing.")
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Store a document of any length; it is read and stored part by part."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session) as memory:
        said: dict[str, Any] = {"title": title, "source": source, "tags": tag or (), "metadata": metadata_of(meta)}
        said |= {"ttl": seconds_of(ttl) if ttl else None, "expires_at": expires_at}
        text = Decoded(iter(lambda: sys.stdin.buffer.read(PIECE_CHARS), b"")) if path == "-" else Path(path)
        pages = memory.documents.add(text, at=at, idempotency_key=idempotency_key, **said)
    if json:
        render.print_json({"ids": pages})
    else:
        count = "1 page" if len(pages) == 1 else f"{len(pages)} pages"
        render.say(f"Stored as {count}, from {pages[0]} to {pages[-1]}.")
