"""`memoryos worker`: a process that does the jobs of a whole store."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_store


def worker(
    threads: Annotated[int, typer.Option(min=1, help="Owners to work on in parallel.")] = 4,
    poll: Annotated[
        float, typer.Option(min=0.01, help="Seconds between checks for jobs that are due at a certain time.")
    ] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Run the due jobs and exit.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Run the jobs of all users of the store until SIGTERM or Ctrl-C; several workers may run.

    With MEMORYOS_JOBS=worker, the writing processes leave all jobs to workers.
    """
    with _until_told() as stop, open_store(db, must_exist=True) as store:
        if not json:
            render.console().print("Working; Ctrl-C stops after the running job.", soft_wrap=True)
        finished = store.admin.work(stop, threads=threads, poll_seconds=None if once else poll)
    if json:
        render.print_json({"jobs": finished})
    else:
        render.console().print(f"Stopped; {finished} jobs done.")


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
