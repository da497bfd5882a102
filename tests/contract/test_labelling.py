"""Changes of labels and ends: who made them, when, by which call, as versions and as events, and who may ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.about import METADATA_CHARS
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, StaleVersion
from memoryos.filter import LABEL_CHARS, MOST_LABELS
from memoryos.infrastructure.vault.records import Operation
from memoryos.models.hashing import Hashing
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_gate import PolicyGate

ANN = Scope(user="ann")
LEE = Caller("dr-lee", purpose="treatment")
ENDS = timedelta(days=300)

CLINIC = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal == User::"kim", action == Action::"read", resource is Cube) when { resource.sensitivity.isEmpty() };
permit (principal == User::"operator", action, resource is Store);
"""

Open = Callable[..., MemoryOS]


@pytest.fixture
def opened(vault, clock) -> Iterator[Open]:
    """opened(gate): a store with an audit log."""
    with ExitStack() as stack:

        def call(gate: PolicyGate | None = None) -> MemoryOS:
            options = {"gate": gate} if gate else {}
            settings = load_settings(audit=True)
            store = MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock, **options))
            stack.callback(store.close)
            return store

        yield call


@pytest.fixture
def memory(opened) -> Memory:
    return opened().of(ANN, LEE)


def labels_of(memory: Memory, memory_id: str) -> list[tuple]:
    return [(one.added, one.removed, one.by, one.call) for one in memory.governance.provenance(memory_id).labels]


def test_other_labels_of_a_known_fact_are_a_version(memory, clock):
    fact = memory.facts.add("has bees", tags=["a"])
    memory.snapshots.create("before")
    clock.now += timedelta(hours=1)
    again = memory.facts.add("has bees", tags=["b"], sensitivity=["诊断"])
    assert again == fact
    memory.facts.add("has bees", tags=["b"])  # nothing new
    assert [(one.version.number, one.tags) for one in memory.history(fact)] == [(1, ("a",)), (2, ("a", "b"))]
    first, second = memory.governance.provenance(fact).versions
    assert (second.change, second.by, second.call, second.at) == ("labels", "dr-lee", "facts.add", clock.now)
    assert first.at == clock.now - timedelta(hours=1)
    assert {one.field for one in memory.governance.diff(fact).changes} >= {"tags"}
    assert labels_of(memory, fact) == [(("tag:b", "sensitivity:诊断"), (), "dr-lee", "facts.add")]
    assert memory.get(fact, as_of="before").tags == ("a",)
    with pytest.raises(StaleVersion):
        memory.update(fact, "has wasps", expected_version=1)
    assert memory.governance.rollback(fact, 1).tags == ("a", "b")


def test_an_end_that_a_rule_or_a_caller_sets_is_told(memory, clock):
    other, fact = memory.facts.add("has two cats", tags=["short"]), memory.facts.add("likes tea")
    memory.facts.add("likes tea", ttl=ENDS * 2)
    memory.governance.retain("short", ttl=ENDS, tags=["short"])
    memory.wait()
    (by_rule,), (by_caller,) = (memory.governance.provenance(one).labels for one in (other, fact))
    assert (by_rule.ends_before, by_rule.ends_after, by_rule.by, by_rule.call, by_rule.context.job) == (
        *(None, clock.now + ENDS),
        *("memoryos", "background", "retain"),
    )
    assert (by_caller.ends_after, by_caller.by, by_caller.call) == (clock.now + ENDS * 2, "dr-lee", "facts.add")
    assert by_caller.context.purpose == "treatment"
    assert [one.version.number for one in memory.history(fact)] == [1, 2]
    memory.governance.unretain("short")
    memory.wait()
    assert [one.ends_after for one in memory.governance.provenance(other).labels] == [clock.now + ENDS, None]


def test_every_way_to_other_labels_is_an_event_and_nothing_else_is(memory):
    page = memory.add("I keep bees in Rome.", "Nice.", tags=["x"])
    memory.update(page, "I keep bees in Rome.", tags=["y"])
    memory.update(page, "I keep bees in Oslo.")
    memory.update(page, "I keep bees in Oslo.", metadata={"project": "apollo"})
    memory.search("bees")
    memory.wait()
    told = [(one.cube_id, one.version) for one in memory.log.events() if one.operation is Operation.LABEL]
    assert told == [(page, 2)]
    assert labels_of(memory, page) == [(("tag:y",), (), "dr-lee", "memory.update")]


