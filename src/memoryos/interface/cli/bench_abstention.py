"""`memoryos bench abstention`: whether a search knows when memory has no answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench.abstention import ANSWERABLE, OPEN_MESSAGES, MeasuredAbstention, measure
from memoryos.bench.dataset import read_datasets
from memoryos.bench.plot import check_plot, plot_abstention
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.bench_json import FIGURES, made_on
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.embedder import load_embedder

_POINTS = 101  # of a curve, for programs
_SHOWN = 1024  # tokens of the context whose loss a table tells


def abstention(
    data: Annotated[
        list[Path],
        typer.Option(help="A recall set, a JSON document, or LoCoMo; may be repeated.", show_default=False),
    ],
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Number of answerable questions per file.", show_default=False),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot the ROC curves: a .png, .svg or .pdf.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Ask about what was said and what was never said, and report how well the confidence separates them."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    if plot:
        check_plot(plot)
    model = load_embedder(settings.embedder, settings)
    datasets = read_datasets(data, limit)
    with watched() as progress:
        found = [measure(dataset, settings, model, progress) for dataset in datasets]
    if plot:
        plot_abstention(plot, {one.dataset.name: one.curves for one in found})
    if json:
        results = {one.dataset.name: _as_json(one) for one in found}
        made = {"threshold": settings.abstain_below, "embedder": model.name, **made_on()}
        render.print_json({"datasets": results, **made})
    else:
        _print(found, settings.abstain_below, model.name)


def _as_json(found: MeasuredAbstention) -> dict[str, Any]:
    curves = {
        name: {
            "auc": round(curve.auc, FIGURES),
            "caught": round(found.below(name), FIGURES),
            "ece": round(curve.ece, FIGURES),
            "points": [[round(value, FIGURES) for value in point] for point in curve.points(_POINTS)],
        }
        for name, curve in found.curves.items()
    }
    refused = {name: round(found.below(name), FIGURES) for name in (ANSWERABLE, OPEN_MESSAGES)}
    return {
        **curves,
        "refused": refused,
        "recall_lost": {str(budget): round(lost, FIGURES) for budget, lost in found.lost.items()},
        "questions": {name: len(values) for name, values in found.confidence.items()},
        "sha256": found.dataset.sha256,
    }


def _print(found: Sequence[MeasuredAbstention], threshold: float, embedder: str) -> None:
    console = render.wide_console()
    console.print(f"Questions with a confidence below {threshold:g} are refused; embedder {embedder}.", markup=False)
    console.print("In %: caught of these, refused of the answerable questions and of the open messages,")
    console.print(f"evidence recall of a context of {_SHOWN:,} tokens that refusals cost (lost).")
    table = Table(title_justify="left")
    table.add_column("data set", no_wrap=True)
    table.add_column("against", no_wrap=True)
    for column in ("AUC", "caught", "refused", "open", "lost", "ECE"):
        table.add_column(column, justify="right")
    for one in found:
        costs = [f"{100 * share:.1f}" for share in (one.below(ANSWERABLE), one.below(OPEN_MESSAGES), one.lost[_SHOWN])]
        for name, curve in one.curves.items():
            shown = [f"{curve.auc:.3f}", f"{100 * one.below(name):.1f}", *costs, f"{curve.ece:.3f}"]
            table.add_row(escape(one.dataset.name), name.replace("_", " "), *shown)
    console.print(table)
