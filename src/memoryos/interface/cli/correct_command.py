"""`memoryos update` and `memoryos delete`: correct a memory, or remove it, by its id."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from memoryos.errors import InvalidInput, NotFound
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, Yes, open_memory
from memoryos.kinds import Role, UpdateMode

CHARS = 200  # of a memory in the question

Ids = Annotated[list[str], typer.Argument(help="Ids, as `search` and the lists show them.")]


def update(
    memory_id: Annotated[str, typer.Argument(help="Its id, as `search` and the lists show it.")],
    text: Annotated[
        str | None, typer.Argument(help="The new text; without it, only the tags change.", show_default=False)
    ] = None,
    role: Annotated[Role, typer.Option(help="For a page: the turn to correct.")] = Role.USER,
    append: Annotated[
        bool, typer.Option("--append", help="Keep the old words; the text follows on a new line.")
    ] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Add what the memory does not say yet; of a fact, the later value counts.")
    ] = False,
    at: Annotated[str | None, typer.Option(help="With --merge: when it was said.", show_default=False)] = None,
    tag: Annotated[list[str] | None, typer.Option(help="One more tag; repeatable.")] = None,
    expected_version: Annotated[
        int | None, typer.Option(help="Change nothing if it has another version.", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option(help="Why: kept with the version.", show_default=False)] = "",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Correct a memory; the earlier versions stay in its history."""
    if append and merge:
        raise InvalidInput("--merge", "is passed together with --append", "Pass one of them")
    if at is not None and not merge:
        raise InvalidInput("--at", "has no meaning without --merge", "Leave it out, or add --merge")
    mode = UpdateMode.APPEND if append else UpdateMode.MERGE if merge else UpdateMode.OVERWRITE
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.update(
            memory_id,
            text,
            role=role,
            mode=mode,
            expected_version=expected_version,
            at=at,
            tags=tag or (),
            reason=reason,
        )
    if json:
        render.print_json(cube.to_dict())
    else:
        render.console().print(f"Version {cube.number}: {cube.text}", markup=False)


def delete(
    ids: Ids,
    yes: Yes = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Delete memories, and what was derived from them alone, for good."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        texts = [memory.get(one).text for one in ids]  # all are there, or nothing is deleted
        if not yes:
            _confirm(texts, json=json)
        for one in ids:
            with suppress(NotFound):  # it went with another one
                memory.delete(one)
    if json:
        render.print_json({"deleted": ids})
    else:
        render.console().print(f"Deleted {len(ids):,}.")


def _confirm(texts: list[str], *, json: bool) -> None:
    if json or not sys.stdin.isatty():
        raise InvalidInput("--yes", "is missing", "Deletion cannot be undone: add --yes")
    for text in texts:
        render.say(render.shortened(text, CHARS))
    typer.confirm("Delete for good?", abort=True)
