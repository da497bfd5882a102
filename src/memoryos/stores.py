"""Whole stores, all tenants: backup, restore, copy, verify, scrub, and a change of the embedder.

Memories may be open on the store meanwhile, also in other processes. A store is the path of a file or the URL of a
PostgreSQL database, as for `MemoryOS.open`.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path

from memoryos import arguments
from memoryos.clock import Clock, checked_clock, system_clock
from memoryos.config import Settings, load_settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault import backup as backups
from memoryos.infrastructure.vault import copying, soundness
from memoryos.infrastructure.vault.backup import Manifest
from memoryos.infrastructure.vault.copying import Copied
from memoryos.infrastructure.vault.damage import Report
from memoryos.infrastructure.vault.patience import one_call
from memoryos.infrastructure.vault.place import Place, open_vault, shown
from memoryos.infrastructure.vault.scrubbed import Scrubbed
from memoryos.infrastructure.vault.sealing import seal
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.models.embedder import Embedder, load_embedder, opened_with
from memoryos.operation.maintenance import reembed as reembedding
from memoryos.operation.maintenance.mend import mend
from memoryos.progress import Progress


@one_call
def backup(
    store: str | Path,
    file: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Manifest:
    """Write the store, as it is at this moment, into a new file, which is a complete store itself.

    `progress` is told rows. Raises InvalidInput when the file is there already, or the store is not; StorageError.
    """
    clock = _checked(settings, progress, clock)
    target = _file("file", file)
    with closing(_opened("store", store, settings, clock)) as vault:
        return backups.backup(vault, target, clock=clock, progress=progress)


@one_call
def restore(
    file: str | Path,
    store: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Copied:
    """Make a store of a backup, after checking that it is just as it was made; the store must be new, or empty.

    When it was cut off, run it again. Raises InvalidInput, StoreCorrupt when the backup was changed, StorageError.
    """
    clock = _checked(settings, progress, clock)
    path, place = _file("file", file), arguments.store_place(store)
    manifest = backups.checked(path)
    with backups.opened(path, manifest, clock=clock) as vault:
        return _copied(vault, place, _command("restore", path, place), settings, progress, clock)


@one_call
def copy(
    source: str | Path,
    target: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Copied:
    """Copy a store to another place, which must be new, or empty.

    What is written meanwhile comes along, but for the last of it when that does not end. When it was cut off, run it
    again: it goes on. Nobody can open the target before it is complete. Raises InvalidInput, StorageError.
    """
    clock = _checked(settings, progress, clock)
    origin, place = arguments.store_place(source), arguments.store_place(target)
    with closing(_opened("source", source, settings, clock)) as vault:
        return _copied(vault, place, _command("copy", origin, place), settings, progress, clock)


@one_call
def verify(
    store: str | Path,
    *,
    repair: bool = False,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Report:
    """Look whether everything in a store fits together, and of a backup, whether it is as it was made.

    It changes nothing, unless `repair` makes right what is derived from the cubes; that takes the store's embedder
    (the settings', when left out). `progress` is told cubes. Raises InvalidInput, StorageError.
    """
    clock = _checked(settings, progress, clock, embedder)
    place, settings = arguments.store_place(store), settings or load_settings()
    if not repair:
        with closing(_opened("store", store, settings, clock, read_only=True)) as vault:
            return soundness.verify(vault, progress=progress)
    if isinstance(place, Path) and backups.is_backup(place):
        raise InvalidInput("repair", f"{place} is a backup", "Restore it, and repair what it becomes")
    embedder = embedder or load_embedder(settings.embedder, settings)
    vault, embedder = opened_with(embedder, lambda name: _opened("store", store, settings, clock, embedder=name))
    with closing(vault):
        return mend(vault, embedder, progress)


@one_call
def scrub(
    store: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Scrubbed:
    """Overwrite what deleted memories left in the files of a store, and give rows of older programs their checksums.

    Writers wait meanwhile; it takes about the room of the store once more. `progress` is told steps. What a
    PostgreSQL role may not do is named in `refused`. Raises InvalidInput, StorageError.
    """
    clock = _checked(settings, progress, clock)
    with closing(_opened("store", store, settings, clock)) as vault:
        seal(vault.change)
        return vault.scrub(progress)


@one_call
def reembed(
    store: str | Path,
    embedder: Embedder,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> None:
    """Give the whole store, all tenants, the vectors of another embedder; nothing is extracted again.

    Searches and writes of memories that are open on it go on meanwhile, with the old embedder. When this returns they
    are refused with EmbedderMismatch, and have to be opened with the new one. A change that was cut off goes on where
    it was; to name the store's own embedder gives it up. `progress` is told cubes of all that have vectors.
    Raises InvalidInput when there is no such file, StorageError when it cannot be used.
    """
    clock = _checked(settings, progress, clock)
    arguments.part("embedder", embedder)
    with closing(_opened("store", store, settings, clock)) as vault:
        reembedding.reembed(vault, embedder, progress)


def _checked(
    settings: Settings | None, progress: Progress | None, clock: Clock, embedder: Embedder | None = None
) -> Clock:
    """Check what every operation takes; returns the clock."""
    arguments.parts(settings=settings, embedder=embedder)
    arguments.callback("progress", progress)
    return checked_clock(clock)


def _copied(
    vault: SqlVault, place: Place, command: str, settings: Settings | None, progress: Progress | None, clock: Clock
) -> Copied:
    known = settings or load_settings()
    patience, objects = known.busy_timeout_seconds, known.object_store
    begun = copying.begin(place, command, clock=clock, busy_timeout_seconds=patience, object_store=objects)
    with closing(begun) as target:
        return copying.copy(vault, target, progress)


def _opened(
    field: str,
    store: str | Path,
    settings: Settings | None,
    clock: Clock,
    *,
    embedder: str | None = None,
    read_only: bool = False,
) -> SqlVault:
    """A store that must be there; with no embedder, whatever made its vectors."""
    place, settings = arguments.store_place(store), settings or load_settings()
    patience, objects = settings.busy_timeout_seconds, settings.object_store
    if isinstance(place, Path) and not place.exists():
        raise InvalidInput(field, f"{place} does not exist", "Name the file of a store")
    return open_vault(
        place,
        embedder=embedder,
        clock=clock,
        busy_timeout_seconds=patience,
        object_store=objects,
        is_only_read=read_only,
    )


def _file(field: str, name: str | Path) -> Path:
    place = arguments.store_place(name)
    if not isinstance(place, Path):
        raise InvalidInput(field, "a backup is a file", "Name a file")
    return place


def _command(name: str, *places: Place) -> str:
    """What to run again, wherever; without a password."""
    named = [shown(place.resolve() if isinstance(place, Path) else place) for place in places]
    return shlex.join(["memoryos", name, *named])
