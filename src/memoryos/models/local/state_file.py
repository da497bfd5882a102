"""State file: a KV state as bytes, in the form of safetensors.

Its metadata names the format, the model's fingerprint and the adapters. The tensors are read in place: nothing is
copied again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from memoryos.errors import ModelError, StateMismatch, StoreCorrupt
from memoryos.models.local.fingerprint import Fingerprint
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter

FORMAT = "memoryos-kv-1"  # raise the number when what is written changes its meaning
TOKENS = "tokens"  # the tensor with the tokens
_HEADER = 8  # bytes that hold the length of the JSON
_BITS = {"F32": 32, "F16": 16, "BF16": 16, "I32": 32, "I8": 8, "U8": 8}
_DAMAGED = "the KV state is damaged: {}; it is built again from its sources"


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A tensor as bytes."""

    dtype: str  #: as safetensors names it, such as F32
    shape: tuple[int, ...]
    data: memoryview


@dataclass(frozen=True, slots=True)
class StateFile:
    """What a file of a KV state holds."""

    fingerprint: Fingerprint
    tokens: tuple[int, ...]
    adapters: Adapters
    tensors: Mapping[str, RawTensor]  #: by name, without the tokens
    bits: int | None = None  #: 8 if the tensors are rounded; None: exact

    def to_bytes(self) -> bytes:
        """Return the file as bytes. Raises ModelError without memory for it."""
        ids = np.asarray(self.tokens, dtype="<i4").tobytes()
        tensors = {TOKENS: RawTensor("I32", (len(self.tokens),), memoryview(ids)), **self.tensors}
        header: dict[str, Any] = {"__metadata__": self._metadata()}
        end = 0
        for name, tensor in tensors.items():
            start, end = end, end + tensor.data.nbytes
            header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": (start, end)}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 64)
        try:
            return b"".join([len(text).to_bytes(_HEADER, "little"), text, *(one.data for one in tensors.values())])
        except MemoryError as error:
            raise ModelError(f"the process ran out of memory for a KV state of {end:,} bytes") from error

    def _metadata(self) -> dict[str, str]:
        adapters = [(one.sha256, one.weight) for one in self.adapters]
        told = {"fingerprint": self.fingerprint.to_json(), "adapters": json.dumps(adapters)}
        return {"format": FORMAT, **told, "bits": json.dumps(self.bits)}

    @classmethod
    def of(cls, data: bytes | memoryview) -> StateFile:
        """Read a file. Raises StoreCorrupt if it is damaged, StateMismatch if another version wrote it."""
        view = memoryview(data)
        try:
            header, body = _parts(view)
            metadata = header.pop("__metadata__")
            if metadata["format"] != FORMAT:
                raise StateMismatch(f"the KV state has the format {metadata['format']!r}, and this version {FORMAT}")
            tensors = {name: _tensor(told, body) for name, told in header.items()}
            ids = np.frombuffer(tensors.pop(TOKENS).data, dtype="<i4")
            adapters = tuple(WeightedAdapter(sha, weight) for sha, weight in json.loads(metadata["adapters"]))
            fingerprint = Fingerprint(**json.loads(metadata["fingerprint"]))
            return cls(fingerprint, tuple(ids.tolist()), adapters, tensors, json.loads(metadata["bits"]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise StoreCorrupt(_DAMAGED.format(error)) from None

    def check(self, fingerprint: Fingerprint) -> None:
        """Raise StateMismatch unless the state is of the model with that fingerprint."""
        if self.fingerprint != fingerprint:
            parts = self.fingerprint.difference(fingerprint)
            raise StateMismatch(f"the KV state belongs to another model: {parts} differ")


def _parts(view: memoryview) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(view[:_HEADER], "little")
    header = json.loads(bytes(view[_HEADER : _HEADER + length]))
    return header, view[_HEADER + length :]


def _tensor(told: dict[str, Any], body: memoryview) -> RawTensor:
    start, end = told["data_offsets"]
    shape = tuple(told["shape"])
    size = math.prod(shape) * _BITS[told["dtype"]] // 8
    if not (0 <= start <= end <= len(body) and end - start == size):
        raise ValueError(f"it ends after {len(body):,} of {end:,} bytes")
    return RawTensor(told["dtype"], shape, body[start:end])
