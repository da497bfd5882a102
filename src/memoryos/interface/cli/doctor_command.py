"""`memoryos doctor`: what is configured, what is missing, and how to fix it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.config import load_settings
from memoryos.diagnosis import Diagnosis, Health, HealthCheck, broken, diagnose
from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json

_SIGNS = {Health.OK: "[green]ok[/]", Health.OFF: "[dim]off[/]", Health.WARNING: "[yellow]warning[/]"}
_BROKEN = "[bold red]broken[/]"


def doctor(
    db: Db = None,
    online: Annotated[
        bool, typer.Option("--online", help="Also ask the endpoints of models whether they answer.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the installation, the settings and the store; exit with 1 if something is broken. Nothing is changed."""
    found = _found(db, online=online)
    if json:
        render.print_json({"is_healthy": found.is_healthy, **found.to_dict()})
    else:
        render.console().print(_table(found))
    if not found.is_healthy:
        raise typer.Exit(1)


def _found(db: str | None, *, online: bool) -> Diagnosis:
    """The findings, or why the settings cannot be read."""
    try:
        settings = load_settings()
    except InvalidInput as error:
        return Diagnosis((broken("settings", error),))
    return diagnose(db or settings.db, settings=settings, online=online)


def _table(found: Diagnosis) -> Table:
    table = Table(title="memoryos doctor", title_justify="left", expand=True)
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("found, and what to do", ratio=1, overflow="fold")
    for one in found.findings:
        table.add_row(escape(one.check), _SIGNS.get(one.health, _BROKEN), _cell(one))
    return table


def _cell(one: HealthCheck) -> str:
    return escape(one.text) + (f"\n[dim]→ {escape(one.fix)}[/]" if one.fix else "")
