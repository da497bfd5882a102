"""`memoryos bench governance`: what policies cost a search."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.governed import Governed, measure_policies
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched


def governance(
    pages: Annotated[
        list[int] | None,
        typer.Option("--pages", help="Pages of the memory; may be repeated (default: 10000 and 100000).", min=100),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Time searches with and without policies: by the owner, and by a guest who may read a part."""
    settings = load_settings(mounts=(), policies=None, **({"embedder": embedder} if embedder else {}))
    with watched() as progress:
        found = list(measure_policies(pages or [10_000, 100_000], settings, progress))
    if json:
        render.print_json({"sizes": [_as_json(one) for one in found]})
    else:
        _print(found)


def _as_json(one: Governed) -> dict[str, Any]:
    times = {name: _rounded(value) for name, value in asdict(one).items()}
    return {**times, "owner_ratio": round(one.owner_ratio, 3), "guest_ratio": round(one.guest_ratio, 3)}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def _print(found: list[Governed]) -> None:
    table = Table(title="Searches with policies, ms (median)", title_justify="left")
    for column in ("pages", "classes", "without", "owner", "ratio", "guest", "ratio", "guest's first"):
        table.add_column(column, justify="right")
    for one in found:
        owner, guest = (
            (f"{one.owner_ms['p50']:.2f}", f"{one.owner_ratio:.2f}"),
            (
                f"{one.guest_ms['p50']:.2f}",
                f"{one.guest_ratio:.2f}",
            ),
        )
        table.add_row(
            f"{one.pages:,}",
            f"{one.classes:,}",
            f"{one.ungoverned_ms['p50']:.2f}",
            *owner,
            *guest,
            f"{one.first_ms:.1f}",
        )
    render.console().print(table)
