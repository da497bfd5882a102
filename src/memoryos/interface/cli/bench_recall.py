"""`memoryos bench recall`: what rankings find and `context` hands over on any data set, against plain search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryos.bench.dataset import read_datasets
from memoryos.bench.means import OVERALL, Estimate, Summary
from memoryos.bench.metrics import LEVELS, Measure
from memoryos.bench.plot import check_plot, plot_recall
from memoryos.bench.recall import DEFAULT, Lead, MeasuredRecall, TypeResult, measure
from memoryos.bench.variants import Variant, whole, without_parts
from memoryos.config import Settings, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.bench_json import FIGURES, made_on, rounded
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.recall_output import print_recalled
from memoryos.interface.cli.watched import watched
from memoryos.models.embedder import load_embedder
from memoryos.operation.recall.hit import Strategy

_TOLD = ("tokens", "tokens_attainable", "turns", "sessions")  # what a program reads


def recall(
    data: Annotated[
        list[Path],
        typer.Option(help="A recall set, a JSON document, or LoCoMo; may be repeated.", show_default=False),
    ],
    strategy: Annotated[
        list[Strategy] | None,
        typer.Option(help="May be repeated (default: hybrid, bm25, linear, dense).", show_default=False),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also measure hybrid without each part of its score.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of questions per file, spread evenly.", show_default=False)
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot recall against tokens: a .png, .svg or .pdf.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Ask the questions of a data set and report how much of the evidence `search` finds and `context` returns."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    if plot:
        check_plot(plot)
    variants = whole(strategy or DEFAULT) | (without_parts() if ablation else {})
    found, name = _measured(data, limit, variants, settings)
    if plot:
        plot_recall(plot, {one.dataset.name: _overall(one) for one in found})
    if json:
        datasets = {one.dataset.name: _as_json(one) for one in found}
        render.print_json({"datasets": datasets, "embedder": name, **made_on()})
    else:
        print_recalled(found, name)


def _measured(
    data: Sequence[Path], limit: int | None, variants: Mapping[str, Variant], settings: Settings
) -> tuple[list[MeasuredRecall], str]:
    """The results of all files, and the embedder's name."""
    embedder = load_embedder(settings.embedder, settings)
    datasets = read_datasets(data, limit)
    with watched() as progress:
        found = [measure(dataset, variants, settings, embedder, progress) for dataset in datasets]
    return found, embedder.name


def _overall(found: MeasuredRecall) -> dict[str, Summary]:
    return {way: groups[OVERALL].by_questions for way, groups in found.results.items()}


def _as_json(found: MeasuredRecall) -> dict[str, Any]:
    dataset = found.dataset
    return {
        "results": {
            way: {name: _group(group) for name, group in groups.items()} for way, groups in found.results.items()
        },
        "search_ms": {way: rounded(times) for way, times in found.search_ms.items()},
        "questions": len(dataset.asked),
        "memories": len(dataset.conversations),
        "turns": dataset.turns,
        "malformed": dataset.malformed,
        "sha256": dataset.sha256,
    }


def _group(group: TypeResult) -> dict[str, Any]:
    means = {name: _levels(group.by_questions, name) for name in _TOLD}
    return {
        "questions": group.by_questions.questions,
        **{name: {level: round(one.mean, FIGURES) for level, one in found.items()} for name, found in means.items()},
        "interval": {"questions": _interval(group.by_questions), "memories": _interval(group.by_memories)},
        "difference": _difference(group.leads),
    }


def _levels(summary: Summary, name: str) -> dict[str, Estimate]:
    """The estimates of a measure by its levels; none when the way has no such measure."""
    measures = (Measure(name, level) for level in LEVELS[name])
    return {str(one.level): summary.estimates[one] for one in measures if one in summary.estimates}


def _interval(summary: Summary | None) -> dict[str, list[float]]:
    found = _levels(summary, "tokens") if summary else {}
    return {level: [round(one.low, FIGURES), round(one.high, FIGURES)] for level, one in found.items()}


def _difference(leads: Mapping[int, Lead]) -> dict[str, Any]:
    if not leads:
        return {}
    ahead = {str(budget): rounded(_parts(lead.ahead), FIGURES) for budget, lead in leads.items()}
    return {"baseline": {str(budget): lead.baseline for budget, lead in leads.items()}, **ahead}


def _parts(found: Estimate) -> dict[str, float]:
    return {"mean": found.mean, "low": found.low, "high": found.high}
