"""`memoryos bench kept-states`: the scheduler's states in memory with a real model, off against on."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.kept_live import LivePlan, LiveReport, measure_live
from memoryos.config import LOCAL, LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched

BASE = LivePlan()


def kept_states(
    model: Annotated[str, typer.Option(help="local:, or local:PATH with a folder or a .gguf file.")] = LOCAL,
    runtime: Annotated[LocalRuntime | None, typer.Option(help="transformers or llamacpp.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as there are cores.", min=1)] = None,
    prefixes: Annotated[int, typer.Option(help="Prefixes behind which is asked.", min=2)] = BASE.prefixes,
    words: Annotated[int, typer.Option(help="Words of a prefix.", min=30)] = BASE.words,
    learning: Annotated[int, typer.Option(help="First questions, which do not count.", min=0)] = BASE.learning,
    questions: Annotated[int, typer.Option(help="Questions that count.", min=1)] = BASE.questions,
    follows: Annotated[
        float, typer.Option(help="Share of the questions that go to the next prefix.", min=0, max=1)
    ] = BASE.follows,
    megabytes: Annotated[int, typer.Option(help="Megabytes for states in memory.", min=1)] = BASE.megabytes,
    answer_tokens: Annotated[int, typer.Option(help="Tokens of an answer.", min=1)] = BASE.answer_tokens,
    json: Json = False,
) -> None:
    """Time the first token behind prefixes with MEMORYOS_PLACEMENT_STATES off and on."""
    chosen = {"local_runtime": runtime, "local_threads": threads, "embedder": "hashing"}
    settings = load_settings(mounts=(), llm_model=model, **{name: one for name, one in chosen.items() if one})
    plan = LivePlan(prefixes, words, learning, questions, follows, megabytes, answer_tokens)
    with watched() as progress:
        report = measure_live(settings, plan, progress)
    if json:
        render.print_json({"machine": machine.describe(), "report": report.to_dict()})
    else:
        render.console().print(_table(report))


def _table(report: LiveReport) -> Table:
    about = f"{report.prefixes} states of {report.tokens} tokens and {report.state_megabytes:.0f} MB"
    table = Table(title=f"{escape(report.model)}: {about}, room for {report.megabytes} MB", title_justify="left")
    for column in ("scheduler", "mean ms", "median ms", "slowest ms", "pauses s", "loaded in them"):
        table.add_column(column, justify="right")
    for one in report.ways:
        times = (f"{each:.0f}" for each in (one.mean_ms, one.median_ms, one.slowest_ms))
        table.add_row(one.name, *times, f"{one.pauses_s:.1f}", str(one.preloaded))
    return table
