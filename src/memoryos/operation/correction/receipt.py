"""Receipt: a signed record of what was forgotten, and of what the store cannot reach.

The signature is an HMAC-SHA256 with a key from the store, so whoever has the store can check a receipt, and could also
forge one. It shows that a receipt came from this store and was not changed; it proves nothing against the operator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.erasure_part import KnownCopy
from memoryos.plain import Plain
from memoryos.signing import is_signed, key_name, signature_of

FORMAT = "memoryos-receipt-1"
EXPORTED = (
    "The store does not know which files `export` wrote: delete those with this memory. `load` into this store leaves "
    "out of them what it has removed; another store takes it in"
)
_FIX = "Pass the JSON of a receipt of this store, as `forget` gave it"


@dataclass(frozen=True, slots=True)
class Receipt(Plain):
    """What was forgotten, when and by whom; what is left; and the signature of the store."""

    subject: Mapping[str, str | None]  #: tenant, user, agent, session and memory; None: all of them
    at: datetime  #: when it was done
    by: str  #: identity of the caller
    memories: Mapping[str, int]  #: removed memories by kind, with all versions, vectors, passages and links
    places: Mapping[str, int]  #: removed rows by table, and objects
    left: Mapping[str, int]  #: rows that a check found afterwards, by table; empty if all are gone
    copies: tuple[KnownCopy, ...] = ()  #: backups and copies of the store that may still hold it
    mounts: tuple[str, ...] = ()  #: mounted memories, which are not touched
    advice: tuple[str, ...] = ()  #: what the store cannot remove by itself, and what to do about it
    format: str = FORMAT  #: name of the format of this record
    key: str = field(default="", compare=False)  #: which key signed it: the beginning of its hash
    signature: str = field(default="", compare=False)  #: HMAC-SHA256 of all other fields, in hexadecimal

    def signed(self, key: bytes) -> Receipt:
        """The receipt with its signature."""
        named = replace(self, key=key_name(key), signature="")
        return replace(named, signature=signature_of(named.to_dict(), key))


def checked_receipt(text: str, key: bytes | None) -> Mapping[str, Any]:
    """The fields of a receipt that this store signed. Raises InvalidInput for any other text."""
    told = _read(text)
    if key is None or told["key"] != key_name(key):
        raise InvalidInput("receipt", "was signed by another store", _FIX)
    if not is_signed(told, key):
        raise InvalidInput("receipt", "was changed after it was signed", _FIX)
    return told


def _read(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise InvalidInput("receipt", "is not JSON", _FIX) from None
    if (
        not isinstance(told, dict)
        or told.get("format") != FORMAT
        or told.keys() != {one.name for one in fields(Receipt)}
    ):
        raise InvalidInput("receipt", "is not a receipt that this program reads", _FIX)
    return told


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; a repeated name would show another value to a reader of the text. Raises ValueError."""
    told = dict(pairs)
    if len(told) < len(pairs):
        raise ValueError("a name comes twice")
    return told
