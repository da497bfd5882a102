"""`memoryos bench kv`: what KV states spare a local model, and whether it answers the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.kept_results import KeptResults
from memoryos.bench.kv_speed import (
    CONTEXTS,
    QUERIES,
    KvPlan,
    KvReport,
    measure_kv,
    needed_tokens,
    text_tokens,
)
from memoryos.bench.plot import check_plot, plot_kv
from memoryos.bench.progress_callback import Progress
from memoryos.bench.random_model import random_engine, random_tokens
from memoryos.config import LOCAL, LocalRuntime, Settings, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import ForSeconds, Json, Keep
from memoryos.interface.cli.watched import watched
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened


def kv(
    model: Annotated[str, typer.Option(help="local:, or local:PATH with a folder or a .gguf file.")] = LOCAL,
    runtime: Annotated[
        list[LocalRuntime] | None, typer.Option(help="transformers or llamacpp; default: all that can run the model.")
    ] = None,
    random: Annotated[
        Path | None, typer.Option(help="Folder with a config.json: random weights of that shape, no files.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda, for --random.")] = "cpu",
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as there are cores.", min=1)] = None,
    context: Annotated[list[int] | None, typer.Option(help="Tokens of the context; default: the paper's.")] = None,
    query: Annotated[list[int] | None, typer.Option(help="Tokens of the query; default: the paper's.")] = None,
    answer_tokens: Annotated[int, typer.Option(help="Tokens of the answers that are compared.", min=1)] = 64,
    repeat: Annotated[int, typer.Option(help="Measurements of each cell; the median counts.", min=1)] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw the shares to this file.")] = None,
    keep: Keep = None,
    seconds: ForSeconds = None,
    json: Json = False,
) -> None:
    """Time the first token with and without a KV state, and compare the answers (MemOS paper, table 5)."""
    if plot:
        check_plot(plot)
    plan = KvPlan(context or CONTEXTS, query or QUERIES, answer_tokens, repeat, compares=random is None)
    asked = {"model": str(random or model), "threads": threads, "answer_tokens": answer_tokens, "repeat": repeat}
    results = KeptResults(keep, {**asked, "machine": machine.describe()}, seconds)
    with watched() as progress:
        if random:
            reports = [_random(random, device, plan, progress, results)]
        else:
            window = needed_tokens(plan) + answer_tokens + 1
            settings = load_settings(llm_model=model, local_threads=threads, local_window=max(window, 64))
            reports = list(_measured(settings, runtime, plan, progress, results))
    if plot:
        plot_kv(plot, reports)
    if json:
        render.print_json({"machine": machine.describe(), "reports": [_json(one) for one in reports]})
        return
    for one in reports:
        render.console().print(_contexts(one))
        render.console().print(_cells(one))


def _measured(
    settings: Settings, runtimes: list[LocalRuntime] | None, plan: KvPlan, progress: Progress, results: KeptResults
) -> Iterator[KvReport]:
    files = ModelFiles.named(settings.llm_model or LOCAL)
    usual = list(LocalRuntime) if files.is_gguf else [LocalRuntime.TRANSFORMERS]
    for runtime in runtimes or usual:
        with closing(opened(files, settings.model_copy(update={"local_runtime": runtime}))) as engine:
            yield measure_kv(engine, text_tokens(engine, needed_tokens(plan)), plan, progress, results)


def _random(folder: Path, device: str, plan: KvPlan, progress: Progress, results: KeptResults) -> KvReport:
    with closing(random_engine(folder, device=device)) as engine:
        return measure_kv(engine, random_tokens(engine, needed_tokens(plan)), plan, progress, results)


def _json(report: KvReport) -> dict[str, object]:
    cells = [{**cell.to_dict(), "speedup_percent": cell.speedup, "paper": cell.paper} for cell in report.cells]
    return {**report.to_dict(), "cells": cells, "is_reached": report.is_reached}


def _contexts(report: KvReport) -> Table:
    title = f"{report.model}, {report.runtime} {report.version}, {report.dtype}"
    table = Table(title=title, title_justify="left")
    for column in ("context", "build s", "load ms", "bytes a token"):
        table.add_column(column, justify="right")
    for one in report.contexts:
        table.add_row(f"{one.tokens:,}", f"{one.build_s:.2f}", f"{one.load_ms:.0f}", f"{one.bytes_per_token:,.0f}")
    return table


def _cells(report: KvReport) -> Table:
    table = Table(title="Seconds to the first token", title_justify="left")
    for column in ("context", "query", "with state", "without", "spared %", "paper %", "same answer", "difference"):
        table.add_column(column, justify="right")
    for one in report.cells:
        table.add_row(
            f"{one.context:,}",
            str(one.query),
            f"{one.with_s:.3f}",
            f"{one.without_s:.3f}",
            f"{one.speedup:.1f}",
            "" if one.paper is None else f"{one.paper:.1f}",
            f"{one.answer_tokens} tokens" if one.is_equal else "no",
            "" if one.difference is None else f"{one.difference:.1e}",
        )
    return table
