"""`as_of`: a memory is shown with the labels and the end that it had then; those of now decide who may read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.caller import SYSTEM, acting
from memoryos.cube import Access, Lifespan, MemCube
from memoryos.engine import Engine
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.labelling import read_label_change
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import AccessMode
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.former_labels import FormerLabels
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

pytestmark = pytest.mark.memory

ANN = Scope(user="ann")
CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"kim", action == Action::"read", resource is Cube) when { resource.sensitivity.isEmpty() };
"""
DAY = timedelta(days=1)


@pytest.fixture
def store(vault: Vault, clock, tmp_path: Path) -> Iterator[MemoryOS]:
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    gate = PolicyGate(PolicyFiles(tmp_path / "clinic.cedar"), clock)
    with MemoryOS(Engine(vault, Hashing(), clock=clock, gate=gate, settings=load_settings())) as opened:
        yield opened


@pytest.fixture
def ann(store) -> Memory:
    return store.of(ANN, Caller("ann"))


@pytest.fixture
def kim(store) -> Memory:
    return store.of(ANN, Caller("kim"))


def relabel(vault: Vault, memory_id: str, **governance: object) -> None:
    """Give a memory another sensitivity, access or end, without a version."""

    def write() -> None:
        with vault.write(ANN) as writer:
            cube = writer.get([memory_id])[memory_id]
            changed = replace(cube, governance=replace(cube.governance, **governance))
            writer.update([Entry(changed)], Operation.REFRESH)

    acting(SYSTEM, write)


def retag(vault: Vault, memory_id: str, *tags: str) -> None:
    """Give a memory other tags, without a version."""

    def write() -> None:
        with vault.write(ANN) as writer:
            cube = writer.get([memory_id])[memory_id]
            writer.update([Entry(replace(cube, descriptive=replace(cube.descriptive, tags=tags)))], Operation.REFRESH)

    acting(SYSTEM, write)


def labels(cube: MemCube) -> tuple:
    known = cube.governance
    return cube.tags, known.sensitivity, known.access.mode.value, known.lifespan.expires_at


SHARED = Access(mode=AccessMode.SHARED)


def shown(memory: Memory, memory_id: str, as_of: str) -> list[tuple]:
    """The labels of a memory, by every way to read it."""
    found = memory.search("bees", as_of=as_of)
    cubes = [hit.cube for hit in (*found.hits, *found.recent, *found.user_facts)]
    cubes += [*memory.pages.list(as_of=as_of), *memory.facts.list(as_of=as_of), memory.get(memory_id, as_of=as_of)]
    cubes += memory.history(memory_id, as_of=as_of)[-1:]
    return [labels(cube) for cube in cubes if cube.id == memory_id]


@pytest.mark.parametrize("kind", ["page", "fact"])
def test_labels_are_those_of_the_moment(ann, vault, clock, kind):
    end = clock() + 300 * DAY
    about = {"tags": ["a"], "sensitivity": ["diagnosis"]}
    one = ann.add("I keep bees.", **about) if kind == "page" else ann.facts.add("keeps bees", **about)
    ann.wait()
    first = (("a",), ("diagnosis",), "private", None)
    ann.snapshots.create("first")  # in the same tick of the clock as what follows
    relabel(vault, one, sensitivity=("diagnosis", "money"), access=SHARED, lifespan=Lifespan(expires_at=end))
    clock.advance(days=1)
    ann.snapshots.create("second")
    second = (("a",), ("diagnosis", "money"), "shared", end)
    relabel(vault, one, sensitivity=())
    clock.advance(days=1)
    third = f"stored:{clock():%Y-%m-%dT%H:%M:%SZ}"
    clock.advance(days=1)
    relabel(vault, one, lifespan=Lifespan(), access=SHARED)
    ways = 5 if kind == "page" else 4
    assert shown(ann, one, "first") == [first] * ways
    assert shown(ann, one, "second") == [second] * ways
    assert shown(ann, one, third) == [(("a",), (), "shared", end)] * ways
    assert labels(ann.get(one)) == (("a",), (), "shared", None)


@pytest.mark.parametrize("kind", ["page", "fact"])
def test_a_plain_moment_shows_the_labels_that_the_log_tells(ann, vault, clock, kind):
    end = clock() + 300 * DAY
    one = ann.add("I keep bees.", tags=["a"]) if kind == "page" else ann.facts.add("keeps bees", tags=["a"])
    ann.wait()
    first = f"{clock():%Y-%m-%dT%H:%M:%SZ}"
    clock.advance(days=2)
    relabel(vault, one, sensitivity=("money",), access=SHARED, lifespan=Lifespan(expires_at=end))
    retag(vault, one, "b")
    second = f"{clock():%Y-%m-%dT%H:%M:%SZ}"
    clock.advance(days=2)
    relabel(vault, one, sensitivity=(), access=Access(), lifespan=Lifespan())
    ways = 5 if kind == "page" else 4
    assert shown(ann, one, first) == [(("a",), (), "private", None)] * ways
    assert shown(ann, one, second) == [(("b",), ("money",), "shared", end)] * ways
    assert labels(ann.get(one)) == (("b",), (), "private", None)


def test_what_the_store_got_after_a_moment_keeps_its_labels(ann, vault, clock):
    one = ann.add("I keep bees.", tags=["a"], at=clock() - 100 * DAY)
    clock.advance(days=1)
    retag(vault, one, "b")
    moment = f"{clock() - 50 * DAY:%Y-%m-%dT%H:%M:%SZ}"
    assert [page.tags for page in ann.pages.list(as_of=moment)] == [("b",)]


