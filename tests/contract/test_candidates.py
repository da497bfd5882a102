"""Candidate indexes: what each of them finds of one owner's turns, and how it follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import text

from contract import milvus, server
from memoryos.errors import StorageError
from memoryos.filter import Filter
from memoryos.infrastructure.candidates import milvus as milvus_candidates
from memoryos.infrastructure.candidates import postgres, turns_collection, turns_table
from memoryos.infrastructure.candidates.milvus import MilvusCandidates
from memoryos.infrastructure.candidates.milvus_server import MilvusServer
from memoryos.infrastructure.candidates.port import CandidateIndex, Change, IndexTotals, Narrow, Place
from memoryos.infrastructure.candidates.postgres import PostgresCandidates
from memoryos.infrastructure.candidates.turns_table import SCHEMA, TurnsTable
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.infrastructure.vault.records import StoredPassage
from memoryos.kinds import Tier
from memoryos.models.hashing import Hashing
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.recall.lexical import bm25
from memoryos.scope import Scope

ALICE = Scope(user="alice")
STRANGERS = [
    replace(ALICE, tenant="acme"),
    replace(ALICE, user="bob"),
    replace(ALICE, agent="coder"),
    replace(ALICE, namespace=("shared",)),
]
DIM = 8
SECRET = b"Alice's"
ANY = Narrow(now=0)


@pytest.fixture
def postgres_index(tmp_path, clock):
    """postgres_index(): the index, as another process would open it."""
    vaults = []

    def call(embedder: str = "ours", dim: int = DIM) -> CandidateIndex:
        vaults.append(
            PostgresVault(
                "store", server.store_of(tmp_path), embedder=Hashing.name, clock=clock, busy_timeout_seconds=30
            )
        )
        return PostgresCandidates(vaults[-1], embedder=embedder, dim=dim)

    yield call
    for vault in vaults:
        vault.close()
    server.give_back(tmp_path)


@pytest.fixture
def milvus_index(tmp_path):
    """milvus_index(): the same on Milvus Lite."""
    servers = []

    def call(embedder: str = "ours", dim: int = DIM) -> CandidateIndex:
        servers.append(MilvusServer(milvus.uri(), ""))
        return MilvusCandidates(servers[-1], str(tmp_path), embedder=embedder, dim=dim, copy_id=lambda: None)

    yield call
    milvus.clear()
    for opened in servers:
        opened.close()


@pytest.fixture(params=["postgres", "milvus"])
def open_index(request):
    """open_index(): the index of a back end, as another process would open it."""
    return request.getfixturevalue(f"{request.param}_index")


@pytest.fixture
def index(open_index) -> Iterator[CandidateIndex]:
    opened = open_index()
    yield opened
    opened.close()


def turn(page: str, words: str = "", vector=None, *, part: int = 1, **fields) -> StoredPassage:
    """A turn of a page, as the store tells it."""
    direction = np.eye(DIM)[0] if vector is None else np.asarray(vector, float)
    data = (direction / np.linalg.norm(direction)).astype("<f2").tobytes()
    known = {"position": 1, "tier": Tier.MTM.value, "session": None, "said_at": 0, "speaker": None, "marks": 0}
    return StoredPassage(page=page, part=part, words=words, vector=data, **{**known, **fields})


def at(*coordinates: float) -> np.ndarray:
    """A unit vector with these first coordinates."""
    vector = np.zeros(DIM, np.float32)
    vector[: len(coordinates)] = coordinates
    return vector / np.linalg.norm(vector)


def pages(places: list[Place]) -> list[str]:
    return [place.page for place in places]


def nearest(index, vector, limit=10, narrow=ANY, owner=ALICE) -> list[str]:
    with index.asking(owner) as turns:
        return pages(turns.nearest(vector, limit, narrow))


def matching(index, *stems, limit=10, narrow=ANY, owner=ALICE) -> list[str]:
    with index.asking(owner) as turns:
        return pages(turns.matching(stems, limit, narrow))


def test_an_owner_who_was_never_indexed_has_no_index(index):
    assert index.reached(ALICE) is None
    with pytest.raises(StorageError, match="no candidate index"), index.asking(ALICE):
        pass


def test_an_index_says_how_far_it_followed(index):
    index.build(ALICE, [turn("a")], 7)
    assert index.reached(ALICE) == 7


def test_an_owner_without_turns_can_be_indexed(index):
    index.build(ALICE, [], 0)
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(0, 0)
        assert turns.nearest(at(1), 5, ANY) == []
        assert turns.matching(["bee"], 5, ANY) == []
        assert turns.farthest(at(1)) == 0
        assert turns.frequencies(["bee"]) == {}


def test_the_nearest_come_first_and_with_their_part(index):
    index.build(
        ALICE, [turn("far", vector=at(0, 1)), turn("near", vector=at(1, 0.1), part=2), turn("mid", vector=at(1, 1))], 1
    )
    with index.asking(ALICE) as turns:
        assert turns.nearest(at(1), 2, ANY) == [Place("near", 2), Place("mid", 1)]


def test_the_farthest_turn_tells_the_lowest_cosine(index):
    index.build(ALICE, [turn("a", vector=at(1)), turn("b", vector=at(-3, 4))], 1)
    with index.asking(ALICE) as turns:
        assert turns.farthest(at(1)) == pytest.approx(-0.6, abs=1e-3)


def test_words_are_ranked_as_in_memory(index):
    chance = np.random.default_rng(5)
    vocabulary = ["bee", "honey", "garden", "rome", "museum", "蜜蜂", "race"]
    said = [turn(f"p{n:02}", " ".join(chance.choice(vocabulary, chance.integers(1, 9))), said_at=n) for n in range(60)]
    index.build(ALICE, said, 1)
    resident = TurnIndex(DIM)
    resident.put([passage._replace(position=n) for n, passage in enumerate(said, 1)])
    for asked in (["bee"], ["rome", "蜜蜂"], ["garden", "museum", "race"]):
        scores = bm25(resident, asked).round(5)
        best = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], -row))
        found = matching(index, *asked, limit=60)
        assert len(found) == len(best)
        of = {passage.page: scores[row] for row, passage in enumerate(said)}
        assert [of[page] for page in found] == pytest.approx([scores[row] for row in best], abs=1e-4)


def test_a_turn_without_a_word_of_the_question_is_no_match(index):
    index.build(ALICE, [turn("a", "honey")], 1)
    assert matching(index, "rome") == []


def test_a_word_that_stands_nearly_everywhere_is_not_searched_for(postgres_index, monkeypatch):
    monkeypatch.setattr(postgres, "SCANNED", 3)
    index = postgres_index()
    index.build(ALICE, [turn("a", "go rome"), turn("b", "go"), turn("c", "go"), turn("d", "go")], 1)
    assert matching(index, "go", "rome") == ["a"]


def test_how_often_words_occur_is_counted_by_turns(index):
    index.build(ALICE, [turn("a", "bees bee honey"), turn("a", "bee", part=2), turn("b", "rome")], 1)
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(turns=3, words=5)
        assert turns.frequencies(["bee", "rome", "museum"]) == {"bee": 2, "rome": 1}


NARROWED = {
    "tiers": ({"tier": Tier.ARCHIVE.value}, Narrow(now=0, tiers=frozenset({Tier.ARCHIVE}))),
    "session": ({"session": "monday"}, Narrow(now=0, session="monday")),
    "tags": ({"tags": '["work", "a \\"b\\"", "蜂"]'}, Narrow(now=0, labels=Filter(frozenset({'a "b"', "蜂"})))),
    "any tag": ({"tags": '["work", "蜂"]'}, Narrow(now=0, labels=Filter(any_of=(frozenset({"x", "蜂"}),)))),
    "since": ({"said_at": 9}, Narrow(now=0, since=9)),
    "until": ({"said_at": -9}, Narrow(now=0, until=-9)),
    "expiry": ({"expires_at": None}, Narrow(now=100)),
}


@pytest.mark.parametrize("condition", NARROWED)
def test_a_condition_holds_before_the_ranking(index, condition):
    fields, narrow = NARROWED[condition]
    others = {"expires_at": 100} if condition == "expiry" else {}
    near = [turn(f"near{n}", "bee bee", at(1), **others) for n in range(20)]
    index.build(ALICE, [*near, turn("wanted", "bee garden", at(0.1, 1), **fields)], 1)
    assert nearest(index, at(1), 3, narrow) == ["wanted"]
    assert matching(index, "bee", limit=3, narrow=narrow) == ["wanted"]


def test_a_change_brings_in_takes_over_and_removes(index):
    index.build(ALICE, [turn("kept", "rome", at(1)), turn("revised", "bee", at(0, 1)), turn("gone", "honey honey")], 3)
    new = [turn("revised", "museum", at(0, 0, 1)), turn("new", "race", at(0, 0, 0, 1))]
    noted = [turn("kept", tier=Tier.ARCHIVE.value, tags='["a,b", "c\\\\"]', expires_at=50)]
    index.apply(ALICE, Change(after=3, reached=8, changed=new, noted=noted, gone={"gone"}))
    assert index.reached(ALICE) == 8
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(3, 3)
        assert turns.frequencies(["rome", "bee", "honey", "museum", "race"]) == {"rome": 1, "museum": 1, "race": 1}
    assert nearest(index, at(0, 0, 1), 1) == ["revised"]
    assert matching(index, "bee") == []
    assert set(nearest(index, at(1))) == {"kept", "revised", "new"}
    archived = Narrow(now=49, tiers=frozenset({Tier.ARCHIVE}), labels=Filter(frozenset({"a,b", "c\\"})))
    assert nearest(index, at(1), narrow=archived) == ["kept"]
    assert nearest(index, at(1), narrow=replace(archived, now=50)) == []


def test_a_change_that_another_process_took_in_is_left_out(index, open_index):
    index.build(ALICE, [turn("a")], 3)
    other = open_index()
    other.apply(ALICE, Change(after=3, reached=5, changed=[turn("b")]))
    index.apply(ALICE, Change(after=3, reached=4, changed=[turn("c")]))
    assert set(nearest(index, at(1))) == {"a", "b"}
    assert index.reached(ALICE) == 5


@pytest.mark.parametrize("stranger", STRANGERS)
def test_owners_are_apart(index, stranger):
    index.build(ALICE, [turn("a", "bee")], 1)
    assert index.reached(stranger) is None
    index.build(stranger, [turn("b", "bee")], 2)
    assert nearest(index, at(1)) == matching(index, "bee") == ["a"]
    assert nearest(index, at(1), owner=stranger) == ["b"]
    index.forget(stranger)
    assert index.reached(stranger) is None
    assert nearest(index, at(1)) == ["a"]


def test_vectors_of_another_embedder_are_no_index_of_ours(index, open_index):
    index.build(ALICE, [turn("a")], 4)
    for other in (open_index(embedder="theirs"), open_index(dim=4)):
        assert other.reached(ALICE) is None


def test_built_again_it_holds_what_is_there_now(index, open_index):
    index.build(ALICE, [turn("a", "bee")], 4)
    other = open_index(embedder="theirs")
    other.build(ALICE, [turn("b", "rome"), turn("c", "rome")], 6)
    assert index.reached(ALICE) is None
    assert set(nearest(other, at(1))) == {"b", "c"}
    assert matching(other, "bee") == []


def test_searches_go_on_while_it_is_built_again(index, open_index):
    index.build(ALICE, [turn("a", "bee")], 4)
    other = open_index()

    def passages():
        yield turn("b", "bee")
        assert nearest(other, at(1)) == ["a"]  # in the middle of the other's work

    index.build(ALICE, passages(), 6)
    assert nearest(other, at(1)) == ["b"]


def test_one_that_was_cut_off_while_it_was_built_is_not_there(index):
    def passages():
        yield turn("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.build(ALICE, passages(), 6)
    assert index.reached(ALICE) is None
    index.build(ALICE, [turn("b")], 7)
    assert nearest(index, at(1)) == ["b"]


def build_of_many(index, question) -> list[str]:
    """An index of 3,000 turns, every hundredth of them in the session "rare"; returns all, the nearest first."""
    chance = np.random.default_rng(3)
    vectors = chance.normal(size=(3_000, DIM))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    said = [
        turn(f"p{n}", vector=vector, session="rare" if n % 100 == 0 else "often") for n, vector in enumerate(vectors)
    ]
    index.build(ALICE, said, 1)
    return [f"p{n}" for n in np.argsort(-(vectors @ question), kind="stable")]


def test_among_many_the_nearest_are_found_and_a_rare_condition_costs_none(index, monkeypatch):
    monkeypatch.setattr(postgres, "HNSW_FROM", 100)
    question = at(1, 2, 3)
    order = build_of_many(index, question)
    assert len(set(nearest(index, question, 50)) & set(order[:50])) >= 45
    rare = [page for page in order if int(page[1:]) % 100 == 0]
    found = nearest(index, question, 20, Narrow(now=0, session="rare"))
    assert len(found) == 20
    assert len(set(found) & set(rare[:20])) >= 18


def test_a_rare_condition_costs_none_where_the_index_of_vectors_is_searched(postgres_index, monkeypatch):
    monkeypatch.setattr(postgres, "HNSW_FROM", 100)
    index, question = postgres_index(), at(1, 2, 3)
    build_of_many(index, question)
    found = {}
    for scanning in (postgres._SEARCHING, {}):
        # So few turns the planner would rather sort.
        monkeypatch.setattr(postgres, "_SEARCHING", {**scanning, "enable_sort": "off"})
        found[len(scanning)] = nearest(index, question, 20, Narrow(now=0, session="rare"))
    assert len(found[2]) == 20
    assert len(found[0]) < 10, "HNSW was not asked"


def test_milvus_finds_the_nearest_of_many_by_its_own_index(milvus_index, monkeypatch):
    monkeypatch.setattr(milvus_candidates, "HNSW_FROM", 100)
    index, question = milvus_index(), at(1, 2, 3)
    order = build_of_many(index, question)
    assert len(set(nearest(index, question, 50)) & set(order[:50])) >= 45


def test_many_turns_come_in_at_once(index, monkeypatch):
    """More than go to the table, or to Milvus, in one portion."""
    monkeypatch.setattr(turns_table, "_AT_A_TIME", 200)
    monkeypatch.setattr(turns_collection, "AT_A_TIME", 200)
    index.build(ALICE, (turn(f"p{n}", f"word{n % 10} bee") for n in range(550)), 1)
    with index.asking(ALICE) as turns:
        assert turns.totals == IndexTotals(550, 1_100)
        assert turns.frequencies(["word3", "bee"]) == {"word3": 55, "bee": 550}


@contextmanager
def transaction(folder, clock, tenant=ALICE.tenant, **settings):
    """A transaction of a tenant, Alice's if none is named, as the index begins one."""
    place = server.store_of(folder)
    vault = PostgresVault("store", place, embedder=Hashing.name, clock=clock, busy_timeout_seconds=30)
    with closing(vault), vault.transaction(tenant, **settings) as connection:
        yield connection


