"""Milvus as a candidate index: what holds of it alone. What holds of each index is in test_candidates.py."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from milvus_lite.server_manager import server_manager_instance

import memoryos
from contract import milvus
from contract.test_candidates import ALICE, DIM, at, matching, nearest, turn
from memoryos import Memory, MemoryOS, Role, Turn, load_settings, stores
from memoryos.errors import InvalidInput, StoreUnreachable
from memoryos.infrastructure.candidates import milvus as milvus_candidates
from memoryos.infrastructure.candidates import milvus_server
from memoryos.infrastructure.candidates.milvus import MilvusCandidates
from memoryos.infrastructure.candidates.milvus_server import MilvusServer
from memoryos.infrastructure.candidates.port import Change, IndexTotals, Narrow

WRITES = {"upsert", "delete"}


class Killed(BaseException):
    """The process ended."""


class CutServer(MilvusServer):
    """A connection whose process is killed after so many writes."""

    def __init__(self, uri: str, writes: int) -> None:
        super().__init__(uri, "")
        self._writes = writes

    def ask(self, method: str, *values: Any, **named: Any) -> Any:
        if self._writes == 0:
            raise Killed
        self._writes -= method in WRITES
        return super().ask(method, *values, **named)


@pytest.fixture
def uri() -> Iterator[str]:
    yield milvus.uri()
    milvus.clear()


@pytest.fixture
def server(uri) -> Iterator[MilvusServer]:
    opened = MilvusServer(uri, "")
    yield opened
    opened.close()


def open_index(server: MilvusServer, store: str = "store") -> MilvusCandidates:
    return MilvusCandidates(server, store, embedder="ours", dim=DIM, copy_id=lambda: None)


@pytest.mark.parametrize("writes", range(5))
def test_a_change_that_was_cut_off_anywhere_is_repeated_without_harm(uri, server, writes):
    index = open_index(server)
    index.build(ALICE, [turn("kept", "rome", at(1)), turn("revised", "bee", at(0, 1)), turn("gone", "honey bee")], 3)
    change = Change(
        after=3,
        reached=8,
        changed=[turn("revised", "museum", at(0, 0, 1)), turn("new", "race", at(0, 0, 0, 1))],
        noted=[turn("kept", session="monday", expires_at=50)],
        gone={"gone"},
    )
    cut = CutServer(uri, writes)
    if writes == 4:
        open_index(cut).apply(ALICE, change)  # delete, upsert of turns, of notes, of what was reached: all of it
    else:
        with pytest.raises(Killed):
            open_index(cut).apply(ALICE, change)
        assert index.reached(ALICE) == 3
    cut.close()
    index.apply(ALICE, change)
    assert index.reached(ALICE) == 8
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(3, 3)
        assert turns.frequencies(["rome", "bee", "honey", "museum", "race"]) == {"rome": 1, "museum": 1, "race": 1}
    assert nearest(index, at(0, 0, 1), 1) == ["revised"]
    assert set(nearest(index, at(1), narrow=Narrow(now=49))) == {"kept", "revised", "new"}
    assert set(nearest(index, at(1), narrow=Narrow(now=50))) == {"revised", "new"}


@pytest.mark.parametrize("writes", [0, 1])
def test_what_a_killed_build_left_goes_with_the_next_one(uri, server, writes):
    cut = CutServer(uri, writes)
    with pytest.raises(Killed):
        open_index(cut).build(ALICE, [turn("a", "bee")], 3)
    cut.close()
    index = open_index(server)
    assert index.reached(ALICE) is None
    index.build(ALICE, [turn("b", "bee")], 4)
    assert matching(index, "bee") == ["b"]
    assert len([name for name in server.ask("list_collections") if name != "memoryos_owners"]) == 1


def test_two_stores_in_one_milvus_are_apart(server):
    one, other = open_index(server, "one"), open_index(server, "other")
    one.build(ALICE, [turn("a", "bee")], 3)
    assert other.reached(ALICE) is None
    other.build(ALICE, [turn("b", "bee")], 4)
    assert matching(one, "bee") == ["a"]
    other.forget(ALICE)
    assert one.reached(ALICE) == 3


def test_an_index_outlives_the_server(tmp_path):
    path = str(tmp_path / "candidates.db")
    server = MilvusServer(path, "")
    open_index(server).build(ALICE, [turn("a", "bee")], 3)
    server.close()
    server_manager_instance.release_server(path)
    server = MilvusServer(path, "")
    index = open_index(server)
    assert index.reached(ALICE) == 3
    assert matching(index, "bee") == nearest(index, at(1)) == ["a"]
    server.close()
    server_manager_instance.release_server(path)


def test_a_file_of_milvus_lite_serves_one_process_and_the_other_searches_in_memory(tmp_path, clock):
    path = tmp_path / "candidates.db"
    code = (
        f"from pymilvus import MilvusClient; client = MilvusClient({str(path)!r}); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        settings = load_settings(embedder="hashing", candidates=f"milvus:{path}")
        with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=clock) as memory:
            memory.add("The lighthouse is red.", "Is it?")
            assert memory.search("lighthouse").hits
            with pytest.raises(StoreUnreachable, match="one process"):
                memory.upkeep.index()
        other.communicate("\n")


def test_a_restored_store_has_no_index_of_what_stood_in_its_place(uri, server, tmp_path, clock):
    place, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    settings = load_settings(embedder="hashing", candidates=f"milvus:{uri}")

    def opened() -> Memory:
        return memoryos.open(place, user="ann", settings=settings, clock=clock)

    with opened() as memory:
        memory.add("The lighthouse is red.", "Is it?")
        stores.backup(place, backup)
        memory.add_many([Turn(role=Role.USER, text=f"It has {n} steps.", at=clock()) for n in range(20)])
        assert memory.upkeep.index()
    place.unlink()
    stores.restore(backup, place)
    with opened() as memory:
        memory.add("Nobody painted the windmill.", "I did.")
        assert memory.search("windmill").hits[0].cube.payload.turns[0].text == "Nobody painted the windmill."
        assert memory.upkeep.index()
        assert len(server.ask("list_collections")) == 2  # of owners, and of what ann says now


@pytest.fixture
def lite_server(tmp_path) -> Iterator[tuple[str, subprocess.Popen]]:
    """Milvus Lite as a server of its own: where it is, and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["server", "--data-dir", str(tmp_path / "milvus"), "--host", "127.0.0.1", "--port", str(port)]
    python = [sys.executable, "-u", "-m", "milvus_lite"]
    with subprocess.Popen([*python, *command], stdout=subprocess.PIPE, text=True) as process:
        assert "listening" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}", process
        process.kill()


