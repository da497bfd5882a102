"""What an owner's index knows follows the log: also what other instances, processes and threads did."""

from __future__ import annotations

import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import sleep

import pytest

import forked
from memoryos import Kind, Memory, Scope, Strategy, Turn
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Role, Subject
from memoryos.models.hashing import Hashing
from memoryos.operation.index import resident as resident_module
from memoryos.operation.index.resident import Resident

from .conftest import (
    ANN,
    NOW,
    QUESTIONS,
    WORDS,
    answers,
    assert_same,
    assert_same_by_each,
    by_strategy,
    dialogue,
    results,
)
from .picture import picture

TESTS = Path(__file__).parents[1]


def ids(found) -> list[str]:
    return [page for page, *_ in found]


@pytest.fixture
def pair(path, open_memory) -> tuple[Memory, Memory]:
    """Two memories on one file, both of which have searched."""
    first, second = open_memory(path), open_memory(path)
    for memory in (first, second):
        memory.search("honey")
    return first, second


def test_what_one_adds_the_other_finds(pair):
    first, second = pair
    page = first.add("The plimpsofrag is under the mat.")
    for strategy in Strategy:
        assert ids(results(second, "Where is the plimpsofrag?", strategy=strategy))[0] == page, strategy
    assert_same_by_each(by_strategy(second), by_strategy(first))


def test_what_one_deletes_the_other_finds_no_more(pair):
    first, second = pair
    for strategy in Strategy:
        doomed = results(second, QUESTIONS[0], strategy=strategy)[0][0]
        first.delete(doomed)
        found = results(second, QUESTIONS[0], strategy=strategy, pages=100, archive=True)
        assert doomed not in ids(found), strategy
    assert_same_by_each(by_strategy(second), by_strategy(first))


def test_what_one_corrects_the_other_finds_by_its_new_words_only(pair):
    first, second = pair
    page = first.add("The plimpsofrag is under the mat.")
    for strategy in Strategy:
        assert ids(results(second, "plimpsofrag", strategy=strategy))[0] == page, strategy
    first.update(page, "The zanzibarquux is in the drawer.")
    for strategy in Strategy:
        assert ids(results(second, "zanzibarquux", strategy=strategy))[0] == page, strategy
    assert results(second, "plimpsofrag", strategy="bm25") == []
    assert_same_by_each(by_strategy(second), by_strategy(first))


def test_pages_that_one_moves_the_other_finds_where_they_are(pair):
    first, second = pair
    first.add_many(dialogue(20, seed=7))
    first.wait()
    hits = {hit.id: (hit.cube.tier, hit.segment) for hit in second.search("rome", pages=100).hits}
    assert hits == {hit.id: (hit.cube.tier, hit.segment) for hit in first.search("rome", pages=100).hits}
    assert hits == {page.id: (page.tier, hits[page.id][1]) for page in first.pages.list()}
    assert [hit.id for hit in second.search("rome").recent] == [page.id for page in first.pages.list()][-5:]


def test_facts_and_profile_follow_too(pair):
    first, second = pair
    first.facts.add("Ann plays the violin")
    first.profile.set("name", "Ann")
    found = second.search("violin")
    assert found.user_facts[0].text == "Ann plays the violin"
    assert [field.payload.value for field in found.profile] == ["Ann"]
    first.delete(found.user_facts[0].id)
    assert [hit.text for hit in second.search("violin").user_facts] == ["Ann keeps bees"]


@pytest.mark.file
def test_what_another_process_stored_without_passages_is_found(tmp_path, open_memory):
    """The process stores pages as an older program did."""
    alice = Scope(user="alice")
    memory = open_memory(tmp_path / "memory.db", scope=alice)
    memory.of(alice).add("first")
    memory.of(alice).search("first")
    command = [forked.executable(), "-m", "contract.append", "sqlite", str(tmp_path), "plimpsofrag", "3"]
    subprocess.run(command, cwd=TESTS, check=True)
    for strategy in ("bm25", "hybrid"):
        found = ids(results(memory, "plimpsofrag", strategy=strategy))
        assert set(found[:3]) == {page.id for page in memory.of(alice).pages.list()[1:]}


