"""`memoryos jobs`: the work behind the writes of one user: what waits, what failed and why, and trying it again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.config import LONGEST_WAIT
from memoryos.errors import StillRunning
from memoryos.infrastructure.vault.records import JobState
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.infrastructure.vault.records import Job
    from memoryos.memory import Memory
    from memoryos.operation.recall.overview import Stats

Timeout = Annotated[float, typer.Option(min=0, max=LONGEST_WAIT, help="Most seconds to wait.")]

_LOOK_SECONDS = 0.5  # between two looks at jobs that cannot run yet


def list_jobs(
    state: Annotated[list[JobState] | None, typer.Option(help="Only jobs in this state; may be repeated.")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the jobs, oldest first; dead ones with their error."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        jobs = memory.jobs.list(*(state or ()))
    if json:
        render.print_json({"jobs": [_as_json(job) for job in jobs]})
    elif jobs:
        render.console().print(_table(jobs))
    else:
        render.console().print("No jobs found.")


def retry(
    job: Annotated[
        list[str] | None, typer.Argument(help="Ids of dead jobs (default: all).", show_default=False)
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    timeout: Timeout = 600.0,
    json: Json = False,
) -> None:
    """Try dead jobs again and wait for them."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        tried = memory.jobs.retry(*(job or ()))
        memory.wait(timeout)
        dead = memory.stats().jobs_dead
    if json:
        render.print_json({"tried": tried, "dead": dead})
    else:
        render.console().print(f"Tried {tried} again; {_dead(dead)}")


def run(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    timeout: Timeout = 600.0,
    json: Json = False,
) -> None:
    """Run the waiting jobs and return when they are done; exit code 1 if jobs are dead or still wait.

    It waits for jobs that will be retried and for jobs of other workers, but not for jobs planned for a later day.
    """
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        left = _waited(memory, time.monotonic() + timeout)
    if json:
        render.print_json({"waiting": left.jobs_waiting, "dead": left.jobs_dead, "unknown": left.jobs_unknown})
    else:
        render.console().print(f"{left.jobs_waiting} waiting, {_dead(left.jobs_dead)}{_unknown(left.jobs_unknown)}")
    if left.jobs_dead or left.jobs_waiting:
        raise typer.Exit(1)


def _waited(memory: Memory, deadline: float) -> Stats:
    while True:
        with suppress(StillRunning):  # what runs still counts as waiting
            memory.jobs.run(max(_LOOK_SECONDS, deadline - time.monotonic()))
        left = memory.stats()
        if not left.jobs_waiting or time.monotonic() >= deadline:
            return left
        time.sleep(_LOOK_SECONDS)


def _dead(count: int) -> str:
    return f"{count} dead: `memoryos jobs list --state dead` tells why." if count else "none dead."


def _unknown(count: int) -> str:
    return f" {count} of kinds that are not registered here are left to the program that added them." if count else ""


def _table(jobs: Sequence[Job]) -> Table:
    table = Table(title="Jobs", title_justify="left", show_lines=True)
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    table.add_column("job", overflow="fold")
    for job in jobs:
        table.add_row(job.id, escape("\n".join(_lines(job))))
    return table


def _lines(job: Job) -> Iterator[str]:
    """A job as text; ids stand on their own lines, so that they can be copied."""
    yield f"{job.kind}, {job.state.value}, {job.attempts} {'try' if job.attempts == 1 else 'tries'}"
    yield f"since {job.created_at:%Y-%m-%d %H:%M}"
    if job.not_before:
        yield f"waits until {job.not_before:%Y-%m-%d %H:%M}"
    if job.error:
        yield f"cause: {job.error}"
    if job.payload is not None:
        yield f"payload: {dumps(job.payload)}"
    yield from ("about", job.cube_id) if job.cube_id else ("about the scope",)


def _as_json(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": str(job.kind),
        "cube_id": job.cube_id,
        "state": job.state.value,
        "attempts": job.attempts,
        "priority": job.priority,
        "created_at": job.created_at.isoformat(),
        "not_before": job.not_before.isoformat() if job.not_before else None,
        "error": job.error,
        "payload": job.payload,
    }