def test_words_are_looked_up_in_their_index_behind_the_fence_too(postgres_index, tmp_path, clock):
    postgres_index().build(ALICE, [turn(f"p{n}", f"word{n} bee") for n in range(20)], 1)
    with transaction(tmp_path, clock, enable_seqscan="off") as connection:
        table = TurnsTable(connection, ALICE.tenant, 1, SECRET)
        plan = table.run("EXPLAIN SELECT page FROM {words} WHERE terms && CAST(ARRAY[7] AS bigint[])").scalars().all()
    assert "Bitmap Index Scan on words_1_terms_idx" in "\n".join(plan)


def test_another_tenant_sees_nothing_of_an_index_but_numbers(postgres_index, tmp_path, clock):
    postgres_index().build(ALICE, [turn("a", "bee")], 1)
    tables = ("owners", "turns_1", "terms_1", "words_1")
    counts = text(f"SELECT {', '.join(f'(SELECT count(*) FROM {SCHEMA}.{name})' for name in tables)}")
    seen = {}
    for tenant in (ALICE.tenant, "acme"):
        with transaction(tmp_path, clock, tenant) as connection:
            seen[tenant] = tuple(connection.execute(counts).one())
    assert seen == {ALICE.tenant: (1, 1, 1, 1), "acme": (0, 0, 0, 1)}


