"""PostgresCandidates: the turns of large owners in PostgreSQL, by pgvector and an inverted index.

Each owner has tables of their own in the schema `memoryos_candidates`, so an index holds nobody else's turns, and a
search has none of them to leave out after the fact. Few turns are compared one by one, which is exact; from HNSW_FROM
on, HNSW finds the nearest, and goes on when a condition left out too many of those that it found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_bytes
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Identity,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    and_,
    text,
)

from memoryos.cached_property import cached_property
from memoryos.errors import IndexFailed, StorageError
from memoryos.infrastructure.candidates.port import Change, IndexTotals, Narrow, Place
from memoryos.infrastructure.candidates.turns_table import LAYOUT, SCHEMA, TurnsTable
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.infrastructure.vault.postgres_tables import policy
from memoryos.infrastructure.vault.records import StoredPassage, Vector
from memoryos.infrastructure.vault.tables import OWNER, owner_row
from memoryos.language.bm25 import idf
from memoryos.scope import Scope

HNSW_FROM = 50_000  # turns
SCANNED = 50_000  # turns whose BM25 is computed for a question, at most

_SEARCHING = {  # HNSW's own default gives up after 20,000 turns
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "400000",
}

_NO_PGVECTOR = (  # only a superuser may do it
    "the database has no pgvector, which finds the turns of large scopes;"
    " let an administrator of the database run: CREATE EXTENSION vector"
)

_SECRET_BYTES = 16

# Whether the tables are there, and of our layout.
_SECRETS = text("SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(:owners) AND attname = 'secret'")

_C = Text(collation="C")
_owners = Table(
    "owners",
    MetaData(schema=SCHEMA),
    *(Column(name, _C, primary_key=True) for name in OWNER),
    Column("number", BigInteger, Identity(), primary_key=True),  # in the names of the owner's tables
    Column("secret", LargeBinary, nullable=False),  # what the numbers of the owner's words are made with
    Column("made_by", _C, nullable=False),
    Column("reached", BigInteger),  # NULL, like those that follow, until all is there
    Column("turns", BigInteger),
    Column("words", BigInteger),
)


class PostgresCandidates:
    """The candidate index in the database of a vault; `embedder` names what makes its vectors, of length `dim`.

    An index of the store that a copy replaced does not count as an index of the copy.
    """

    def __init__(self, vault: PostgresVault, *, embedder: str, dim: int) -> None:
        self._vault = vault
        self._embedder = embedder
        self._dim = dim
        self._is_ready = False  # the schema, as far as we know

    def reached(self, owner: Scope) -> int | None:
        """The event up to which the owner was followed."""
        with self._transaction(owner.tenant) as connection:
            known = self._current(connection, owner)
            return known.reached if known else None

    @contextmanager
    def asking(self, owner: Scope) -> Iterator[PostgresTurns]:
        """The owner's turns."""
        with self._transaction(owner.tenant, **_SEARCHING) as connection:
            known = self._current(connection, owner)
            if known is None:
                raise IndexFailed("this scope has no candidate index for this embedder; build it")
            table = TurnsTable(connection, owner.tenant, known.number, known.secret)
            yield PostgresTurns(table, IndexTotals(known.turns, known.words))

    def build(self, owner: Scope, passages: Iterable[StoredPassage], reached: int) -> None:
        """Rebuild the owner's index in one transaction; if two processes do so at once, one waits."""
        self._prepare()
        with self._transaction(owner.tenant, alone=_lock(owner)) as connection:
            secret = token_bytes(_SECRET_BYTES)
            new = {**owner_row(owner), "secret": secret, "made_by": self._made_by}
            number = connection.execute(_owners.insert().values(new).returning(_owners.c.number)).scalar_one()
            table = TurnsTable(connection, owner.tenant, number, secret)
            table.create(self._dim)
            totals = table.fill(passages)
            table.index(vectors=totals.turns >= HNSW_FROM)
            _note(connection, number, reached, totals)
            _drop(connection, owner, before=number)

    def apply(self, owner: Scope, change: Change) -> None:
        """Apply a change, unless another process has applied it."""
        with self._transaction(owner.tenant) as connection:
            known = self._current(connection, owner, lock=True)
            if known is None or known.reached != change.after:
                return
            table = TurnsTable(connection, owner.tenant, known.number, known.secret)
            lost = table.remove([*change.gone, *dict.fromkeys(turn.page for turn in change.changed)])
            won = table.fill(change.changed)
            table.note(change.noted)
            totals = IndexTotals(known.turns + won.turns - lost.turns, known.words + won.words - lost.words)
            _note(connection, known.number, change.reached, totals)

    def forget(self, owner: Scope) -> None:
        """Drop the owner's tables."""
        with self._transaction(owner.tenant, alone=_lock(owner)) as connection:
            if self._has_schema(connection):
                _drop(connection, owner)

    def close(self) -> None:
        """Do nothing, because the connections belong to the vault."""

    @contextmanager
    def _transaction(self, tenant: str, *, alone: str | None = None, **settings: str) -> Iterator[Connection]:
        """A transaction on the index. If it fails, searches work without the index."""
        try:
            with self._vault.transaction(tenant, alone=alone, **settings) as connection:
                yield connection
        except StorageError as error:
            raise IndexFailed(str(error)) from error

    @cached_property
    def _made_by(self) -> str:
        return f"{self._embedder}/{self._dim}/{LAYOUT}/{self._vault.copy_id() or ''}"

    def _current(self, connection: Connection, owner: Scope, *, lock: bool = False) -> Row[Any] | None:
        """The row of the owner's index, if there is one."""
        if not self._has_schema(connection):
            return None
        query = _owners.select().where(_of(owner), _owners.c.made_by == self._made_by)
        return connection.execute(query.with_for_update() if lock else query).one_or_none()

    def _has_schema(self, connection: Connection) -> bool:
        if not self._is_ready:
            self._is_ready = connection.execute(_SECRETS, {"owners": f"{SCHEMA}.owners"}).scalar() is not None
        return self._is_ready

    def _prepare(self) -> None:
        """Create the schema and the table of owners."""
        with self._transaction("", alone="candidates") as connection:
            if self._has_schema(connection):
                return
            if connection.execute(text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")).scalar() is None:
                raise StorageError(_NO_PGVECTOR)
            connection.execute(text(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))  # of an older layout
            connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
            _owners.create(connection)
            for statement in policy(f"{SCHEMA}.owners"):
                connection.execute(text(statement))


class PostgresTurns:
    """One owner's turns, for one question."""

    def __init__(self, table: TurnsTable, totals: IndexTotals) -> None:
        self._table = table
        self.totals = totals

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        """The nearest turns; exact among few, nearly so by HNSW."""
        return self._table.nearest(vector, limit, narrow)

    def matching(self, stems: Sequence[str], limit: int, narrow: Narrow) -> list[Place]:
        """The best turns by BM25 among those that have one of the rarer words.

        A word that occurs in many turns has little weight, and counting it takes long.
        """
        found = self.frequencies(set(stems))
        rare, counted = [], 0
        for term, frequency in sorted(found.items(), key=lambda item: item[1]):
            counted += frequency
            if counted <= SCANNED:
                rare.append(term)
        weights = {term: float(idf(frequency, self.totals.turns)) for term, frequency in found.items()}
        return self._table.matching(rare, weights, self.totals, limit, narrow) if rare else []

    def farthest(self, vector: Vector) -> float:
        """The cosine of the turn that is nearest to the opposite direction."""
        return self._table.farthest(vector)

    def frequencies(self, stems: Collection[str]) -> Mapping[str, int]:
        """The number of turns with each of these stems."""
        return self._table.frequencies(stems)


def _lock(owner: Scope) -> str:
    return "\0".join(("candidates", *owner_row(owner).values()))


def _of(owner: Scope) -> ColumnElement[bool]:
    return and_(*(_owners.c[name] == value for name, value in owner_row(owner).items()))


def _note(connection: Connection, number: int, reached: int, totals: IndexTotals) -> None:
    values = {"reached": reached, "turns": totals.turns, "words": totals.words}
    connection.execute(_owners.update().where(_owners.c.number == number).values(values))


def _drop(connection: Connection, owner: Scope, before: int | None = None) -> None:
    """Remove the owner's tables, or the earlier ones."""
    doomed = _owners.delete().where(_of(owner)).returning(_owners.c.number, _owners.c.secret)
    if before is not None:
        doomed = doomed.where(_owners.c.number < before)
    for number, secret in connection.execute(doomed).all():
        TurnsTable(connection, owner.tenant, number, secret).drop()
