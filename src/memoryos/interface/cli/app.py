"""The memoryos command: its parts, and how an error becomes a message and an exit code.

0 done, 1 the store or the machine failed, 2 wrong usage or input, 3 no such memory, 4 a model failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main

from memoryos.errors import InvalidInput, MemoryOSError, ModelError, NotFound
from memoryos.interface.cli import (
    bench,
    importing,
    jobs,
    memory,
    mounts,
    proposals,
    render,
    stores,
    upkeep,
    usage,
    worker,
)
from memoryos.interface.cli.bench_abstention import abstention
from memoryos.interface.cli.bench_answers import answers
from memoryos.interface.cli.bench_compression import compression
from memoryos.interface.cli.bench_consolidation import consolidation
from memoryos.interface.cli.bench_extraction import extraction
from memoryos.interface.cli.bench_locks import locks
from memoryos.interface.cli.bench_processes import processes
from memoryos.interface.cli.bench_purity import purity
from memoryos.interface.cli.bench_recall import recall
from memoryos.interface.cli.cold import cold
from memoryos.interface.cli.context import context
from memoryos.interface.cli.demo import demo
from memoryos.interface.cli.digest import digest
from memoryos.interface.cli.repair import repair

_EXIT_CODES: tuple[tuple[type[MemoryOSError], int], ...] = (
    (InvalidInput, 2),
    (NotFound, 3),
    (ModelError, 4),
    (MemoryOSError, 1),
)

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(demo)
app.command()(memory.add)
app.command()(memory.search)
app.command()(mounts.mounts)
app.command()(mounts.tagged)
app.command()(context)
app.command()(digest)
app.command()(memory.ask)
app.command()(memory.show)
app.command()(memory.stats)
app.command()(worker.worker)
app.command()(usage.usage)
app.command()(repair)
app.command()(cold)
app.command()(upkeep.rebuild)
app.command()(upkeep.reembed)
app.command()(stores.backup)
app.command()(stores.restore)
app.command()(stores.copy)
app.command()(stores.verify)
app.command()(stores.scrub)
app.add_typer(jobs.app, name="jobs")
app.add_typer(proposals.app, name="proposals")
app.add_typer(importing.app, name="import")
bench.app.command()(recall)
bench.app.command()(locks)
bench.app.command()(abstention)
bench.app.command()(purity)
bench.app.command()(consolidation)
bench.app.command()(extraction)
bench.app.command()(compression)
bench.app.command()(processes)
bench.app.command()(answers)
app.add_typer(bench.app, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memoryos {version('memoryos')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Memory for AI agents: layered, durable, searchable, in one file."""


@cache
def command() -> Callable[[], Any]:
    """The command, put together of its parts: that takes longer than many of them run."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command; errors of the memory are told in one line."""
    try:
        command()()
    except MemoryOSError as error:
        sys.exit(_tell(error))


def _tell(error: MemoryOSError) -> int:
    if "--json" in sys.argv:
        render.print_json({"error": {"type": type(error).__name__, "message": str(error)}})
    else:
        render.error_console().print(f"Error: {error}", markup=False, soft_wrap=True)
    return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
