"""`memoryos bench governance`: what the audit log adds to adds and searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.governance_cost import PLAIN, Governed, measure_governance
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched

_WANTED = ("p50", "p95")


def governance(
    pages: Annotated[int, typer.Option(help="Pages of each store.", min=1)] = 10_000,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Time adds and searches with and without the audit log, in turn."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    with watched() as progress:
        found = measure_governance(pages, settings, progress)
    if json:
        render.print_json({"pages": pages, "variants": {name: _as_json(one, found) for name, one in found.items()}})
    else:
        _print(pages, found)


def _as_json(one: Governed, found: Mapping[str, Governed]) -> dict[str, Any]:
    plain = found[PLAIN]
    return {
        "add_ms": {name: round(one.add_ms[name], 3) for name in _WANTED},
        "search_ms": {name: round(one.search_ms[name], 3) for name in _WANTED},
        "add_ratio": round(one.add_ms["p50"] / plain.add_ms["p50"], 3),
        "search_ratio": round(one.search_ms["p50"] / plain.search_ms["p50"], 3),
    }


def _print(pages: int, found: Mapping[str, Governed]) -> None:
    table = Table(title=f"Stores of {pages:,} pages, ms", title_justify="left")
    table.add_column("")
    for operation in ("add", "search"):
        for column in (f"{operation} p50", f"{operation} p95", f"times {PLAIN}"):
            table.add_column(column, justify="right")
    for name, one in found.items():
        told = _as_json(one, found)
        cells = (
            *(f"{told['add_ms'][wanted]:.2f}" for wanted in _WANTED),
            f"{told['add_ratio']:.2f}",
            *(f"{told['search_ms'][wanted]:.2f}" for wanted in _WANTED),
            f"{told['search_ratio']:.2f}",
        )
        table.add_row(name, *cells)
    render.console().print(table)
