"""LlamacppState: what llama.cpp saves of its slot, as it is."""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np

from memoryos.errors import StoreCorrupt
from memoryos.models.local.state_file import RawTensor
from memoryos.models.local.weighted_adapter import Adapters, without_files

_MAGIC = int.from_bytes(b"qsgg", "little")  # of a file with the state of one sequence
_WORDS = 3  # at its beginning: the magic number, the version, the number of tokens
_LISTED = [-1, 1]  # before the tokens: that they are a list of the server, in its first version
SLOT = "slot"  # the tensor in a state file


@dataclass(frozen=True, slots=True)
class LlamacppState:
    """The saved keys and values of the first tokens of a prompt."""

    tokens: tuple[int, ...]
    data: bytes | memoryview | mmap.mmap
    adapters: Adapters = ()

    @classmethod
    def of(cls, data: bytes | memoryview | mmap.mmap, adapters: Adapters) -> LlamacppState:
        """The state in what was saved. Raises StoreCorrupt if it is none."""
        words = np.frombuffer(data, dtype="<u4", count=min(_WORDS, len(data) // 4))
        if len(words) < _WORDS or words[0] != _MAGIC or len(data) < 4 * (_WORDS + int(words[2])):
            raise StoreCorrupt("the KV state is damaged: it is none of llama.cpp; it is built again from its sources")
        numbers = np.frombuffer(data, dtype="<i4", count=int(words[2]), offset=4 * _WORDS).tolist()
        return cls(_tokens(numbers), data, without_files(adapters))

    @property
    def nbytes(self) -> int:
        """Bytes of what was saved."""
        return len(self.data)

    def tensor(self) -> RawTensor:
        """The state as a tensor of a state file."""
        return RawTensor("U8", (len(self.data),), memoryview(self.data))


def _tokens(numbers: list[int]) -> tuple[int, ...]:
    """The tokens among the numbers: -1, 1, how many, the tokens, and how many images (0)."""
    if numbers[:2] != _LISTED or len(numbers) < 3 or len(numbers) != numbers[2] + 4 or numbers[-1] != 0:
        raise StoreCorrupt("the KV state is of another version of llama.cpp; it is built again from its sources")
    return tuple(numbers[3:-1])
