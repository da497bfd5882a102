"""Arrays: an index as plain arrays by name, and back.

Nothing here lists the columns of an index: what is kept is every attribute but those in NOT_KEPT, so a new column is
kept without a change here.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.infrastructure.vault.index_files import Storable
from memoryos.operation.index.column import Column, Matrix
from memoryos.operation.index.facets import Facets
from memoryos.operation.index.postings import Postings

Arrays = Mapping[str, NDArray[Any]]

NOT_KEPT = frozenset(  # attributes that are empty when an index is kept, or are made when they are needed
    ("corpus", "_derived", "_seen", "_admitted", "_new", "_tail", "_lexicon", "_near")
)

_TEXTS = "texts"  # the array with every text once, as JSON
_AT_A_TIME = 4_096  # texts that are encoded at once
_NO_TEXT = -1  # in the place of a text's number


def kept(owner: object) -> list[tuple[str, Any]]:
    """The attributes to write; single numbers are left out, because the constructor sets them."""
    return [(name, one) for name, one in vars(owner).items() if name not in NOT_KEPT and not isinstance(one, int)]


class ArrayWriter:
    """Writes objects as arrays; each text is written once and referred to by a number."""

    def __init__(self) -> None:
        self._arrays: dict[str, Storable] = {}
        self._numbers: dict[str, int] = {}

    @property
    def arrays(self) -> Mapping[str, Storable]:
        """All that was written; later changes of the objects do not show in it, but for rows cleared in a matrix."""
        return self._arrays | {_TEXTS: np.frombuffer(_listed(self._numbers), np.uint8)}

    def write(self, prefix: str, owner: object) -> None:
        """Write the attributes of an object. Raises TypeError when one has a type that is not known here."""
        for name, value in kept(owner):
            self._write(f"{prefix}.{name}", value)

    def _write(self, name: str, value: object) -> None:
        match value:
            case Column():
                self._arrays[name] = value.values.copy()
            case Matrix():
                self._arrays |= {f"{name}.{number}": block for number, block in enumerate(value.blocks)}
            case np.ndarray():
                self._arrays[name] = value
            case array():
                self._arrays[name] = np.array(value)
            case list():
                self._arrays[name] = self._numbered(value)
            case dict():
                self._write_dictionary(name, value)
            case Postings() | Facets():
                self.write(name, value)
            case _:
                raise TypeError(f"{name}: a {type(value).__name__} cannot be saved; add it to NOT_KEPT")

    def _write_dictionary(self, name: str, value: Mapping[Any, Any]) -> None:
        """The keys are texts or numbers; the values are numbers, or lists or sets of them."""
        has_numbers = any(isinstance(key, int) for key in value)
        self._arrays[f"{name}.keys"] = np.array(list(value), np.int64) if has_numbers else self._numbered(value)
        self._arrays[f"{name}.has_numbers"] = np.array(has_numbers)
        values = value.values()
        numbers: Iterable[int] = values
        first = next(iter(values), 0)
        if not isinstance(first, int):
            kind = "sets" if isinstance(first, set) else "lists"
            self._arrays[f"{name}.{kind}"] = np.fromiter(map(len, values), np.int64)
            numbers = chain.from_iterable(values)
        self._arrays[f"{name}.values"] = np.fromiter(numbers, np.int64)

    def _numbered(self, texts: Iterable[str | None]) -> NDArray[np.int64]:
        numbers = self._numbers
        found = (_NO_TEXT if text is None else numbers.setdefault(text, len(numbers)) for text in texts)
        return np.fromiter(found, np.int64)


def _listed(texts: Iterable[str]) -> bytes:
    """A list of texts as JSON, in batches, because the encoder needs much memory."""
    source = iter(texts)
    groups = iter(lambda: list(islice(source, _AT_A_TIME)), [])
    return b"[" + b", ".join(json.dumps(group)[1:-1].encode() for group in groups) + b"]"


class ArrayReader:
    """Reads what an ArrayWriter wrote into new objects. What does not fit raises KeyError, ValueError or IndexError."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._texts: list[str | None] = [*json.loads(arrays[_TEXTS].tobytes()), None]  # the last is at _NO_TEXT

    def read(self, prefix: str, owner: object) -> None:
        """Set the written attributes of a new, empty object."""
        for name, empty in kept(owner):
            setattr(owner, name, self._read(f"{prefix}.{name}", empty))

    def _read(self, name: str, empty: Any) -> Any:
        match empty:
            case Column():
                empty.extend(self._arrays[name])
            case Matrix():
                self._read_matrix(name, empty)
            case np.ndarray():
                return self._arrays[name]
            case array():
                return array(empty.typecode, self._arrays[name].tobytes())
            case list():
                return self._read_texts(name)
            case dict():
                return self._read_dictionary(name)
            case _:
                self.read(name, empty)
        return empty

    def _read_matrix(self, name: str, matrix: Matrix) -> None:
        number = 0
        while (block := self._arrays.get(f"{name}.{number}")) is not None:
            matrix.append(block.astype(np.float32, copy=False))
            number += 1

    def _read_texts(self, name: str) -> list[str | None]:
        return [self._texts[number] for number in self._arrays[name].tolist()]

    def _read_dictionary(self, name: str) -> dict[Any, Any]:
        numbers = bool(self._arrays[f"{name}.has_numbers"])
        keys = self._arrays[f"{name}.keys"].tolist() if numbers else self._read_texts(f"{name}.keys")
        values = self._arrays[f"{name}.values"].tolist()
        for kind, make in (("lists", list), ("sets", set)):
            if (lengths := self._arrays.get(f"{name}.{kind}")) is not None:
                ends = np.cumsum(lengths)
                parts = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
                values = [make(values[start:end]) for start, end in parts]
        return dict(zip(keys, values, strict=True))
