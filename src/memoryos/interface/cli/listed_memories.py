"""Listed memories: what the commands `list` and `count` of pages, segments and facts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.interface.cli import render
from memoryos.interface.cli.hint import hint
from memoryos.interface.cli.options import filters_of, memory_of, open_store
from memoryos.kinds import Role

if TYPE_CHECKING:
    from memoryos.listing import Listing
    from memoryos.memory_os import MemoryOS

CHARS = 200  # of a memory in the table

Limit = Annotated[int, typer.Option(min=1, help="Most items to list.")]
Cursor = Annotated[str | None, typer.Option(help="The cursor that the previous list printed.")]
Speaker = Annotated[str | None, typer.Option(help="Pages with a turn of this speaker, or segments of such pages.")]
By = Annotated[Role | None, typer.Option(help="Pages with a turn of this role, or segments of such pages.")]


@dataclass(frozen=True, slots=True)
class Listed:
    """The pages, segments or facts of one owner in a store."""

    what: str
    db: str | None
    user: str
    agent: str
    tenant: str
    json: bool

    def list(self, **only: Any) -> None:
        """Print what passes these filters, some at a time; who has no memory is told with those who have one."""
        with open_store(self.db, must_exist=True) as store:
            found = self._noun(store).list(**_given(only))
            nobody = None if found else self._hint(store)
        if self.json:
            render.print_json({self.what: found.to_dict()["items"], "cursor": found.cursor, "hint": nobody})
        elif found:
            _print(self.what, found)
        else:
            render.console().print(_nothing(self.what, nobody), markup=False)

    def count(self, **only: Any) -> None:
        """Print how many pass these filters."""
        with open_store(self.db, must_exist=True) as store:
            number = self._noun(store).count(**_given(only))
            nobody = None if number else self._hint(store)
        tell_count(self.what, number, nobody, json=self.json)

    def _noun(self, store: MemoryOS) -> Any:
        return getattr(memory_of(store, self.user, self.agent, self.tenant), self.what)

    def _hint(self, store: MemoryOS) -> str | None:
        return hint(store, self.user, self.agent, self.tenant)


def labels(
    tags: Sequence[str] | None,
    any_tags: Sequence[str] | None,
    no_tags: Sequence[str] | None,
    meta: Sequence[str] | None,
) -> dict[str, Any]:
    """The filters by tags and metadata that a command was given."""
    return {"tags": tags, "filters": filters_of(any_tags, no_tags, meta)}


def tell_count(what: str, number: int, nobody: str | None = None, *, json: bool) -> None:
    """Print how many there are, and a hint."""
    if json:
        render.print_json({"what": what, "count": number, "hint": nobody})
        return
    things = what.removesuffix("s") if number == 1 else what
    render.console().print(f"{number:,} {things}{f'. {nobody}' if nobody else ''}", markup=False)


def _given(only: Mapping[str, Any]) -> dict[str, Any]:
    """The filters that were passed; the library has the defaults of the others."""
    return {name: value for name, value in only.items() if value not in (None, [], {})}


def _print(what: str, found: Listing[Any]) -> None:
    console = render.console()
    console.print(render.listed_segments(found) if what == "segments" else _table(what, found))
    if found.cursor:
        console.print(f"More: --cursor {found.cursor}", markup=False, soft_wrap=True)


def _nothing(what: str, nobody: str | None) -> str:
    if nobody:
        return f"No {what}. {nobody}"
    more = " Pages join a topic when STM has no room for them." if what == "segments" else ""
    return f"No {what} that this lists; `memoryos stats` shows what there is.{more}"


def _table(what: str, found: Listing[Any]) -> Table:
    table = Table(title=what.capitalize(), title_justify="left", expand=True)
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    table.add_column("when", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    for cube in found:
        when = f"{cube.descriptive.event_at:%Y-%m-%d %H:%M}"
        table.add_row(cube.id, when, escape(render.shortened(cube.text, CHARS)))
    return table
