"""TurnsTable: one owner's turns in PostgreSQL tables, found by vectors and by words; within a transaction.

Behind row-level security an index is used only for comparisons that cannot give away a row, and whether two arrays
overlap is none of them. So the words of the turns are in a table that has no such policy, as numbers that are made with
a secret of the owner's: it stands in the fenced table of owners, and without it nobody can ask for a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from json import loads
from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from sqlalchemy import Connection, CursorResult, text

from memoryos.infrastructure.candidates.number import number_of
from memoryos.infrastructure.candidates.port import IndexTotals, Narrow, Place
from memoryos.infrastructure.vault.postgres.scrubbing import CANDIDATES
from memoryos.infrastructure.vault.postgres_tables import policy
from memoryos.infrastructure.vault.records import StoredPassage, Vector
from memoryos.language.bm25 import K1, B
from memoryos.language.words import stem
from memoryos.text_cache import text_cache

SCHEMA = CANDIDATES

LAYOUT = 4  # of the tables; raise it when they or the stems change, and every index is built anew

_AT_A_TIME = 5_000  # turns on their way into the table
_KEPT_NUMBERS = 50_000  # of terms, which come again and again

_TABLES = (
    """CREATE TABLE {turns} (
        tenant text COLLATE "C" NOT NULL, page text COLLATE "C" NOT NULL, part integer NOT NULL,
        said_at bigint NOT NULL, tier text NOT NULL, session text, tags text[], expires_at bigint,
        vector halfvec({dim}) NOT NULL) WITH (fillfactor = 90)""",
    """CREATE TABLE {words} (
        page text COLLATE "C" NOT NULL, part integer NOT NULL, at bigint NOT NULL, terms bigint[] NOT NULL)""",
    'CREATE TABLE {terms} (tenant text COLLATE "C" NOT NULL, term bigint PRIMARY KEY, turns bigint NOT NULL)',
)
_FENCED = ("turns", "terms")

_INDEXES = (  # made when the rows are there; tier, tags and expiry change often, and are in none
    "ALTER TABLE {turns} ADD PRIMARY KEY (page, part)",
    "CREATE INDEX ON {turns} (said_at)",
    "CREATE INDEX ON {turns} (session) WHERE session IS NOT NULL",
    "CREATE INDEX ON {words} (page)",
    "CREATE INDEX ON {words} USING gin (terms)",
)
_ROOM = """
SELECT set_config('maintenance_work_mem', '1GB', true)
WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('1GB')
"""  # HNSW takes many times as long when it does not fit; what an administrator allows beyond that is used
_VECTOR_INDEX = "CREATE INDEX ON {turns} USING hnsw (vector halfvec_ip_ops) WITH (m = 16, ef_construction = 64)"

_MARKS = {"turns": (*["%s"] * 8, "%b"), "words": ["%s"] * 4}  # of a row's values; the vector goes as bytes

_REMOVAL = """
WITH doomed AS (DELETE FROM {turns} WHERE page = ANY(CAST(:pages AS text[]))),
     gone AS (DELETE FROM {words} WHERE page = ANY(CAST(:pages AS text[])) RETURNING terms),
     lost AS (SELECT term, count(*) AS turns FROM gone, LATERAL (SELECT DISTINCT unnest(terms) AS term) AS each
              GROUP BY term),
     fewer AS (UPDATE {terms} AS known SET turns = known.turns - lost.turns FROM lost WHERE known.term = lost.term)
SELECT count(*), coalesce(sum(cardinality(terms)), 0) FROM gone
"""

_COUNTS = """
INSERT INTO {terms} (tenant, term, turns)
SELECT :tenant, term, turns FROM unnest(CAST(:found AS bigint[]), CAST(:counts AS bigint[])) AS won (term, turns)
ON CONFLICT (term) DO UPDATE SET turns = {terms}.turns + excluded.turns
"""

_NOTES = """
UPDATE {turns} AS known SET tier = noted.tier, tags = CAST(noted.tags AS text[]), expires_at = noted.expires_at
FROM unnest(CAST(:pages AS text[]), CAST(:tiers AS text[]), CAST(:tags AS text[]), CAST(:ends AS bigint[]))
    AS noted (page, tier, tags, expires_at)
