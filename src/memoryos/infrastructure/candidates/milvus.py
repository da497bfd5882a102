"""MilvusCandidates: the turns of large owners in Milvus, a vector database of its own on one machine or on many.

Each owner has a collection of their own, so an index holds nobody else's turns. Which one it is and how far it followed
stands in one row, written last: a build or a change that was cut off leaves nothing that is taken for an index, and
to repeat it is harmless. Milvus has no transactions, so how often words occur is counted, and not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from threading import Lock
from typing import NamedTuple
from uuid import uuid4

from pymilvus import DataType, MilvusClient

from memoryos.cached_property import cached_property
from memoryos.errors import IndexFailed
from memoryos.infrastructure.candidates.milvus_server import MilvusServer
from memoryos.infrastructure.candidates.port import Change, IndexTotals, Narrow, Place
from memoryos.infrastructure.candidates.turns_collection import LAYOUT, TurnsCollection
from memoryos.infrastructure.vault.records import StoredPassage, Vector
from memoryos.infrastructure.vault.tables import owner_row
from memoryos.language.bm25 import idf
from memoryos.scope import Scope

HNSW_FROM = 50_000  # turns; fewer are compared one by one, which is exact

_OWNERS = "memoryos_owners"  # one row for each of them
_MEASURED = 5_000  # turns that tell how long a turn is
_USUAL = 10.0  # words, where there is no turn to measure
_STALE = 100  # counts hold until one turn of so many may have changed


class _IndexState(NamedTuple):
    """The state of an owner's index."""

    collection: str
    reached: int
    mean: float


@dataclass
class _Counts:
    """Counts of a collection and their time."""

    reached: int
    totals: IndexTotals
    frequencies: dict[str, int] = field(default_factory=dict)

    def holds_at(self, reached: int) -> bool:
        """Whether the counts are still close enough."""
        return reached - self.reached <= self.totals.turns // _STALE


