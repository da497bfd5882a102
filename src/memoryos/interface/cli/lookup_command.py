"""`memoryos get` and `memoryos history`: one memory by its id, and its versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, AsOf, Db, Json, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.cube import MemCube

Id = Annotated[str, typer.Argument(help="Its id, as `search` and the lists show it.")]

_SHOWN = (
    "id",
    "kind",
    "tier",
    "state",
    "at",
    "subject",
    "tags",
    "metadata",
    "title",
    "source",
    "expires_at",
    "version",
)


def get(
    memory_id: Id,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show one memory: a page, fact, trait, profile field or segment."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.get(memory_id, as_of=as_of)
    if json:
        render.print_json(cube.to_dict())
        return
    for line in _lines(cube):
        render.say(line)


def history(
    memory_id: Id,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the versions of a memory, oldest first; of a fact also the facts that it replaced."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        versions = memory.history(memory_id, as_of=as_of)
    if json:
        render.print_json({"versions": [cube.to_dict() for cube in versions]})
    else:
        render.console().print(_table(versions))
        if first := _first_kept(memory_id, versions):
            render.say(f"Versions before {first:,} are not kept any more.")


def _first_kept(memory_id: str, versions: Sequence[MemCube]) -> int:
    """The number of the oldest version that is kept; 0 if all are."""
    first = min((cube.number for cube in versions if cube.id == memory_id), default=1)
    return first if first > 1 else 0


def _lines(cube: MemCube) -> Iterator[str]:
    told = cube.to_dict()
    for name in _SHOWN:
        value = told[name]
        if value not in (None, [], {}):
            yield f"{name}: {', '.join(value) if isinstance(value, list) else value}"
    yield from ("", cube.text)


def _table(versions: Iterable[MemCube]) -> Table:
    table = Table(title="Versions", title_justify="left", expand=True)
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    table.add_column("#", no_wrap=True, justify="right")
    table.add_column("memory", ratio=1, overflow="fold")
    for cube in versions:
        when = f"{cube.descriptive.updated_at:%Y-%m-%d %H:%M}"
        table.add_row(cube.id, str(cube.number), f"[dim]{when}[/]\n{escape(cube.text)}")
    return table
