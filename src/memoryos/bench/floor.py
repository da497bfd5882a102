"""The floor of speed on this machine: the embedder, a matrix product and a transaction alone.

The SQL here measures SQLite itself, below the vault and without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from memoryos.bench.timing import median_ms, milliseconds
from memoryos.models.embedder import Embedder

QUERIES = 30
PRODUCTS = 50
TRANSACTIONS = 100

_ROW = "a small row of about forty characters..."


@dataclass(frozen=True, slots=True)
class Floor:
    """Medians of some calls, except the batch, which is one call."""

    embed_ms: float  #: one question
    embed_exchange_ms: float  #: the two texts of one add, not seen before
    embed_texts_per_s: float  #: turns, all at once
    matvec_ms: float  #: the vectors of all turns by one vector, float32
    txn_ms: float  #: one row, durably


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts for the embedder alone."""

    turns: Sequence[str]  #: in one batch
    questions: Sequence[str]
    exchanges: Sequence[tuple[str, str]]  #: as new to the embedder as what people say


def measure_floor(embedder: Embedder, texts: Texts, turns: int, folder: Path) -> Floor:
    """Measure with these texts, that many rows, and a database of its own in the folder of the store."""
    batch_ms = milliseconds(partial(embedder.embed, texts.turns))
    return Floor(
        embed_ms=median_ms(partial(embedder.embed, [query]) for query in texts.questions[:QUERIES]),
        embed_exchange_ms=median_ms(partial(embedder.embed, exchange) for exchange in texts.exchanges),
        embed_texts_per_s=len(texts.turns) / batch_ms * 1000,
        matvec_ms=_product_ms(turns, embedder.dim),
        txn_ms=_transaction_ms(folder / "floor.db"),
    )


def _product_ms(rows: int, dim: int) -> float:
    random = np.random.default_rng(rows)
    matrix = random.standard_normal((rows, dim), dtype=np.float32)
    vector = random.standard_normal(dim, dtype=np.float32)
    return median_ms([partial(np.matmul, matrix, vector)] * PRODUCTS)


def _transaction_ms(path: Path) -> float:
    with _rows(path) as insert:
        return median_ms([insert] * TRANSACTIONS)


@contextmanager
def least_add(embedder: Embedder, path: Path) -> Iterator[Callable[[tuple[str, str]], None]]:
    """A function that embeds the two texts of one add and commits a row, in a database of its own."""
    with _rows(path) as insert:

        def add(exchange: tuple[str, str]) -> None:
            embedder.embed(exchange)
            insert()

        yield add


@contextmanager
def _rows(path: Path) -> Iterator[Callable[[], object]]:
    """Create a table in a file of its own; return a function that commits one more row."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # as the vault has it
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)")
        # Outside BEGIN each statement is a transaction of its own, committed when it returns.
        yield partial(connection.execute, "INSERT INTO rows (text) VALUES (?)", (_ROW,))
