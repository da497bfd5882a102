"""Scopes whose turns moved from memory to the candidate index: searches find the same, and see every change."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

import memoryos
from contract import milvus, server
from memoryos import Memory, Role, Scope, Turn, load_settings
from memoryos.errors import StorageError
from memoryos.kinds import Tier
from memoryos.operation.recall import excerpt
from memoryos.operation.recall.hit import Strategy

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SETTINGS = {"embedder": "hashing", "short_term_capacity": 5, "mid_term_capacity": 3, "heat_threshold": 1000}
ANN, BOB = Scope(user="ann"), Scope(user="bob")
WORDS = """
    rome museum bees honey garden running race mountain hotel piano lesson violin concert sister birthday cake oven
    accountant tax letter teapot kettle winter snow skiing bicycle repair shop doctor knee marathon
    蜜蜂 花园 天气 音乐会
""".split()
QUESTIONS = [
    "When did Ann visit the museum in Rome?",
    "What of the bees, Bob?",
    "蜜蜂在花园里吗？",
    "Which race in May?",
    "xyzzy",
]


def dialogue(turns: int, seed: int = 1) -> list[Turn]:
    chance, at, said = random.Random(seed), NOW - timedelta(days=60), []
    for number in range(turns):
        at += timedelta(minutes=chance.choice([1, 2, 3, 300]))
        text = " ".join(chance.choices(WORDS, k=chance.randint(2, 9))) + chance.choice([".", "?", " yesterday."])
        role, speaker = (Role.USER, "Ann") if number % 2 == 0 else (Role.ASSISTANT, "Bob")
        said.append(Turn(role=role, text=text, speaker=speaker, at=at))
    return said


@pytest.fixture(params=["postgres", "milvus"])
def open_memory(request, tmp_path):
    """open_memory(...): a memory of Ann's on the same store each time; the arguments are settings.

    Its candidate index is in the database or, beside a file, in Milvus.
    """
    opened = []

    def one(**settings) -> Memory:
        if request.param == "postgres":
            place = server.store_of(tmp_path).render_as_string(hide_password=False)
        else:
            place, settings = tmp_path / "memory.db", {"candidates": f"milvus:{milvus.uri()}", **settings}
        knobs = load_settings(**(SETTINGS | settings))
        opened.append(memoryos.open(place, user="ann", settings=knobs, clock=lambda: NOW))
        return opened[-1]

    yield one
    for memory in opened:
        memory.close()
    server.give_back(tmp_path)
    if request.param == "milvus":
        milvus.clear()


@pytest.fixture
def memory(open_memory) -> Memory:
    """Sixty turns, in all three tiers."""
    made = open_memory()
    made.add_many(dialogue(60))
    made.facts.add("Ann keeps bees")
    made.wait()
    return made


def found(memory: Memory, question: str, **options) -> list[tuple[str, int]]:
    return [(turn.cube.id, turn.index) for turn in memory.search(question, **({"pages": 8} | options)).turns]


def said(memory: Memory, question: str, **options) -> list[str]:
    recalled = memory.search(question, **options)
    return [hit.cube.payload.turns[0].words for hit in recalled.hits]


FILTERS = {
    "all": {},
    "tiers": {"tiers": [Tier.MTM, Tier.ARCHIVE]},
    "period": {"since": NOW - timedelta(days=50), "until": NOW - timedelta(days=20)},
    "as_of": {"as_of": NOW - timedelta(days=40)},
    "tags": {"tags": ["none"]},
}


def asked(long: bool) -> list[tuple[Strategy, str, str]]:
    """Each question with each filter, by all strategies in a long run, else by one in turn."""
    strategies = (Strategy.HYBRID, Strategy.BM25, Strategy.DENSE)
    pairs = list(product(FILTERS, QUESTIONS))
    turns = [(strategies[number % len(strategies)], *pair) for number, pair in enumerate(pairs)]
    return [(one, *pair) for one in strategies for pair in pairs] if long else turns


def test_the_same_is_found_as_in_memory(memory, open_memory, long):
    def recalled(memory):
        return {
            (strategy, name, question): memory.search(question, strategy=strategy, pages=8, **FILTERS[name])
            for strategy, name, question in asked(long)
        }

    whole = recalled(memory)
    assert memory.upkeep.index()
    for query, moved in recalled(open_memory()).items():
        expected = whole[query]
        assert [(hit.cube.id, hit.index) for hit in moved.turns] == [
            (hit.cube.id, hit.index) for hit in expected.turns
        ], query
        scores = [hit.score for hit in expected.turns]
        assert [hit.score for hit in moved.turns] == pytest.approx(scores, abs=0.01), query
        assert [hit.topic for hit in moved.hits] == [hit.topic for hit in expected.hits], query
        assert moved.user_facts == expected.user_facts, query
        assert [hit.id for hit in moved.recent] == [hit.id for hit in expected.recent], query


def test_the_other_strategies_find_the_same(memory):
    def all_found():
        return {
            (strategy, question): found(memory, question, strategy=strategy)
            for strategy in (Strategy.RRF, Strategy.LINEAR, Strategy.TWO_STAGE)
            for question in QUESTIONS
        }

    whole = all_found()
    memory.upkeep.index()
    assert all_found() == whole


def test_few_candidates_of_many_turns_bring_the_best(memory, monkeypatch):
    whole = [found(memory, question, pages=3) for question in QUESTIONS]
    memory.upkeep.index()
    monkeypatch.setattr(excerpt, "CANDIDATES", 12)
    moved = [found(memory, question, pages=3) for question in QUESTIONS]
    shared = sum(len(set(one) & set(other)) for one, other in zip(whole, moved, strict=True))
    assert shared >= 0.8 * sum(map(len, whole))


def test_what_stands_around_a_candidate_is_no_find_itself(memory, monkeypatch):
    memory.upkeep.index()
    monkeypatch.setattr(excerpt, "CANDIDATES", 1)
    monkeypatch.setattr(excerpt, "_FOR_EACH_PAGE", 0)
    assert len({page for page, _ in found(memory, QUESTIONS[0], strategy="dense")}) <= 2  # one by meaning, one by words


def test_what_another_process_adds_is_found_at_the_next_search(memory, open_memory):
    memory.upkeep.index()
    other = open_memory()
    other.add("The lighthouse keeper sings at night.", "Does he?")
    assert said(memory, "lighthouse")[0] == "The lighthouse keeper sings at night."
    other.add("Another lighthouse burned down.", "Oh no!")
    assert "Another lighthouse burned down." in said(memory, "lighthouse")


def test_what_was_deleted_is_not_found_and_what_was_corrected_is(memory, open_memory):
    memory.upkeep.index()
    gone, page = memory.add_many(
        [
            Turn(role=Role.USER, text="The lighthouse is red.", at=NOW),
            Turn(role=Role.ASSISTANT, text="Is it?", at=NOW),
            Turn(role=Role.USER, text="The windmill is blue.", at=NOW),
            Turn(role=Role.ASSISTANT, text="Nice.", at=NOW),
        ]
    )
    other = open_memory()
    assert said(other, "lighthouse")[0] == "The lighthouse is red."
    other.delete(gone)
    other.update(page, "The windmill is green.")
    assert "The lighthouse is red." not in said(memory, "lighthouse")
    assert said(memory, "windmill green")[0] == "The windmill is green."


def test_pages_that_move_on_keep_their_place_in_the_index(memory):
    memory.upkeep.index()
    memory.add_many(dialogue(40, seed=2))
    memory.wait()
    archived = memory.search("museum", tiers=[Tier.ARCHIVE], pages=30).hits
    assert archived
    assert all(hit.cube.tier is Tier.ARCHIVE for hit in archived)
    recent = memory.search("museum", tiers=[Tier.STM], pages=30).hits
    assert {hit.cube.id for hit in recent} <= {page.id for page in memory.pages.list(tier=Tier.STM)}


def test_a_digest_covers_all_of_it(memory):
    before = memory.digest(tokens=500).text
    memory.upkeep.index()
    assert memory.digest(tokens=500).text == before


def test_another_scope_is_searched_in_memory_as_before(memory):
    memory.of(BOB).add("Bob's own lighthouse", "Fine.")
    memory.upkeep.index()
    assert "Bob's own lighthouse" not in said(memory, "lighthouse")
    assert said(memory.of(BOB), "lighthouse") == ["Bob's own lighthouse"]


def test_a_scope_that_outgrows_its_memory_moves_out_by_itself(open_memory):
    memory = open_memory(resident_mb=1)
    memory.add_many(dialogue(800))
    memory.search("museum")
    memory.close()  # waits for the move
    assert _is_moved(open_memory())


def test_without_pgvector_it_stays_in_memory_and_says_why_when_asked():
    url = server.new_database()
    with server.administrator(str(url.database)) as connection:
        connection.execute("DROP EXTENSION vector")
    settings = load_settings(**SETTINGS, resident_mb=1)
    with memoryos.open(url.render_as_string(hide_password=False), user="ann", settings=settings) as memory:
        memory.add_many(dialogue(400))
        assert memory.search("museum").hits
        memory.wait()
        with pytest.raises(StorageError, match="CREATE EXTENSION vector"):
            memory.upkeep.index()


def test_a_file_has_no_candidate_index(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=load_settings(**SETTINGS)) as memory:
        memory.add("hello", "hi")
        assert memory.upkeep.index() is False


def _is_moved(memory: Memory) -> bool:
    return memory._engine.sources.follower.has(ANN)