def test_a_word_of_two_owners_is_two_numbers_so_that_nobody_can_ask_for_what_others_say(
    postgres_index, tmp_path, clock
):
    for owner in (ALICE, STRANGERS[0]):
        postgres_index().build(owner, [turn("a", "bee")], 1)
    with transaction(tmp_path, clock) as connection:
        query = "SELECT one.terms, other.terms FROM {words} AS one, memoryos_candidates.words_2 AS other"
        one, other = TurnsTable(connection, ALICE.tenant, 1, SECRET).run(query).one()
    assert len(one) == len(other) == 1
    assert one != other


def test_tables_of_an_older_layout_are_replaced(postgres_index, tmp_path, clock):
    postgres_index().build(ALICE, [turn("a", "bee")], 1)
    with transaction(tmp_path, clock) as connection:
        connection.execute(text("ALTER TABLE memoryos_candidates.owners DROP COLUMN secret"))
    index = postgres_index()
    assert index.reached(ALICE) is None
    index.build(ALICE, [turn("b", "bee")], 2)
    assert matching(index, "bee") == ["b"]


@pytest.mark.parametrize(("allowed", "taken"), [("64MB", "1GB"), ("3GB", "3GB")])
def test_an_index_is_built_with_the_memory_that_an_administrator_allows_beyond_ours(
    postgres_index, tmp_path, clock, allowed, taken
):
    postgres_index().build(ALICE, [], 0)  # which makes the schema
    with transaction(tmp_path, clock, maintenance_work_mem=allowed) as connection:
        table = TurnsTable(connection, ALICE.tenant, 1_000, SECRET)
        table.create(DIM)
        table.index(vectors=True)
        assert table.ask("SHOW maintenance_work_mem") == taken
