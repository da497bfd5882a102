"""`memoryos bench proxy`: how much later the first words of an answer come through the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Annotated

import typer
from rich.table import Table

from memoryos.bench.machine import describe
from memoryos.bench.proxy_overhead import REQUESTS, ProxyCost, measure_proxy
from memoryos.config import load_settings
from memoryos.errors import MissingExtra
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.serve_command import NEEDED
from memoryos.interface.cli.watched import watched


def proxy(
    pages: Annotated[
        list[int] | None,
        typer.Option("--pages", help="Pages of the memory; may be repeated (default: 1000 and 10000).", min=1),
    ] = None,
    requests: Annotated[int, typer.Option(help="Requests to time in each way.", min=1)] = REQUESTS,
    json: Json = False,
) -> None:
    """Time the first words of streamed answers, direct and through the proxy, with a scripted model server."""
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("memoryos bench proxy", "server")
    with watched() as progress:
        found = {
            size: measure_proxy(size, load_settings(mounts=()), progress, requests=requests)
            for size in pages or [1_000, 10_000]
        }
    if json:
        sizes = [{"pages": size, **{way: asdict(one) for way, one in ways.items()}} for size, ways in found.items()]
        render.print_json({"sizes": sizes, "machine": describe()})
        return
    for size, ways in found.items():
        render.wide_console().print(_table(size, ways))


def _table(pages: int, ways: Mapping[str, ProxyCost]) -> Table:
    table = Table(title=f"Time to the first words, {pages:,} pages, ms", title_justify="left")
    for name in ("", "p50", "p95", "later than direct", "processor"):
        table.add_column(name, justify="right" if name else "left")
    for way, one in ways.items():
        cpu = "" if one.cpu_ms is None else f"{one.cpu_ms:.1f}"
        table.add_row(way, f"{one.first_ms['p50']:.2f}", f"{one.first_ms['p95']:.2f}", f"{one.overhead_ms:.2f}", cpu)
    return table
