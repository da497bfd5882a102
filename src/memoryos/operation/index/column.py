"""Columns: arrays that grow in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.operation.index.beside import shared

_GROWTH = 1.25  # doubling would waste up to half of the memory
_ALONE = 1 << 18  # numbers multiplied: the most that OpenBLAS does in one thread
_ROUNDING = 1e-4  # more than two ways to add up a product of unit vectors differ by
_BLOCK_BYTES = 16 * 1024 * 1024  # of vectors; a block never moves, so growing needs no second copy of them
_SHARED = 2_048  # rows multiplied at once where several threads may
_COMPARED = 1_024  # rows at once: a comparison makes copies


class Column:
    """One number per row."""

    def __init__(self, dtype: Any) -> None:
        self._data: NDArray[Any] = np.empty(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        """All rows, shape (n,); rows appended later are not seen in it."""
        return self._data[: self._length]

    @property
    def nbytes(self) -> int:
        """Bytes held, unused rows included."""
        return self._data.nbytes

    def item(self, row: int) -> int:
        """The number of one row of a column of whole numbers."""
        number: int = self._data.item(row)
        return number

    @classmethod
    def of(cls, values: NDArray[Any]) -> Column:
        """A column with these rows."""
        made = cls(values.dtype)
        made.extend(values)
        return made

    def fixed(self) -> Column:
        """The rows that there are now; it does not grow with this column, but changes of these rows show in it."""
        return copy(self)

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Append rows."""
        end = self._length + len(values)
        if end > len(self._data):
            larger = np.empty(max(end, int(len(self._data) * _GROWTH), 64), self._data.dtype)
            larger[: self._length] = self._data[: self._length]
            self._data = larger
        self._data[self._length : end] = values
        self._length = end


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows of a matrix, shape (k, dim), which become an array when they are written: all at once would be large.

    A row that is cleared meanwhile shows in it; one that is appended does not.
    """

    rows: NDArray[np.float32]
    dtype: np.dtype[Any]  #: of the array

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> Block:
        """The same numbers, in half the bytes if possible."""
        parts = (rows[start : start + _COMPARED] for start in range(0, len(rows), _COMPARED))
        can_be = all(np.array_equal(_as(part, np.float16), part) for part in parts)
        return cls(rows, np.dtype(np.float16 if can_be else np.float32))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""
        return self.rows.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The rows as they are now."""
        return _as(self.rows, dtype or self.dtype)


class Matrix:
    """One float32 vector per row, in blocks of contiguous rows."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._block_rows = max(1, _BLOCK_BYTES // (4 * dim))
        self._blocks: list[NDArray[np.float32]] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes held, unused rows included."""
        return sum(block.nbytes for block in self._blocks)

    @property
    def blocks(self) -> list[Block]:
        """All rows in parts; as float16 where that loses nothing, for so the store has vectors."""
        used = [len(block) for block in self._blocks]
        if used:
            used[-1] = self._length - (len(used) - 1) * self._block_rows
        return [Block.of(block[:rows]) for block, rows in zip(self._blocks, used, strict=True)]

    def fixed(self) -> Matrix:
        """The rows that there are now; it does not grow with this matrix, but a row that is cleared shows in it."""
        fixed = copy(self)
        fixed._blocks = self._blocks.copy()
        return fixed

    def append(self, vectors: NDArray[np.float32]) -> None:
        """Append rows, shape (k, dim)."""
        done = 0
        while done < len(vectors):
            block, used = divmod(self._length, self._block_rows)
            self._make_room(block, used + len(vectors) - done)
            taken = vectors[done : done + self._block_rows - used]
            self._blocks[block][used : used + len(taken)] = taken
            self._length += len(taken)
            done += len(taken)

    def _make_room(self, block: int, rows: int) -> None:
        """Enlarge the block for that many rows, up to its full size, so that small scopes need no whole block."""
        if block == len(self._blocks):
            self._blocks.append(np.empty((0, self._dim), np.float32))
        have = self._blocks[block]
        if rows > len(have):
            size = min(self._block_rows, max(rows, 2 * len(have), 16))
            larger = np.zeros((size, self._dim), np.float32)
            larger[: len(have)] = have
            self._blocks[block] = larger

    def dot(self, vector: NDArray[np.float32], first: int = 0) -> NDArray[np.float32]:
        """The product of the rows from `first` on with the vector, shape (n - first,)."""
        return self.dots(vector[None], first)[:, 0]

    def dots(self, vectors: NDArray[np.float32], first: int = 0) -> NDArray[np.float32]:
        """The products of the rows from `first` on with k vectors, shape (n - first, k).

        Row by row and not as one product of matrices: that is as fast without BLAS's threads, which wait for each
        other when the machine is busy, and a row's result does not depend on the rows beside it.
        """
        result = np.empty((self._length - first, len(vectors)), np.float32)
        for place, rows in self._from(first):
            np.vecdot(rows[:, None], vectors, out=result[place : place + len(rows)])  # read once for all the vectors
        return result

    def near(
        self, vectors: NDArray[np.float32], least: float, first: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Where products of `dots` are at least `least`: rows from `first` on, which vector, and the products.

        Products of small matrices tell where that may be, in half the time; BLAS starts no threads for them.
        """
        if not vectors.size:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        turned = np.ascontiguousarray(vectors.T)
        about = np.empty((self._length - first, len(vectors)), np.float32)
        parts = [
            partial(_multiply, rows[start : start + _SHARED], turned, result[start : start + _SHARED])
            for place, rows in self._from(first)
            for result in [about[place : place + len(rows)]]
            for start in range(0, len(rows), _SHARED)
        ]
        if len(parts) > 1:
            shared(parts)
        else:
            for part in parts:
                part()
        rows, columns = np.divmod(np.flatnonzero(about >= least - _ROUNDING), len(vectors))  # faster than by column
        products = np.vecdot(self.rows(rows + first), vectors[columns])
        found = products >= least
        return rows[found] + first, columns[found], products[found]

    def _from(self, first: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The rows from `first` on, block by block, each block with the number of rows before it."""
        for number, block in enumerate(self._blocks):
            start = number * self._block_rows
            end = min(start + self._block_rows, self._length)
            if end > first:
                yield max(start - first, 0), block[max(first - start, 0) : end - start]

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows, shape (k, dim)."""
        places, numbers = np.divmod(numbers, self._block_rows)
        if not places.any() and self._blocks:
            return self._blocks[0].take(numbers, axis=0)
        found = np.empty((len(numbers), self._dim), np.float32)
        for place in np.unique(places).tolist():
            here = places == place
            found[here] = self._blocks[place].take(numbers[here], axis=0)
        return found

    def clear(self, numbers: Sequence[int]) -> None:
        """Overwrite some rows with zeros."""
        for number in numbers:
            block, row = divmod(number, self._block_rows)
            self._blocks[block][row] = 0


def _multiply(rows: NDArray[np.float32], turned: NDArray[np.float32], result: NDArray[np.float32]) -> None:
    """Write the products of the rows with vectors: one call, of which each matrix is small enough."""
    dim, count = turned.shape
    at_once = max(1, _ALONE // turned.size)
    parts = len(rows) // at_once
    whole = parts * at_once
    np.matmul(rows[:whole].reshape(parts, at_once, dim), turned, out=result[:whole].reshape(parts, at_once, count))
    np.matmul(rows[whole:], turned, out=result[whole:])


def _as(rows: NDArray[np.float32], dtype: Any) -> NDArray[Any]:
    """A copy with another number type; values that are too large become infinite."""
    with np.errstate(over="ignore"):
        return rows.astype(dtype)
