"""Swept: which messages of other systems had pages here that expired, so that an import does not bring them back.

Only a hash of the id that a message has in its source is kept, and nothing of what it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from memoryos.infrastructure.vault.contract import Reader, Writer


def note_swept(writer: Writer, source_ids: Iterable[str]) -> None:
    """Record that the pages of these messages expire."""
    for source_id in source_ids:
        writer.write_note(_key(source_id), "")


def swept_among(reader: Reader, source_ids: Iterable[str]) -> list[str]:
    """Those of these messages whose pages expired."""
    return [source_id for source_id in source_ids if reader.note(_key(source_id)) is not None]


def _key(source_id: str) -> str:
    return f"swept:{blake2b(source_id.encode(), digest_size=16).hexdigest()}"
