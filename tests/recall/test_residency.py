"""Residency: which owners are in memory, under a budget; who leaves comes back when asked for."""

from __future__ import annotations

import gc
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

import memoryos.opening
from memoryos import Scope
from memoryos.models.hashing import Hashing
from memoryos.operation.index import turns as turns_module
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident

from .conftest import NOW, QUESTIONS, WORDS, answers, by_strategy, dialogue
from .picture import picture

USERS = [Scope(user=f"user{number}") for number in range(5)]
AMPLE = 10**12


@pytest.fixture
def vault(tmp_path, clock, entry):
    """Five users with ten pages each."""
    made = memoryos.opening.open_vault(
        tmp_path / "memory.db", embedder=Hashing.name, clock=clock, busy_timeout_seconds=30
    )
    for user in USERS:
        with made.write(user) as writer:
            writer.insert([entry(f"{word} {user.user}", scope=user) for word in WORDS[:10]])
    yield made
    made.close()


@pytest.fixture
def follow(vault):
    """follow(residency, user): the user's resident."""

    def follows(residency, user):
        with vault.read(user) as reader:
            return residency.following(user, reader)

    return follows


def residency(budget):
    return Residency(budget, lambda: Resident(Hashing.dim, Hashing(), 7))


def test_an_owner_is_read_once(follow):
    ample = residency(AMPLE)
    first = [follow(ample, user) for user in USERS]
    assert [follow(ample, user) for user in USERS] == first
    assert len(set(map(id, first))) == len(ample) == len(USERS)
    assert ample.nbytes == sum(one.nbytes for one in first)


def test_sessions_share_their_owner(follow):
    ample = residency(AMPLE)
    monday, tuesday = (follow(ample, replace(USERS[0], session=day)) for day in ("monday", "tuesday"))
    assert monday is tuesday
    assert len(ample) == 1


def test_the_one_used_longest_ago_leaves_first(follow):
    size = follow(residency(AMPLE), USERS[0]).nbytes
    small = residency(int(2.5 * size))
    first, second = follow(small, USERS[0]), follow(small, USERS[1])
    assert follow(small, USERS[0]) is first
    follow(small, USERS[2])
    assert follow(small, USERS[0]) is first
    assert follow(small, USERS[1]) is not second
    assert len(small) == 2
    assert small.nbytes <= 2.5 * size


def test_one_that_alone_passes_the_budget_stays_while_it_is_used(follow):
    tiny = residency(1)
    for user in USERS:
        resident = follow(tiny, user)
        assert follow(tiny, user) is resident
        assert (len(tiny), tiny.nbytes) == (1, resident.nbytes)


def test_the_budget_counts_what_an_owner_takes_who_has_no_memory(tmp_path, open_memory):
    memory = open_memory(tmp_path / "memory.db")
    owners = [memory.of(Scope(user=f"nobody{number}")) for number in range(25)]
    held = memory._engine.sources.residency
    memory.search("bees")  # what is loaded only once
    tracemalloc.start()
    try:
        for owner in owners:
            owner.search("bees")
        counted, before = held.nbytes, tracemalloc.get_traced_memory()[0]
        for owner in owners:
            held.forget(owner.scope)
        gc.collect()
        taken = before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * counted < taken < 1.3 * counted


def test_what_is_deleted_leaves_memory_once_it_is_more_than_what_is_left(tmp_path, open_memory, monkeypatch):
    monkeypatch.setattr(turns_module, "MOST_BURIED", 10)
    memory = open_memory(tmp_path / "memory.db").of(USERS[0])
    memory.add_many(dialogue(10, start=NOW - timedelta(days=300)))
    held = memory._engine.sources.residency
    rows = []
    for number in range(9):
        passing = memory.add_many(dialogue(3, seed=number, start=NOW - timedelta(days=30)))
        assert memory.search(QUESTIONS[0]).turns
        for page in passing:
            memory.delete(page)
        memory.search(QUESTIONS[0])
        rows.append(len(held._residents[memory.scope.owner].turns))
    assert max(rows) <= 2 * (10 + 3) + 3, "27 pages came and went"
    assert max(rows[:-3]) > min(rows[3:]), "it became smaller"
    fresh = open_memory(tmp_path / "memory.db").of(USERS[0])
    assert by_strategy(memory) == by_strategy(fresh)


def test_one_that_grows_pushes_others_out(vault, follow, entry):
    size = follow(residency(AMPLE), USERS[0]).nbytes
    small = residency(3 * size)
    for user in USERS[:2]:
        follow(small, user)
    with vault.write(USERS[0]) as writer:
        writer.insert([entry(f"{word} again", scope=USERS[0]) for word in WORDS * 3])
    assert follow(small, USERS[0]).nbytes > 2 * size
    assert len(small) == 1


def test_who_comes_back_is_as_before(follow):
    tiny, ample = residency(1), residency(AMPLE)
    for user in (*USERS, *USERS):
        assert picture(follow(tiny, user).turns, WORDS) == picture(follow(ample, user).turns, WORDS)


def test_threads_share_a_budget(follow):
    small = residency(1)
    chance = random.Random(1)
    asked = [chance.choice(USERS) for _ in range(60)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda user: (user, follow(small, user)), asked))
    assert all(len(resident.turns) == 10 for _, resident in found)
    last = follow(small, USERS[0])
    assert (len(small), small.nbytes) == (1, last.nbytes)


@pytest.mark.parametrize("strategy", ["hybrid", "two_stage"])
def test_a_memory_with_little_room_finds_what_a_roomy_one_finds(tmp_path, open_memory, strategy):
    path = tmp_path / "memory.db"
    roomy, cramped = open_memory(path), open_memory(path, resident_mb=1)
    users = [replace(user, agent="default") for user in USERS]
    for number, user in enumerate(users):
        roomy.of(user).add_many(dialogue(150, seed=number, start=NOW - timedelta(days=300)))
    for user in (*users, *users[::2]):
        assert answers(cramped.of(user), strategy=strategy) == answers(roomy.of(user), strategy=strategy)
        assert cramped._engine.sources.residency.nbytes <= 1_000_000 or len(cramped._engine.sources.residency) == 1
    assert len(roomy._engine.sources.residency) == len(users)
    assert len(cramped._engine.sources.residency) < len(users)
