"""Operations on whole stores, all tenants: backup, restore, copy, verify, scrub and reembed.

The store may stay open meanwhile, also in other processes. A store is the path of a file or the URL of a PostgreSQL
database, as for `MemoryOS.open`. An interrupt (Ctrl-C) ends an operation after its next step, when it has cleaned up.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memoryos import arguments
from memoryos.arguments import naming
from memoryos.clock import Clock, checked_clock, system_clock
from memoryos.config import Settings, load_settings
from memoryos.erasure_replay import ErasureReplay, WasForgotten
from memoryos.errors import EmbedderMismatch, InvalidInput, MemoryOSError, WrongKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault import backup as backups
from memoryos.infrastructure.vault import copying, soundness
from memoryos.infrastructure.vault.backup import Manifest
from memoryos.infrastructure.vault.copying import Copied
from memoryos.infrastructure.vault.damage import Report
from memoryos.infrastructure.vault.forgotten_list import ForgottenList
from memoryos.infrastructure.vault.key_file import EncryptionStatus, KeyFile
from memoryos.infrastructure.vault.patience import one_call
from memoryos.infrastructure.vault.place import Place, check_is_there, open_vault, shown
from memoryos.infrastructure.vault.scrubbed import Scrubbed
from memoryos.infrastructure.vault.sealing import seal
from memoryos.infrastructure.vault.sql_vault import UNFINISHED, SqlVault
from memoryos.infrastructure.vault.sqlite.reencryption import Reencryption
from memoryos.known_notes import KNOWN_NOTES
from memoryos.models.checked_embedder import CheckedEmbedder
from memoryos.models.embedder import Embedder, load_embedder, opened_with
from memoryos.operation.calls.stoppable import stoppable
from memoryos.operation.maintenance import reembed as reembedding
from memoryos.operation.maintenance.mend import mend
from memoryos.progress import Progress
from memoryos.store_deeds import StoreDeeds

_OF_SETTINGS = EncryptionKey("")  # in the place of a key: that of the settings


@stoppable
@one_call
def backup(
    store: str | Path,
    file: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Manifest:
    """Write the current state of the store to a new file, which is a complete store itself.

    `progress` is called with the number of rows done and of all rows. Raises InvalidInput if the file exists or the
    store does not, and StorageError.
    """
    clock = _checked(settings, progress, clock)
    target = _file(file)
    with _source("store", store, settings, clock, _key(settings)) as vault, naming("file"):
        if not os.path.lexists(target):
            _note_copy(vault, target)
        with _deeds("backup", settings, clock, target).around(vault):
            return backups.backup(vault, target, clock=clock, progress=progress, key=_key(settings))


@stoppable
@one_call
def restore(
    file: str | Path,
    store: str | Path,
    *,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Copied:
    """Restore a backup into a new or empty store, after checking that the backup is unchanged.

    What was forgotten since it was made is forgotten again before the store can be opened: the backup has a list of it
    beside it, FILE.forgotten. This needs the `embedder` of the store (default: the one of the settings), because what
    also rests on other memories is derived again. `forgotten_again` of the result counts the erasures that had
    something to forget. Run an interrupted restore again. Raises CubeProtected if what was forgotten is frozen or on
    hold in the backup, EmbedderMismatch, InvalidInput, StorageError, and StoreCorrupt if the backup was changed.
    """
    clock = _checked(settings, progress, clock, embedder)
    path, place = Path(os.path.realpath(_file(file))), _place("store", store)
    key = _key_of(path, settings)
    manifest = backups.checked(path, key)
    with backups.opened(path, manifest, clock=clock, key=key) as vault:
        was_forgotten = ForgottenList(path).reader(vault.erasure.signing_key())
        replay = _Replay(was_forgotten, manifest.embedder, embedder) if was_forgotten else None
        with naming("store"):
            restored = _copied(vault, place, _command("restore", path, place), settings, progress, clock, replay)
    _deeds("restore", settings, clock, path).beside(partial(_opened, "store", store, settings, clock))
    return restored


@stoppable
@one_call
def copy(
    source: str | Path,
    target: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Copied:
    """Copy a store to a new or empty place.

    Writes that happen meanwhile are copied too, except the last ones if writing does not stop. An interrupted copy
    continues when you run it again. The target cannot be opened before it is complete. Raises InvalidInput and
    StorageError.
    """
    clock = _checked(settings, progress, clock)
    origin, place = _place("source", source), _place("target", target)
    key = _key_of(origin, settings)
    opened = _source("source", source, settings, clock, key)
    with opened as vault, naming("target"), _deeds("copy", settings, clock, place).around(vault):
        return _copied(vault, place, _command("copy", origin, place), settings, progress, clock)


@stoppable
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
    """Check that everything in a store is consistent, and that a backup is unchanged.

    Without `repair`, nothing is changed, except that the audit log gets an entry where it is on; a backup gets none.
    With `repair`, what is derived from the cubes is corrected; this needs the store's embedder (default: the one of the
    settings). `progress` is called with the number of cubes done and of all
    cubes. Raises InvalidInput and StorageError.
    """
    clock = _checked(settings, progress, clock, embedder)
    place, settings = _place("store", store), settings or load_settings()
    if not repair:
        with closing(_opened("store", store, settings, clock, is_only_read=True)) as vault:
            report = soundness.verify(vault, progress=progress, notes=KNOWN_NOTES)
        _deeds("verify", settings, clock).beside(partial(_opened, "store", store, settings, clock))
        return report
    if isinstance(place, Path) and backups.manifest_in(place, _key(settings)):
        raise InvalidInput("repair", f"{place} is a backup", "Restore it, then repair the restored store")
    embedder = load_embedder(settings.embedder, settings) if embedder is None else CheckedEmbedder(embedder)
    vault, embedder = opened_with(embedder, lambda name: _opened("store", store, settings, clock, embedder=name))
    with closing(vault), _deeds("verify", settings, clock).around(vault, needs_entry=False):
        return mend(vault, embedder, progress, KNOWN_NOTES)


@stoppable
@one_call
def scrub(
    store: str | Path,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> Scrubbed:
    """Overwrite the remains of deleted memories in the files of a store, and add missing checksums to old rows.

    Writers have to wait, and the disk needs free space of about the size of the store. `progress` is called with the
    number of steps done and of all steps. `refused` in the result names the steps that the PostgreSQL role may not do.
    Raises InvalidInput, also for a backup that an older program made, and StorageError.
    """
    clock = _checked(settings, progress, clock)
    with _kept_as_backup(_place("store", store), _key(settings)):
        opened = closing(_opened("store", store, settings, clock))
        with opened as vault, _deeds("scrub", settings, clock).around(vault):
            seal(vault.change)
            return vault.scrub(progress)


@stoppable
@one_call
def reembed(
    store: str | Path,
    embedder: Embedder,
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    clock: Clock = system_clock,
) -> None:
    """Replace the vectors of the whole store, all tenants, with those of another embedder. Nothing is extracted again.

    Until it returns, memories that are open on the store search and write with the old embedder. Afterwards they raise
    EmbedderMismatch and must be opened again with the new embedder. An interrupted change continues when you run it
    again; naming the store's own embedder abandons it. `progress` is called with the number of cubes done and of all
    cubes with vectors. Raises InvalidInput if the file does not exist, and StorageError.
    """
    clock = _checked(settings, progress, clock)
    arguments.part("embedder", embedder)
    opened = closing(_opened("store", store, settings, clock))
    with opened as vault, _deeds("reembed", settings, clock).around(vault):
        reembedding.reembed(vault, CheckedEmbedder(embedder), progress)


@stoppable
def encrypt(store: str | Path, *, settings: Settings | None = None, progress: Progress | None = None) -> None:
    """Encrypt the file of a store, with all that lies beside it, under the key of the settings.

    No process may have the store open, and the disk needs free space of its size. A process that dies leaves the store
    as it was or encrypted; run it again to finish. `progress` is called with the number of objects done and of all.
    Raises InvalidInput without a key, WrongKey if the store is encrypted with another one, StoreBusy if it is open, and
    MissingExtra.
    """
    _reencryption(store, settings, progress).encrypt()


@stoppable
def decrypt(store: str | Path, *, settings: Settings | None = None, progress: Progress | None = None) -> None:
    """Write an encrypted store in clear. See `encrypt`."""
    _reencryption(store, settings, progress).decrypt()


@stoppable
def reencrypt(store: str | Path, *, settings: Settings | None = None, progress: Progress | None = None) -> None:
    """Encrypt a store with a new data key, in case somebody got the old one. See `encrypt`; other keys end."""
    _reencryption(store, settings, progress).renew()


@stoppable
def rotate_encryption_key(
    store: str | Path, new_key: str, *, keep_old: bool = False, settings: Settings | None = None
) -> None:
    """Let another key open the store from now on; with `keep_old`, the one of the settings opens it as well.

    The store may be open. The data is not written again. Backups keep their keys. To end an old key that was kept,
    rotate with the new key in the settings, to the same key. Raises InvalidInput and WrongKey.
    """
    known = _reencryption(store, settings, None)
    checked = EncryptionKey.checked("new_key", new_key)
    file = KeyFile(known.path, known.busy_timeout_seconds)
    if not file.exists():
        raise WrongKey(f"{known.path} is not encrypted: run `memoryos encryption encrypt`")
    file.rotate(known.key, checked, keep_old=arguments.flag("keep_old", keep_old))


@stoppable
def encryption_status(store: str | Path) -> EncryptionStatus:
    """Return whether the file of a store is encrypted, and by how many keys it can be opened. It takes no key."""
    place = _place("store", store)
    if not isinstance(place, Path):
        return EncryptionStatus(is_encrypted=False, keys=0)
    if not place.is_file():
        raise InvalidInput("store", f"{place} does not exist", "Name the file of a store")
    return KeyFile(place).status()


@dataclass(frozen=True, slots=True)
class _Replay:
    """What is forgotten again at the end of a restore."""

    was_forgotten: WasForgotten
    name: str | None  #: of the embedder of the store
    embedder: Embedder | None  #: that the caller passed

    def run(self, place: Place, settings: Settings, clock: Clock, key: EncryptionKey | None) -> int:
        def open_as(name: str) -> SqlVault:
            if name != self.name:
                problem = f"{name!r} did not make the vectors of the backup, which were made by {self.name!r}"
                raise EmbedderMismatch(f"{problem}; people were forgotten since: restore it with that embedder")
            return open_vault(
                place,
                embedder=UNFINISHED,
                clock=clock,
                busy_timeout_seconds=settings.busy_timeout_seconds,
                object_store=settings.object_store,
                key=key,
            )

        ours = self.embedder or load_embedder(settings.embedder, settings)
        vault, embedder = opened_with(CheckedEmbedder(ours), open_as)
        return ErasureReplay(self.was_forgotten, embedder, settings, clock).run(vault)


def _reencryption(store: str | Path, settings: Settings | None, progress: Progress | None) -> Reencryption:
    arguments.parts(settings=settings)
    arguments.callback("progress", progress)
    place, known = _place("store", store), settings or load_settings()
    if not isinstance(place, Path):
        raise InvalidInput("store", "is a PostgreSQL database, whose operator encrypts its disk", "Name a file")
    key = EncryptionKey.of(known)
    if key is None:
        raise InvalidInput("encryption_key", "is not set", "Set MEMORYOS_ENCRYPTION_KEY, or name a file with the key")
    return Reencryption(place, key, known.object_store, progress, known.busy_timeout_seconds)


def _checked(
    settings: Settings | None, progress: Progress | None, clock: Clock, embedder: Embedder | None = None
) -> Clock:
    """Check the arguments that all operations share; return the clock."""
    arguments.parts(settings=settings, embedder=embedder)
    arguments.callback("progress", progress)
    return checked_clock(clock)


def _copied(
    vault: SqlVault,
    place: Place,
    command: str,
    settings: Settings | None,
    progress: Progress | None,
    clock: Clock,
    replay: _Replay | None = None,
) -> Copied:
    known = settings or load_settings()
    patience, objects = known.busy_timeout_seconds, known.object_store
    key = _key(known) if isinstance(place, Path) else None
    begun = copying.begin(place, command, clock=clock, busy_timeout_seconds=patience, object_store=objects, key=key)

    def forget() -> int:
        return replay.run(place, known, clock, key) if replay else 0

    with closing(begun) as target:
        _note_copy(vault, place)
        return copying.copy(vault, target, progress, forget)


def _opened(
    field: str,
    store: str | Path,
    settings: Settings | None,
    clock: Clock,
    *,
    embedder: str | None = None,
    is_only_read: bool = False,
    key: EncryptionKey | None = _OF_SETTINGS,
) -> SqlVault:
    """Open an existing store; without `embedder`, with any."""
    place, settings = _place(field, store), settings or load_settings()
    patience, objects = settings.busy_timeout_seconds, settings.object_store
    check_is_there(field, place)
    with naming(field):
        return open_vault(
            place,
            embedder=embedder,
            clock=clock,
            busy_timeout_seconds=patience,
            object_store=objects,
            is_only_read=is_only_read,
            key=_key(settings) if key is _OF_SETTINGS else key,
        )


def _source(
    field: str, store: str | Path, settings: Settings | None, clock: Clock, key: EncryptionKey | None
) -> AbstractContextManager[SqlVault]:
    """A store that is copied. The file of a backup is only read, so that it stays as it is."""
    place = _place(field, store)
    manifest = _manifest(place, key)
    if isinstance(place, Path) and manifest is not None:
        return backups.opened(place, manifest, clock=clock, key=key)
    return closing(_opened(field, store, settings, clock, key=key))


@contextmanager
def _kept_as_backup(place: Place, key: EncryptionKey | None) -> Iterator[None]:
    """Afterwards a backup is one file again, without a log beside it. Raises InvalidInput for one of an older program.

    To be written, it would get the present schema, and its manifest tells the tables of its own.
    """
    manifest = _manifest(place, key)
    if not isinstance(place, Path) or manifest is None:
        yield
        return
    if not manifest.is_current:
        fix = "Restore it, back up the restored store, and remove this one"
        raise InvalidInput("store", f"{place} is a backup that an older program made", fix)
    try:
        yield
    finally:
        backups.close_file(place, key)


def _manifest(place: Place, key: EncryptionKey | None) -> Manifest | None:
    """The manifest of a backup; None of another store, or of what is none: to open it tells what is wrong with it."""
    with suppress(MemoryOSError):
        return backups.manifest_in(place, key) if isinstance(place, Path) else None
    return None


def _key(settings: Settings | None) -> EncryptionKey | None:
    return EncryptionKey.of(settings or load_settings())


def _key_of(place: Place, settings: Settings | None) -> EncryptionKey | None:
    """The key for a store that is only read: one in clear or on a server needs none."""
    return _key(settings) if isinstance(place, Path) and KeyFile(place).exists() else None


def _place(field: str, store: str | Path) -> Place:
    with naming(field):
        return arguments.store_place(store)


def _file(name: str | Path) -> Path:
    place = _place("file", name)
    if not isinstance(place, Path):
        raise InvalidInput("file", "a backup is a file", "Name a file")
    return place


def _deeds(name: str, settings: Settings | None, clock: Clock, place: Place | None = None) -> StoreDeeds:
    """What the audit log says of an operation of this module, if the settings switch it on."""
    named = None if place is None else _named(place)
    return StoreDeeds(f"stores.{name}", (settings or load_settings()).audit, clock, named)


def _named(place: Place) -> str:
    """The place in words, without the password."""
    return shown(place.resolve() if isinstance(place, Path) else place)


def _note_copy(vault: SqlVault, place: Place) -> None:
    """Record in the store where a copy of it will be, so that receipts name it. A backup stays as it is."""
    with vault.snapshot() as connection:
        is_backup = backups.manifest_of(connection) is not None
    if not is_backup:
        vault.erasure.note_copy(_named(place))


def _command(name: str, *places: Place) -> str:
    """The command to run again, without the password."""
    return shlex.join(["memoryos", name, *map(_named, places)])
