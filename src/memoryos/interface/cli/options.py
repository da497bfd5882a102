"""Options that several commands share, and how a command opens the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memoryos.arguments import store_place
from memoryos.config import Settings, load_settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.place import Place
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.memory_os import open as opening

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        help="The store: a file or postgresql://... (default: MEMORYOS_DB, or memoryos.db here).",
        show_default=False,
    ),
]
User = Annotated[str, typer.Option("--user", help="Whose memory.")]
Agent = Annotated[str, typer.Option("--agent", help="Which agent's memory of the user.")]
Tenant = Annotated[str, typer.Option("--tenant", help="Which tenant.")]
Session = Annotated[str | None, typer.Option("--session", help="Label of the conversation.", show_default=False)]
Mounts = Annotated[
    list[str] | None,
    typer.Option("--mount", help="Look into this mounted memory; several, or all when left out.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Archive = Annotated[bool, typer.Option("--archive", help="Include what was evicted to the archive.")]


def open_memory(
    db: str | Path | None,
    *,
    user: str,
    agent: str = "default",
    tenant: str = "default",
    session: str | None = None,
    must_exist: bool = False,
) -> Memory:
    """Open one owner's memory; `must_exist` refuses to create a store, for commands that only read."""
    settings = load_settings()
    path = _path(db, settings, must_exist=must_exist)
    return opening(path, user=user, agent=agent, tenant=tenant, session=session, settings=settings)


def open_store(db: str | Path | None, *, must_exist: bool = False) -> MemoryOS:
    """Open the store; `must_exist` refuses to create one."""
    settings = load_settings()
    return MemoryOS.open(_path(db, settings, must_exist=must_exist), settings=settings)


def _path(db: str | Path | None, settings: Settings, *, must_exist: bool) -> str | Path:
    path = db or settings.db
    if must_exist:
        existing_place(path, "Add or import something first, or name another file")
    return path


def existing_place(db: str | Path, fix: str) -> Place:
    """Where the store is; a file must be there. Whether a database holds a store is seen when it is opened."""
    place = store_place(db)
    if isinstance(place, Path) and not place.exists():
        raise InvalidInput("--db", f"{place} does not exist", fix)
    return place
