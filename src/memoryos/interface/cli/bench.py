"""`memoryos bench`: recall on LoCoMo and in Chinese, and speed by size; tables for people, JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from memoryos.bench import chinese_talk as chinese_talk
from memoryos.bench.languages import measure_languages
from memoryos.bench.locomo_recall import BenchCorpus, RecallReport, load_corpus, run
from memoryos.bench.means import OVERALL
from memoryos.bench.plot import check_plot, plot_recall
from memoryos.bench.scale import SEARCHES
from memoryos.bench.scale import measure as measure_scale
from memoryos.bench.speed import Size, measure_sizes
from memoryos.bench.sweep import Swept
from memoryos.bench.sweep import sweep as run_sweep
from memoryos.config import Settings, load_settings
from memoryos.errors import InvalidInput
from memoryos.importers.gvd import read_gvd
from memoryos.interface.cli import bench_json, bench_tables, render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.interface.faults import INTERRUPTED
from memoryos.models.embedder import load_embedder
from memoryos.operation.recall.hit import Strategy

Embedder = Annotated[
    str | None,
    typer.Option(
        help="The embedder: hashing, minilm, static, static-minilm or openai:MODEL (default: MEMORYOS_EMBEDDER).",
        show_default=False,
    ),
]
Strategies = Annotated[
    list[Strategy] | None,
    typer.Option("--strategy", help="May be repeated (default: all).", show_default=False),
]
InLanguages = Annotated[
    list[Strategy] | None,
    typer.Option("--strategy", help="May be repeated (default: hybrid, dense and bm25).", show_default=False),
]
Ablation = Annotated[bool, typer.Option("--ablation", help="Also measure hybrid without each part of its score.")]


def locomo(
    data: Annotated[Path, typer.Option(help="The LoCoMo file.", show_default=False)],
    strategy: Strategies = None,
    ablation: Ablation = False,
    conversations: Annotated[
        str | None, typer.Option(help="Conversations to use, e.g. conv-26,conv-30 (default: all).", show_default=False)
    ] = None,
    embedder: Embedder = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot recall against tokens: a .png, .svg or .pdf.", show_default=False)
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(
            help="An empty PostgreSQL database; it is not emptied afterwards (default: a temporary file).",
            show_default=False,
        ),
    ] = None,
    indexed: Annotated[bool, typer.Option("--indexed", help="Search with the candidate index of --db.")] = False,
    mounted: Annotated[bool, typer.Option("--mounted", help="Put every other session into a mounted memory.")] = False,
    json: Json = False,
) -> None:
    """Ask the questions of LoCoMo and report how much of the evidence is found."""
    settings = _settings(embedder)
    if plot:
        check_plot(plot)
    corpus = load_corpus(data, _names(conversations))
    report = _asked(corpus, strategy, settings, ablation=ablation, place=db, indexed=indexed, mounted=mounted)
    if plot:
        plot_recall(plot, {data.stem: {name: result.groups[OVERALL] for name, result in report.results.items()}})
    _show(corpus, report, json=json)


def sweep(
    data: Annotated[Path | None, typer.Option(help="A LoCoMo file.", show_default=False)] = None,
    gvd: Annotated[Path | None, typer.Option(help="A memory bank of GVD.", show_default=False)] = None,
    conversations: Annotated[
        str | None,
        typer.Option(help="Conversations of LoCoMo to use, e.g. conv-26,conv-30 (default: all).", show_default=False),
    ] = None,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Compare self-tuning with fixed values of theta, tau, m, k and w."""
    settings = _settings(embedder)
    if not (data or gvd):
        raise InvalidInput("--data", "is missing, and so is --gvd", "Name a LoCoMo file, a memory bank of GVD, or both")
    corpus = load_corpus(data, _names(conversations)) if data else None
    talks = read_gvd(gvd) if gvd else []
    found: dict[str, Swept] = {}
    with watched() as progress:
        if corpus:
            found["locomo"] = run_sweep(corpus.conversations, corpus, settings, progress)
        if talks:
            found["gvd"] = run_sweep(talks, None, settings, progress)
    if json:
        render.print_json({name: bench_json.sweep(swept) for name, swept in found.items()})
    else:
        for name, swept in found.items():
            bench_tables.print_sweep(name, swept)