def test_a_server_serves_many_memories_and_searches_survive_its_end(lite_server, tmp_path, clock, monkeypatch):
    uri, process = lite_server
    settings = load_settings(embedder="hashing", candidates=f"milvus:{uri}", candidates_token="root:Milvus")

    def opened() -> Memory:
        return memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=clock)

    with opened() as memory, opened() as other:
        memory.add_many([Turn(role=Role.USER, text=f"The lighthouse has {n} steps.", at=clock()) for n in range(20)])
        assert memory.upkeep.index()
        other.add("Nobody counted the steps.", "I did.")
        before = [hit.cube.id for hit in memory.search("lighthouse steps").hits]
        monkeypatch.setattr(milvus_server, "ANSWERED_WITHIN", 0.5)
        monkeypatch.setattr(milvus_server, "BUILT_WITHIN", 0.5)
        process.kill()
        assert [hit.cube.id for hit in memory.search("lighthouse steps").hits] == before
        assert other.search("Who counted?").hits[0].cube.payload.turns[0].text == "Nobody counted the steps."
        with pytest.raises(StoreUnreachable):
            memory.upkeep.index()


def test_a_turn_of_very_many_words_is_found_by_the_last_of_them(server):
    index = open_index(server)
    index.build(ALICE, [turn("long", " ".join(f"word{n}" for n in range(9_000))), turn("short", "bee")], 1)
    assert matching(index, "word8999") == ["long"]
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(2, 9_001)


def test_counts_hold_until_one_turn_in_a_hundred_may_have_changed(server):
    index = open_index(server)
    index.build(ALICE, [turn(f"p{n}", "bee") for n in range(300)], 10)
    with index.asking(ALICE) as turns:
        assert turns.frequencies(["bee"]) == {"bee": 300}
    index.apply(ALICE, Change(after=10, reached=12, changed=[turn("q", "bee lamp")]))
    assert matching(index, "lamp") == ["q"]
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(300, 300)
        assert turns.frequencies(["bee", "lamp"]) == {"bee": 300, "lamp": 1}
    index.apply(ALICE, Change(after=12, reached=14, changed=[turn("r", "bee")]))
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(302, 303)
        assert turns.frequencies(["bee"]) == {"bee": 302}


@pytest.mark.parametrize("place", ["faiss:here", "milvus:", "milvus:candidates", "milvus:ftp://host/x", "http://host"])
def test_a_place_that_is_none_is_refused_at_once(place, tmp_path):
    with pytest.raises(InvalidInput, match="candidates"):
        MemoryOS.open(tmp_path / "memory.db", settings=load_settings(embedder="hashing", candidates=place))


def test_without_either_half_of_the_extra_it_says_what_to_install(tmp_path):
    code = """
import sys
from memoryos import MemoryOS, load_settings
from memoryos.errors import MissingExtra
for absent in ("pymilvus", "milvus_lite"):
    sys.modules[absent] = None
    try:
        MemoryOS.open("memory.db", settings=load_settings(embedder="hashing", candidates="milvus:candidates.db"))
    except MissingExtra as error:
        print(error)
    del sys.modules[absent]
"""
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.stdout.count("pip install 'memoryos-engine[milvus]'") == 2, result.stderr


def test_an_index_of_an_older_layout_is_built_anew(server, monkeypatch):
    open_index(server).build(ALICE, [turn("a", "bee")], 1)
    assert open_index(server).reached(ALICE) == 1
    monkeypatch.setattr(milvus_candidates, "LAYOUT", milvus_candidates.LAYOUT + 1)
    assert open_index(server).reached(ALICE) is None
