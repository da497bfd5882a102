"""Options that several commands share, and how a command opens the memory.

The help of a command, and the completion of its options, do not load the library: it is imported to open a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from memoryos.errors import InvalidInput, PermissionDenied
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.json_wanted import JsonFlag
from memoryos.interface.cli.stated_context import stated_branch, stated_settings
from memoryos.scope import Scope

if TYPE_CHECKING:
    from memoryos.config import Settings
    from memoryos.infrastructure.vault.place import Place
    from memoryos.memory import Memory
    from memoryos.memory_os import MemoryOS

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        help="The store: a file or postgresql://... (default: MEMORYOS_DB, or memoryos.db here).",
        show_default=False,
    ),
]


def _of_owner(name: str, completion: Callable[..., list[str]] | None = None) -> Any:
    """An option that names a part of the owner; without it, the environment does."""
    variable = f"MEMORYOS_{name.upper()}"
    told = f"The {name} (or {variable})."
    return typer.Option(f"--{name}", envvar=variable, show_envvar=False, help=told, autocompletion=completion)


User = Annotated[str, _of_owner("user", names("user"))]
Agent = Annotated[str, _of_owner("agent", names("agent"))]
Tenant = Annotated[str, _of_owner("tenant")]
_AS_OF = "A moment: what had been said by then. stored:MOMENT, or the name of a snapshot: what the store held then."
AsOf = Annotated[str | None, typer.Option(help=_AS_OF, autocompletion=names("snapshot"))]
Session = Annotated[str | None, typer.Option("--session", help="The session.", show_default=False)]
Mounts = Annotated[
    list[str] | None,
    typer.Option("--mount", help="Search this mount; may be repeated (default: all).", show_default=False),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only memories with this tag; if repeated, with all of them.")
]
AnyTags = Annotated[
    list[str] | None, typer.Option("--any-tag", help="Only memories with this tag; if repeated, with one of them.")
]
NoTags = Annotated[list[str] | None, typer.Option("--no-tag", help="No memories with this tag; may be repeated.")]
Meta = Annotated[
    list[str] | None,
    typer.Option("--meta", help="key=value in the metadata; if repeated, all must match.", metavar="KEY=VALUE"),
]
Json = JsonFlag
Keep = Annotated[
    Path | None,
    typer.Option(help="Keep each result in this folder as soon as it is there; the same command goes on from there."),
]
ForSeconds = Annotated[
    float | None,
    typer.Option("--for", help="Seconds after which nothing more is begun; pass it with --keep.", min=0),
]
Since = Annotated[str | None, typer.Option(help="Only what was said since then, e.g. 2026-05-01.")]
Until = Annotated[str | None, typer.Option(help="Only what was said until then; a day counts whole.")]
Question = Annotated[str, typer.Argument(help="The question.")]
SearchedAsOf = Annotated[
    str | None,
    typer.Option("--as-of", help=f"{_AS_OF} Default: now.", autocompletion=names("snapshot")),
]
Tokens = Annotated[
    int | None,
    typer.Option(
        "--tokens", min=1, help="Most tokens of the text (default: MEMORYOS_CONTEXT_TOKENS).", show_default=False
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Archive = Annotated[bool, typer.Option("--archive", help="Include the archive.")]


def metadata_of(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Parse metadata as `key=value`; a value that is not JSON is a text. Raises InvalidInput."""
    found: dict[str, Any] = {}
    for pair in pairs or ():
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise InvalidInput("--meta", f"{pair[:40]!r} is not KEY=VALUE", "Write e.g. --meta project=apollo")
        try:
            found[key] = loads(value)
        except ValueError:
            found[key] = value
    return found


def filters_of(
    any_tags: Sequence[str] | None, no_tags: Sequence[str] | None, meta: Sequence[str] | None
) -> dict[str, Any]:
    """The filters that a command was given."""
    told = {"any_tags": any_tags, "no_tags": no_tags, "metadata": metadata_of(meta)}
    return {name: value for name, value in told.items() if value}


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def seconds_of(ttl: str, option: str = "--ttl") -> float:
    """Convert a duration such as 90, 30m, 12h or 7d to seconds. Raises InvalidInput."""
    number, unit = (ttl[:-1], _SECONDS[ttl[-1]]) if ttl[-1:] in _SECONDS else (ttl, 1.0)
    try:
        return float(number) * unit
    except ValueError:
        raise InvalidInput(option, f"{ttl[:40]!r} is not a duration", "Write seconds, or e.g. 30m, 12h, 7d") from None


def open_memory(
    db: str | Path | None,
    *,
    user: str,
    agent: str = "default",
    tenant: str = "default",
    session: str | None = None,
    must_exist: bool = False,
) -> Memory:
    """Open one owner's memory; `must_exist` refuses to create a store, for commands that need what is in it."""
    from memoryos.arguments import naming
    from memoryos.memory_os import open as opening

    settings = stated_settings()
    path = _path(db, settings, must_exist=must_exist)
    with naming("--db"):
        return opening(
            path,
            user=user,
            agent=agent,
            tenant=tenant,
            session=session,
            settings=settings,
            branch=stated_branch(),
            **called_with(settings),
        )


def memory_of(store: MemoryOS, user: str, agent: str, tenant: str) -> Memory:
    """One owner's memory in a store that is open, or the branch of it that the command works on."""
    memory, branch = store.memory(user, agent=agent, tenant=tenant), stated_branch()
    return memory if branch is None else memory.branch(branch)


def open_store(
    db: str | Path | None, *, must_exist: bool = False, changed: Mapping[str, Any] | None = None
) -> MemoryOS:
    """Open the store, with settings that an option changed; `must_exist` refuses to create one."""
    from memoryos.arguments import naming
    from memoryos.memory_os import MemoryOS

    settings = stated_settings(**(changed or {}))
    with naming("--db"):
        path = _path(db, settings, must_exist=must_exist)
        return MemoryOS.open(path, settings=settings, **called_with(settings))


class CalledWith(TypedDict):
    """Arguments of `open` that say who calls, and in which context."""

    key: str | None
    purpose: str | None
    application: str | None
    caller_session: str | None


def called_with(settings: Settings) -> CalledWith:
    """The key of the caller, and what it states."""
    key = settings.key.get_secret_value() if settings.key else None
    return {
        "key": key,
        "purpose": settings.purpose,
        "application": settings.application,
        "caller_session": settings.caller_session,
    }


def others_in(store: MemoryOS, tenant: str, *, limit: int | None = None) -> Sequence[Scope]:
    """The scopes of a tenant, for a hint; none for a caller who may not list them."""
    try:
        return store.admin.scopes(tenant=tenant, limit=limit)
    except PermissionDenied:
        return ()


def _path(db: str | Path | None, settings: Settings, *, must_exist: bool) -> str | Path:
    path = db or settings.db
    if must_exist:
        existing_place(path, "Add or import something first (`memoryos add TEXT`), or name another file")
    return path


def existing_place(db: str | Path, fix: str) -> Place:
    """Check the place of a store. A file must hold something; a database is checked when it is opened."""
    from memoryos.arguments import naming, store_place
    from memoryos.infrastructure.vault.place import check_is_there

    with naming("--db"):
        place = store_place(db)
    check_is_there("--db", place, fix)
    return place
