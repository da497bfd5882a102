"""Fingerprint: what must be the same for a KV state, or an adapter, to fit a model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Fingerprint(Plain):
    """A model as it runs: its weights, its tokenizer, and how it computes."""

    model: str  #: sha256 of its files
    tokenizer: str  #: sha256 of its vocabulary and its chat template
    dtype: str  #: of the keys and values, such as float32
    rope: str  #: how positions are encoded
    runtime: str  #: transformers or llamacpp
    version: str  #: of the runtime

    @property
    def digest(self) -> str:
        """The whole fingerprint as one sha256."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def difference(self, other: Fingerprint) -> str:
        """The names of the parts in which the two differ, for an error."""
        mine, theirs = asdict(self), asdict(other)
        return ", ".join(name for name in mine if mine[name] != theirs[name])


def files_digest(*files: Path) -> str:
    """The sha256 of the contents of files, in this order."""
    return sha256("".join(_digest(file) for file in files).encode()).hexdigest()


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()
