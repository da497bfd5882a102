"""`memoryos bench purity`: how far segments match sessions and events, before and after repair."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench.agreement import Agreement
from memoryos.bench.purity import PurityReport, measure_gvd, measure_locomo
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json


class Shape(StrEnum):
    """The formats of files."""

    LOCOMO = "locomo"
    GVD = "gvd"


def purity(
    data: Annotated[Path, typer.Option(help="The data file.", show_default=False)],
    shape: Annotated[Shape, typer.Option(help="Format of the file.")] = Shape.LOCOMO,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Compare segments with the sessions and events of their pages, before and after repair."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    report = (measure_locomo if shape is Shape.LOCOMO else measure_gvd)(data, settings)
    if json:
        render.print_json(asdict(report))
    else:
        _print(report)


def _print(report: PurityReport) -> None:
    table = Table(title=f"Segments, {escape(report.embedder)}", title_justify="left")
    for column in ("against", "", "purity", "pairwise F1", "NMI", "segments", "classes", "pages"):
        table.add_column(column)
    rows = [
        ("sessions", "before", report.before.sessions),
        ("sessions", "after", report.after.sessions),
        ("events", "before", report.before.events),
        ("events", "after", report.after.events),
    ]
    for against, when, found in rows:
        if found:
            table.add_row(against, when, *_figures(found))
    render.wide_console().print(table)


def _figures(found: Agreement) -> list[str]:
    measures = [f"{value:.3f}" for value in (found.purity, found.pairwise_f1, found.nmi)]
    return [*measures, str(found.groups), str(found.classes), str(found.things)]
