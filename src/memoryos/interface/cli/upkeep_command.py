"""`memoryos upkeep`, `consolidate` and `reembed`: correct and make again what was derived, and change the vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import rich.progress
import typer

from memoryos.caller import acting
from memoryos.config import LONGEST_WAIT
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, existing_place, open_memory, open_store
from memoryos.scope import Scope

if TYPE_CHECKING:
    from memoryos.operation.maintenance.repairer import RepairReport
    from memoryos.progress import Progress


def repair(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Move pages to the segments they belong to, split mixed segments and merge similar ones."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        report = memory.upkeep.repair()
    if json:
        render.print_json(asdict(report))
    else:
        _print(report)


def undo(
    sequence: Annotated[list[int], typer.Argument(help="Event of a move, as `upkeep repair` or `log events` tell.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Move pages back that a repair moved; no repair moves them again."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        report = memory.upkeep.undo(*sequence)
    if json:
        render.print_json(asdict(report))
    else:
        render.console().print(f"Moved back: {len(report.events)} {'page' if len(report.events) == 1 else 'pages'}.")


def rebuild(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    every: Annotated[bool, typer.Option("--all", help="All users and agents of the tenant.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Derive topics, facts, traits and profile again from the raw pages; repeat an interrupted run."""
    with open_store(db, must_exist=True) as store:
        own = Scope(user=user, agent=agent, tenant=tenant)
        scopes = [scope for scope in store.admin.scopes(tenant=tenant) if scope.agent] if every else [own]
        with render.progress(quiet=json) as bar:
            for scope in scopes:
                task = bar.add_task("rebuilding", total=None, note=f"{scope.user}, {scope.agent}")
                store.of(scope).upkeep.rebuild(progress=_told(bar, task))
        pages = sum(len(store.of(scope).pages.list()) for scope in scopes)
    if json:
        render.print_json({"scopes": len(scopes), "pages": pages})
    else:
        render.console().print(f"Rebuilt. Pages: {pages:,}; owners: {len(scopes)}.")


def consolidate(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    timeout: Annotated[float, typer.Option(min=0, max=LONGEST_WAIT, help="Most seconds to wait.")] = 600.0,
    json: Json = False,
) -> None:
    """Extract what is known from all pages now, also from those in STM and in cold segments."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.consolidate(timeout)
        facts = memory.facts.count()
    if json:
        render.print_json({"facts": facts})
    else:
        render.say(f"All pages are read; {facts:,} facts are known.")


def reembed(
    embedder: Annotated[str, typer.Option(help="static, minilm or openai:MODEL.")],
    db: Db = None,
    json: Json = False,
) -> None:
    """Change the embedder of the whole store, all tenants, while it is in use; nothing is extracted again."""
    from memoryos import stores
    from memoryos.config import load_settings
    from memoryos.infrastructure.vault.place import shown
    from memoryos.interface.cli.key_check import check_key
    from memoryos.models.embedder import load_embedder

    settings = load_settings()
    path = db or settings.db
    place = existing_place(path, "Name the file of a store")
    caller = check_key(path, "stores.reembed")
    chosen = load_embedder(embedder, settings)
    with render.progress(quiet=json) as bar:
        told = _told(bar, bar.add_task("embedding", total=None, note=chosen.name))
        acting(caller, lambda: stores.reembed(path, chosen, settings=settings, progress=told))
    if json:
        render.print_json({"embedder": chosen.name})
    else:
        again = "" if settings.embedder == embedder else f" Open it with MEMORYOS_EMBEDDER={embedder} from now on."
        render.console().print(f"{shown(place)} now uses the embedder {chosen.name}.{again}", markup=False)


def _told(bar: rich.progress.Progress, task: rich.progress.TaskID) -> Progress:
    return lambda done, total: bar.update(task, completed=done, total=total)


def _print(report: RepairReport) -> None:
    console = render.console()
    console.print(
        f"{report.pages} pages in {report.segments_before} segments: "
        f"{report.moved} moved, {report.split} segments split off, {report.merged} merged."
    )
    if report.events:
        first, last = report.events[0], report.events[-1]
        console.print(f"Events {first} to {last}: `memoryos upkeep undo SEQUENCE` takes one of them back.")
