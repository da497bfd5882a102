"""Placement: plans keep to their budgets, shares protect owners, moves between forms follow their rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos.clock import micros
from memoryos.errors import InvalidInput
from memoryos.operation.placement.answer_mode import AnswerMode, Composing, ModeReason
from memoryos.operation.placement.cost_model import SMOLLM2
from memoryos.operation.placement.foresight import Learned
from memoryos.operation.placement.form_moves import FormOfMemory, MoveReason, due_moves
from memoryos.operation.placement.kv_keeper import KeepingReason, KvBlock, KvKeeper
from memoryos.operation.placement.kv_pool import KvPool
from memoryos.operation.placement.memory_block import BlockFault, MemoryBlock, MemoryForm
from memoryos.operation.placement.placement_plan import PlacementReason
from memoryos.operation.placement.placement_policy import (
    DENSITY,
    POLICIES,
    FormulaPolicy,
    HeldBlock,
    policy_named,
    register_policy,
)
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask
from memoryos.operation.placement.planner import planned
from memoryos.operation.placement.use_history import MOST_BLOCKS, MOST_FOLLOWERS, BlockUse, UseHistory
from memoryos.scope import Scope

pytestmark = pytest.mark.once

ANN, BEN = Scope(user="ann"), Scope(user="ben")
NOW = datetime(2026, 5, 1, tzinfo=UTC)
FORMS = st.sampled_from(MemoryForm)


def task(tokens=10**6, **budget):
    return PlacementTask("what?", ANN, PlacementBudget(tokens, **budget))


def text(name, tokens=100, **more):
    return MemoryBlock(id=name, scope=ANN, tokens=tokens, **more)


def kv(name, *covers, tokens=100, **more):
    more = {"size_bytes": SMOLLM2.kv_bytes(tokens), **more}
    return MemoryBlock(id=name, scope=ANN, form=MemoryForm.KV, tokens=tokens, covers=covers, **more)


@st.composite
def candidates(draw):
    count = draw(st.integers(0, 8))
    texts = [text(f"t{n}", draw(st.integers(0, 500)), similarity=draw(st.floats(0, 1))) for n in range(count)]
    ids = st.lists(st.sampled_from([one.id for one in texts]), unique=True) if texts else st.just([])
    carriers = [
        MemoryBlock(
            id=f"c{n}",
            scope=ANN,
            form=draw(st.sampled_from((MemoryForm.KV, MemoryForm.ADAPTER))),
            tokens=draw(st.integers(0, 600)),
            size_bytes=draw(st.integers(0, 20_000_000)),
            covers=tuple(draw(ids)),
            is_loaded=draw(st.booleans()),
            fault=draw(st.one_of(st.none(), st.sampled_from(BlockFault))),
        )
        for n in range(draw(st.integers(0, 5)))
    ]
    return draw(st.permutations([*texts, *carriers]))


@given(candidates(), st.integers(0, 1500), st.integers(0, 5000), st.integers(0, 30_000_000), st.booleans())
def test_a_plan_keeps_to_its_budgets_and_says_something_about_every_block(blocks, tokens, ms, size_bytes, composes):
    wanted = task(tokens, ms=ms, size_bytes=size_bytes)
    plan = planned(wanted, blocks, SMOLLM2, composes=composes)
    assert plan.tokens <= tokens
    assert plan.ms <= ms
    assert plan.size_bytes <= size_bytes
    faulty = {block.id for block in blocks if block.fault}
    assert not faulty & {one.id for one in plan.chosen}
    assert {one.id for one in (*plan.chosen, *plan.left_out)} == {block.id for block in blocks}
    covered = [
        name for block in blocks if block.id in {c.id for c in plan.chosen} for name in block.covers or [block.id]
    ]
    assert len(covered) == len(set(covered)), "no text takes part twice"
    assert composes or sum(one.form is MemoryForm.KV for one in plan.chosen) <= 1
    assert planned(wanted, list(reversed(blocks)), SMOLLM2, composes=composes).chosen == plan.chosen


def test_kv_replaces_the_texts_that_it_stands_for_and_comes_first():
    plan = planned(task(), [text("a"), text("b"), kv("k", "a")], SMOLLM2)
    assert [(one.id, one.form) for one in plan.chosen] == [("k", MemoryForm.KV), ("b", MemoryForm.TEXT)]
    assert plan.decision("a").reason is PlacementReason.COVERED
    assert plan.decision("a").instead == "k"
    assert plan.ms == pytest.approx(SMOLLM2.load_ms(SMOLLM2.kv_bytes(100)) + SMOLLM2.prefill_ms(100))


@pytest.mark.parametrize("fault", BlockFault)
def test_what_may_not_be_used_is_left_out_and_its_texts_are_read(fault):
    plan = planned(task(), [text("a"), kv("k", "a", fault=fault)], SMOLLM2)
    assert [one.id for one in plan.chosen] == ["a"]
    assert plan.decision("k").reason.value == fault.value


def test_reasons_of_what_is_left_out():
    blocks = [
        text("a", similarity=0.9),
        text("b", similarity=0.8),
        text("big", 10**7, similarity=0.7),
        kv("k", "a", "b", tokens=200),
        kv("unneeded", "z"),
        kv("slow", "a", size_bytes=10**9),
        kv("twice", "a"),
    ]
    plan = planned(task(1000), blocks, SMOLLM2, composes=True)
    found = {one.id: one.reason for one in plan.left_out}
    assert found["big"] is PlacementReason.OVER_TOKENS
    assert found["unneeded"] is PlacementReason.NOT_NEEDED
    assert found["twice"] is found["slow"] is PlacementReason.OVERLAPS
    assert planned(task(), [text("a"), kv("k", "a", size_bytes=10**9)], SMOLLM2).decision("k").reason is (
        PlacementReason.SAVES_NOTHING
    )
    tight = planned(task(size_bytes=10), [text("a"), kv("k", "a")], SMOLLM2)
    assert tight.decision("k").reason is PlacementReason.OVER_BYTES
    one = planned(task(), [text("a"), text("b"), kv("k", "a"), kv("l", "b")], SMOLLM2)
    assert one.decision("l").reason is PlacementReason.ONE_PREFIX
    late = planned(task(ms=400), [text("a", similarity=1), text("b")], SMOLLM2)
    assert late.decision("b").reason is PlacementReason.OVER_MS


def test_texts_go_before_what_stands_for_texts_when_a_plan_is_too_slow():
    texts = [text("a", similarity=1.0), text("b", similarity=0.5)]
    plan = planned(task(ms=SMOLLM2.load_ms(kv("k").size_bytes)), [*texts, kv("k", "a")], SMOLLM2)
    assert [one.id for one in plan.chosen] == ["k"]
    assert [one.id for one in plan.left_out if one.reason is PlacementReason.OVER_MS] == ["b"]


def test_a_tag_with_priority_comes_before_what_fits_better():
    wanted = PlacementTask("", ANN, PlacementBudget(100), priorities={"urgent": 5})
    blocks = [text("near", similarity=1.0), text("urgent", labels=frozenset({"urgent"}))]
    assert [one.id for one in planned(wanted, blocks, SMOLLM2).chosen] == ["urgent"]


def held(name, scope=ANN, size=10, **more):
    return HeldBlock(id=name, scope=scope, size_bytes=size, saved_ms=1.0, **more)


@st.composite
def pools(draw):
    owners = [Scope(user=f"u{n}") for n in range(draw(st.integers(1, 4)))]
    blocks = [
        held(f"b{n}", draw(st.sampled_from(owners)), draw(st.integers(1, 40)), chance=draw(st.floats(0, 1)))
        for n in range(draw(st.integers(0, 12)))
    ]
    capacity = sum(block.size_bytes for block in blocks) + draw(st.integers(0, 20))
    return capacity, blocks, held("new", draw(st.sampled_from(owners)), draw(st.integers(1, 80)), chance=0.5)


@given(pools(), st.sampled_from([0.0, 0.25, 1.0]), st.booleans(), st.sampled_from(sorted(POLICIES)))
def test_a_pool_never_holds_more_than_its_capacity_and_respects_shares(pool, protected, must_gain, name):
    capacity, blocks, wanted = pool
    rule = KvPool(capacity, policy_named(name), protected)
    leaving = rule.room(blocks, wanted, task(), must_gain=must_gain)
    if leaving is None:
        return
    assert sum(block.size_bytes for block in blocks if block.id not in leaving) + wanted.size_bytes <= capacity
    share = rule.share([wanted.scope, *(block.scope for block in blocks)])
    for owner in {block.scope for block in blocks} - {wanted.scope}:
        sizes = [block.size_bytes for block in blocks if block.scope == owner]
        if sum(sizes) <= share:
            assert not [block for block in blocks if block.scope == owner and block.id in leaving]
    assert rule.room(list(reversed(blocks)), wanted, task(), must_gain=must_gain) == leaving


def test_one_owner_cannot_push_out_another():
    rule, kept = KvPool(100, policy_named("lru"), 0.5), [held("b", BEN, 20, last_used=0)]
    for number in range(1, 50):
        wanted = held(f"a{number}", ANN, 20, last_used=number)
        leaving = rule.room(kept, wanted, task())
        kept = [block for block in kept if block.id not in leaving] + [wanted]
    assert sorted(block.id for block in kept) == ["a46", "a47", "a48", "a49", "b"]


def test_an_empty_pool_takes_nothing_and_a_block_larger_than_the_pool_pushes_nothing_out():
    assert KvPool(0, DENSITY).room([], held("a"), task()) is None
    assert KvPool(50, DENSITY).room([held("a", size=50)], held("b", size=51), task()) is None


def test_a_higher_priority_stays():
    rule = KvPool(10, policy_named("lru"))
    assert rule.room([held("old", priority=3)], held("new", last_used=9), task()) is None
    assert rule.room([held("old")], held("new", last_used=9), task()) == ("old",)


def test_a_priority_keeps_no_room_from_other_owners_and_counts_among_what_they_leave():
    rule = KvPool(40, policy_named("lru"), 0.5)
    kept = [held("urgent", BEN, priority=9), *(held(f"calm{n}", BEN, last_used=9) for n in range(3))]
    assert rule.room(kept, held("a", last_used=1), task()) == ("calm0",)
    every = [held(f"urgent{n}", BEN, priority=9, last_used=n) for n in range(4)]
    assert rule.room(every, held("a", last_used=9), task()) == ("urgent0",)
    own = [held("mine", last_used=5), *every[1:]]
    assert rule.room(own, held("a", last_used=9), task()) == ("urgent1",), "what is worth least, whoever has it"


@pytest.mark.parametrize("must_gain", [False, True])
@pytest.mark.parametrize("priority", [0, 9])
def test_a_block_that_is_worth_much_hides_none_of_its_owner_that_has_a_higher_priority(priority, must_gain):
    rule = KvPool(100, policy_named("heat"))
    junk = [held(f"junk{n}", BEN, 1, heat=0.1, priority=priority) for n in range(99)]
    leaving = rule.room(
        [held("head", BEN, 1, heat=100.0), *junk], held("new", ANN, 2, heat=50.0), task(), must_gain=must_gain
    )
    assert leaving is not None
    assert len(leaving) == 2


def test_each_policy_orders_by_what_it_is_named_for():
    wanted = PlacementTask("", ANN, PlacementBudget(0), labels=frozenset({"x"}))
    better = {
        "density": {"chance": 0.5},
        "gdsf": {"uses": 3},
        "lru": {"last_used": 3},
        "heat": {"heat": 3.0},
        "similarity": {"similarity": 0.5},
        "labels": {"labels": frozenset({"x"})},
    }
    for name, more in better.items():
        assert policy_named(name).worth(held("a", **more), wanted) > policy_named(name).worth(held("b"), wanted)
    other = Scope(user="ben", agent="coder", tenant="acme")
    for name in ("user", "role", "organisation"):
        assert policy_named(name).worth(held("a"), wanted) > policy_named(name).worth(held("b", other), wanted)


def test_policies_can_be_added_once_and_are_checked():
    largest = FormulaPolicy("largest", lambda block, _: block.size_bytes)
    register_policy(largest)
    try:
        assert policy_named("largest").worth(held("a"), task()) == held("a").size_bytes
        with pytest.raises(InvalidInput, match="taken"):
            register_policy(largest)
    finally:
        del POLICIES["largest"]
    with pytest.raises(InvalidInput, match="unknown"):
        policy_named("largest")
    with pytest.raises(InvalidInput, match="worth"):
        register_policy(object())


@pytest.mark.parametrize("formula", [lambda *_: 1 / 0, lambda *_: None, lambda *_: float("nan"), lambda: 1.0])
def test_an_added_policy_that_fails_is_named(formula):
    register_policy(FormulaPolicy("broken", formula))
    try:
        with pytest.raises(InvalidInput, match=r"'broken', which (failed|said)"):
            policy_named("broken").worth(held("a"), task())
    finally:
        del POLICIES["broken"]


class Joining:
    """A policy that puts states together if they save more than so many milliseconds."""

    name = "joining"

    def __init__(self, least_ms=0.0):
        self.least_ms = least_ms

    def worth(self, block, task):
        return block.chance

    def composes(self, states, task):
        return sum(one.saved_ms for one in states) > self.least_ms


EXACT, COMPOSED = AnswerMode.EXACT, AnswerMode.COMPOSED


@pytest.mark.parametrize(
    ("composing", "needed", "told"),
    [
        (Composing(None, setting=False), 2, (EXACT, ModeReason.DEFAULT)),
        (Composing(DENSITY, setting=False), 2, (EXACT, ModeReason.DEFAULT)),
        (Composing(DENSITY, setting=True), 2, (COMPOSED, ModeReason.SETTING)),
        (Composing(DENSITY, setting=True, asked=False), 2, (EXACT, ModeReason.ASKED)),
        (Composing(DENSITY, setting=False, asked=True), 2, (COMPOSED, ModeReason.ASKED)),
        (Composing(Joining(), setting=False), 2, (COMPOSED, ModeReason.POLICY)),
        (Composing(Joining(1e6), setting=False), 2, (EXACT, ModeReason.DEFAULT)),
        (Composing(Joining(), setting=False), 3, (EXACT, ModeReason.DEFAULT)),  # one of the three is not there
        (Composing(Joining(), setting=False, asked=False), 2, (EXACT, ModeReason.ASKED)),
        (Composing(Joining(), setting=True, asked=True), 1, (EXACT, ModeReason.ONE_STATE)),
    ],
)
def test_the_caller_then_the_setting_then_the_policy_decides_whether_states_are_put_together(composing, needed, told):
    found = composing.decided(needed, lambda: [held("a"), held("b")][:needed], task())
    assert (found.mode, found.reason, found.is_composed) == (*told, told[0] is COMPOSED)


def test_an_added_policy_may_put_states_together_and_is_named_if_it_fails_at_that():
    plain, failing = FormulaPolicy("plain", lambda *_: 1.0), Joining()
    failing.name, failing.least_ms = "failing", None
    register_policy(plain)
    register_policy(failing)
    try:
        assert not policy_named("plain").composes([held("a"), held("b")], task())
        with pytest.raises(InvalidInput, match=r"'failing', which failed: TypeError.*composes\(\)"):
            policy_named("failing").composes([held("a"), held("b")], task())
    finally:
        del POLICIES["plain"], POLICIES["failing"]


def test_a_history_learns_what_is_used_and_what_follows():
    history = UseHistory()
    assert history.likely() == []
    assert history.chance("a") == 0
    for _ in range(10):
        history = history.after({"a": 1.0}).after({"b": 1.0})
    assert history.likely() == ["a", "b"]  # b was used just now, but a follows it
    assert 0 < history.chance("b") < history.chance("a") <= 1
    assert history.follows["b"].share("a") == pytest.approx(1)
    assert history.blocks["a"].owed_ms == 10
    assert history.paid("a").blocks["a"].owed_ms == 0
    assert history.paid("z") is history


@given(st.lists(st.lists(st.integers(0, 600).map(str), max_size=12, unique=True), max_size=60))
def test_a_history_is_bounded(questions):
    history = UseHistory()
    for used in questions:
        history = history.after(dict.fromkeys(used, 1.0))
    assert len(history.blocks) <= MOST_BLOCKS
    assert set(history.follows) <= set(history.blocks)
    assert all(len(one.blocks) <= MOST_FOLLOWERS for one in history.follows.values())
    assert all(0 <= history.chance(block) <= 1 for block in history.blocks)


def memory(form=MemoryForm.TEXT, *, changed_days=0.0, **more):
    changed = NOW - timedelta(days=changed_days)
    return FormOfMemory(id="m", form=form, tokens=100, changed_at=changed, built_at=changed, **more)


def due(one, **use):
    return [(move.after, move.reason) for move in due_moves([one], {"m": BlockUse(**use)}, SMOLLM2, NOW)]


def test_what_was_used_last_stays_as_far_as_there_is_room():
    history = UseHistory().after({"a": 1.0}).after({"b": 1.0})
    assert history.used_last({"a": 60, "b": 50, "never": 40}, 100) == {"b", "never"}
    assert history.used_last({"a": 60, "b": 50}, 110) == {"a", "b"}
    assert history.used_last({"a": 60}, 0) == set()


def test_text_earns_kv_when_reading_it_has_cost_as_much_as_building_it():
    build = SMOLLM2.prefill_ms(100)
    assert due(memory(), owed_ms=build - 1) == []
    assert due(memory(), owed_ms=build) == [(MemoryForm.KV, MoveReason.PAID)]
    assert due(memory(is_frozen=True), owed_ms=10 * build) == []
    uses = 0
    while uses * SMOLLM2.saved_ms(100) < build:
        uses += 1
    assert uses == 2


def test_kv_earns_an_adapter_when_it_is_stable_and_goes_when_it_is_cold():
    today = micros(NOW)
    assert due(memory(MemoryForm.KV, changed_days=31), total=20, micros=today) == [
        (MemoryForm.ADAPTER, MoveReason.STABLE)
    ]
    assert due(memory(MemoryForm.KV, changed_days=29), total=20, micros=today) == []
    assert due(memory(MemoryForm.KV, changed_days=31), total=19, micros=today) == []
    for form in (MemoryForm.KV, MemoryForm.ADAPTER):
        assert due(memory(form, changed_days=15)) == [(MemoryForm.TEXT, MoveReason.COLD)]
        assert due(memory(form, changed_days=13)) == []
        assert due(memory(form, changed_days=15, is_frozen=True)) == []


def test_a_history_without_what_is_gone_knows_nothing_of_it():
    known = UseHistory().after({"a": 1.0}).after({"gone": 2.0}).after({"a": 1.0})
    left = known.only({"a"})
    assert (left.asked, [*left.blocks], left.latest) == (3, ["a"], ("a",))
    assert "gone" in str(known)
    assert "gone" not in str(left)
    assert left.chance("gone") == 0.0
    assert known.only(()) == UseHistory(asked=3)


def test_foresight_is_apart_by_owner_and_goes_on_from_what_was_noted():
    learned = Learned()
    assert not learned.knows(ANN)
    assert (learned.chance(ANN, "a"), [*learned.likely(ANN)], learned.idle(ANN)) == (0, [], 0)
    learned.know(ANN, UseHistory().after({"a": 1.0}))
    learned.asked(BEN, {"a": 1.0, "b": 1.0})
    learned.asked(BEN, {"b": 1.0})
    assert (learned.idle(ANN), learned.idle(BEN)) == (2, 0)
    assert [*learned.likely(ANN)] == ["a"]
    assert [*learned.likely(BEN)] == ["b", "a"]
    assert learned.chance(ANN, "b") == 0.0 < learned.chance(BEN, "b")


def test_what_cannot_be_made_ready_or_takes_too_long_takes_nobodys_place():
    learned = Learned()
    keeper = KvKeeper(KvPool(100, DENSITY), learned)

    def block(name, size, ready=1.0):
        return KvBlock(id=name, owner=ANN, name=name, size_bytes=size, saved_ms=100, ready_ms=ready)

    asked = PlacementTask("", ANN, PlacementBudget(0))
    for _ in range(3):
        learned.asked(ANN, {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0})
    learned.asked(ANN, {"d": 1.0})
    assert [one.reason for one in keeper.used([block("d", 60)], asked)] == [KeepingReason.USED]
    likely = [block("a", 40), block("b", 40, ready=9.0), block("c", 40), block("d", 60)]
    made = {"a": None, "c": block("c", 90)}
    found = [*keeper.preloaded(likely, 5.0, asked, lambda one: made[one.id])]
    assert [(one.block.id, one.is_kept, one.reason) for one in found] == [
        ("a", False, KeepingReason.FAILED),
        ("b", False, KeepingReason.NO_TIME),
        ("c", False, KeepingReason.NO_ROOM),  # it is larger than was known
    ]
    assert (keeper.kept, keeper.peak_bytes) == ({"d"}, 60)
    keeper.retain([])
    assert keeper.kept == frozenset()
    assert [*keeper.preloaded([], 5.0, asked)] == []
