"""Progress bars of what takes minutes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import TaskID

from memoryos.bench.progress_callback import Progress
from memoryos.interface.cli import render


@contextmanager
def watched() -> Iterator[Progress]:
    """Progress bars in a terminal: one for each task."""
    with render.progress(quiet=not sys.stderr.isatty()) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(escape(what), total=total, note="")
            bar.update(tasks[what], completed=done)

        yield tell
