"""`memoryos worker`: a process that does the jobs of a whole store."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, cast

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_store

if TYPE_CHECKING:
    from memoryos.memory_os import MemoryOS


def worker(
    threads: Annotated[int, typer.Option(min=1, help="Owners to work on in parallel.")] = 4,
    poll: Annotated[
        float, typer.Option(min=0.01, help="Seconds between checks for jobs that are due at a certain time.")
    ] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Run the due jobs and exit.")] = False,
    register: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Import the module, also from the current folder, and call the function with the store: it registers"
            " job kinds with `store.admin.register_job`. Repeatable.",
        ),
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Run the jobs of all users of the store until SIGTERM or Ctrl-C; several workers may run.

    With MEMORYOS_JOBS=worker, the writing processes leave all jobs to workers.
    """
    registrations = [_function(name) for name in register or ()]
    with _until_told() as stop, open_store(db, must_exist=True) as store:
        for registration in registrations:
            registration(store)
        if not json:
            render.console().print("Working; Ctrl-C stops after the running job.", soft_wrap=True)
        finished = store.admin.work(stop, threads=threads, poll_seconds=None if once else poll)
    if json:
        render.print_json({"jobs": finished})
    else:
        render.console().print(f"Stopped; {finished} jobs done.")


def _function(name: str) -> Callable[[MemoryOS], object]:
    """The function of a module that a person names as MODULE:FUNCTION. Raises BadParameter when there is none."""
    module, colon, function = name.partition(":")
    if not colon:
        raise typer.BadParameter(f"{name!r} is not MODULE:FUNCTION", param_hint="--register")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # the module is most likely the caller's own
    try:
        found = getattr(import_module(module), function)
    except (ImportError, ValueError, AttributeError) as error:
        raise typer.BadParameter(f"{name!r} cannot be imported: {error}", param_hint="--register") from None
    if not callable(found):
        raise typer.BadParameter(f"{name!r} is not a function", param_hint="--register")
    return cast("Callable[[MemoryOS], object]", found)


@contextmanager
def _until_told() -> Iterator[Event]:
    """An event that is set by SIGTERM and SIGINT."""
    stop = Event()
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: stop.set()) for kind in kinds]
    try:
        yield stop
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
