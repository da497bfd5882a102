"""`memoryos bench processes`: many processes on one store, and whether each kept what was promised to the others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.arguments import store_place
from memoryos.bench.machine import describe
from memoryos.bench.processes import Crowd, ProcessReport, measure_processes
from memoryos.config import load_settings
from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.models.embedder import load_embedder


def processes(
    db: Annotated[
        str | None,
        typer.Option(
            help="A new file or an empty PostgreSQL database (default: a temporary file).",
            show_default=False,
        ),
    ] = None,
    writers: Annotated[int, typer.Option(min=1, help="Processes that add, correct and delete.")] = 8,
    readers: Annotated[int, typer.Option(min=0, help="Processes that search and check what they get.")] = 8,
    workers: Annotated[int, typer.Option(min=0, help="Processes that run the jobs (0: the writers do).")] = 0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Duration in seconds.")] = 60.0,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Let many processes use one store; exit code 1 if one got an error or saw wrong data."""
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    load_embedder(settings.embedder, settings)  # refuse an unknown one before anything is started
    crowd = Crowd(writers, readers, workers, seconds)
    with TemporaryDirectory(prefix="memoryos-bench-") as folder, watched() as progress:
        place = new_place(db) if db else str(Path(folder) / "processes.db")
        report = measure_processes(place, crowd, settings, progress)
    if json:
        render.print_json({**_as_json(report), "machine": describe()})
    else:
        _print(report)
    if not report.is_sound:
        raise typer.Exit(1)


def new_place(db: str) -> str:
    """A place for made-up data. Raises InvalidInput if there is a file already."""
    place = store_place(db)
    if isinstance(place, Path) and place.exists():
        raise InvalidInput("--db", f"{place} exists", "Name a new file: synthetic data does not belong in a memory")
    return db


def _as_json(report: ProcessReport) -> dict[str, Any]:
    rates = {operation: round(rate, 2) for operation, rate in report.per_second.items()}
    times = {name: {key: round(value, 2) for key, value in ms.items()} for name, ms in report.ms.items()}
    return {**asdict(report), "per_second": rates, "ms": times, "is_sound": report.is_sound}


def _print(report: ProcessReport) -> None:
    console = render.wide_console()
    table = Table(title=_title(report), title_justify="left")
    for name in ("", "calls", "per second", "p50, ms", "p95, ms"):
        table.add_column(name, justify="right" if name else "left")
    for operation, count in report.counts.items():
        ms = report.ms[operation]
        rate = f"{report.per_second[operation]:.1f}"
        table.add_row(operation, f"{count:,}", rate, f"{ms['p50']:.1f}", f"{ms['p95']:.1f}")
    console.print(table)
    console.print(f"{report.pages:,} pages read back; jobs: {report.jobs}; MB of each process: {report.rss_mb}")
    console.print(f"Errors: {report.errors or 'none'}. Violations: {len(report.violations) or 'none'}.")
    for violation in report.violations:
        console.print(violation, markup=False)


def _title(report: ProcessReport) -> str:
    crowd = report.crowd
    return f"{crowd.writers} writers, {crowd.readers} readers, {crowd.workers} workers, {crowd.seconds:g} s"