def test_labels_of_a_plain_moment_let_nobody_see_more(ann, kim, vault, clock):
    one = ann.add("I keep bees.")
    moment = f"{clock():%Y-%m-%dT%H:%M:%SZ}"
    clock.advance(days=1)
    assert kim.get(one, as_of=moment).governance.sensitivity == ()
    relabel(vault, one, sensitivity=("diagnosis",))
    assert ann.get(one, as_of=moment).governance.sensitivity == ()
    assert kim.pages.list(as_of=moment) == []
    assert kim.search("bees", as_of=moment).hits == ()
    with pytest.raises(NotFound):
        kim.get(one, as_of=moment)


def test_tags_and_sensitivity_have_the_order_of_the_moment(ann, vault, clock):
    """Also of those that were removed since, between others that stay."""
    one = ann.add("I keep bees.", tags=["x", "y", "z", "w"], sensitivity=["p", "q", "r"], metadata={"hive": 1})
    ann.wait()
    ann.snapshots.create("first")
    clock.advance(days=1)
    retag(vault, one, "y", "new", "w")
    ann.snapshots.create("second")
    clock.advance(days=1)
    relabel(vault, one, sensitivity=("q",))
    clock.advance(days=1)
    retag(vault, one, "w")
    first, second, now = (labels(ann.get(one, as_of=when))[:2] for when in ("first", "second", None))
    assert first == (("x", "y", "z", "w"), ("p", "q", "r"))
    assert second == (("y", "new", "w"), ("p", "q", "r"))
    assert now == (("w",), ("q",))


def test_labels_that_an_older_store_removed_stand_at_the_end(ann):
    """It noted no places."""
    cube = ann.get(ann.add("I keep bees.", tags=["y", "z"]))
    told = {"added": ["tag:z"], "removed": ["tag:x", "tag:w"], "ends": [None, None], "by": "ann", "call": "facts.add"}
    assert FormerLabels.before(cube, [read_label_change(0, json.dumps(told))]).of(cube).tags == ("y", "x", "w")


def test_a_former_version_has_the_labels_of_its_moment(ann, clock):
    fact = ann.facts.add("keeps bees", tags=["a"])
    clock.advance(days=1)
    ann.snapshots.create("before")
    clock.advance(days=1)
    ann.facts.add("keeps bees", tags=["b"], sensitivity=["diagnosis"])
    clock.advance(days=1)
    ann.facts.add("keeps bees", ttl=900 * DAY)
    assert shown(ann, fact, "before") == [(("a",), (), "private", None)] * 4
    tags, sensitivity, _, ends = labels(ann.get(fact))
    assert (tags, sensitivity, ends) == (("a", "b"), ("diagnosis",), clock() + 900 * DAY)


@pytest.mark.parametrize("kind", ["page", "fact"])
def test_the_labels_of_now_decide_who_may_read(ann, kim, vault, clock, kind):
    """What was open then stays hidden if it is sensitive now; what is open now shows that it was sensitive."""
    add = ann.add if kind == "page" else ann.facts.add
    open_then, open_now = add("I keep bees."), add("I sell bees.", sensitivity=["diagnosis"])
    clock.advance(days=1)
    ann.snapshots.create("before")
    clock.advance(days=1)
    relabel(vault, open_then, sensitivity=("diagnosis",))
    relabel(vault, open_now, sensitivity=())
    as_of = f"stored:{clock() - DAY:%Y-%m-%dT%H:%M:%SZ}"
    with pytest.raises(NotFound):
        kim.get(open_then, as_of=as_of)
    with pytest.raises(NotFound):
        kim.history(open_then, as_of=as_of)
    found = kim.search("bees", as_of=as_of)
    seen = {hit.id for hit in (*found.hits, *found.recent, *found.user_facts)}
    seen |= {one.id for one in (*kim.pages.list(as_of=as_of), *kim.facts.list(as_of=as_of))}
    assert seen == {open_now}
    assert kim.get(open_now, as_of=as_of).governance.sensitivity == ("diagnosis",)
    assert ann.get(open_then, as_of="before").governance.sensitivity == ()


def test_an_end_that_has_passed_since_and_was_put_off_hides_nothing(ann, vault, clock):
    page, fact = ann.add("I keep bees.", ttl=5 * DAY), ann.facts.add("keeps bees", ttl=5 * DAY)
    end = clock() + 5 * DAY
    clock.advance(days=1)
    ann.snapshots.create("before")
    for one in (page, fact):
        relabel(vault, one, lifespan=Lifespan())
    clock.advance(days=9)
    for one, ways in ((page, 5), (fact, 4)):
        assert {told[3] for told in shown(ann, one, "before")} == {end}
        assert len(shown(ann, one, "before")) == ways
        assert shown(ann, one, f"stored:{clock():%Y-%m-%dT%H:%M:%SZ}") == [((), (), "private", None)] * ways


def test_what_had_expired_then_was_not_there(ann, vault, clock):
    fact = ann.facts.add("keeps bees", ttl=DAY)
    relabel(vault, fact, lifespan=Lifespan(expires_at=clock() + DAY))
    clock.advance(days=2)
    moment = f"stored:{clock():%Y-%m-%dT%H:%M:%SZ}"
    clock.advance(days=1)
    relabel(vault, fact, lifespan=Lifespan())
    assert ann.facts.list()
    assert ann.facts.list(as_of=moment) == []
