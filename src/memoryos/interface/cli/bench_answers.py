"""`memoryos bench answers`: what a reader model makes of each system's contexts, scored as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memoryos.bench.answers.cache import Cache, CachedChat
from memoryos.bench.answers.datasets import read_dataset
from memoryos.bench.answers.exchange import read_answers, write_prompts
from memoryos.bench.answers.item import Answered
from memoryos.bench.answers.metrics import check_metrics
from memoryos.bench.answers.question import Dataset, Files
from memoryos.bench.answers.run import Run, check_judge, given_answer
from memoryos.bench.answers.system import ABLATIONS, COMPARED, Budgets, System
from memoryos.bench.plot import check_plot, plot_answers
from memoryos.config import Settings, load_settings
from memoryos.errors import InvalidInput
from memoryos.interface.cli import answers_output, render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.chat import OpenAIChat
from memoryos.models.embedder import load_embedder
from memoryos.models.limits import Limits

PAPER_PAGES, PAPER_PAGES_GVD = 10, 5  # top-k of the MemoryOS paper


def answers(
    data: Annotated[Path, typer.Option(help="LoCoMo, or a memory bank of GVD.", show_default=False)],
    questions: Annotated[
        Path | None, typer.Option(help="GVD's probing questions: the data is GVD then.", show_default=False)
    ] = None,
    system: Annotated[
        list[System] | None,
        typer.Option("--system", help="Several times (default: all but the ablations).", show_default=False),
    ] = None,
    ablation: Annotated[bool, typer.Option("--ablation", help="Leave out STM, MTM, LPM and all, too.")] = False,
    tokens: Annotated[int, typer.Option(help="Tokens of a context.", min=64)] = 1024,
    window: Annotated[
        int, typer.Option(help="Tokens of the whole conversation that the reader takes.", min=64)
    ] = 16_384,
    conversations: Annotated[
        str | None, typer.Option(help="Some of them, e.g. conv-26,conv-30 (default: all).", show_default=False)
    ] = None,
    every: Annotated[int, typer.Option(help="Ask every so many questions.", min=1)] = 1,
    embedder: Annotated[
        str | None, typer.Option(help="Which embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Keep what the models say here; the next run asks only the rest.")
    ] = None,
    judge: Annotated[bool, typer.Option("--judge", help="Let a model judge the answers, too.")] = False,
    judge_model: Annotated[
        str | None, typer.Option(help="Which one (default: the reader's); implies --judge.", show_default=False)
    ] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="Its endpoint (default: the reader's).", show_default=False)
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write questions, contexts and prompts here, and ask nobody.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="Score the answers in this file, and ask no reader.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: a .png, .svg or .pdf.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Ask a reader model with what each system hands it; score the answers, count tokens and time."""
    _check(export, answers, plot)
    settings = _settings(embedder)
    names = tuple(name.strip() for name in (conversations or "").split(",") if name.strip())
    dataset = read_dataset(Files(data, questions, names)).every(every)
    budgets = Budgets(tokens, window, PAPER_PAGES_GVD if dataset.is_dialogue else PAPER_PAGES)
    wanted = list(dict.fromkeys([*(system or COMPARED), *(ABLATIONS if ablation else ())]))
    if export:
        _export(export, dataset, settings, budgets, wanted, json=json)
        return
    kept = Cache.open(cache)
    reader = None if answers else _chat(settings, kept)
    is_judged = judge or judge_model is not None
    judging = _chat(_judge_settings(settings, judge_model, judge_base_url), kept) if is_judged else None
    check_judge(dataset, [], judging)
    with watched() as progress:
        run = Run(dataset, settings, budgets, progress)
        given = run.answered(wanted, reader) if reader else _given(answers, dataset)
        report = run.report(given, judging)
    if plot:
        plot_answers(plot, {name: one.groups for name, one in report.items()}, answers_output.shown(dataset, judging))
    found = answers_output.Found(dataset, report, reader, judging, None if answers else budgets)
    answers_output.show(found, json=json)


def _check(export: Path | None, answers: Path | None, plot: Path | None) -> None:
    if export and answers:
        raise InvalidInput("--export", "cannot be combined with --answers", "Export first, then score the answers")
    check_metrics()
    if plot:
        check_plot(plot)


def _settings(embedder: str | None) -> Settings:
    chosen = {"embedder": embedder} if embedder else {}
    settings = load_settings(mounts=(), llm_temperature=0.0, **chosen)
    load_embedder(settings.embedder, settings)  # refuse an unknown one before anything is read
    return settings


def _judge_settings(settings: Settings, model: str | None, base_url: str | None) -> Settings:
    """The reader's settings with the judge's model; the reader's key is not sent to another server."""
    is_elsewhere = base_url is not None and base_url.rstrip("/") != (settings.llm_base_url or "").rstrip("/")
    key = settings.judge_api_key or (None if is_elsewhere else settings.llm_api_key)
    return settings.model_copy(
        update={
            "llm_model": model or settings.llm_model,
            "llm_base_url": base_url or settings.llm_base_url,
            "llm_api_key": key,
        }
    )


def _chat(settings: Settings, cache: Cache) -> CachedChat:
    limits = Limits(settings.llm_concurrency, settings.llm_requests_per_minute)
    return CachedChat(OpenAIChat(settings), cache, settings, limits)


def _export(
    path: Path, dataset: Dataset, settings: Settings, budgets: Budgets, systems: Sequence[System], *, json: bool
) -> None:
    with watched() as progress:
        run = Run(dataset, settings, budgets, progress)
        count = write_prompts(path, dataset.name, (item for items in run.prompts(systems) for item in items))
    if json:
        render.print_json({"exported": count, "file": str(path), "systems": [system.value for system in systems]})
    else:
        render.console().print(f"{count:,} prompts written to {path}.", markup=False)


def _given(path: Path | None, dataset: Dataset) -> list[Answered]:
    return [given_answer(item, answer) for item, answer in read_answers(path, dataset)] if path else []
