"""`memoryos bench composed`: KV states of several blocks put together, against the whole prompt."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.kv_composed import RECOMPUTED, ComposedPlan, ComposedReport, measure_composed
from memoryos.bench.kv_speed import text_tokens
from memoryos.config import LOCAL, LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened

BASE = ComposedPlan()


def composed(
    model: Annotated[str, typer.Option(help="local:, or local:PATH with a folder or a .gguf file.")] = LOCAL,
    runtime: Annotated[LocalRuntime, typer.Option(help="What computes it.")] = LocalRuntime.TRANSFORMERS,
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as there are cores.", min=1)] = None,
    blocks: Annotated[int, typer.Option(help="Blocks of a prompt.", min=1, max=64)] = BASE.blocks,
    block: Annotated[int, typer.Option(help="Tokens of a block.", min=1)] = BASE.block_tokens,
    query: Annotated[int, typer.Option(help="Tokens of the query behind them.", min=1)] = BASE.query_tokens,
    answer_tokens: Annotated[int, typer.Option(help="Tokens that are compared.", min=1)] = BASE.answer_tokens,
    prompts: Annotated[int, typer.Option(help="Prompts, each with blocks of its own.", min=1)] = BASE.prompts,
    recompute: Annotated[
        list[int] | None, typer.Option(help="Tokens of each block that are computed anew; repeat it for more.", min=0)
    ] = None,
    json: Json = False,
) -> None:
    """Compare states that are put together of blocks with the exact state and with no state."""
    plan = ComposedPlan(blocks, block, query, answer_tokens, prompts, recompute or RECOMPUTED)
    window = max(64, plan.prompt_tokens + answer_tokens + 1)
    settings = load_settings(llm_model=model, local_threads=threads, local_window=window, local_runtime=runtime)
    files = ModelFiles.named(settings.llm_model or LOCAL)
    with watched() as progress, closing(opened(files, settings)) as engine:
        text = text_tokens(engine, prompts * plan.prompt_tokens)
        report = measure_composed(engine, text, plan, progress)
    if json:
        render.print_json({"machine": machine.describe(), "report": report.to_dict()})
    else:
        render.wide_console().print(_table(report))


def _table(report: ComposedReport) -> Table:
    title = f"{report.model}, {report.runtime} {report.version}: {report.blocks} blocks of {report.block_tokens} tokens"
    table = Table(title=title, title_justify="left")
    table.add_column("way")
    for column in ("computed anew", "first token s", "KL", "same first", "same tokens %", "same answers"):
        table.add_column(column, justify="right")
    for one in report.ways:
        table.add_row(
            one.name,
            "" if one.recompute is None else str(one.recompute),
            f"{one.first_token_s:.3f}",
            f"{one.kl:.2e}",
            f"{one.same_first} of {report.prompts}",
            f"{100 * one.same_tokens:.0f}",
            f"{one.same_answers} of {report.prompts}",
        )
    return table
