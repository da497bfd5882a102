"""A pack: the documents of some pages as one immutable object, gzipped JSON lines.

Its name holds the sha256 of its bytes, and a number of its own, so that no name is used twice: a pack can be removed
without asking whether the same was packed again meanwhile.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from uuid_utils.compat import uuid7

from memoryos.errors import StoreCorrupt

COLD = '{"cold":'  # the start of a reference; a document starts with its id
_SUFFIX = ".jsonl.gz"


@dataclass(frozen=True, slots=True)
class Pack:
    """Documents by the id of their cube."""

    name: str
    documents: Mapping[str, str]
    data: bytes  #: as the object store has it

    @classmethod
    def of(cls, documents: Mapping[str, str]) -> Self:
        """A new pack."""
        lines = (json.dumps({"id": key, "document": text}, ensure_ascii=False) for key, text in documents.items())
        data = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
        return cls(f"{uuid7()}.{sha256(data).hexdigest()}{_SUFFIX}", dict(documents), data)

    @classmethod
    def read(cls, name: str, data: bytes | None) -> Self:
        """The pack in an object. Raises StoreCorrupt if the bytes differ from those that were stored."""
        if data is None:
            raise StoreCorrupt(f"the pack {name} is missing in the object store: restore the object from a copy")
        if sha256(data).hexdigest() != name.removesuffix(_SUFFIX).rsplit(".", 1)[-1]:
            raise StoreCorrupt(f"the pack {name} in the object store is damaged: restore the object from a copy")
        try:
            lines = [json.loads(line) for line in gzip.decompress(data).decode().split("\n") if line]
            return cls(name, {line["id"]: line["document"] for line in lines}, data)
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"the pack {name} in the object store cannot be read") from error


def reference(name: str, document: str) -> str:
    """The reference that replaces a document in that pack."""
    digest = sha256(document.encode()).hexdigest()
    return f"{COLD}{json.dumps({'pack': name, 'sha256': digest}, separators=(',', ':'))}}}"


def is_cold(document: str) -> bool:
    """Whether it is a reference."""
    return document.startswith(COLD)


def pack_of(document: str) -> str:
    """The name of the pack that a reference leads to. Raises StoreCorrupt."""
    return _read(document)[0]


def found_in(pack: Pack, cube_id: str, document: str) -> str:
    """The document that a reference stands for. Raises StoreCorrupt."""
    known = pack.documents.get(cube_id)
    if known is None or sha256(known.encode()).hexdigest() != _read(document)[1]:
        raise StoreCorrupt(f"the pack {pack.name} does not hold the document of {cube_id}")
    return known


def _read(document: str) -> tuple[str, str]:
    try:
        told = json.loads(document)["cold"]
        return str(told["pack"]), str(told["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt("the reference to a pack cannot be read; restore from a backup") from error
