"""The embedded back end: one SQLite file."""

from __future__ import annotations

from memoryos.infrastructure.vault.sqlite.store import SqliteVault

__all__ = ["SqliteVault"]
