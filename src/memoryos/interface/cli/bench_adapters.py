"""`memoryos bench adapters`: what an adapter recalls, against the same facts in the prompt."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench import machine
from memoryos.bench.adapter_recall import AdapterReport, asked_facts, measure_adapter
from memoryos.bench.kept_results import KeptResults
from memoryos.config import LocalRuntime, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import ForSeconds, Json, Keep
from memoryos.interface.cli.watched import watched
from memoryos.models.local.lora_recipe import TrainingRecipe

USUAL = TrainingRecipe()


def adapters(
    model: Annotated[str, typer.Option(help="The model: local: for the small one, or local:PATH.")] = "local:",
    facts: Annotated[int, typer.Option(min=1, max=12, help="How many of the made-up facts are trained.")] = 12,
    rank: Annotated[int, typer.Option(min=1, max=256, help="Rank of the matrices.")] = USUAL.rank,
    epochs: Annotated[int, typer.Option(min=1, max=100, help="How often each example is seen.")] = USUAL.epochs,
    rate: Annotated[float, typer.Option(min=0, help="The learning rate.")] = USUAL.learning_rate,
    runtime: Annotated[
        LocalRuntime | None, typer.Option(help="What answers: transformers or llamacpp; torch trains.")
    ] = None,
    keep: Keep = None,
    seconds: ForSeconds = None,
    json: Json = False,
) -> None:
    """Train an adapter on made-up facts, and ask for them in words that were not trained.

    The same questions are asked of the model alone and with the facts in the prompt.
    """
    recipe = TrainingRecipe(rank=rank, alpha=2 * rank, epochs=epochs, learning_rate=rate)
    settings = load_settings(mounts=(), llm_model=model, **({"local_runtime": runtime} if runtime else {}))
    asked = {"model": model, "runtime": runtime, "facts": facts, "recipe": recipe.to_dict()}
    results = KeptResults(keep, {**asked, "machine": machine.describe()}, seconds)
    with watched() as progress:
        report = measure_adapter(asked_facts(facts), recipe, settings, progress, results)
    if json:
        render.print_json(report.to_dict())
    else:
        _print(report)


def _print(report: AdapterReport) -> None:
    table = Table(title=f"{report.facts} facts, {escape(report.model)}", title_justify="left")
    for column in ("known from", "right", "of", "s per answer", "of others spoiled"):
        table.add_column(column)
    for name, way in (("nothing", report.alone), ("the adapter", report.adapter), ("the prompt", report.prompt)):
        table.add_row(name, str(way.right), str(way.asked), f"{way.median_seconds:.2f}", str(way.spoiled))
    render.console().print(table)
    gate = report.gate
    render.say(
        f"Training: {report.steps} steps, {report.training_seconds:.0f} s, {report.megabytes:.1f} MB. Held-out forms:"
        f" {gate.recalled_before} -> {gate.recalled} of {gate.asked}. Perplexity of general texts:"
        f" {gate.perplexity_before:.2f} -> {gate.perplexity:.2f}."
    )
