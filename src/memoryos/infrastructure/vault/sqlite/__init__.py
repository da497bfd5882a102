"""The embedded back end: one SQLite file."""

from __future__ import annotations

from memoryos.infrastructure.vault.sqlite.sqlite_vault import (
    SqliteVault,
    create_private,
    put_in_one_file,
    read_only_engine,
)

__all__ = ["SqliteVault", "create_private", "put_in_one_file", "read_only_engine"]
