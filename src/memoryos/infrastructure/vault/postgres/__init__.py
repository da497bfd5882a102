"""The back end for many machines: a PostgreSQL database."""

from __future__ import annotations

from memoryos.infrastructure.vault.postgres.store import PostgresVault

__all__ = ["PostgresVault"]