def test_a_search_beside_a_write_sees_the_state_before_it(pair):
    first, second = pair
    before = answers(second)
    with first._engine.vault.write(ANN) as writer:
        writer.delete([page.id for page in writer.cubes(Kind.PAGE)])
        assert answers(second) == before
    assert ids(results(second, "rome")) == []


def test_a_write_that_is_taken_back_leaves_no_trace(pair):
    first, _ = pair
    before = answers(first)
    with pytest.raises(KeyboardInterrupt), first._engine.vault.write(ANN) as writer:
        writer.delete([page.id for page in writer.cubes(Kind.PAGE)])
        raise KeyboardInterrupt
    assert answers(first) == before


def known(resident: Resident) -> dict[str, object]:
    """Everything a resident says."""
    entries = {kind: [_comparable(entry) for entry in resident.entries(kind)] for kind in Kind if kind in HELD}
    topics = [(topic.cube, topic.centroid.tolist()) for topic in resident.topics]
    recent = [_comparable(entry) for entry in resident.recent]
    parts = {"recent": recent, "entries": entries, "topics": topics, "late": list(resident.unindexed)}
    for subject in Subject:
        parts[subject] = {kind: [_comparable(entry) for entry in resident.entries(kind, subject)] for kind in HELD}
    return picture(resident.turns, WORDS) | parts


HELD = (Kind.SEGMENT, Kind.FACT, Kind.TRAIT, Kind.PROFILE)


def _comparable(entry: Entry) -> tuple[object, ...]:
    return entry.cube, None if entry.vector is None else entry.vector.tolist()


def step(memory: Memory, chance: random.Random) -> None:
    """Something that a user or the passing of time does."""
    pages = memory.pages.list()
    scope = Scope(user="ann", agent="default", session=chance.choice(["monday", "tuesday"]))
    done = chance.choice(["add", "add", "add", "talk", "update", "delete", "fact", "visit", "segment", "extract"])
    if done == "add" or not pages:
        memory.of(scope).add(f"I like {chance.choice(WORDS)}", chance.choice(WORDS))
    elif done == "talk":
        memory.of(scope).add_many(dialogue(6, seed=chance.randint(0, 99)))
    elif done == "update":
        memory.update(chance.choice(pages).id, " ".join(chance.choices(WORDS, k=4)))
    elif done == "delete":
        memory.delete(chance.choice(pages).id)
    elif done == "segment" and memory.segments.list():
        memory.delete(chance.choice(memory.segments.list(archive=True)).cube.id)
    elif done == "fact":
        memory.facts.add(f"likes {chance.choice(WORDS)}")
    elif done == "visit":
        memory.search(chance.choice(WORDS))
    else:
        memory.consolidate()


@pytest.mark.parametrize("seed", range(3))
def test_who_followed_knows_what_somebody_knows_who_comes_late(open_memory, monkeypatch, seed):
    monkeypatch.setattr(resident_module, "_AT_A_TIME", 5)
    memory, chance = open_memory(short_term_capacity=3, mid_term_capacity=2, knowledge_capacity=4), random.Random(seed)
    memory.add("I like tea")
    followers = {events: Resident(Hashing.dim, Hashing(), 7) for events in (3, 10_000)}
    for _ in range(25):
        step(memory, chance)
        if chance.random() < 0.6:
            newcomer = Resident(Hashing.dim, Hashing(), 7)
            with memory._engine.vault.read(ANN) as reader:
                newcomer.follow(reader)
                for events, follower in followers.items():
                    monkeypatch.setattr(resident_module, "followed", lambda _rows, most=events: most)
                    follower.follow(reader)
            for events, follower in followers.items():
                assert known(follower) == known(newcomer), f"with up to {events} events at once"


