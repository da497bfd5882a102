"""`memoryos bench rounded`: what KV states of 8 bits lose against exact ones."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.kept_results import KeptResults
from memoryos.bench.kv_rounded import CONTEXTS, RoundedPlan, RoundedReport, measure_rounded
from memoryos.bench.kv_speed import text_tokens
from memoryos.config import LOCAL, LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import ForSeconds, Json, Keep
from memoryos.interface.cli.watched import watched
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened

BASE = RoundedPlan()


def rounded(
    model: Annotated[str, typer.Option(help="local:, or local:PATH with a folder or a .gguf file.")] = LOCAL,
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as there are cores.", min=1)] = None,
    context: Annotated[list[int] | None, typer.Option(help="Tokens of the state; repeat it for more.", min=1)] = None,
    query: Annotated[int, typer.Option(help="Tokens of the query behind it.", min=1)] = BASE.query_tokens,
    answer_tokens: Annotated[int, typer.Option(help="Tokens that are compared.", min=1)] = BASE.answer_tokens,
    prompts: Annotated[int, typer.Option(help="Prompts of each length.", min=1)] = BASE.prompts,
    keep: Keep = None,
    seconds: ForSeconds = None,
    json: Json = False,
) -> None:
    """Compare states of 8 bits with exact ones: probabilities of the next token, likeliest answers, bytes.

    Transformers computes: llama.cpp saves its states as they are.
    """
    plan = RoundedPlan(context or CONTEXTS, query, answer_tokens, prompts)
    window = max(64, max(plan.contexts) + query + answer_tokens + 1)
    runtime = LocalRuntime.TRANSFORMERS
    settings = load_settings(llm_model=model, local_threads=threads, local_window=window, local_runtime=runtime)
    asked = {"model": model, "contexts": list(plan.contexts), "query": query, "answer_tokens": answer_tokens}
    results = KeptResults(keep, asked, seconds)
    files = ModelFiles.named(settings.llm_model or LOCAL)
    with watched() as progress, closing(opened(files, settings)) as engine:
        report = measure_rounded(engine, text_tokens(engine, plan.text_tokens), plan, progress, results)
    if json:
        render.print_json({"machine": machine.describe(), "report": report.to_dict()})
    else:
        render.console().print(_table(report))


def _table(report: RoundedReport) -> Table:
    title = f"{report.model}, {report.runtime} {report.version}, {report.dtype}: 8 bits against exact"
    table = Table(title=title, title_justify="left")
    for column in ("context", "bytes a token", "exact", "largest difference", "KL", "same next", "same tokens"):
        table.add_column(column, justify="right")
    for one in report.contexts:
        table.add_row(
            f"{one.context:,}",
            f"{one.rounded_bytes:,.0f}",
            f"{one.exact_bytes:,.0f}",
            f"{one.difference:.1e}",
            f"{one.kl:.1e}",
            f"{one.same_first} of {report.prompts}",
            ", ".join(f"{same}/{of}" for same, of in zip(one.same_tokens, one.answer_tokens, strict=True)),
        )
    return table
