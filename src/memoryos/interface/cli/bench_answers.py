"""`memoryos bench answers`: what a reader model makes of each system's contexts, scored as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memoryos.bench.answers.answer_metrics import check_metrics
from memoryos.bench.answers.answer_sets import read_answer_set
from memoryos.bench.answers.cache import Cache, CachedChat
from memoryos.bench.answers.exchange import read_answers, write_prompts
from memoryos.bench.answers.item import Answered
from memoryos.bench.answers.question import AnswerSet, InputFiles
from memoryos.bench.answers.report import handed
from memoryos.bench.answers.run import Run, check_judge, given_answer
from memoryos.bench.answers.system import ABLATIONS, COMPARED, Budgets, System
from memoryos.bench.plot import check_plot
from memoryos.config import Settings, load_settings
from memoryos.errors import InvalidInput
from memoryos.interface.cli import answers_output
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.chat import OpenAIChat
from memoryos.models.embedder import load_embedder
from memoryos.models.limits import Limits

PAPER_PAGES, PAPER_PAGES_GVD = 10, 5  # top-k of the MemoryOS paper


Data = Annotated[
    Path, typer.Option(help="LoCoMo, a recall set with answers, or a memory bank of GVD.", show_default=False)
]
Questions = Annotated[
    Path | None, typer.Option(help="The probing questions of GVD, if the data is GVD.", show_default=False)
]
Systems = Annotated[
    list[System] | None,
    typer.Option("--system", help="May be repeated (default: all but the ablations).", show_default=False),
]
Ablation = Annotated[
    bool, typer.Option("--ablation", help="Also measure without STM, MTM, LPM, all of them, and chain summaries.")
]
Tokens = Annotated[int, typer.Option(help="Tokens of a context.", min=64)]
Window = Annotated[int, typer.Option(help="Tokens of a whole conversation that fit the reader.", min=64)]
Names = Annotated[
    str | None, typer.Option(help="Conversations to use, e.g. conv-26,conv-30 (default: all).", show_default=False)
]
Limit = Annotated[int | None, typer.Option(help="Number of questions, spread evenly.", min=1, show_default=False)]
Embedder = Annotated[str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)]
Kept = Annotated[
    Path | None,
    typer.Option(
        help="Cache the answers of models in this file; the next run asks only what is missing.", show_default=False
    ),
]
Judge = Annotated[bool, typer.Option("--judge", help="Also let a model judge the answers.")]
JudgeModel = Annotated[
    str | None, typer.Option(help="Model of the judge (default: the reader's); implies --judge.", show_default=False)
]
JudgeUrl = Annotated[
    str | None, typer.Option(help="Endpoint of the judge (default: the reader's).", show_default=False)
]
Export = Annotated[
    Path | None,
    typer.Option(help="Write questions, contexts and prompts to this file; ask no model.", show_default=False),
]
Answers = Annotated[
    Path | None, typer.Option("--answers", help="Score the answers of this file; ask no reader.", show_default=False)
]
Plot = Annotated[Path | None, typer.Option(help="Write a plot: a .png, .svg or .pdf.", show_default=False)]


def answers(
    data: Data,
    questions: Questions = None,
    system: Systems = None,
    ablation: Ablation = False,
    tokens: Tokens = 1024,
    window: Window = 16_384,
    conversations: Names = None,
    limit: Limit = None,
    embedder: Embedder = None,
    cache: Kept = None,
    judge: Judge = False,
    judge_model: JudgeModel = None,
    judge_base_url: JudgeUrl = None,
    export: Export = None,
    answers: Answers = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Let a reader model answer from each system's context; score the answers, and count tokens and time."""
    _check(export, answers, plot)
    _check_folders(("--export", export), ("--cache", cache))
    settings = _settings(embedder)
    dataset = _dataset(InputFiles(data, questions, _names(conversations)), limit)
    budgets = Budgets(tokens, window, PAPER_PAGES_GVD if dataset.is_dialogue else PAPER_PAGES)
    systems = list(dict.fromkeys([*(system or COMPARED), *(ABLATIONS if ablation else ())]))
    if export:
        _export(export, dataset, settings, budgets, systems, json=json)
        return
    kept = Cache.open(cache)
    reader = None if answers else _chat(settings, kept)
    is_judged = judge or judge_model is not None or judge_base_url is not None
    judging = _chat(_judge_settings(settings, judge_model, judge_base_url), kept) if is_judged else None
    check_judge(dataset, [], judging)
    with watched() as progress:
        run = Run(dataset, settings, budgets, progress)
        given = run.answered(systems, reader) if reader else _given(answers, dataset)
        report = run.report(given, judging)
    found = answers_output.SavedRun(dataset, report, reader, judging, None if answers else budgets, run.ingested)
    if plot:
        answers_output.draw(plot, found)
    answers_output.show(found, json=json)


def _dataset(files: InputFiles, limit: int | None) -> AnswerSet:
    dataset = read_answer_set(files)
    return dataset if limit is None else dataset.limited(limit)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _check(export: Path | None, answers: Path | None, plot: Path | None) -> None:
    if export and answers:
        raise InvalidInput("--export", "cannot be combined with --answers", "Export first, then score the answers")
    check_metrics()
    if plot:
        check_plot(plot)


def _check_folders(*files: tuple[str, Path | None]) -> None:
    for option, path in files:
        if path and not path.parent.is_dir():
            raise InvalidInput(option, f"the folder {path.parent} does not exist", "Create it first")


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
    path: Path, dataset: AnswerSet, settings: Settings, budgets: Budgets, systems: Sequence[System], *, json: bool
) -> None:
    with watched() as progress:
        prompts = list(Run(dataset, settings, budgets, progress).prompts(systems))
    write_prompts(path, dataset.name, [item for items in prompts for item in items])
    answers_output.show_export(path, {items[0].system: handed(items) for items in prompts}, json=json)


def _given(path: Path | None, dataset: AnswerSet) -> list[Answered]:
    return [given_answer(item, answer) for item, answer in read_answers(path, dataset)] if path else []
