"""`memoryos bench watermark`: how often the watermark is found in texts with it, and in texts without."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.watermark_rates import WatermarkPlan, WatermarkReport, measure_watermark
from memoryos.config import LOCAL, LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened

if TYPE_CHECKING:
    from memoryos.models.local.transformers_engine import TransformersEngine

BASE = WatermarkPlan()


def watermark(
    model: Annotated[str, typer.Option(help="local:, or local:PATH with a folder or a .gguf file.")] = LOCAL,
    threads: Annotated[int | None, typer.Option(help="Threads; default: as many as there are cores.", min=1)] = None,
    texts: Annotated[int, typer.Option(help="Texts with the mark, and as many without.", min=1, max=60)] = BASE.texts,
    tokens: Annotated[
        list[int] | None, typer.Option(help="Length of texts; repeat it for more (default: 50, 100, 200).", min=2)
    ] = None,
    temperature: Annotated[
        list[float] | None, typer.Option(help="Repeat it for more (default: 0 and 1).", min=0, max=2)
    ] = None,
    keys: Annotated[int, typer.Option(help="Keys to test each text without the mark with.", min=1)] = BASE.keys,
    seed: Annotated[int, typer.Option(help="Of the texts and the keys.")] = BASE.seed,
    json: Json = False,
) -> None:
    """Write texts with a local model, and look for the watermark in them."""
    plan = WatermarkPlan(texts, tokens or BASE.lengths, temperature or BASE.temperatures, keys, seed)
    settings = load_settings(llm_model=model, local_threads=threads, local_runtime=LocalRuntime.TRANSFORMERS)
    files = ModelFiles.named(settings.llm_model or LOCAL)
    with watched() as progress, closing(opened(files, settings)) as engine:
        report = measure_watermark(cast("TransformersEngine", engine), plan, progress)
    if json:
        render.print_json({"machine": machine.describe(), "report": report.to_dict()})
        return
    render.console().print(_table(report))
    for name, (plain, marked) in report.nats.items():
        render.console().print(f"Temperature {name}: loss per token {plain:.2f} without, {marked:.2f} with the mark.")


def _table(report: WatermarkReport) -> Table:
    table = Table(title=f"{report.model}: {report.texts} texts, {report.keys} keys", title_justify="left")
    for column in ("temperature", "tokens", "found", "too short", "z (median)", "accused", "highest z"):
        table.add_column(column, justify="right")
    for one in report.rows:
        table.add_row(
            f"{one.temperature:g}",
            str(one.tokens),
            f"{one.found} of {one.marked}",
            str(one.too_short),
            f"{one.middle_z:.1f}",
            f"{one.accused} of {one.plain}",
            f"{one.highest_z:.1f}",
        )
    return table
