"""Which candidate index a store has."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from memoryos.config import Settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.infrastructure.candidates.port import CandidateIndex
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.place import Place, address
from memoryos.infrastructure.vault.sqlite import SqliteVault

_MILVUS = "milvus:"
_LITE = ".db"  # how the name of a file of Milvus Lite ends
_FIX = "Write it as milvus:https://host:19530 or, for Milvus Lite, as milvus:path/to/candidates.db"


def open_candidates(
    vault: Vault, place: Place, settings: Settings, *, embedder: str, dim: int
) -> CandidateIndex | None:
    """The index that the settings name, or the one in the database at `place`; None for a file, if they name none.

    A file's scopes are searched in memory then, however large they are. Nothing is connected to yet. Raises
    InvalidInput for a place that is none, MissingExtra without the client of Milvus.
    """
    if settings.candidates is not None:
        return _milvus(vault, address(place), settings, embedder=embedder, dim=dim)
    if isinstance(vault, SqliteVault):
        return None
    from memoryos.infrastructure.candidates.postgres import PostgresCandidates
    from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault

    return PostgresCandidates(vault, embedder=embedder, dim=dim) if isinstance(vault, PostgresVault) else None


def _milvus(vault: Vault, store: str, settings: Settings, *, embedder: str, dim: int) -> CandidateIndex:
    uri = milvus_uri(settings.candidates or "")
    try:
        from memoryos.infrastructure.candidates.milvus import MilvusCandidates
        from memoryos.infrastructure.candidates.milvus_server import MilvusServer
    except ModuleNotFoundError as error:
        if error.name not in ("pymilvus", "grpc"):
            raise
        raise MissingExtra("A candidate index on Milvus", "milvus") from None
    if uri.endswith(_LITE) and find_spec("milvus_lite") is None:
        raise MissingExtra("Milvus Lite", "milvus")
    token = settings.candidates_token.get_secret_value() if settings.candidates_token else ""
    return MilvusCandidates(MilvusServer(uri, token), store, embedder=embedder, dim=dim, copy_id=vault.copy_id)


def milvus_uri(place: str) -> str:
    """The URI in `milvus:URI`. Raises InvalidInput, which quotes nothing of it: there may be a password."""
    kind, uri = place[: len(_MILVUS)], place[len(_MILVUS) :]
    if kind != _MILVUS:
        raise InvalidInput("candidates", "there is no such candidate index", _FIX)
    if not uri.endswith(_LITE) and urlsplit(uri).scheme not in ("http", "https"):
        raise InvalidInput("candidates", "is neither the address of a Milvus nor a file of Milvus Lite", _FIX)
    return uri
