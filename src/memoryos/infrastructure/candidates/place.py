"""Which candidate index a store has."""

from __future__ import annotations

from memoryos.infrastructure.candidates.contract import CandidateIndex
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.sqlite import SqliteVault


def open_candidates(vault: Vault, *, embedder: str, dim: int) -> CandidateIndex | None:
    """The index beside the store; None for a file, whose scopes are searched in memory however large they are."""
    if isinstance(vault, SqliteVault):
        return None
    from memoryos.infrastructure.candidates.postgres import PostgresCandidates
    from memoryos.infrastructure.vault.postgres import PostgresVault

    return PostgresCandidates(vault, embedder=embedder, dim=dim) if isinstance(vault, PostgresVault) else None