class MilvusCandidates:
    """The candidate index of one store; `embedder` names what makes its vectors, of length `dim`.

    `store` tells this store from others that use the same Milvus, `copy_id` which copy it is (`Vault.copy_id`).
    An index of the store that a copy replaced does not count as an index of the copy.
    """

    def __init__(
        self, server: MilvusServer, store: str, *, embedder: str, dim: int, copy_id: Callable[[], str | None]
    ) -> None:
        self._server = server
        self._store = store
        self._embedder = embedder
        self._dim = dim
        self._copy_id = copy_id
        self._lock = Lock()  # one change at a time; those of other processes repeat each other at worst
        self._counts: dict[str, _Counts] = {}

    def reached(self, owner: Scope) -> int | None:
        """The event up to which the owner was followed."""
        known = self._known(owner)
        return known.reached if known else None

    @contextmanager
    def asking(self, owner: Scope) -> Iterator[MilvusTurns]:
        """The owner's turns."""
        known = self._known(owner)
        if known is None:
            raise IndexFailed("this scope has no candidate index for this embedder; build it")
        turns = self._turns(known)
        yield MilvusTurns(turns, self._counted(turns, known.reached))

    def build(self, owner: Scope, passages: Iterable[StoredPassage], reached: int) -> None:
        """Rebuild the owner's index in a new collection; if two processes do so at once, the first to finish wins."""
        turns = (turn for turn in passages if turn.part)
        first = list(islice(turns, _MEASURED))
        known = _IndexState(f"{self._prefix(owner)}{uuid4().hex[:12]}", reached, _mean(first))
        collection = TurnsCollection(self._server, known.collection, known.mean)
        with ExitStack() as undo:
            undo.callback(self._server.drop, known.collection)
            collection.create(self._dim)
            filled = collection.fill(chain(first, turns))
            collection.index(hnsw=filled >= HNSW_FROM)
            self._note(owner, known)
            undo.pop_all()
        self._drop(owner, spared=known.collection)

    def apply(self, owner: Scope, change: Change) -> None:
        """Apply a change, unless another process has applied it."""
        with self._lock:
            known = self._known(owner)
            if known is None or known.reached != change.after:
                return
            turns = self._turns(known)
            turns.remove([*change.gone, *dict.fromkeys(turn.page for turn in change.changed)])
            turns.fill(turn for turn in change.changed if turn.part)
            turns.note(change.noted)
            self._note(owner, known._replace(reached=change.reached))

    def forget(self, owner: Scope) -> None:
        """Drop the owner's collections."""
        if self._server.has(_OWNERS):
            self._server.ask("delete", _OWNERS, ids=[self._key(owner)])
        self._drop(owner)

    def close(self) -> None:
        """Release the connection."""
        self._server.close()

    @cached_property
    def _made_by(self) -> str:
        return f"{self._embedder}/{self._dim}/{LAYOUT}/{self._copy_id() or ''}"

    def _known(self, owner: Scope) -> _IndexState | None:
        """The state of the owner's index, if there is one."""
        if not self._server.has(_OWNERS):
            return None
        fields = ["made_by", *_IndexState._fields]
        rows = self._server.ask("get", _OWNERS, ids=[self._key(owner)], output_fields=fields)
        if not rows or rows[0]["made_by"] != self._made_by:
            return None
        return _IndexState(*(rows[0][name] for name in _IndexState._fields))

    def _note(self, owner: Scope, known: _IndexState) -> None:
        if not self._server.has(_OWNERS):
            self._create_owners()
        row = {"owner": self._key(owner), "made_by": self._made_by, **known._asdict(), "unused": [0.0, 1.0]}
        self._server.ask("upsert", _OWNERS, [row])

    def _create_owners(self) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("owner", DataType.VARCHAR, is_primary=True, max_length=64)
        schema.add_field("made_by", DataType.VARCHAR, max_length=2_048)
        schema.add_field("collection", DataType.VARCHAR, max_length=255)
        schema.add_field("reached", DataType.INT64)
        schema.add_field("mean", DataType.DOUBLE)
        schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)  # Milvus holds nothing without a vector
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("unused", index_type="FLAT", metric_type="IP")
        self._server.create(_OWNERS, schema)
        self._server.index(_OWNERS, indexes)

    def _turns(self, known: _IndexState) -> TurnsCollection:
        self._server.load(known.collection)
        return TurnsCollection(self._server, known.collection, known.mean)

    def _counted(self, turns: TurnsCollection, reached: int) -> _Counts:
        """Counts of the collection; counted again if too much may have changed."""
        counts = self._counts.get(turns.name)
        if counts is None or not counts.holds_at(reached):
            counts = self._counts[turns.name] = _Counts(reached, IndexTotals(turns.turns(), turns.words()))
        return counts

    def _drop(self, owner: Scope, spared: str | None = None) -> None:
        """Remove the owner's collections, including those of interrupted builds."""
        prefix = self._prefix(owner)
        for name in self._server.ask("list_collections"):
            if name.startswith(prefix) and name != spared:
                self._server.drop(name)
                self._counts.pop(name, None)

    def _prefix(self, owner: Scope) -> str:
        return f"memoryos_{self._key(owner)}_"

    def _key(self, owner: Scope) -> str:
        names = "\0".join((self._store, *owner_row(owner).values()))
        return blake2b(names.encode(), digest_size=16).hexdigest()


class MilvusTurns:
    """One owner's turns, for one question."""

    def __init__(self, turns: TurnsCollection, counts: _Counts) -> None:
        self._turns = turns
        self._counts = counts

    @property
    def totals(self) -> IndexTotals:
        """Approximate counts: a hundredth may have changed since."""
        return self._counts.totals

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        """The nearest turns, nearly exact."""
        return self._turns.nearest(vector, limit, narrow)

    def matching(self, stems: Sequence[str], limit: int, narrow: Narrow) -> list[Place]:
        """The best turns by BM25; with the length of a turn when the index was built for the mean one."""
        found = self.frequencies(set(stems))
        weights = {term: float(idf(found.get(term, 0), self.totals.turns)) for term in stems}
        return self._turns.matching(weights, limit, narrow) if weights else []

    def farthest(self, vector: Vector) -> float:
        """The cosine of the turn that is nearest to the opposite direction."""
        return self._turns.farthest(vector)

    def frequencies(self, stems: Collection[str]) -> Mapping[str, int]:
        """The number of turns with each of these stems; unknown stems are counted at each call."""
        known = self._counts.frequencies
        for term in stems:
            if term not in known and (frequency := self._turns.frequency(term)):
                known[term] = frequency
        return {term: known[term] for term in stems if term in known}


def _mean(turns: Sequence[StoredPassage]) -> float:
    lengths = [len(turn.words.split()) for turn in turns]
    return sum(lengths) / len(lengths) if sum(lengths) else _USUAL
