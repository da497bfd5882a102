"""`memoryos context`: what is worth telling a model about a question, under a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.dialogue_file import dialogue_in
from memoryos.interface.cli.hint import hint
from memoryos.interface.cli.options import (
    Agent,
    AnyTags,
    Db,
    Json,
    Meta,
    Mounts,
    NoTags,
    Question,
    SearchedAsOf,
    Session,
    Since,
    Tags,
    Tenant,
    Tokens,
    Until,
    User,
    filters_of,
    memory_of,
    open_store,
)

if TYPE_CHECKING:
    from memoryos.operation.recall.context import Context
    from memoryos.operation.recall.line import Line


def context(
    query: Question,
    tokens: Tokens = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Id of a memory to leave out; may be repeated.")] = None,
    dialogue: Annotated[
        str | None,
        typer.Option(
            help="JSON file with the messages of the running dialogue, which are left out; - reads standard input.",
            metavar="FILE",
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    as_of: SearchedAsOf = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    no_tag: NoTags = None,
    meta: Meta = None,
    mount: Mounts = None,
    session: Session = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Print what bears on a question, as text for a prompt."""
    said = dialogue_in(dialogue)
    with open_store(db, must_exist=True) as store:
        found = memory_of(store, user, agent, tenant).context(
            query,
            tokens=tokens,
            exclude=exclude or (),
            dialogue=said,
            since=since,
            until=until,
            as_of=as_of,
            tags=tag or (),
            filters=filters_of(any_tag, no_tag, meta),
            session=session,
            mounts=mount,
        )
        nobody = None if found.ids else hint(store, user, agent, tenant)
    if json:
        render.print_json({**_as_json(found), "hint": nobody})
    elif found.text:
        render.say(found.text)
    else:
        render.console().print(nobody or _without_text(found), markup=False)


def _without_text(found: Context) -> str:
    if not found.fits:
        return "Memories were found, but no line of them fits: allow more tokens (--tokens)."
    return "Nothing was found; `memoryos stats` lists the users."


def _as_json(found: Context) -> dict[str, Any]:
    return {
        "text": found.text,
        "found": found.found,
        "fits": found.fits,
        "tokens": found.tokens,
        "ids": list(found.ids),
        "source_ids": list(found.source_ids),
        "lines": [_line_json(line) for line in found.lines],
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "section": line.section.value,
        "text": line.text,
        "id": line.cube.id,
        "at": line.at.isoformat(),
        "turn": line.turn,
        "spans": [list(span) for span in line.spans],
        "score": line.score,
    }
