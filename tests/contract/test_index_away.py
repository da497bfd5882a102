"""A candidate index that fails: the search goes on in memory, finds the same, and tries the index again later."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import contextmanager

import pytest

import memoryos
from memoryos import Memory, MemoryOS, Role, Turn, load_settings
from memoryos.engine import Engine
from memoryos.errors import IndexFailed, StoreUnreachable
from memoryos.infrastructure.candidates.port import Change, IndexTotals, Narrow, Place
from memoryos.infrastructure.vault.records import StoredPassage, Vector
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.models.hashing import Hashing
from memoryos.operation.index import follower
from memoryos.scope import Scope
from public import store_of

ANN = Scope(user="ann")


class FrailIndex:
    """An index that finds every turn, and fails where it is told to."""

    def __init__(self) -> None:
        self.fails: set[str] = set()
        self.asked: list[str] = []
        self._reached: int | None = None
        self._turns: dict[Place, StoredPassage] = {}

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.fails:
            raise IndexFailed

    @property
    def totals(self) -> IndexTotals:
        self._ask("totals")
        return IndexTotals(len(self._turns), sum(len(turn.words.split()) for turn in self._turns.values()))

    def nearest(self, vector: Vector, limit: int, narrow: Narrow) -> list[Place]:
        self._ask("nearest")
        return list(self._turns)

    def matching(self, stems: Sequence[str], limit: int, narrow: Narrow) -> list[Place]:
        self._ask("matching")
        return list(self._turns)

    def farthest(self, vector: Vector) -> float:
        self._ask("farthest")
        return 0.0

    def frequencies(self, stems: Collection[str]) -> Mapping[str, int]:
        self._ask("frequencies")
        return dict.fromkeys(stems, 1)

    def reached(self, owner: Scope) -> int | None:
        self._ask("reached")
        return self._reached

    @contextmanager
    def asking(self, owner: Scope):
        self._ask("asking")
        yield self

    def build(self, owner: Scope, passages: Iterable[StoredPassage], reached: int) -> None:
        self._ask("build")
        self._turns = {Place(turn.page, turn.part): turn for turn in passages}
        self._reached = reached

    def apply(self, owner: Scope, change: Change) -> None:
        self._ask("apply")
        self._turns |= {Place(turn.page, turn.part): turn for turn in change.changed}
        self._reached = change.reached

    def forget(self, owner: Scope) -> None:
        self._ask("forget")

    def close(self) -> None:
        self._ask("close")


@pytest.fixture
def index() -> FrailIndex:
    return FrailIndex()


@pytest.fixture
def memory(index, tmp_path, clock):
    """Three pages of Ann's, moved to the index."""
    vault = SqliteVault(tmp_path / "memory.db", embedder=Hashing.name, clock=clock, busy_timeout_seconds=30)
    engine = Engine(vault, Hashing(), settings=load_settings(), clock=clock, candidates=index)
    with MemoryOS(engine) as store:
        opened = store.of(ANN)
        said = ["The lighthouse is red.", "Is it?", "The bees are well.", "Good.", "Rome was hot.", "I see."]
        roles = [Role.USER, Role.ASSISTANT] * 3
        opened.add_many([Turn(role=role, text=text, at=clock()) for role, text in zip(roles, said, strict=True)])
        opened.wait()
        assert opened.upkeep.index()
        yield opened


def found(memory: Memory) -> list[str]:
    return [hit.cube.payload.turns[0].text for hit in memory.search("the red lighthouse").hits]


@pytest.mark.parametrize("where", ["reached", "asking", "nearest", "matching", "farthest", "totals", "frequencies"])
def test_a_search_survives_an_index_that_fails_anywhere(memory, index, where, caplog):
    whole = found(memory)
    assert whole[0] == "The lighthouse is red."
    assert "nearest" in index.asked
    assert "frequencies" in index.asked
    index.fails = {where}
    with caplog.at_level(logging.WARNING):
        assert found(memory) == whole
    assert [record.message for record in caplog.records] == ["candidate index put off: IndexFailed"]
    assert caplog.records[0].error == "IndexFailed"


def test_what_was_added_while_it_fails_is_found(memory, index):
    index.fails = {"apply"}
    memory.add("The windmill is blue.", "Yes.")
    assert "The windmill is blue." in found(memory)


def test_an_index_that_failed_is_left_alone_for_a_while_and_then_asked_again(memory, index, monkeypatch):
    index.fails = {"reached"}
    found(memory)
    index.asked.clear()
    index.fails = set()
    found(memory)
    assert index.asked == []
    memory.add("The windmill is blue.", "Yes.")
    monkeypatch.setattr(follower, "_AWAY_SECONDS", 0)
    assert "The windmill is blue." in found(memory)
    assert "apply" in index.asked
    assert "nearest" in index.asked


def test_a_scope_that_could_not_move_out_does_so_when_the_index_is_back(index, tmp_path, clock, monkeypatch):
    vault = SqliteVault(tmp_path / "memory.db", embedder=Hashing.name, clock=clock, busy_timeout_seconds=30)
    settings = load_settings(resident_mb=1)
    with MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, candidates=index)) as store:
        memory = store.of(ANN)
        talk = [Turn(role=Role.USER, text=f"The lighthouse has {n} steps.", at=clock()) for n in range(600)]
        memory.add_many(talk)
        index.fails = {"build"}
        found(memory)
        memory._engine.sources.wait()
        assert index.asked.count("build") == 1
        index.fails = set()
        monkeypatch.setattr(follower, "_AWAY_SECONDS", 0)
        found(memory)
        memory._engine.sources.wait()
        assert index.asked.count("build") == 2
        assert index.reached(ANN)


def test_it_is_closed_with_the_store(memory, index):
    store_of(memory).close()
    assert index.asked[-1] == "close"


def test_a_milvus_that_is_away_costs_a_search_nothing_but_a_moment(tmp_path, clock, monkeypatch):
    monkeypatch.setattr("memoryos.infrastructure.candidates.milvus_server.CONNECTED_WITHIN", 0.3)
    settings = load_settings(embedder="hashing", candidates="milvus:http://127.0.0.1:1")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=clock) as memory:
        memory.add("The lighthouse is red.", "Is it?")
        assert found(memory) == ["The lighthouse is red."]
        with pytest.raises(StoreUnreachable):
            memory.upkeep.index()
