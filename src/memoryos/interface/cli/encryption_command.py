"""`memoryos encryption`: encrypts the file of a store, decrypts it, and rotates its key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from memoryos import stores
from memoryos.config import load_settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.encryption_key import new_key as random_key
from memoryos.interface.cli import render
from memoryos.interface.cli.key_check import check_key
from memoryos.interface.cli.options import Db, Json


def new_key(
    file: Annotated[Path | None, typer.Argument(help="A new file for it, which only you may read.")] = None,
    json: Json = False,
) -> None:
    """Make a new random key, and print it or write it to a file."""
    made = random_key()
    if file is not None:
        _write(file, made)
    if json:
        render.print_json({"key": made} if file is None else {"file": str(file)})
    elif file is None:
        _print(made)
    else:
        _print(f"A new key is in {file}. Keep it outside the store: without it, nobody can read the store.")


def status(db: Db = None, json: Json = False) -> None:
    """Show whether the store is encrypted, and by how many keys it can be opened. It takes no key."""
    place = db or load_settings().db
    found = stores.encryption_status(place)
    if json:
        render.print_json(found.to_dict())
    elif found.is_encrypted:
        _print(f"{place} is encrypted. Keys that open it: {found.keys}.")
    else:
        _print(f"{place} is not encrypted.")


def encrypt(db: Db = None, json: Json = False) -> None:
    """Encrypt the store under the key of the settings, while nobody has it open."""
    _change(stores.encrypt, "encrypted", db, json=json)


def decrypt(db: Db = None, json: Json = False) -> None:
    """Write the store in clear, while nobody has it open."""
    _change(stores.decrypt, "decrypted", db, json=json)


def reencrypt(db: Db = None, json: Json = False) -> None:
    """Encrypt the store with a new data key, while nobody has it open. Only the key of the settings then opens it."""
    _change(stores.reencrypt, "encrypted again", db, json=json)


def rotate(
    new_key_file: Annotated[Path, typer.Option(help="File with the new key, 32 random characters or more.")],
    keep_old: Annotated[bool, typer.Option("--keep-old", help="Let the key in use open the store as well.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Let another key open the store, which may stay open; nothing is encrypted again."""
    place, key = db or load_settings().db, EncryptionKey.in_file("new_key_file", new_key_file)
    check_key(place, "stores.rotate_encryption_key")
    stores.rotate_encryption_key(place, key.text, keep_old=keep_old)
    keys = stores.encryption_status(place).keys
    if json:
        render.print_json({"store": str(place), "keys": keys})
    else:
        _print(f"The new key opens {place}. Keys that open it: {keys}.")


def _write(file: Path, key: str) -> None:
    """Write the key to a file that does not exist. Raises InvalidInput."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            stream.write(f"{key}\n")
    except OSError as error:
        raise InvalidInput("file", f"{file}: {error.strerror}", "Name a new file") from None


def _change(change: Callable[..., Any], done: str, db: str | None, *, json: bool) -> None:
    place = db or load_settings().db
    check_key(place, f"stores.{change.__name__}")
    with render.counted(done, quiet=json) as progress:
        change(place, progress=progress)
    if json:
        render.print_json({"store": str(place), **stores.encryption_status(place).to_dict()})
    else:
        _print(f"{place} is {done}.")


def _print(line: str) -> None:
    render.console().print(line, markup=False, soft_wrap=True)
