"""Where a store is: the path of its file, or the URL of its PostgreSQL database."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TypedDict

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from memoryos.clock import Clock
from memoryos.config import CONNECTIONS
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.sealed_keys import Form
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.infrastructure.vault.sqlite.unlocking import unlock

Place = Path | URL

_FIX = "Write it as postgresql://user:password@host:5432/database"


_REMAINS = (
    "attachments and packs in their earlier form, which an interrupted change of the encryption may have left: run that"
    " change again"
)


def is_url(text: str) -> bool:
    """Whether this is the URL of a server, not a path."""
    return "://" in text


def database_url(text: str) -> URL:
    """Check the URL of a database. Raises InvalidInput, which quotes nothing of it: there may be a password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidInput("path", "is not the URL of a database", _FIX) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise InvalidInput("path", f"there is no back end for {url.drivername}://", _FIX)
    if not url.database:
        raise InvalidInput("path", "the URL names no database", _FIX)
    return url


def shown(place: Place) -> str:
    """The name of a store for messages: a URL without its password and options, which may have another one."""
    if isinstance(place, Path):
        return str(place)
    named = URL.create(place.drivername, place.username, None, place.host, place.port, place.database)
    return named.render_as_string()


def address(place: Place) -> str:
    """The identity of a store: its file, or the database of a server."""
    return str(place.resolve()) if isinstance(place, Path) else f"{place.host}:{place.port or 5432}/{place.database}"


def check_is_there(field: str, place: Place, fix: str = "Name the file of a store") -> None:
    """Raise InvalidInput if there is no file, or an empty one, in which a store could only be made.

    What is at a database is seen when it is opened.
    """
    if not isinstance(place, Path):
        return
    if not place.exists():
        raise InvalidInput(field, f"{place} does not exist", fix)
    if place.is_dir():
        raise InvalidInput(field, f"{place} is a folder", "Name a file in it, e.g. memory.db")
    if not place.is_file():
        raise InvalidInput(field, f"{place} is a device, a socket or the like", fix)
    if not place.stat().st_size:
        raise InvalidInput(field, f"{place} is empty and holds no MemoryOS store", fix)


def open_vault(
    place: Place,
    *,
    embedder: str | None,
    clock: Clock,
    busy_timeout_seconds: float,
    connections: int = CONNECTIONS,
    object_store: str | None = None,
    is_only_read: bool = False,
    key: EncryptionKey | None = None,
) -> SqlVault:
    """Open the store there, and make a new one when there is none; that takes an embedder.

    One that is only read must be there, and is never written. With a key, the store is encrypted. Raises WrongKey when
    the key does not fit, StorageError when the store cannot be used, InvalidInput when it is missing, MissingExtra
    without the driver of a database or of an object store.
    """
    if is_only_read:
        check_is_there("path", place)
    packs = Packs(object_store)  # first: what is wrong with it is told before a store is made
    use = _Use(embedder=embedder, clock=clock, busy_timeout_seconds=busy_timeout_seconds, is_only_read=is_only_read)
    vault, form = _opened(place, use, connections, key)
    vault.packs = Packs(object_store, form) if form else packs
    if object_store:
        vault.blobs = Blobs(object_store, beside=place if isinstance(place, Path) else None, key=form)
    return vault


class _Use(TypedDict):
    """The options of every back end."""

    embedder: str | None
    clock: Clock
    busy_timeout_seconds: float
    is_only_read: bool


def _opened(place: Place, use: _Use, connections: int, key: EncryptionKey | None) -> tuple[SqlVault, Form]:
    """The vault, and the form in which its objects are."""
    if isinstance(place, Path):
        most = use["busy_timeout_seconds"]
        is_begun = not use["is_only_read"] and _is_new(place)
        alone = KeyFile(place, most).beginning() if is_begun else nullcontext()
        with alone:  # or one process would begin it in clear while another one makes its keys
            found = unlock(place, key, is_only_read=use["is_only_read"], busy_timeout_seconds=most)
            vault = SqliteVault(place, key=found.form, **use)
            vault.unerased = (*vault.unerased, *[_REMAINS] * found.has_remains)
            return vault, found.form
    if key is not None:
        fix = "Unset it: the operator of the server encrypts its disk"
        raise InvalidInput("encryption_key", "cannot encrypt a PostgreSQL database", fix)
    try:
        from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise MissingExtra("A store on PostgreSQL", "postgres") from None
    return PostgresVault(shown(place), place, connections=connections, **use), None


def _is_new(path: Path) -> bool:
    """Whether a store would begin there."""
    try:
        return not path.stat().st_size
    except FileNotFoundError:
        return True
    except OSError:  # whoever opens the file tells what is wrong
        return False
