"""Retention rules of a whole tenant: they end the memories of all its owners, also of those who come later."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from memoryos import AsyncMemoryOS, Kind, Memory, MemoryOS, RetentionRule, Scope, retention
from memoryos.caller import Action, Caller
from memoryos.errors import InvalidInput, NotFound, OnHold, PermissionDenied, StoreCorrupt
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.retention_part import TENANT_RULES
from memoryos.infrastructure.vault.soundness import verify

from .world import ANN, START, World

DAY = timedelta(days=1)
BOB, TEAM = Scope("bob"), Scope("ann", namespace=("team", "support"))
ELSEWHERE = Scope("ann", tenant="other/default")


def store_of(memory: Memory) -> MemoryOS:
    return MemoryOS(memory._engine)


def ids(world: World, scope: Scope = ANN) -> set[str]:
    return {cube.id for cube in world.cubes(Kind.PAGE, scope=scope)}


def ends(world: World, scope: Scope = ANN) -> set[timedelta | None]:
    found = (cube.governance.lifespan.expires_at for cube in world.cubes(Kind.PAGE, scope=scope))
    return {end and end - START for end in found}


def test_it_ends_what_all_owners_have_and_what_later_ones_will_have(world: World) -> None:
    ann = world.open()
    store, bob, other = store_of(ann), ann.of(BOB), ann.of(ELSEWHERE)
    for memory in (ann, bob, other):
        memory.add("🎲 The zanzibarquux.")
    rule = store.retention.add("a day", ttl=DAY, kinds=["page"])
    assert rule == RetentionRule("a day", (Kind.PAGE,), ttl_seconds=DAY.total_seconds(), tenant="default")
    store.wait()
    cat = ann.of(Scope("cat", agent="fresh"))
    cat.add("🎲")
    assert [ends(world, one) for one in (ANN, BOB, cat.scope, ELSEWHERE)] == [{DAY}, {DAY}, {DAY}, {None}]
    world.clock.advance(hours=23, minutes=59)
    ann.jobs.run()
    assert ids(world)
    world.clock.advance(minutes=1)
    for memory in (ann, bob, cat, other):
        memory.jobs.run()
    assert [len(ids(world, one)) for one in (ANN, BOB, cat.scope, ELSEWHERE)] == [0, 0, 0, 1]


def test_a_namespace_narrows_it_with_those_below(world: World) -> None:
    private = world.open()
    store, team = store_of(private), private.of(TEAM)
    private.add("🎲")
    team.add("🎲")
    team.branches.create("trial")
    store.retention.add("team", until=START + 2 * DAY, namespace=["team"], kinds=["page"])
    store.wait()
    likely = private.of(Scope("ann", namespace=("teams",)))
    likely.add("🎲")
    branch = team.branches.named("trial").scope(TEAM)
    assert [ends(world, one) for one in (ANN, TEAM, likely.scope, branch)] == [{None}, {2 * DAY}, {None}, {2 * DAY}]
    assert team.governance.retention() == store.retention.list() != []
    assert private.governance.retention() == []


def test_where_there_are_too_many_already_one_is_replaced(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(world.open())
    for number in range(3):
        store.retention.add(f"rule {number}", ttl=DAY)
    monkeypatch.setattr(retention, "MOST_RULES", 2)  # an earlier version stored them
    assert store.retention.add("rule 1", ttl=2 * DAY).ttl_seconds == 2 * DAY.total_seconds()
    with pytest.raises(InvalidInput, match="rule 3 here"):
        store.retention.add("another", ttl=DAY)


def test_the_earliest_end_counts_and_one_that_goes_gives_the_others_back(world: World) -> None:
    memory = world.open()
    store = store_of(memory)
    memory.add("🎲")
    memory.governance.retain("own", ttl=5 * DAY)
    for days in (9, 3):  # the second one takes the place of the first one
        store.retention.add("all", ttl=days * DAY)
        store.wait()
        assert ends(world) == {min(days, 5) * DAY}
    assert [(rule.name, rule.tenant) for rule in memory.governance.retention()] == [("own", None), ("all", "default")]
    with pytest.raises(NotFound, match="'all' of this user"):
        memory.governance.unretain("all")
    store.retention.remove("all")
    store.wait()
    assert ends(world) == {5 * DAY}
    assert store.retention.list() == []
    with pytest.raises(NotFound, match="'all' of this tenant"):
        store.retention.remove("all")


def test_a_replaced_rule_lets_go_of_the_namespace_that_it_had(world: World) -> None:
    private = world.open()
    store, team = store_of(private), private.of(TEAM)
    for memory in (private, team):
        memory.add("🎲")
    for namespace in ("team", "private"):
        store.retention.add("one", ttl=DAY, namespace=[namespace])
        store.wait()
    assert [ends(world, one) for one in (ANN, TEAM)] == [{DAY}, {None}]


def test_what_is_on_hold_stays_and_forgetting_an_owner_leaves_the_rule(world: World) -> None:
    memory = world.open()
    store = store_of(memory)
    memory.add("🎲")
    hold = memory.governance.hold(reason="a case")
    store.retention.add("all", ttl=DAY)
    store.wait()
    world.clock.advance(days=2)
    memory.jobs.run()
    assert len(ids(world)) == 1
    with pytest.raises(OnHold):
        memory.forget()
    memory.governance.release(hold.id)
    memory.jobs.run()
    assert ids(world) == set()
    assert memory.forget().is_complete
    assert len(store.retention.list()) == 1


def test_it_survives_a_restart_and_another_process_applies_it(world: World) -> None:
    worker = world.open(jobs="worker")
    worker.add("🎲")
    store_of(worker).retention.add("全部", ttl=DAY, tenant="default")
    assert ends(world) == {None}
    worker.close()
    memory = world.open()
    memory.jobs.run()
    assert ends(world) == {DAY}
    assert [rule.name for rule in store_of(memory).retention.list()] == ["全部"]


def test_names_of_tenants_do_not_meet(world: World) -> None:
    store = store_of(world.open())
    tenants = ["a", "a/b", "a0", "ä", "a%2Fb", "' OR 1=1 --"]
    for tenant in tenants:
        store.retention.add("b/c", ttl=DAY, tenant=tenant)
    for tenant in tenants:
        assert [rule.tenant for rule in store.retention.list(tenant=tenant)] == [tenant]
    store.retention.remove("b/c", tenant="a")
    assert [len(store.retention.list(tenant=tenant)) for tenant in tenants] == [0, 1, 1, 1, 1, 1]


class NoAdministrators:
    """A gate that lets nobody administer."""

    def admit(self, caller: Caller, action: Action, scope: object) -> None:
        if action is Action.ADMINISTER:
            raise PermissionDenied(f"{caller.identity} may not {action.value}")


def test_only_who_may_administer_the_store_sets_and_sees_them(world: World) -> None:
    store = store_of(world.open(audit=True))
    store.retention.add("all", ttl=DAY)
    store.retention.add("more", ttl=DAY)
    store.retention.remove("more")
    told = [entry.operation for entry in store.audit.permissions()]
    assert told == ["tenant_retention.add", "tenant_retention.add", "tenant_retention.remove"]
    store._engine.vault.gate = store._engine._gate = NoAdministrators()
    for refused in (
        lambda: store.retention.add("more", ttl=1),
        lambda: store.retention.remove("all"),
        store.retention.list,
    ):
        with pytest.raises(PermissionDenied):
            refused()
    with store._engine.vault.read(ANN) as reader:
        assert [rule.name for rule in reader.retention.rules()] == ["all"]


@pytest.mark.once
def test_wrong_arguments_are_refused(world: World) -> None:
    store = store_of(world.open(privacy_on_write="mask"))
    for wrong in (
        {},
        {"ttl": 5, "until": START},
        {"ttl": 5, "namespace": []},
        {"ttl": 5, "namespace": [""]},
        {"ttl": 5, "kinds": ["segment"]},
        {"ttl": 5, "tags": ["ann@example.com"]},
    ):
        with pytest.raises(InvalidInput):
            store.retention.add("wrong", **wrong)
    assert store.retention.list() == []


def test_a_damaged_rule_is_named_and_verify_finds_it(world: World) -> None:
    memory = world.open()
    store_of(memory).retention.add("all", ttl=DAY)
    with world.vault.change() as connection:
        meta = tables.meta
        connection.execute(meta.update().where(meta.c.key == TENANT_RULES.key + "default/all").values(value="{}"))
    with pytest.raises(StoreCorrupt, match="'tenant rule:default/all' of the table meta is damaged"):
        memory.add("🎲")
    assert [one.detail for one in verify(world.vault).damages] == [
        "the note 'tenant rule:default/all' of the whole store"
    ]


def test_async_programs_have_it_too(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with await AsyncMemoryOS.open(tmp_path / "memory.db") as store:
            await store.retention.add("all", ttl=DAY)
            return [rule.name for rule in await store.retention.list()]

    assert asyncio.run(run()) == ["all"]
