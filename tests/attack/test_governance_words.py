"""Words: what a caller may not read changes nothing of what it finds, neither by statistics nor by neighbours.

The same caller asks the same in two stores. One also holds memories that are hidden from it. Every number that it gets
has to be the same, or it could guess the hidden words one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from frozen_clock import FrozenClock
from memoryos import Caller, MemoryOS, Scope, Strategy, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.records import Operation, Spending
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.filters import SEARCHABLE

ANN, OWNER = Scope(user="ann"), Caller("ann")
NURSE = Caller("nurse-kim", frozenset({"nurse"}))
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource) when { resource.sensitivity.isEmpty() };
"""
ASKED = ["zorbitis", "What about the zorbitis and the tulips in May?", "Who likes tea?", "tulips 3"]
MORE = "They need water."
HIDDEN = "The zorbitis hurts, and the tea does not help the tulips."
VISIBLE = [f"I planted {flower} in bed {number}." for number, flower in enumerate(["tulips", "lilies", "roses"] * 3)]
Open = Callable[[str], MemoryOS]


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Open]:
    (tmp_path / "ward.cedar").write_text(POLICIES)
    settings = load_settings(policies=str(tmp_path / "ward.cedar"), jobs="worker")
    with ExitStack() as stack:

        def call(name: str) -> MemoryOS:
            store = MemoryOS.open(tmp_path / name, settings=settings, embedder=Hashing(), clock=clock)
            return stack.enter_context(store)

        yield call


def fill(store: MemoryOS, clock: FrozenClock, *, hidden: bool) -> None:
    ann, start = store.of(ANN, OWNER), clock.now
    for said in VISIBLE:
        clock.advance(minutes=1)
        ann.add(said, MORE)
        clock.advance(minutes=1)
        if hidden:
            ann.add(HIDDEN, "Take rest.", sensitivity=["diagnosis"])
    ann.facts.add("grows tulips")
    ann.facts.add("likes lilies")
    if hidden:
        ann.facts.add("takes tea for the zorbitis", sensitivity=["diagnosis"])
        acting(SYSTEM, lambda: spend(store, clock))
    clock.now = start


def spend(store: MemoryOS, clock: FrozenClock) -> None:
    """Count a call of a model, as if it had read what is hidden."""
    with store._engine.vault.write(ANN) as writer:
        writer.spend(Spending(clock().date(), "facts", "some-model", 1, 10, 10))


def numbers(store: MemoryOS, caller: Caller, question: str, strategy: Strategy) -> list[Any]:
    """What a search tells, without ids."""
    found = store.of(ANN, caller).search(question, strategy=strategy, explain=True, pages=30, kinds=SEARCHABLE)
    hits = [*found.hits, *found.user_facts, *found.recent, *found.segments]
    return [
        found.confidence,
        len(found.recent),
        *((one.text, one.score, one.relevance, dict(one.parts), one.segment, one.topic) for one in hits),
    ]


def test_hidden_words_change_no_number_of_a_search(opened, clock):
    full, bare = opened("full.db"), opened("bare.db")
    fill(full, clock, hidden=True)
    fill(bare, clock, hidden=False)
    clock.advance(days=1)
    for strategy in Strategy:
        for question in ASKED:
            assert numbers(full, NURSE, question, strategy) == numbers(bare, NURSE, question, strategy)
    assert any("zorbitis" in str(one) for one in numbers(full, OWNER, "zorbitis", Strategy.BM25))
    assert numbers(full, NURSE, ASKED[0], Strategy.HYBRID)[1] == full.settings.short_term_capacity


def told_of_the_whole(store: MemoryOS) -> list[Any]:
    """What the calls about the memory as a whole tell the nurse."""
    memory = store.of(ANN, NURSE)
    topics = [memory.segments.list(archive=archive) for archive in (False, True)]
    changes = [(one.kind, one.operation) for one in memory.log.events() if one.operation is Operation.ADD]
    return [memory.stats(), topics, memory.segments.count(), memory.jobs.list(), memory.log.usage(), changes]


def test_nor_of_what_is_told_of_the_whole(opened, clock):
    """Pages that moved, and topics, were decided by all pages; jobs of the program are about all of them."""
    full, bare = opened("full.db"), opened("bare.db")
    fill(full, clock, hidden=True)
    fill(bare, clock, hidden=False)
    clock.advance(days=1)
    assert told_of_the_whole(full) == told_of_the_whole(bare)
    ann = full.of(ANN, OWNER)
    topics = [one.cube.id for one in ann.segments.list()]
    assert topics
    assert ann.jobs.list()
    assert ann.log.usage()
    assert ann.stats().mtm_segments == len(topics)
    for topic in topics:
        with pytest.raises(NotFound):
            full.of(ANN, NURSE).get(topic)


def test_nor_of_a_context_or_a_digest(opened, clock):
    full, bare = opened("full.db"), opened("bare.db")
    fill(full, clock, hidden=True)
    fill(bare, clock, hidden=False)
    clock.advance(days=1)
    for question in ASKED:
        told = [store.of(ANN, NURSE).context(question, tokens=300) for store in (full, bare)]
        assert told[0].text == told[1].text
        assert told[0].found == told[1].found
    digests = [store.of(ANN, NURSE).digest(tokens=120).text for store in (full, bare)]
    assert digests[0] == digests[1]


def test_what_is_seen_follows_the_labels_and_the_turns_at_once(opened, clock):
    store = opened("full.db")
    fill(store, clock, hidden=True)
    ann = store.of(ANN, OWNER)

    def seen() -> set[str]:
        return {hit.id for hit in store.of(ANN, NURSE).search("tulips", pages=30).hits}

    before = seen()
    late = ann.add("More tulips.", "Fine.")
    assert seen() == before | {late}
    ann.delete(late)
    assert seen() == before
    secret = ann.add("Tulips are poison.", sensitivity=["diagnosis"])
    assert seen() == before
    assert secret in {hit.id for hit in ann.search("tulips poison", pages=30).hits}