def test_a_search_with_a_copy_brings_nothing_back_that_went_when_all_was_read_anew(open_memory, monkeypatch):
    memory, resident = open_memory(), Resident(Hashing.dim, Hashing(), 7)
    fact = memory.facts.add("User's code is Sesame")
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    (entry,) = resident.entries(Kind.FACT, Subject.USER)
    older = resident.having(resident.turns)
    memory.delete(fact)
    monkeypatch.setattr(resident_module, "followed", lambda _rows: 0)
    with memory._engine.vault.read(ANN) as reader:
        resident.follow(reader)
    older.entries(Kind.FACT, Subject.USER)
    older.said(entry.cube)
    assert resident.entries(Kind.FACT, Subject.USER) == []
    assert resident._said == {}


def test_pages_come_in_the_order_of_the_store_whatever_their_ids(open_memory, entry):
    memory = open_memory()
    memory.add("first")
    memory.search("first")
    with memory._engine.vault.write(ANN) as writer:
        for name in "cab":
            writer.insert([entry(f"page {name}", id=name, scope=ANN)])
    assert [hit.id for hit in memory.search("first").recent][1:] == ["c", "a", "b"]


def test_a_reader_that_started_earlier_changes_nothing(path, open_memory):
    memory, resident = open_memory(path), Resident(Hashing.dim, Hashing(), 7)
    with memory._engine.vault.read(ANN) as early:
        early.sequence()
        memory.add("later")
        with memory._engine.vault.read(ANN) as late:
            resident.follow(late)
            after = known(resident)
        resident.follow(early)
        assert known(resident) == after


@pytest.mark.parametrize("events", [0, 10_000])
def test_threads_that_search_while_others_write(path, open_memory, monkeypatch, events):
    """Nobody stumbles, and nobody is shown a page that was gone when he asked."""
    monkeypatch.setattr(
        resident_module, "followed", lambda _rows, most=events: most
    )  # 0: everything is read anew after each write
    memory, other = open_memory(path), open_memory(path)
    gone: list[str] = []
    done = Event()

    def write(seed: int) -> None:
        chance = random.Random(seed)
        for number in range(6):
            page = memory.add(f"{chance.choice(WORDS)} {number} honey", at=NOW)
            if number % 2:
                memory.update(page, "piano lesson")
            else:
                memory.delete(page)
                gone.append(page)

    def search(seed: int) -> int:
        chance, count, asked = random.Random(seed), 0, (memory, other)[seed % 2]
        while not done.is_set() or not count:
            before = set(gone)
            strategy, question = chance.choice(list(Strategy)), chance.choice([*QUESTIONS, "honey"])
            found = asked.search(question, strategy=strategy, pages=50)
            assert not before & {turn.cube.id for turn in found.turns}
            assert not before & {hit.id for hit in (*found.hits, *found.recent)}
            assert all(turn.turn.text for turn in found.turns)
            count += 1
            sleep(0.01)  # let the writers have their turn
        return count

    with ThreadPoolExecutor(5) as threads:
        searching = [threads.submit(search, seed) for seed in range(3)]
        try:
            list(threads.map(write, (10, 11)))
        finally:
            done.set()
        assert all(one.result() for one in searching)
    for memory_ in (memory, other):
        memory_.wait()
    assert_same(answers(other), answers(memory))
    assert len(gone) == 6


def test_sessions_are_sittings_of_their_own(open_memory):
    memory = open_memory()
    for session in ("monday", "tuesday"):
        scope = Scope(user="ann", agent="default", session=session)
        turns = [Turn(role=Role.USER, text="the plimpsofrag", at=NOW), Turn(role=Role.USER, text="a pause", at=NOW)]
        memory.of(scope).add_many(turns if session == "monday" else turns[1:])
    found = [(turn.cube.scope.session, turn.turn.text) for turn in memory.search("plimpsofrag").turns]
    near = [turn.cube.scope.session for turn in memory.search("plimpsofrag", explain=True).turns if turn.parts["words"]]
    assert sorted(found) == [("monday", "a pause"), ("monday", "the plimpsofrag"), ("tuesday", "a pause")]
    assert near == ["monday", "monday"]
