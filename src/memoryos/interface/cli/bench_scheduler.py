"""`memoryos bench scheduler`: how long questions wait for their first token, by how KV caches are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.arguments import IN_MEMORY
from memoryos.bench.placement_replay import PAUSE_S, KeepingResult, PlacementReport, measure_placement
from memoryos.bench.placement_trace import PlacementTrace, dialogue_trace, locomo_trace
from memoryos.bench.plot import check_plot, plot_placement
from memoryos.bench.progress_callback import Progress
from memoryos.config import Settings, load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.demo import load_script, play
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.kinds import Role
from memoryos.memory_os import MemoryOS
from memoryos.operation.placement.cost_model import SMOLLM2

_COLUMNS = ("MB", "kept by", "hits", "tokens", "mean ms", "p50 ms", "p95 ms", "kept", "preloaded", "in s")


def scheduler(
    data: Annotated[
        Path | None, typer.Option(help="A LoCoMo file (default: the dialogue of the demo).", show_default=False)
    ] = None,
    size: Annotated[
        list[int] | None,
        typer.Option(
            "--bytes", min=1, help="Bytes for KV; may be repeated (default: 1/32 to 1/2 of all).", show_default=False
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="KV counts only as the beginning of a prompt, as in the exact mode.")
    ] = False,
    pause: Annotated[float, typer.Option(min=0, help="Seconds between questions, in which KV is preloaded.")] = PAUSE_S,
    plot: Annotated[Path | None, typer.Option(help="Write a plot: a .png, .svg or .pdf.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Replay questions against ways to keep KV caches: never, all, LRU, the scheduler, and a clairvoyant."""
    if plot:
        check_plot(plot)
    settings = load_settings(mounts=())
    with watched() as progress:
        trace = locomo_trace(data, settings, progress) if data else _demo_trace(settings)
        report = _report(trace.exact() if exact else trace, size or (), pause, progress)
    if plot:
        plot_placement(plot, report)
    if json:
        render.print_json(report.to_dict())
    else:
        _print(report)


def _report(trace: PlacementTrace, sizes: Sequence[int], pause: float, progress: Progress) -> PlacementReport:
    return measure_placement(trace, SMOLLM2, sizes, progress, pause_s=pause)


def _demo_trace(settings: Settings) -> PlacementTrace:
    """Each turn of the user is a question, asked when the whole dialogue is stored."""
    script = load_script()
    asked = [[turn.text for turn in session if turn.role is Role.USER] for session in script.sessions]
    with MemoryOS.open(IN_MEMORY, settings=settings) as store:
        memory = store.memory(script.user, agent=script.agent)
        play(memory, script, quiet=True)
        return dialogue_trace("demo", memory, asked)


def _print(report: PlacementReport) -> None:
    about = f"{report.trace}: {report.questions} questions, {report.sessions} sessions, {report.owners} owners"
    table = Table(title=f"Time to the first token, {escape(about)}", title_justify="left")
    for column in _COLUMNS:
        is_name = column == "kept by"
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for way, result in report.unbounded.items():
        table.add_row("", way, *_cells(result))
    for size, results in report.bounded.items():
        table.add_section()
        for way, result in results.items():
            table.add_row(f"{size / 1e6:.0f}", way, *_cells(result))
    render.wide_console().print(table)
    rates = report.costs
    render.say(
        f"By the rates of {rates.model}: {rates.prefill_ms_per_token} ms of prefill per token, {rates.load_ms_per_mb}"
        f" ms per MB loaded, {rates.bytes_per_token} bytes of KV per token; {report.pause_s:.0f} s between questions."
    )


def _cells(result: KeepingResult) -> tuple[str, ...]:
    shares = (f"{result.hit_rate:.2f}", f"{result.token_hit_rate:.2f}")
    times = (f"{ms:.0f}" for ms in (result.mean_ms, result.p50_ms, result.p95_ms))
    return (*shares, *times, str(result.kept), str(result.preloaded), f"{result.preload_s:.0f}")
