"""`memoryos repair`: move pages that lie in the wrong segment of one user's memory, and undo such moves."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.operation.maintenance.repairer import RepairReport

Undo = Annotated[
    list[int] | None,
    typer.Option(
        "--undo",
        help="Undo the move with this event sequence; may be repeated.",
        show_default=False,
    ),
]


def repair(
    undo: Undo = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Move pages to the segments they belong to, split mixed segments and merge similar ones."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        report = memory.upkeep.undo(*undo) if undo else memory.upkeep.repair()
    if json:
        render.print_json(asdict(report))
    elif undo:
        render.console().print(f"Moved {len(report.events)} pages back.")
    else:
        _print(report)


def _print(report: RepairReport) -> None:
    console = render.console()
    console.print(
        f"{report.pages} pages in {report.segments_before} segments: "
        f"{report.moved} moved, {report.split} segments split off, {report.merged} merged."
    )
    if report.events:
        first, last = report.events[0], report.events[-1]
        console.print(f"Events {first} to {last} are the moves; `memoryos repair --undo SEQUENCE` undoes one.")
