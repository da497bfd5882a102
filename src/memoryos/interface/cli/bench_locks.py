"""`memoryos bench locks`: how long each operation holds the write lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.lock_times import BOUND_MS, USUAL, Locked, Locking, ScopeKind, measure
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched


def locks(
    pages: Annotated[int, typer.Option(help="Pages of each scope.", min=200)] = 10_000,
    scope: Annotated[
        list[ScopeKind] | None,
        typer.Option("--scope", help="May be repeated (default: ordinary and hostile).", show_default=False),
    ] = None,
    operation: Annotated[
        list[Locking] | None,
        typer.Option(
            "--operation",
            help="May be repeated (default: all). Pages are added and read each time.",
            show_default=False,
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(
            help="An empty PostgreSQL database; it is not emptied afterwards (default: a temporary file).",
            show_default=False,
        ),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Time the write lock for the steps of each operation, in an ordinary and in a hostile scope."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    with watched() as progress:
        found = list(measure(scope or USUAL, pages, settings, progress, db=db, parts=operation or list(Locking)))
    if json:
        render.print_json(_as_json(found))
    else:
        _print(found)


def _as_json(found: Sequence[Locked]) -> dict[str, Any]:
    scopes = {
        one.kind.value: {
            "pages": one.pages,
            "operations": {name: _rounded(asdict(held)) for name, held in one.held.items()},
        }
        for one in found
    }
    return {"bound_ms": BOUND_MS, "scopes": scopes}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


def _print(found: Sequence[Locked]) -> None:
    for one in found:
        title = f"{one.kind.value.capitalize()} scope, {one.pages:,} pages: the write lock, ms (at most {BOUND_MS:g})"
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for column in ("steps", "p95", "longest", "CPU", "without GC", "its p95", "steps over", "seconds in all"):
            table.add_column(column, justify="right")
        for name, held in one.held.items():
            numbers = (
                f"{held.p95_ms:.1f}",
                f"{held.longest_ms:.1f}",
                f"{held.longest_cpu_ms:.1f}",
                f"{held.longest_work_ms:.1f}",
                f"{held.p95_work_ms:.1f}",
            )
            table.add_row(name, f"{held.steps:,}", *numbers, f"{held.over:,}", f"{held.seconds:.1f}")
        render.wide_console().print(table)
