"""`memoryos bench compression`: what texts of some tokens recall of a conversation, and how much of it they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.compression import CompressionPoint, CompressionReport, Method, measure_compression
from memoryos.bench.locomo_recall import load_corpus
from memoryos.bench.plot import check_plot, plot_compression
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched


def compression(
    data: Annotated[Path, typer.Option(help="The LoCoMo file.", show_default=False)],
    every: Annotated[int, typer.Option(min=1, help="Ask every nth question, because all of them take long.")] = 4,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot: a .png, .svg or .pdf.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Fill token budgets in four ways and report evidence recalled and days covered, also per token."""
    if plot:
        check_plot(plot)
    corpus = load_corpus(data)
    asked = replace(corpus.questions, asked=corpus.questions.asked[::every])
    with watched() as progress:
        settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
        report = measure_compression(replace(corpus, questions=asked), settings, progress)
    if plot:
        plot_compression(plot, report.points)
    if json:
        render.print_json(_as_json(report))
    else:
        _print(report.points)


def _as_json(report: CompressionReport) -> dict[str, Any]:
    points = {method.value: [_point(point) for point in found] for method, found in report.points.items()}
    return {**asdict(replace(report, points={})), "points": points}


def _point(point: CompressionPoint) -> dict[str, float]:
    per_thousand = {
        "recall_per_thousand": round(point.recall_per_thousand, 4),
        "told_per_thousand": round(point.told_per_thousand, 4),
    }
    return {**{name: round(value, 4) for name, value in asdict(point).items()}, **per_thousand}


def _print(points: Mapping[Method, Sequence[CompressionPoint]]) -> None:
    table = Table(title="Evidence recalled / days told / days covered, by tokens", title_justify="left")
    table.add_column("tokens", justify="right")
    for method in points:
        table.add_column(method.value, justify="right")
    for row in zip(*points.values(), strict=True):
        cells = (f"{point.recall:.3f} / {point.told:.2f} / {point.covered:.2f}" for point in row)
        table.add_row(str(row[0].budget), *cells)
    render.wide_console().print(table)