def test_who_may_not_read_a_memory_is_told_nothing_of_its_labels(opened, clock, tmp_path):
    (tmp_path / "clinic.cedar").write_text(CLINIC)
    store = opened(PolicyGate(PolicyFiles(tmp_path), clock))
    ann, kim = (store.of(ANN, Caller(one)) for one in ("ann", "kim"))
    ann.facts.add("has bees")
    assert len(kim.search("bees").user_facts) == 1
    ann.facts.add("has bees", sensitivity=["diagnosis"])
    assert not kim.search("bees").user_facts
    assert Operation.LABEL in {one.operation for one in ann.log.events()}
    assert not {one.operation for one in kim.log.events()}


def test_changes_of_labels_are_in_the_report_of_permissions(opened):
    store = opened()
    memory = store.of(ANN, LEE)
    fact, page = memory.facts.add("has bees"), memory.add("The bees.", "Yes.")
    memory.facts.add("has bees", sensitivity=["diagnosis"])
    memory.update(page, "The bees.", tags=["public"])
    memory.update(page, "The wasps.")
    memory.governance.retain("short", ttl=ENDS, kinds=["page"])
    memory.wait()
    told = [(one.operation, one.caller, [cube.id for cube in one.cubes]) for one in store.audit.permissions()]
    assert told == [
        ("facts.add", "dr-lee", [fact]),
        ("memory.update", "dr-lee", [page]),
        ("governance.retain", "dr-lee", []),
        ("background", "memoryos", [page]),
    ]
    assert [one.operation for one in store.audit.permissions(operation="memory.update")] == ["memory.update"]
    assert "diagnosis" not in "".join(one.to_json() for one in store.audit.list())


def test_what_was_said_of_labels_goes_with_the_memory(memory):
    fact = memory.facts.add("has bees")
    memory.facts.add("has bees", tags=["secretlabel"])
    assert "secretlabel" in "".join(one.detail or "" for one in memory.log.events())
    memory.delete(fact)
    assert "secretlabel" not in "".join(one.detail or "" for one in memory.log.events())


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("facts.add", "tags"),
        ("facts.add", "sensitivity"),
        ("facts.add", "metadata"),
        ("update", "tags"),
        ("update", "metadata"),
    ],
)
def test_labels_that_are_added_again_and_again_keep_the_limits_of_one_memory(opened, call, name):
    """Each statement of one fact could add 16,000 characters more."""
    memory = opened().memory("ann")

    def said(number: int) -> dict[str, object]:
        words = [f"{number}-{part}-" + "x" * 100 for part in range(50)]
        return {name: dict.fromkeys(words, 1) if name == "metadata" else words}

    def state(number: int) -> object:
        if call == "facts.add":
            return memory.facts.add("I like tea.", **said(number))
        return memory.update(page, **said(number))

    page = memory.add("I like tea.")
    for number in range(2):
        state(number)
    with pytest.raises(InvalidInput, match=name):
        for number in range(2, 5):
            state(number)
    state(0)  # what is known already
    for cube in (*memory.pages.list(), *memory.facts.list()):
        assert sum(map(len, cube.descriptive.tags)) <= LABEL_CHARS
        assert len(cube.descriptive.metadata) <= METADATA_CHARS


@pytest.mark.parametrize("call", ["facts.add", "update"])
def test_a_memory_has_so_many_tags_and_no_more(opened, call):
    """16,000 of one character each were compared under the write lock."""
    memory = opened().memory("ann")
    page = memory.add("I like tea.", tags=[str(number) for number in range(MOST_LABELS)])
    memory.facts.add("I like tea.", tags=[str(number) for number in range(MOST_LABELS)])
    with pytest.raises(InvalidInput, match="tags"):
        memory.add("I like tea.", tags=[str(number) for number in range(MOST_LABELS + 1)])
    with pytest.raises(InvalidInput, match="tags"):
        memory.facts.add("I like tea.", tags=["one more"]) if call == "facts.add" else memory.update(
            page, tags=["more"]
        )
