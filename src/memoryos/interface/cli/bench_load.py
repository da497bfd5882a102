"""`memoryos bench load`: many clients of a server at once, beside the same calls in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from memoryos.bench.machine import describe
from memoryos.bench.server_load import CLIENTS, SECONDS, LoadReport, LoadWay, measure_load
from memoryos.config import load_settings
from memoryos.errors import MissingExtra
from memoryos.interface.cli import render
from memoryos.interface.cli.bench_processes import new_place
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.serve_command import NEEDED
from memoryos.interface.cli.watched import watched


def load(
    db: Annotated[
        str | None,
        typer.Option(
            help="A new file or an empty PostgreSQL database (default: a temporary file).", show_default=False
        ),
    ] = None,
    clients: Annotated[int, typer.Option(min=1, help="Clients that add and search in turn.")] = CLIENTS,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Duration of each way to call; half of it follows without an add.")
    ] = SECONDS,
    json: Json = False,
) -> None:
    """Let many clients add and search over HTTP, and in Python; exit code 1 if a call failed or a page is lost."""
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("memoryos bench load", "server")
    with TemporaryDirectory(prefix="memoryos-bench-") as folder, watched() as progress:
        place = new_place(db) if db else str(Path(folder) / "load.db")
        report = measure_load(place, load_settings(mounts=()), progress, clients=clients, seconds=seconds)
    if json:
        more = {"share": report.share, "is_sound": report.is_sound, "machine": describe()}
        render.print_json({**asdict(report), **more})
    else:
        _print(report)
    if not report.is_sound:
        raise typer.Exit(1)


def _print(report: LoadReport) -> None:
    told = f"{report.clients} clients, {report.seconds:g} s each"
    table = Table("", title=told, title_justify="left")  # a figure is a row: side by side, they are cut
    for way in ("in Python", "over HTTP"):
        table.add_column(way, justify="right")
    for (name, python), http in zip(_figures(report.python).items(), _figures(report.http).values(), strict=True):
        table.add_row(name, python, http)
    console = render.console()
    console.print(table)
    console.print(f"Over HTTP: {report.share:.0%} of the calls in Python. Errors: {_errors(report)}.")


def _figures(way: LoadWay) -> dict[str, str]:
    """What a way does, by the names of the rows."""
    return {
        "per second": f"{way.per_second:.0f}",
        "add p50 / p95 / p99, ms": _times(way, "add"),
        "search p50 / p95 / p99, ms": _times(way, "search"),
        "CPU, ms": "" if way.cpu_ms is None else f"{way.cpu_ms:.1f}",
        "MB": _sizes(way.rss_mb),
        "MB, no adds": _sizes(way.steady_mb),
        "KB a page: grown / index": _a_page(way),
        "pages": f"{way.pages:,}",
        "lost": str(way.lost),
    }


def _sizes(told: Sequence[float | None]) -> str:
    known = [f"{size:.0f}" for size in told if size is not None]
    return f"{known[0]} - {known[-1]}" if known else ""


def _a_page(way: LoadWay) -> str:
    return " / ".join("" if told is None else f"{told:.0f}" for told in (way.grown_kb, way.index_kb))


def _times(way: LoadWay, operation: str) -> str:
    return " / ".join(f"{value:.1f}" for value in way.ms.get(operation, {}).values())


def _errors(report: LoadReport) -> str:
    errors = {**report.python.errors, **report.http.errors}
    return ", ".join(f"{count} times {kind}" for kind, count in errors.items()) or "none"
