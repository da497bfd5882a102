"""A KV state or adapter that is frozen or on hold stays when its source changes or goes, and is never used then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from built_cubes import put_built
from memoryos import MemCube, Memory, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.errors import CubeProtected
from memoryos.models.hashing import Hashing
from memoryos.operation.activation.prefix import prefix_of
from memoryos.operation.activation.recipe import Recipe

ANN = Scope(user="ann")

Keep = Callable[[str], Callable[[], object]]


@pytest.fixture
def store(place, clock) -> Iterator[MemoryOS]:
    settings = load_settings(short_term_capacity=1, heat_threshold=0)
    with closing(MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock)) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN)


@pytest.fixture(params=["frozen", "on hold"])
def keep(request, ann) -> Keep:
    """Keeps a memory; returns what ends that."""

    def freeze(memory: str) -> Callable[[], object]:
        ann.governance.freeze(memory)
        return lambda: ann.governance.thaw(memory)

    def hold(memory: str) -> Callable[[], object]:
        placed = ann.governance.hold(reason="case 7", memory=memory)
        return lambda: ann.governance.release(placed.id)

    return freeze if request.param == "frozen" else hold


@pytest.fixture
def built_from(store, ann, clock) -> Callable[[str], tuple[MemCube, MemCube]]:
    return lambda memory: acting(SYSTEM, lambda: put_built(store._engine.vault, ann.get(memory), clock))


def stored(store: MemoryOS, *memories: str) -> list[bool]:
    with store._engine.vault.read(ANN) as reader:
        known = reader.kinds(memories)
        return [one in known for one in memories]


@pytest.mark.each
def test_a_caller_changes_no_source_of_what_is_kept(store, ann, keep, built_from):
    fact = ann.facts.add("has bees")
    for one in built_from(fact):
        release = keep(one.id)
        changes = {
            "update": lambda: ann.update(fact, "has hens"),
            "delete": lambda: ann.delete(fact),
            "erase": lambda: ann.governance.erase(fact),
            "expire": lambda: ann.governance.expire(fact),
        }
        for name, change in changes.items():
            with pytest.raises(CubeProtected):
                change()
            assert (ann.get(fact).text, ann.get(fact).tags) == ("has bees", ()), name
            assert stored(store, one.id, fact) == [True, True], name
        ann.facts.add("has bees")  # says nothing else: it is told anew
        assert stored(store, one.id) == [True]
        release()
    built = [one.id for one in built_from(fact)]
    ann.delete(fact)
    assert stored(store, *built) == [False, False]


def test_a_page_whose_fact_is_in_a_kept_state_goes_neither_in_part(store, ann, keep, built_from):
    page = ann.of(Scope(user="ann", session="s")).add("I live in Oslo.", "Nice.")
    ann.consolidate()
    (fact,) = ann.facts.list()
    state, _ = built_from(fact.id)
    release = keep(state.id)
    for change in (lambda: ann.delete(page), ann.of(Scope(user="ann", session="s")).forget):
        with pytest.raises(CubeProtected):
            change()
        assert stored(store, page, fact.id, state.id) == [True, True, True]
    release()
    ann.delete(page)
    assert stored(store, page, fact.id, state.id) == [False, False, False]


def test_what_expired_waits_for_the_kept_state_and_no_job_fails(store, ann, clock, keep, built_from):
    fact = ann.facts.add("has bees", ttl=60)
    state, _ = built_from(fact)
    release = keep(state.id)
    clock.advance(seconds=61)
    ann.jobs.run()
    assert stored(store, fact, state.id) == [True, True]
    assert ann.facts.list() == [] and not ann.search("bees").hits  # out of sight at once
    assert not any(job.error for job in ann.jobs.list())
    release()
    clock.advance(hours=1)
    ann.jobs.run()
    assert stored(store, fact, state.id) == [False, False]


SAID = {
    "other words": {"text": "User lives in Bergen."},
    "a denial": {"text": "User does not live in Oslo."},
    "labels": {"text": "User lives in Oslo.", "tags": ["home"]},
    "an end": {"text": "User lives in Oslo.", "ttl": 60},
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
def test_what_a_caller_states_is_stored_and_what_is_kept_stays(store, ann, clock, keep, built_from, said):
    fact = ann.facts.add("User lives in Oslo.")
    state, adapter = built_from(fact)
    keep(state.id)
    keep(adapter.id)
    clock.advance(days=1)
    ann.facts.add(**said)
    assert said["text"] in [one.text for one in ann.facts.list()]
    assert stored(store, state.id, adapter.id) == [True, True]
    assert [ann.get(one.id).text for one in (state, adapter)] == [state.text, adapter.text]


def test_a_state_stays_while_its_source_says_the_same(store, ann, clock, built_from):
    fact = ann.facts.add("User lives in Oslo.")
    state, _ = built_from(fact)
    told = told_in_a_prompt(store, clock, [fact, ann.facts.add("User keeps bees.")])
    clock.advance(days=1)
    ann.facts.add("User lives in Oslo.")
    ann.add("I live in Oslo.", "Nice.")
    ann.consolidate()
    ann.governance.freeze(fact)
    ann.governance.thaw(fact)
    assert len(ann.facts.list()) == 2
    assert stored(store, state.id) == [True]
    assert told_in_a_prompt(store, clock, [one.id for one in ann.facts.list()]) == told  # to the byte
    ann.facts.add("User lives in Bergen.")
    assert stored(store, state.id) == [False]


def told_in_a_prompt(store: MemoryOS, clock, ids: list[str]) -> str:
    with store._engine.vault.read(ANN) as reader:
        return prefix_of(Recipe(name="all", role="a helper"), reader.get(ids).values(), clock(), lambda one: one).text


def test_background_work_goes_on_and_leaves_what_is_kept(store, ann, clock, keep, built_from):
    ann.add("I live in Oslo.", "Nice.")
    ann.consolidate()
    (fact,) = ann.facts.list()
    state, adapter = built_from(fact.id)
    keep(state.id)
    keep(adapter.id)
    clock.advance(days=1)
    ann.add("I moved to Bergen. I live in Bergen now.", "Nice.")
    ann.consolidate()
    assert ann.get(fact.id).version.superseded_by and "Bergen" in ann.facts.list()[0].text
    assert stored(store, state.id, adapter.id) == [True, True]
    assert not any(job.error for job in ann.jobs.list())
