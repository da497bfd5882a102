"""Facts beyond those that LPM has room for lie in the archive, and search finds them there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import memoryos
from contract.back_ends import copy_store, files_on, opening_on
from frozen_clock import FrozenClock
from memoryos import Tier
from memoryos.config import load_settings
from memoryos.errors import InvalidInput

MANY = 110  # LPM has room for 100
NOON = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path, back_end):
    with files_on(back_end, tmp_path):
        yield tmp_path / "memory.db"


@pytest.fixture
def open_memory(path, clock):
    opened = []

    def call(**settings):
        opened.append(memoryos.open(path, user="ann", settings=load_settings(**settings), clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()


def texts(hits):
    return [hit.text for hit in hits]


@pytest.mark.once
def test_the_first_of_many_facts_is_found(open_memory):
    memory = open_memory()
    memory.facts.add("The user's boat is called Aurora.")
    for number in range(1, MANY):
        memory.facts.add(f"The invoice {number:04d} went to customer {number * 7919 % 10_000:04d}.")
    assert len(memory.facts.list()) == 100
    found = memory.search("What is the boat called?").user_facts
    assert found[0].text == "The user's boat is called Aurora."
    assert found[0].cube.tier is Tier.ARCHIVE
    assert "Aurora" in memory.context("What is the boat called?").text
    assert len(memory.search("What is the boat called?").user_facts) == 10
    memory.close()
    assert "Aurora" in open_memory().search("What is the boat called?").user_facts[0].text


def test_a_search_gives_as_many_facts_as_it_is_asked_for(open_memory):
    memory = open_memory(knowledge_capacity=5)
    for number in range(30):
        memory.facts.add(f"The invoice {number:04d} went to customer {number * 7919 % 10_000:04d}.")
    assert [len(memory.search("invoice", facts=facts).user_facts) for facts in (None, 0, 1, 20)] == [10, 0, 1, 20]
    with pytest.raises(InvalidInput, match="facts"):
        memory.search("invoice", facts=-1)


def test_an_archived_fact_gives_way_to_what_is_known_now(open_memory, clock):
    memory = open_memory(knowledge_capacity=2)
    for fact in ("I live in Oslo.", "I keep bees.", "I have a boat.", "I play the cello."):
        memory.facts.add(fact)
        clock.advance(days=1)
    assert "I live in Oslo." in texts(memory.search("Where do I live?").user_facts)
    memory.facts.add("I live in Bergen.")
    memory.facts.add("I keep bees.")
    found = texts(memory.search("Where do I live? Do I keep bees?").user_facts)
    assert "I live in Oslo." not in found
    assert found.count("I keep bees.") == 1


def test_what_was_deleted_or_is_not_wanted_from_the_archive_is_not_found(open_memory):
    memory = open_memory(knowledge_capacity=1)
    for fact in ("I keep bees.", "I have a boat."):
        memory.facts.add(fact)
    (bees,) = (hit for hit in memory.search("bees").user_facts if "bees" in hit.text)
    assert texts(memory.search("bees", tiers=[Tier.LPM, Tier.STM, Tier.MTM]).user_facts) == ["I have a boat."]
    memory.delete(bees.id)
    assert texts(memory.search("bees").user_facts) == ["I have a boat."]


def test_proposals_are_no_facts(open_memory):
    memory = open_memory()
    memory.proposals.publish(["The limit is 4 pages"], source="v1")
    memory.proposals.publish(["The limit is 3 pages"], source="v2")
    said = texts([*memory.search("limit").user_facts, *memory.search("limit").agent_facts])
    assert "The limit is 3 pages" not in said


def test_the_past_knows_what_was_evicted_since(open_memory, clock):
    memory = open_memory(knowledge_capacity=1)
    memory.facts.add("I keep bees.")
    then = clock() + timedelta(hours=1)
    clock.advance(days=1)
    memory.facts.add("I have a boat.")
    assert texts(memory.search("bees", as_of=then).user_facts) == ["I keep bees."]


PRIZES = [f"{metal}-{game}" for metal in ("silver", "bronze", "glass", "amber") for game in ("chess", "judo", "golf")]
LOCKERS = [
    f"Locker {number} holds the {PRIZES[number % 12]} trophy of {'Oslo Rome Lima'.split()[number % 3]}."
    for number in range(110)
]


@pytest.fixture(scope="module")
def full(tmp_path_factory, back_end):
    """A store with these facts, to be copied."""
    stored = tmp_path_factory.mktemp("lockers") / "memory.db"
    with opening_on(back_end), memoryos.open(stored, user="ann", clock=FrozenClock(NOON)) as memory:
        for text in LOCKERS:
            memory.facts.add(text)
    return stored


@pytest.fixture
def lockers(full, path, open_memory):
    copy_store(full, path)
    return open_memory()


def test_each_of_many_facts_is_found_by_the_number_that_it_names(lockers, long):
    numbers = range(0, len(LOCKERS), 1 if long else 3)
    asked = {number: lockers.search(f"What does locker {number} hold?") for number in numbers}
    assert [number for number, found in asked.items() if texts(found.user_facts)[:1] != [LOCKERS[number]]] == []


@pytest.mark.once
def test_strategies_count_words_or_meaning_or_both(lockers):
    parts = {
        strategy: dict(lockers.search("What does locker 7 hold?", strategy=strategy, explain=True).user_facts[0].parts)
        for strategy in ("hybrid", "bm25", "dense", "two_stage")
    }
    assert {strategy: set(told) for strategy, told in parts.items()} == {
        "hybrid": {"cosine", "words"},
        "bm25": {"words"},
        "dense": {"cosine"},
        "two_stage": {"cosine"},
    }
    assert parts["hybrid"]["words"] == pytest.approx(parts["bm25"]["words"] / 2)


def test_words_of_facts_that_change_or_go_are_not_found(lockers):
    [fact] = [hit for hit in lockers.search("locker 7", strategy="bm25").user_facts if "Locker 7 " in hit.text]
    lockers.update(fact.id, "The attic is empty.")
    found = lockers.search("locker 7", strategy="bm25", explain=True).user_facts
    assert "Locker 7 holds" not in " ".join(texts(found))
    lockers.delete(fact.id)
    assert "The attic is empty." not in texts(lockers.search("Is the attic empty?").user_facts)


@pytest.mark.once
def test_a_chinese_fact_is_found_by_its_words(open_memory):
    memory = open_memory()
    for number in range(120):
        memory.facts.add(f"第{number}号柜子放着奖杯。")
    assert "第57号柜子" in memory.search("57号柜子里有什么？").user_facts[0].text


def test_a_former_fact_is_found_by_its_words_as_of_its_time(open_memory):
    memory = open_memory()
    memory.facts.add("User lives in Oslo.", at="2024-01-01")
    memory.facts.add("User lives in Rome.", at="2025-01-01")
    [then] = memory.search("Oslo", strategy="bm25", as_of="2024-06-01", explain=True).user_facts
    assert (then.text, then.parts["words"]) == ("User lives in Oslo.", pytest.approx(1.0))
