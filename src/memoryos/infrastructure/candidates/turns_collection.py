"""TurnsCollection: one owner's turns in one Milvus collection, found by vectors and by words.

A turn's words are a sparse vector of what each of them adds to BM25, so that the inner product with the weights of the
words asked for is the score. Milvus sees numbers in the place of all texts but the ids of pages: nothing a user wrote
goes into an expression, and none is too long for a field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from json import dumps, loads
from typing import Any

import numpy as np
from pymilvus import CollectionSchema, DataType, MilvusClient
from pymilvus.milvus_client import IndexParams

from memoryos.infrastructure.candidates.milvus_server import BUILT_WITHIN, MilvusServer
from memoryos.infrastructure.candidates.number import number_of
from memoryos.infrastructure.candidates.port import Narrow, Place
from memoryos.infrastructure.vault.records import StoredPassage, Vector
from memoryos.language.bm25 import K1, B
from memoryos.language.words import stem
from memoryos.text_cache import text_cache

LAYOUT = 2  # of the collections; raise it when they or the stems change, and every index is built anew
AT_A_TIME = 1_000  # turns on their way; Milvus takes 64 MB at once

_MOST = 16_384  # turns that Milvus finds for a question
_NEVER = 2**63 - 1  # when a turn expires that does not
_NO_WORD = 0  # stands in a turn without words, for a sparse vector must not be empty
_WORDS = 2**32 - 2  # numbers of words, from 1
_LONGEST = 4_096  # numbers in an array
_SIZES = [2**bit for bit in range(17)]  # those that add up to the length of a turn stand among its words
_PAGES = 500  # named in one expression


class TurnsCollection:
    """The collection of that name; `mean` is how many words a turn has, roughly, for the BM25 of all of them."""

    def __init__(self, server: MilvusServer, name: str, mean: float) -> None:
        self.name = name
        self._server = server
        self._mean = mean

    def create(self, dim: int) -> None:
        """Create the collection, for vectors of that length."""
        self._server.create(self.name, _schema(dim))

    def fill(self, turns: Iterable[StoredPassage]) -> int:
        """Add turns, replacing those with the same place; return their number."""
        source, filled = iter(turns), 0
        while chunk := list(islice(source, AT_A_TIME)):
            self._server.ask("upsert", self.name, [self._row(turn) for turn in chunk], timeout=BUILT_WITHIN)
            filled += len(chunk)
        return filled

    def index(self, *, hnsw: bool) -> None:
        """Create the indexes; for vectors, an exact one or the type that Milvus prefers."""
        self._server.ask("flush", self.name, timeout=BUILT_WITHIN)
        indexes = _indexes("AUTOINDEX" if hnsw else "FLAT")
        if not self._server.is_lite():
            indexes.add_index("terms", index_type="INVERTED")  # by which they are counted
        self._server.index(self.name, indexes)

    def remove(self, pages: Collection[str]) -> None:
        """Remove the turns of pages."""
        for condition in _of(pages):
            self._server.ask("delete", self.name, filter=condition)

    def note(self, noted: Iterable[StoredPassage]) -> None:
        """Take over tier, tags and expiry of pages."""
        pages = {_label(turn.page): _notes(turn) for turn in noted}
        for condition in _of({turn.page for turn in noted}):
            rows = self._server.ask("query", self.name, filter=condition, output_fields=["*"])
            if rows:
                self._server.ask("upsert", self.name, [{**row, **pages[row["page"]]} for row in rows])

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        """The turns with the highest inner product."""
        return [place for place, _ in self._search("vector", vector.tolist(), limit, _condition(narrow))]

    def farthest(self, vector: Vector) -> float:
        """The inner product with the turn that is nearest to the opposite direction; 0 when there is none."""
        found = self._search("vector", (-vector).tolist(), 1, "")
        return -found[0][1] if found else 0.0

    def matching(self, weights: Mapping[str, float], limit: int, narrow: Narrow) -> list[Place]:
        """The turns with the highest BM25 for the weighed terms, of those that have one."""
        asked = {_number(term): weight for term, weight in weights.items()}
        found = self._search("words", asked, limit, _condition(narrow))
        return [place for place, score in found if score > 0]

    def turns(self) -> int:
        """The number of turns."""
        return self._count("")

    def words(self) -> int:
        """The number of words of all turns."""
        return sum(size * self._count(f"array_contains(terms, {_size(size)})") for size in _SIZES)

    def frequency(self, term: str) -> int:
        """The number of turns with a term."""
        return self._count(f"array_contains(terms, {_number(term)})")

    def _count(self, condition: str) -> int:
        # Many of these are asked for at a time, and may lag: so none waits until the server caught up.
        rows = self._server.ask(
            "query", self.name, filter=condition, output_fields=["count(*)"], consistency_level="Eventually"
        )
        return int(rows[0]["count(*)"])

    def _search(self, field: str, asked: Any, limit: int, condition: str) -> list[tuple[Place, float]]:
        hits = self._server.ask(
            "search",
            self.name,
            [asked],
            anns_field=field,
            filter=condition,
            limit=min(limit, _MOST),
            output_fields=["place"],
            search_params={"metric_type": "IP"},
        )
        return [(_place(hit["place"]), hit["distance"]) for hit in hits[0]]

    def _row(self, turn: StoredPassage) -> dict[str, Any]:
        counts = Counter(stem(word) for word in turn.words.split())
        length = counts.total()
        norm = K1 * (1 - B + B * length / self._mean)
        words = {_number(term): f * (K1 + 1) / (f + norm) for term, f in counts.items()}
        sizes = [_size(size) for size in _SIZES if length & size]
        return {
            "place": f"{turn.part}:{turn.page}",
            "page": _label(turn.page),
            "said_at": turn.said_at,
            "session": _label(turn.session),
            "terms": [*sizes, *words][:_LONGEST],
            "words": words or {_NO_WORD: 1.0},
            "vector": np.frombuffer(turn.vector, "<f2").astype(np.float32),
            **_notes(turn),
        }


def _schema(dim: int) -> CollectionSchema:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("place", DataType.VARCHAR, is_primary=True, max_length=2_048)
    for name in ("page", "said_at", "session", "expires_at"):
        schema.add_field(name, DataType.INT64)
    schema.add_field("tier", DataType.VARCHAR, max_length=16)
    for name in ("tags", "terms"):
        schema.add_field(name, DataType.ARRAY, element_type=DataType.INT64, max_capacity=_LONGEST)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    return schema


def _indexes(kind: str) -> IndexParams:
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("vector", index_type=kind, metric_type="IP")
    indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    for name in ("page", "said_at", "session"):
        indexes.add_index(name, index_type="INVERTED")
    return indexes


def _notes(turn: StoredPassage) -> dict[str, Any]:
    """The properties of a turn that change without its words."""
    return {
        "tier": turn.tier,
        "tags": [_label(tag) for tag in loads(turn.tags)][:_LONGEST] if turn.tags else [],
        "expires_at": _NEVER if turn.expires_at is None else turn.expires_at,
    }


def _condition(narrow: Narrow) -> str:
    """The condition for turns that may be found, as an expression."""
    all_of, none_of = narrow.labels.all_of, narrow.labels.none_of
    some = {f"array_contains_any(tags, {sorted(map(_label, one))})": True for one in narrow.labels.any_of}
    held = {
        **some,
        f"expires_at > {narrow.now}": True,
        f"said_at >= {narrow.since}": narrow.since is not None,
        f"said_at <= {narrow.until}": narrow.until is not None,
        f"session == {_label(narrow.session)}": narrow.session is not None,
        f"array_contains_all(tags, {sorted(map(_label, all_of))})": bool(all_of),
        f"not array_contains_any(tags, {sorted(map(_label, none_of))})": bool(none_of),
        f"tier in {dumps(narrow.tier_names)}": narrow.tier_names is not None,
    }
    return " and ".join(condition for condition, is_asked in held.items() if is_asked)


def _of(pages: Iterable[str]) -> Iterator[str]:
    """Expressions that hold for the turns of pages."""
    labels = iter(pages)
    while chunk := [_label(page) for page in islice(labels, _PAGES)]:
        yield f"page in {chunk}"


def _place(key: str) -> Place:
    part, _, page = key.partition(":")
    return Place(page, int(part))


def _label(text: str | None) -> int:
    """A number that stands for a text; matches are compared with the text in the store."""
    if text is None:
        return 0
    return number_of(text) >> 1  # Milvus counts with a sign


@text_cache(100_000)
def _number(term: str) -> int:
    """The dimension of a term."""
    return number_of(term) % _WORDS + 1


def _size(words: int) -> int:
    """A number beyond those of terms."""
    return _WORDS + 1 + words
