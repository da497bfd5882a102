"""Retention rules: what they fit ends when they say, whatever came first; and no rule makes anything live longer."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.back_ends import files_on
from memoryos import Kind, Memory, MemoryOS, retention
from memoryos.caller import Action, Caller
from memoryos.errors import InvalidInput, NotFound, PermissionDenied
from memoryos.infrastructure.vault.retention_part import RULES
from memoryos.operation.correction import retention_job
from memoryos.retention import RetentionRule, governed

from .world import ANN, START, Clock, World

SMALL = {"short_term_capacity": 2, "mid_term_capacity": 2, "knowledge_capacity": 3, "heat_threshold": 10**6}
DAY = timedelta(days=1)


def ids(world: World) -> set[str]:
    return {cube.id for kind in Kind for cube in world.cubes(kind)}


def end_of(world: World, cube_id: str) -> datetime | None:
    with world.vault.read(ANN) as reader:
        return reader.get([cube_id])[cube_id].governance.lifespan.expires_at


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_rule_ends_what_comes_after_it_and_what_was_there(world: World, when: str) -> None:
    memory = world.open(**SMALL)
    if when == "before":
        memory.governance.retain("chat", ttl=DAY, kinds=["page"])
    page = memory.add("🎲 The zanzibarquux.")
    if when == "after":
        memory.governance.retain("chat", ttl=DAY, kinds=["page"])
    fact = memory.facts.add("Ann keeps bees.")
    memory.wait()
    world.clock.advance(hours=23, minutes=59)
    memory.jobs.run()
    assert page in ids(world)
    world.clock.advance(minutes=1)
    assert memory.search("zanzibarquux").hits == ()
    memory.jobs.run()
    assert ids(world) == {fact}


def test_tags_narrow_a_rule_and_a_fixed_end_is_one(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.retain("trip", until=START + DAY, tags=["trip", "draft"])
    gone = memory.add("🎲", tags=["draft", "trip", "more"])
    kept = memory.add("🎲", tags=["trip"])
    world.clock.advance(days=1)
    memory.jobs.run()
    assert ids(world) & {gone, kept} == {kept}


def test_the_earliest_end_counts_and_a_rule_that_goes_gives_the_own_end_back(world: World) -> None:
    memory = world.open(**SMALL)
    short, long = memory.add("🎲", ttl=DAY / 2), memory.add("🎲", ttl=9 * DAY)
    plain = memory.add("🎲")
    memory.governance.retain("week", ttl=7 * DAY)
    memory.governance.retain("day", ttl=DAY)
    memory.wait()
    assert [end_of(world, one) - START for one in (short, long, plain)] == [DAY / 2, DAY, DAY]
    memory.governance.unretain("day")
    memory.wait()
    assert [end_of(world, one) - START for one in (short, long, plain)] == [DAY / 2, 7 * DAY, 7 * DAY]
    memory.governance.retain("week", ttl=8 * DAY)
    memory.governance.retain("other", ttl=90 * DAY, tags=["none"])
    memory.governance.unretain("week")
    memory.wait()
    assert [end_of(world, one) for one in (short, long, plain)] == [START + DAY / 2, START + 9 * DAY, None]


def test_a_fact_under_a_rule_keeps_its_end_when_it_is_stated_again(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.retain("facts", ttl=DAY, kinds=[Kind.FACT])
    fact = memory.facts.add("Ann keeps bees.", ttl=9 * DAY)
    memory.facts.add("Ann keeps bees.", ttl=5 * DAY)
    assert end_of(world, fact) == START + DAY
    memory.governance.unretain("facts")
    memory.wait()
    assert end_of(world, fact) == START + 5 * DAY


def test_what_is_frozen_gets_its_end_when_it_is_thawed(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲")
    memory.governance.freeze(page)
    memory.governance.retain("all", ttl=DAY)
    memory.wait()
    assert end_of(world, page) is None
    memory.governance.thaw(page)
    assert end_of(world, page) == START + DAY


def test_what_is_not_used_decays_and_use_makes_it_last(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.retain("fading", half_life=10 * DAY)
    unused, used = memory.add("The gate squeaks."), memory.add("🎲 The zanzibarquux.")
    assert {end_of(world, one) for one in (unused, used)} == {START + 10 * DAY}
    world.clock.advance(days=4)
    assert [hit.id for hit in memory.search("🎲 zanzibarquux", pages=1).hits] == [used]
    memory.close()
    memory = world.open(**SMALL)
    assert end_of(world, used) == START + 4 * DAY + 20 * DAY  # one visit: two half-lives since then
    world.clock.advance(days=6, minutes=-1)
    memory.jobs.run()
    assert unused in ids(world)
    world.clock.advance(minutes=1)
    assert [page.id for page in memory.pages.list()] == [used]
    memory.jobs.run()
    assert unused not in ids(world)
    for _ in range(2):
        assert memory.search("🎲 zanzibarquux", pages=1).hits
    memory.close()
    memory = world.open(**SMALL)
    assert end_of(world, used) == START + 10 * DAY + 30 * DAY  # three visits
    world.clock.advance(days=30)
    memory.jobs.run()
    assert used not in ids(world)


def test_facts_decay_too_and_the_earliest_end_counts(world: World) -> None:
    memory = world.open(**SMALL)
    fact = memory.facts.add("Ann keeps bees.")
    memory.governance.retain("fading", half_life=10 * DAY, kinds=["fact"])
    memory.wait()
    assert end_of(world, fact) == START + 10 * DAY
    assert memory.search("bees").user_facts
    memory.close()
    memory = world.open(**SMALL)
    assert end_of(world, fact) == START + 20 * DAY
    memory.governance.retain("all", ttl=15 * DAY)
    memory.wait()
    assert end_of(world, fact) == START + 15 * DAY
    memory.governance.unretain("all")
    memory.governance.freeze(fact)
    memory.wait()
    world.clock.advance(days=30)
    memory.jobs.run()
    assert fact in ids(world)
    assert memory.facts.list()[0].id == fact


def test_rules_are_of_one_owner_and_survive(world: World) -> None:
    memory = world.open(**SMALL)
    rule = memory.governance.retain("chat", ttl=90.5, kinds=["page", "trait"], tags=["a"])
    memory.governance.retain("all", until="2027-01-01")
    bob = memory.of(ANN.__class__(user="bob"))
    assert bob.governance.retention() == []
    assert world.open(**SMALL).governance.retention()[1] == rule
    assert [one.name for one in memory.governance.retention()] == ["all", "chat"]
    assert memory.forget().is_complete
    assert memory.governance.retention() == []


def test_there_are_so_many_rules_and_no_more(world: World, monkeypatch) -> None:
    monkeypatch.setattr(retention, "MOST_RULES", 20)  # in the place of 200: each of them is told to the store
    memory = world.open(**SMALL)
    store = MemoryOS(memory._engine)
    ways = [
        lambda name: memory.governance.retain(name, ttl=90),
        lambda name: memory.archiving.add(name, unused=90),
        lambda name: store.retention.add(name, ttl=90),
    ]
    for add in ways:
        for number in range(retention.MOST_RULES):
            add(f"rule {number}")
        with pytest.raises(InvalidInput, match=f"there can be {retention.MOST_RULES}"):
            add("another")
        assert add("rule 7").name == "rule 7"


def test_a_rule_that_says_nothing_is_refused_and_so_is_an_unknown_one(world: World) -> None:
    memory = world.open(**SMALL)
    for wrong in (
        {},
        {"ttl": 5, "until": START},
        {"ttl": 0},
        {"ttl": -1},
        {"ttl": 5, "kinds": ["segment"]},
        {"half_life": 0},
        {"half_life": 5, "ttl": 5},
    ):
        with pytest.raises(InvalidInput):
            memory.governance.retain("wrong", **wrong)
    with pytest.raises(NotFound, match="'wrong'"):
        memory.governance.unretain("wrong")
    assert memory.jobs.list() == []


def test_a_job_that_gives_way_goes_on_where_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_job, "AT_A_TIME", 2)
    memory = world.open(jobs="worker", **SMALL)
    pages = [memory.add("🎲") for _ in range(7)]
    memory.governance.retain("all", ttl=DAY)
    job = retention_job.RetentionJob(world.vault)
    done = []
    for _ in range(3):
        with world.vault.write(ANN) as writer:
            (waiting,) = (one for one in writer.lease(lasting=DAY) if one.kind == "retain")
        assert job.run(ANN, [waiting], lambda: False) == [waiting]
        with world.vault.write(ANN) as writer:
            writer.release(waiting)
        done.append(sum(end_of(world, page) is not None for page in pages))
    assert 0 < done[0] < done[1] < done[2] < len(pages)
    memory.governance.retain("all", ttl=2 * DAY)
    with world.vault.write(ANN) as writer:
        leased = writer.lease(lasting=DAY)
    assert job.run(ANN, leased, lambda: True) == ()
    assert {end_of(world, page) for page in pages} == {START + 2 * DAY}


class OnlyReaders:
    """A gate that lets nobody administer."""

    def admit(self, caller: Caller, action: Action, scope: object) -> None:
        if action is Action.ADMINISTER:
            raise PermissionDenied(f"{caller.identity} may not {action.value}")


def test_rules_and_holds_are_for_who_may_administer(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲")
    hold = memory.governance.hold(reason="a case")
    memory._engine.vault.gate = memory._engine._gate = OnlyReaders()
    for refused in (
        lambda: memory.governance.retain("all", ttl=DAY),
        lambda: memory.governance.unretain("all"),
        lambda: memory.governance.hold(reason="a case", memory=page),
        lambda: memory.governance.release(hold.id),
    ):
        with pytest.raises(PermissionDenied):
            refused()
    assert memory.governance.holds() == [hold]
    assert memory.governance.retention() == []


rules = st.builds(
    RetentionRule,
    st.text("abc", min_size=1, max_size=3),
    st.lists(st.sampled_from([Kind.PAGE, Kind.FACT, Kind.TRAIT]), unique=True).map(tuple),
    st.lists(st.sampled_from("xy"), unique=True).map(tuple),
    st.floats(1, 1e6),
) | st.builds(
    lambda name, seconds: RetentionRule(name, half_life_seconds=seconds),
    st.text("abc", min_size=1, max_size=3),
    st.floats(1, 1e6),
)


@pytest.mark.once
@given(st.lists(rules, max_size=4, unique_by=lambda rule: rule.name), st.lists(rules, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rules_are_read_as_written_and_depend_on_no_earlier_rules(page, now_in_force, earlier) -> None:
    assert [RULES.read(rule.written()) for rule in now_in_force] == now_in_force
    fresh = page("tea")
    assert governed(governed(fresh, earlier), now_in_force) == governed(fresh, now_in_force)
    assert governed(governed(fresh, earlier), []) == fresh


class Model:
    """What a store with rules should hold, page by page."""

    def __init__(self) -> None:
        self.rules: dict[str, tuple[timedelta, str | None]] = {}
        self.pages: dict[str, tuple[datetime, str, datetime | None]] = {}

    def end(self, page: str) -> datetime | None:
        stored, tag, own = self.pages[page]
        ends = [stored + ttl for ttl, wanted in self.rules.values() if wanted in (None, tag)]
        return min([*ends, *([own] if own else [])], default=None)

    def sweep(self, now: datetime) -> None:
        self.pages = {one: told for one, told in self.pages.items() if not ((end := self.end(one)) and end <= now)}


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("xy"), st.sampled_from([None, 1, 5, 30])),
        st.tuples(st.just("retain"), st.sampled_from("ab"), st.sampled_from([2, 7, 40]), st.sampled_from([None, "x"])),
        st.tuples(st.just("unretain"), st.sampled_from("ab")),
        st.tuples(st.just("wait"), st.integers(1, 20)),
    ),
    max_size=12,
)


def test_a_store_holds_what_the_rules_say_minute_by_minute(back_end: str) -> None:
    @given(steps)
    @settings(max_examples=12 if back_end == "sqlite" else 4)
    def play(script: list[tuple]) -> None:
        with TemporaryDirectory() as folder, files_on(back_end, Path(folder)):
            world = World(Path(folder))
            try:
                _play(world, script)
            finally:
                world.close()

    play()


def _play(world: World, script: list[tuple]) -> None:
    memory, model, clock = world.open(**SMALL), Model(), world.clock
    for step in script:
        _take(memory, model, clock, step)
        memory.jobs.run()
        model.sweep(clock.now)
        assert {page.id for page in world.cubes(Kind.PAGE)} == model.pages.keys()
        assert {one: end_of(world, one) for one in model.pages} == {one: model.end(one) for one in model.pages}


def _take(memory: Memory, model: Model, clock: Clock, step: tuple) -> None:
    if step[0] == "add":
        ttl = step[2] and timedelta(minutes=step[2])
        page = memory.add("🎲", tags=[step[1]], ttl=ttl)
        model.pages[page] = (clock.now, step[1], ttl and clock.now + ttl)
    elif step[0] == "retain":
        _, name, minutes, tag = step
        memory.governance.retain(name, ttl=timedelta(minutes=minutes), tags=[tag] if tag else [])
        model.rules[name] = (timedelta(minutes=minutes), tag)
    elif step[0] == "unretain" and step[1] in model.rules:
        memory.governance.unretain(step[1])
        del model.rules[step[1]]
    elif step[0] == "wait":
        clock.advance(minutes=step[1])


@pytest.mark.once
@pytest.mark.parametrize("life", [0, -1, float("nan"), 10**20, True, "30d", timedelta()])
def test_how_long_memories_are_kept_is_checked_in_one_way(world: World, life: Any) -> None:
    memory = world.open()
    is_number = not isinstance(life, str | bool)
    says = "is not a positive time of at most" if is_number else "expected a timedelta or seconds, got"
    for call in (
        lambda: memory.governance.retain("a", ttl=life),
        lambda: memory.archiving.add("a", unused=life),
        lambda: memory.snapshots.create("a", ttl=life),
        lambda: memory.branches.create("a", ttl=life),
    ):
        with pytest.raises(InvalidInput, match=says):
            call()
