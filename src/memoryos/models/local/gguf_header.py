"""GgufHeader: what a GGUF file says of its model before its weights. Its lists, such as the vocabulary, are skipped."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from memoryos.errors import ModelError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}  # by type
_TEXT, _LIST = 8, 9
_MAGIC, _VERSIONS = b"GGUF", (2, 3)

Value = int | float | str


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The numbers and texts of a GGUF file, and the sizes of its tensors."""

    values: Mapping[str, Value]
    shapes: Mapping[str, tuple[int, ...]]  #: by the name of the tensor, as llama.cpp counts: inputs first

    @classmethod
    def of(cls, files: Sequence[Path]) -> GgufHeader:
        """Read the files of one model. Raises ModelError."""
        values: dict[str, Value] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for file in files:
            try:
                with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
                    reading = _HeaderReading(data)
                    values |= reading.values()
                    shapes |= reading.shapes()
            except (OSError, ValueError, KeyError, struct.error) as error:
                raise ModelError(f"the file {file} cannot be read as GGUF: {error!r:.200}") from error
        return cls(values, shapes)

    def number(self, name: str) -> int:
        """A number of the architecture, such as `attention.head_count`. Raises ModelError."""
        value = self.values.get(f"{self.architecture}.{name}")
        if not isinstance(value, int):
            raise ModelError(f"the GGUF file does not say its {name}")
        return value

    @property
    def architecture(self) -> str:
        """How llama.cpp calls this kind of model."""
        return str(self.values.get("general.architecture", ""))


class _HeaderReading:
    """Reads a header from its beginning."""

    def __init__(self, data: mmap) -> None:
        self._data, self._at = data, len(_MAGIC)
        if data[: len(_MAGIC)] != _MAGIC or self._number("I") not in _VERSIONS:
            raise ValueError("it has another magic number or version")
        self._tensors, self._count = int(self._number("Q")), int(self._number("Q"))

    def values(self) -> dict[str, Value]:
        """The numbers and texts."""
        found = {}
        for _ in range(self._count):
            name, value = self._text(), self._value(int(self._number("I")))
            if value is not None:
                found[name] = value
        return found

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The sizes of the tensors, which stand behind the values."""
        found = {}
        for _ in range(self._tensors):
            name = self._text()
            found[name] = tuple(int(self._number("Q")) for _ in range(int(self._number("I"))))
            self._at += 12  # its type, and where it is
        return found

    def _number(self, form: str) -> int | float:
        (number,) = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return number  # type: ignore[no-any-return]

    def _text(self) -> str:
        size = int(self._number("Q"))
        begin, self._at = self._at, self._at + size
        return self._data[begin : self._at].decode(errors="replace")

    def _value(self, kind: int) -> Value | None:
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            return self._number(_NUMBERS[kind])
        inner, count = int(self._number("I")), int(self._number("Q"))
        if inner in _NUMBERS:
            self._at += count * struct.calcsize(f"<{_NUMBERS[inner]}")
        else:
            for _ in range(count):
                self._value(inner)
        return None