WHERE known.page = noted.page
"""

_VECTOR = "CAST(:vector AS halfvec)"
_WIDEST = 1_000  # turns that HNSW looks for: pgvector allows no more

_BM25 = f"""
SELECT page, part FROM (
    SELECT page, part, at, (
        SELECT sum(asked.weight * f * {K1 + 1} / (f + {K1} * ({1 - B} + {B} * cardinality(terms) / :mean)))
        FROM unnest(CAST(:asked AS bigint[]), CAST(:weights AS float8[])) AS asked (term, weight),
             LATERAL (SELECT CAST(cardinality(array_positions(terms, asked.term)) AS float8) AS f) AS counted
    ) AS score
    FROM {{words}} WHERE terms && CAST(:rare AS bigint[])
    ORDER BY score DESC, at DESC, page, part
) AS scored JOIN {{turns}} USING (page, part) WHERE {{narrow}} ORDER BY score DESC, at DESC, page, part LIMIT :limit
"""  # the best are looked up one after the other, until there are enough


class TurnsTable:
    """The tables of one owner, by their number, and the secret that words are numbered with."""

    def __init__(self, connection: Connection, tenant: str, number: int, secret: bytes) -> None:
        self._connection = connection
        self._tenant = tenant
        self._secret = secret
        self._names = {name: f"{SCHEMA}.{name}_{number}" for name in ("turns", "words", "terms")}

    def run(self, statement: str, **values: Any) -> CursorResult[*tuple[Any, ...]]:
        """Execute a statement in which {turns}, {words} and {terms} stand for the owner's tables."""
        return self._connection.execute(text(statement.format_map(self._names)), values)

    def ask(self, query: str, **values: Any) -> Any:
        """The first value of the first row; None without rows."""
        return self.run(query, **values).scalar()

    def create(self, dim: int) -> None:
        """Create the tables, for vectors of that length."""
        for statement in _TABLES:
            self._connection.execute(text(statement.format(dim=dim, **self._names)))
        for name in _FENCED:
            for statement in policy(self._names[name]):
                self._connection.execute(text(statement))

    def drop(self) -> None:
        """Drop the tables, if they exist."""
        self.run("DROP TABLE IF EXISTS {turns}, {words}, {terms}")

    def index(self, *, vectors: bool) -> None:
        """Create the indexes, with or without one for the vectors."""
        for statement in (_ROOM, *_INDEXES, *([_VECTOR_INDEX] if vectors else [])):
            self.run(statement)
        self.run("ANALYZE {turns}, {words}, {terms}")

    def fill(self, passages: Iterable[StoredPassage]) -> IndexTotals:
        """Add turns; return their number."""
        turns = words = 0
        found: Counter[int] = Counter()
        source = (turn for turn in passages if turn.part)
        while chunk := list(islice(source, _AT_A_TIME)):
            terms = [[self._number(stem(word)) for word in turn.words.split()] for turn in chunk]
            self._insert("turns", [(self._tenant, *_row(turn)) for turn in chunk])
            said = [(turn.page, turn.part, turn.said_at) for turn in chunk]
            self._insert("words", [(*turn, own) for turn, own in zip(said, terms, strict=True)])
            found.update(term for each in terms for term in set(each))
            turns += len(chunk)
            words += sum(map(len, terms))
        self._count(found)
        return IndexTotals(turns, words)

    def remove(self, pages: Collection[str]) -> IndexTotals:
        """Remove the turns of pages; return their number."""
        if not pages:
            return IndexTotals(0, 0)
        turns, words = self.run(_REMOVAL, pages=list(pages)).one()
        return IndexTotals(turns, int(words))

    def note(self, passages: Iterable[StoredPassage]) -> None:
        """Take over tier, tags and expiry of pages."""
        pages = {turn.page: turn for turn in passages}
        if pages:
            tags = [_array(loads(turn.tags)) if turn.tags else None for turn in pages.values()]
            tiers = [turn.tier for turn in pages.values()]
            ends = [turn.expires_at for turn in pages.values()]
            self.run(_NOTES, pages=list(pages), tiers=tiers, tags=tags, ends=ends)

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        """The turns with the highest inner product."""
        condition, values = _condition(narrow)
        self.run("SELECT set_config('hnsw.ef_search', :width, true)", width=str(min(max(limit, 40), _WIDEST)))
        query = f"SELECT page, part FROM {{turns}} WHERE {condition} ORDER BY vector <#> {_VECTOR} LIMIT :limit"
        return _places(self.run(query, **values, vector=_literal(vector), limit=limit))

    def farthest(self, vector: Vector) -> float:
        """The inner product with the turn that is nearest to the opposite direction; 0 when there is none."""
        query = f"SELECT vector <#> {_VECTOR} FROM {{turns}} ORDER BY vector <#> {_VECTOR} LIMIT 1"
        return float(self.ask(query, vector=_literal(-vector)) or 0)

    def matching(
        self, rare: Sequence[str], weights: Mapping[str, float], totals: IndexTotals, limit: int, narrow: Narrow
    ) -> list[Place]:
        """The turns with the highest BM25 for the weighed terms, of those that have a rare one."""
        condition, values = _condition(narrow)
        asked = {"asked": list(map(self._number, weights)), "weights": list(weights.values())}
        looked_for = {"rare": list(map(self._number, rare)), "mean": totals.words / totals.turns, "limit": limit}
        query = _BM25.replace("{narrow}", condition)
        return _places(self.run(query, **values, **asked, **looked_for))

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """The number of turns with each of these terms; terms that do not occur are left out."""
        query = "SELECT term, turns FROM {terms} WHERE term = ANY(CAST(:asked AS bigint[])) AND turns > 0"
        numbers = {self._number(term): term for term in terms}
        return {numbers[number]: turns for number, turns in self.run(query, asked=list(numbers))}

    def _number(self, term: str) -> int:
        return _number(term, self._secret)

    def _count(self, found: Counter[int]) -> None:
        """Add to the turn counts, once for each term: updating one row often in a transaction is slow."""
        if found:
            self.run(_COUNTS, tenant=self._tenant, found=list(found), counts=list(found.values()))

    def _insert(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        driver: psycopg.Connection[Any] = self._connection.connection.dbapi_connection  # type: ignore[assignment]
        register_vector(driver)
        with driver.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {self._names[name]} VALUES ({', '.join(_MARKS[name])})", rows)


@text_cache(_KEPT_NUMBERS)
def _number(term: str, secret: bytes) -> int:
    """The number of a term, as a signed integer for PostgreSQL."""
    return number_of(term, secret) - 2**63


def _row(turn: StoredPassage) -> Iterator[Any]:
    yield from (turn.page, turn.part, turn.said_at, turn.tier, turn.session)
    yield from (loads(turn.tags) if turn.tags else None, turn.expires_at)
    yield HalfVector(np.frombuffer(turn.vector, "<f2"))


def _condition(narrow: Narrow) -> tuple[str, dict[str, Any]]:
    """The condition for turns that may be found, and its values."""
    held: dict[str, tuple[str, Any]] = {
        "now": ("(expires_at IS NULL OR expires_at > :now)", narrow.now),
        "since": ("said_at >= :since", narrow.since),
        "until": ("said_at <= :until", narrow.until),
        "session": ("session = :session", narrow.session),
        "tags": ("tags @> CAST(:tags AS text[])", sorted(narrow.labels.all_of) or None),
        "no_tags": ("NOT coalesce(tags && CAST(:no_tags AS text[]), false)", sorted(narrow.labels.none_of) or None),
        **{
            f"some_{number}": (f"tags && CAST(:some_{number} AS text[])", sorted(some))
            for number, some in enumerate(narrow.labels.any_of)
        },
        "tiers": ("tier = ANY(CAST(:tiers AS text[]))", narrow.tier_names),
    }
    asked = {name: (condition, value) for name, (condition, value) in held.items() if value is not None}
    return " AND ".join(condition for condition, _ in asked.values()), {
        name: value for name, (_, value) in asked.items()
    }


def _places(rows: CursorResult[*tuple[Any, ...]]) -> list[Place]:
    return [Place(*row) for row in rows]


def _literal(vector: Vector) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def _array(tags: Sequence[str]) -> str:
    """Tags as PostgreSQL writes an array: unnest would flatten arrays of arrays."""
    quoted = ('"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"' for tag in tags)
    return "{" + ",".join(quoted) + "}"
