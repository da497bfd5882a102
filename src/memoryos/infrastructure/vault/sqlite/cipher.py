"""Cipher: the driver of a file, SQLite's own or SQLCipher's, which encrypts every page, the log and the journal."""

from __future__ import annotations

import sqlite3
from functools import partial
from types import SimpleNamespace
from typing import Any

from memoryos.errors import MissingExtra
from memoryos.infrastructure.encryption.data_key import DataKey

FORM = 4  # of SQLCipher, whatever the default of a later one is


def driver(key: DataKey | None) -> Any:
    """The DB-API module for files in clear, or for those of that key. Raises MissingExtra."""
    if key is None:
        return sqlite3
    module = cipher_module()
    return SimpleNamespace(**{**vars(module), "connect": partial(_connected, module, key)})


def cipher_module() -> Any:
    """SQLCipher's DB-API module; it also opens files in clear. Raises MissingExtra."""
    try:
        import cryptography  # noqa: F401 - files beside the store need it
        from sqlcipher3 import dbapi2
    except ModuleNotFoundError as error:
        if error.name not in ("sqlcipher3", "cryptography"):
            raise
        raise MissingExtra("An encrypted store", "encryption") from None
    return dbapi2


def pragma_key(key: DataKey) -> str:
    """The key as SQLCipher takes it: as it is, without a derivation that would take a fifth of a second."""
    return f"x'{key.of_database().hex()}'"


def _connected(module: Any, key: DataKey, *arguments: Any, **options: Any) -> Any:
    connection = module.connect(*arguments, **options)
    connection.execute("PRAGMA cipher_log_level = NONE")  # it would write errors to the terminal
    connection.execute(f'PRAGMA key = "{pragma_key(key)}"')
    connection.execute(f"PRAGMA cipher_compatibility = {FORM}")
    return connection
