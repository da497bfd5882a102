"""`memoryos import`: data of other systems."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.gvd import read_gvd
from memoryos.importers.load import Loaded, load_conversation, load_legacy
from memoryos.importers.locomo import read_locomo
from memoryos.importers.memoryos_folder import list_users, read_folder
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_store

if TYPE_CHECKING:
    from memoryos.memory_os import MemoryOS

Source = Annotated[Path, typer.Argument(help="The file to read.")]
Zone = Annotated[str, typer.Option(help="Time zone of the dates in the source, e.g. Europe/Berlin.")]


def locomo(path: Source, zone: Zone = "UTC", db: Db = None, json: Json = False) -> None:
    """Import LoCoMo: each conversation becomes a user named by its sample id."""
    _import(read_locomo(path, zone=_zone(zone)), db, json=json)


def gvd(path: Source, zone: Zone = "UTC", db: Db = None, json: Json = False) -> None:
    """Import GVD (MemoryBank): each virtual user becomes a user."""
    _import(read_gvd(path, zone=_zone(zone)), db, json=json)


def memoryos(
    path: Annotated[Path, typer.Argument(help="A data folder of the public MemoryOS code.")],
    assistant: Annotated[str, typer.Option(help="The assistant_id.")] = "default_assistant_profile",
    zone: Annotated[str | None, typer.Option(help="Time zone of its timestamps (default: local).")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Import a data folder of the public MemoryOS code with all its users."""
    local = datetime.now(UTC).astimezone().tzinfo or UTC
    users = list_users(path)
    legacies = [
        read_folder(path, user=user, assistant=assistant, zone=_zone(zone) if zone else local) for user in users
    ]
    with open_store(db) as store:
        loaded = [load_legacy(store, legacy, shared_assistant=len(users) > 1) for legacy in legacies]
        store.wait()
    left_out = sum(legacy.skipped for legacy in legacies)
    guessed = sum(legacy.guessed_times for legacy in legacies)
    _report(list(users), len(users), loaded, json=json, error_texts_left_out=left_out, times_guessed=guessed)


def export(
    path: Annotated[Path, typer.Argument(help="A file that `memoryos export` wrote.")],
    again: Annotated[
        bool, typer.Option("--again", help="Also what this store has removed; not what has expired by now.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Import a file of `memoryos export`, with ids, versions and links, without what the store has removed since."""
    with open_store(db) as store:
        loaded = store.admin.load(path, again=again)
        store.wait()
    if json:
        render.print_json(loaded.to_dict())
        return
    known = f" ({loaded.known:,} were there already)" if loaded.known else ""
    users = sorted({owner.user for owner in loaded.owners})
    render.console().print(f"Imported {sum(loaded.memories.values()):,} memories{known}.")
    if loaded.removed:
        told = f"Left out: {loaded.removed:,} memories that this store has removed, or their sources."
        how = f"To load them, too: memoryos import export {quote(str(path))} --again"
        render.console().print(f"{told} {how}", markup=False, soft_wrap=True)
    if loaded.expired:
        render.console().print(f"Left out: {loaded.expired:,} memories that have expired, or their sources.")
    if users and (loaded.memories or loaded.known):
        render.console().print(f"Users: {', '.join(users)}. Try: memoryos show --user {users[0]}", markup=False)


def _import(conversations: list[Conversation], db: str | None, *, json: bool) -> None:
    total = sum(conversation.turn_count for conversation in conversations)
    with open_store(db) as store, render.progress(quiet=json) as bar:
        task = bar.add_task("importing", total=total, note="")
        loaded = [_load(store, conversation, lambda turns: bar.advance(task, turns)) for conversation in conversations]
        store.wait()
    _report([conversation.user for conversation in conversations], len(conversations), loaded, json=json)


def _load(store: MemoryOS, conversation: Conversation, progress: Callable[[int], None]) -> Loaded:
    return load_conversation(store, conversation, progress)


def _report(users: list[str], conversations: int, loaded: list[Loaded], *, json: bool, **notes: int) -> None:
    turns, pages, known = (sum(getattr(one, name) for one in loaded) for name in ("turns", "pages", "known"))
    if json:
        counts = {"conversations": conversations, "turns": turns, "pages": pages, "already_there": known}
        render.print_json({**counts, **notes, "users": users})
        return
    again = f" ({known:,} turns were there already)" if known else ""
    render.console().print(f"Imported {turns:,} turns as {pages:,} pages of {conversations} conversations{again}.")
    for note, count in notes.items():
        if count:
            render.console().print(f"{note.replace('_', ' ').capitalize()}: {count:,}.")
    if users:
        render.console().print(f"Users: {', '.join(users)}. Try: memoryos show --user {users[0]}", markup=False)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput("--zone", f"{name!r} is not a time zone", "Use e.g. UTC or Europe/Berlin") from None
