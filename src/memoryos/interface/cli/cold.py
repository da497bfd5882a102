"""`memoryos cold`: move archived pages that nobody visits into the object store."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_store


def cold(
    after_days: Annotated[
        float | None,
        typer.Option(min=0, help="Days without a visit (default: MEMORYOS_COLD_AFTER_DAYS).", show_default=False),
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Move archived pages without visits, of the whole store, to MEMORYOS_OBJECT_STORE; remove unused packs."""
    with open_store(db, must_exist=True) as store, render.counted("moving out", quiet=json) as progress:
        moved = store.admin.cool(after_days=after_days, progress=progress)
    if json:
        render.print_json(asdict(moved))
    else:
        render.console().print(f"Moved out {moved.pages:,} pages in {moved.packs:,} packs; removed {moved.removed:,}.")
