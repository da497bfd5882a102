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
    threads: Annotated[int, typer.Option(min=1, help="Scopes that are worked on at once.")] = 4,
    poll: Annotated[
        float, typer.Option(min=0.01, help="Seconds between two looks for work that came due by itself.")
    ] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Do what is due, and end.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Do the jobs of every user of the store until told to stop (SIGTERM, Ctrl-C); several may run.

    Let the writing processes leave the jobs to it with MEMORYOS_JOBS=worker.
    """
    with _until_told() as stop, open_store(db, must_exist=True) as store:
        if not json:
            render.console().print("Working; Ctrl-C stops after the job that runs.", soft_wrap=True)
        finished = store.admin.work(stop, threads=threads, poll_seconds=None if once else poll)
    if json:
        render.print_json({"jobs": finished})
    else:
        render.console().print(f"Stopped; {finished} jobs done.")


@contextmanager
def _until_told() -> Iterator[Event]:
    """An event that is set when the process is told to stop."""
    stop = Event()
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: stop.set()) for kind in kinds]
    try:
        yield stop
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