def chinese(
    strategy: Strategies = None, ablation: Ablation = False, embedder: Embedder = None, json: Json = False
) -> None:
    """Ask questions about a synthetic conversation in Chinese, like `locomo`."""
    settings = _settings(embedder)
    corpus = load_corpus(chinese_talk.FILE)
    _show(corpus, _asked(corpus, strategy, settings, ablation=ablation), json=json)


def languages(strategy: InLanguages = None, embedder: Embedder = None, json: Json = False) -> None:
    """Ask about the same conversation in eight languages and report how often the right page comes first."""
    settings = _settings(embedder)
    strategies = strategy or [Strategy.HYBRID, Strategy.DENSE, Strategy.BM25]
    with watched() as progress:
        report = measure_languages(strategies, settings, progress)
    if json:
        render.print_json(bench_json.languages(report))
    else:
        bench_tables.print_languages(report)


def speed(
    pages: Annotated[str, typer.Option(help="Sizes of the store.")] = "1000,10000,100000",
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Time adding and searching in synthetic stores; an interrupt reports the finished sizes."""
    settings = _settings(embedder)
    sizes = _sizes(pages)
    done: list[Size] = []
    try:
        with watched() as progress:
            for size in measure_sizes(sizes, settings, progress):
                done.append(size)  # noqa: PERF402 - one by one: what is done survives an interrupt
    except KeyboardInterrupt:
        if not done:
            raise
    name = load_embedder(settings.embedder, settings).name
    if json:
        render.print_json(bench_json.speed(done, name))
    else:
        bench_tables.print_speed(done, name)
    if len(done) < len(sizes):
        raise typer.Exit(INTERRUPTED)


def scale(
    db: Annotated[str, typer.Option(help="A new file or an empty PostgreSQL database; it is not removed afterwards.")],
    tenants: Annotated[str, typer.Option(help="Numbers of tenants to measure; empty: none.")] = "10,1000",
    pages: Annotated[int, typer.Option(help="Pages of each tenant.", min=1)] = 1_000,
    large: Annotated[int, typer.Option(help="Pages of one more tenant; 0: none.", min=0)] = 0,
    searches: Annotated[
        int, typer.Option(help="Searches to time in one tenant, and again across tenants.", min=1)
    ] = SEARCHES,
    embedder: Embedder = None,
    json: Json = False,
) -> None:
    """Time searches in a store with many tenants and with one very large tenant."""
    settings = _settings(embedder)
    numbers = _sizes(tenants, "--tenants") if tenants else []
    with watched() as progress:
        found = list(measure_scale(db, numbers, pages, large, settings, progress, searches=searches))
    if json:
        render.print_json(bench_json.scale(found))
    else:
        bench_tables.print_scale(found)


def _asked(corpus: BenchCorpus, strategies: list[Strategy] | None, settings: Settings, **options: Any) -> RecallReport:
    with watched() as progress:
        return run(corpus, strategies or list(Strategy), settings, progress, **options)


def _show(corpus: BenchCorpus, report: RecallReport, *, json: bool) -> None:
    if json:
        render.print_json(bench_json.recall(corpus, report))
    else:
        bench_tables.print_recall(corpus, report)


def _settings(embedder: str | None) -> Settings:
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    load_embedder(settings.embedder, settings)  # refuse an unknown one before anything is read
    return settings


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _sizes(text: str, option: str = "--pages") -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise InvalidInput(option, f"{text!r} is not a list of sizes", "Pass e.g. 1000,10000")
    return list(dict.fromkeys(sizes))
