"""Self-tuning: theta, tau, m and k follow a scope's own scores, within bounds, and only as far as nobody sets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import Memory, MemoryOS, Scope, load_settings
from memoryos.bench import chinese_talk
from memoryos.cube import Turn
from memoryos.importers.load import load_conversation
from memoryos.importers.locomo import read_locomo
from memoryos.infrastructure.vault.records import LinkKind, Operation
from memoryos.kinds import Kind, Role, Tier
from memoryos.operation.hierarchy.tuning import (
    FIRST_PAGES,
    RANGES,
    WEIGHTS,
    YOUNG_GROWTH,
    YOUNG_PAGES,
    Calibration,
    Samples,
    best_weight,
    calibrated,
    explained,
    tuned,
)
from memoryos.operation.maintenance import moves
from memoryos.operation.paging.calibrator import NOTE
from memoryos.operation.paging.sample import spread

from .world import ANN, AXES, World

PAPER = {
    "segment_threshold": 0.6,
    "heat_threshold": 5.0,
    "recall_segments": 5,
    "recall_pages": 10,
    "keyword_weight": 0.0,
}

scores = st.lists(st.floats(-1, 2), max_size=60)
samples = st.builds(
    Samples,
    near=scores,
    far=scores,
    heats=st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 10_000)), max_size=60),
    depths=st.lists(st.integers(1, 200), max_size=80),
    ranks=st.integers(0, 80).flatmap(
        lambda answers: st.fixed_dictionaries(
            dict.fromkeys(WEIGHTS, st.lists(st.integers(1, 100_000), min_size=answers, max_size=answers))
        )
    ),
)
RANKS = {0.0: [40] * 50, 0.5: [17] * 50, 1.0: [20] * 50}
ENOUGH = Samples(near=[0.7] * 20, far=[0.3] * 20, heats=[(4.0, 3)] * 20, depths=[9] * 50, ranks=RANKS)


def values(calibration: Calibration) -> dict[str, float]:
    return {one.name: one.value for one in calibration.values}


def in_use(memory: Memory) -> dict[str, float]:
    return {one.name: one.value for one in memory.stats().tuning}


# What scores give


def test_worked_numbers():
    near = [0.5] * 10 + [0.9] * 11  # the median is 0.9
    far = [index / 100 for index in range(101)]  # nine of ten stay below 0.9
    heats = [(2.0, 1), (4.0, 4), (9.0, 5), *[(1.0, 0)] * 10]  # the segments at 4 and hotter have 9 of 10 pages
    ranks = {0.0: range(1, 41), 0.5: [6] * 40, 1.0: [15, 4] * 20}  # geometric means 15.8, 6 and 7.7
    found = values(calibrated(Samples(near, [one / 2 for one in far], heats, range(1, 101), ranks), 200, 0.6))
    assert found["segment_threshold"] == pytest.approx((0.9 + 0.45) / 2)
    assert found["heat_threshold"] == 4
    assert found["recall_segments"] == RANGES["recall_segments"].high  # 100, and the bound holds
    assert found["keyword_weight"] == 0.5
    assert found["recall_pages"] == 6


@given(samples, st.integers(0, 100_000))
def test_values_stay_within_their_bounds_and_say_why(found: Samples, pages: int):
    for one in calibrated(found, pages, 0.6).values:
        assert RANGES[one.name].low <= one.value <= RANGES[one.name].high
        assert (one.low, one.high, one.default) == (RANGES[one.name].low, RANGES[one.name].high, PAPER[one.name])
        assert one.reason
        assert one.samples >= 0


@given(samples, st.integers(0, 100_000))
def test_the_same_scores_give_the_same_values_and_a_note_keeps_them(found: Samples, pages: int):
    once = calibrated(found, pages, 0.6)
    assert calibrated(found, pages, 0.6) == once
    assert Calibration.from_json(once.to_json()) == once


@given(scores, scores, st.floats(0, 1))
def test_closer_pages_give_no_lower_theta(near: list[float], far: list[float], closer: float):
    def theta(shift: float) -> float:
        moved = replace(ENOUGH, near=[one + shift for one in near], far=[one + shift for one in far])
        return values(calibrated(moved, 100, 0.6))["segment_threshold"]

    assert theta(closer) >= theta(0)


def test_closer_pages_give_a_higher_theta():
    thetas = [
        values(calibrated(replace(ENOUGH, near=[near] * 20), 100, 0.6))["segment_threshold"] for near in (0.6, 0.8, 1)
    ]
    assert thetas == [0.45, 0.55, 0.65]


@pytest.mark.parametrize(
    ("name", "few"),
    [
        ("segment_threshold", {"near": [0.9] * 11}),
        ("segment_threshold", {"far": [0.9] * 11}),
        ("segment_threshold", {"far": []}),
        ("heat_threshold", {"heats": [(7.0, 3)] * 9}),
        ("recall_segments", {"depths": [9] * 39}),
    ],
)
def test_few_samples_leave_the_value_of_the_paper(name: str, few: dict[str, list[float]]):
    enough, found = values(calibrated(ENOUGH, 100, 0.6)), values(calibrated(replace(ENOUGH, **few), 100, 0.6))
    assert enough[name] != PAPER[name]
    assert found == {**enough, name: PAPER[name]}


def test_few_answers_leave_pages_and_keywords_as_in_the_paper():
    few = {weight: found[:23] for weight, found in RANKS.items()}
    found = values(calibrated(replace(ENOUGH, ranks=few), 100, 0.6))
    assert found == values(calibrated(ENOUGH, 100, 0.6)) | {"recall_pages": 10, "keyword_weight": 0}


@given(samples, st.randoms())
def test_the_order_of_the_samples_changes_nothing(found: Samples, random: Random):
    def shuffled(items: Sequence[float]) -> list[float]:
        return random.sample(list(items), len(items))

    ranks = {weight: shuffled(one) for weight, one in reversed(list(found.ranks.items()))}
    mixed = Samples(*map(shuffled, (found.near, found.far, found.heats, found.depths)), ranks)
    one, other = values(calibrated(found, 100, 0.6)), values(calibrated(mixed, 100, 0.6))
    assert one.pop("segment_threshold") == pytest.approx(other.pop("segment_threshold"))
    assert one == other


@given(st.lists(st.integers(1, 1000), min_size=24, max_size=60), st.sampled_from(WEIGHTS), st.integers(2, 9))
def test_keywords_count_as_answers_are_found_by_them(ranks: list[int], best: float, worse: int):
    by_weight = {weight: ranks if weight == best else [worse * one for one in ranks] for weight in WEIGHTS}
    assert best_weight(by_weight) == best
    assert values(calibrated(replace(ENOUGH, ranks=by_weight), 100, 0.6))["keyword_weight"] == best


def test_keywords_that_make_no_difference_do_not_count():
    assert best_weight(dict.fromkeys(WEIGHTS, [3] * 40)) == 0


def test_a_weight_set_by_hand_is_the_one_that_pages_are_ranked_by():
    assert best_weight({0.7: []}) == 0.7
    found = values(calibrated(replace(ENOUGH, ranks={0.7: [12] * 40}), 100, 0.6))
    assert found["recall_pages"] == 12


def test_a_note_of_another_program_is_no_calibration():
    assert Calibration.from_json(None) is None
    assert Calibration.from_json('{"theta": 0.5}') is None
    assert Calibration.from_json("no JSON") is None


def test_a_scope_is_calibrated_again_when_it_grew_or_shrank_by_half_and_while_young_by_a_quarter():
    calibration = calibrated(ENOUGH, 300, 0.6)
    assert [pages for pages in (200, 201, 300, 449, 450) if calibration.is_due(pages)] == [200, 450]
    young = calibrated(ENOUGH, YOUNG_PAGES, 0.6)
    assert [pages for pages in (51, 52, 64, 79, 80) if young.is_due(pages)] == [51, 80]


def test_a_scope_is_calibrated_again_when_an_older_program_left_out_a_value():
    calibration = calibrated(ENOUGH, 100, 0.6)
    older = replace(calibration, values=calibration.values[:4])
    assert Calibration.from_json(older.to_json()) == older
    assert older.is_due(100)
    assert not calibration.is_due(100)
    assert explained(load_settings(), older)[:4] == calibration.values[:4]
    assert tuned(load_settings(), older).keyword_weight == 0


# Who decides


def test_what_is_set_by_hand_stays():
    settings = load_settings(segment_threshold=0.6, recall_pages=3)
    used = tuned(settings, calibrated(ENOUGH, 100, 0.6))
    assert (used.segment_threshold, used.recall_pages) == (0.6, 3)
    assert (used.heat_threshold, used.recall_segments) == (4.0, 9)


def test_what_the_environment_sets_stays(monkeypatch):
    monkeypatch.setenv("MEMORYOS_SEGMENT_THRESHOLD", "0.6")
    used = tuned(load_settings(), calibrated(ENOUGH, 100, 0.6))
    assert (used.segment_threshold, used.recall_pages) == (0.6, 17)


def test_one_switch_turns_all_of_it_off(monkeypatch):
    monkeypatch.setenv("MEMORYOS_SELF_TUNING", "false")
    settings = load_settings()
    assert tuned(settings, calibrated(ENOUGH, 100, 0.6)) is settings
    assert {one.reason for one in explained(settings, calibrated(ENOUGH, 100, 0.6))} == {
        "the paper's value: self-tuning is off"
    }


def test_counts_stay_whole():
    used = tuned(load_settings(), calibrated(ENOUGH, 100, 0.6))
    assert (type(used.recall_segments), type(used.recall_pages)) == (int, int)


# In a memory


def exchange(world: World, query: str, response: str) -> list[Turn]:
    return [
        Turn(role=role, text=text, at=world.clock.now)
        for role, text in zip((Role.USER, Role.ASSISTANT), (query, response), strict=True)
    ]


def talk(world: World, memory: Memory, *, common: int = 0, sittings: int = 8, pages: int = 5) -> None:
    """Sittings about one symbol each, two hours apart; on every page there is some of the symbol 📐, too."""
    for number in range(sittings):
        said, turns = AXES[number % 9] * 4 + "📐" * common, []
        for _ in range(pages):
            turns += exchange(world, said, said)
            world.clock.advance(minutes=1)
        memory.add_many(turns)
        world.clock.advance(hours=2)


def test_a_young_scope_uses_the_values_of_the_paper(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, sittings=3)
    assert in_use(memory) == PAPER
    assert {one.samples for one in memory.stats().tuning} == {0}


@pytest.mark.parametrize(("common", "theta"), [(0, 0.5), (4, 0.75)])
def test_theta_lies_between_neighbours_and_strangers(world: World, common: int, theta: float):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, common=common)
    assert in_use(memory)["segment_threshold"] == pytest.approx(theta, abs=0.06)


def test_pages_join_by_the_theta_of_the_scope(world: World):
    memory = world.open(short_term_capacity=1)
    off = world.open("off.db", short_term_capacity=1, self_tuning=False)
    for one in (memory, off):
        talk(world, one, common=5)  # of different topics: cosine 25/41, above 0.6
    assert len(off.segments.list()) == 1
    assert len(memory.segments.list()) == 8


def test_the_first_pages_are_placed_anew_and_nothing_is_lost(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    talk(world, memory, common=5)
    pages = memory.pages.list()
    homes = Counter(page for view in memory.segments.list(archive=True) for page in view.page_ids)
    assert homes == Counter(page.id for page in pages if page.tier is Tier.MTM)
    assert {view.cube.payload.pages for view in memory.segments.list()} <= {4, 5}
    removed = [
        event for event in memory.log.events() if (event.operation, event.kind) == (Operation.DELETE, Kind.SEGMENT)
    ]
    assert removed  # one segment held them all, until there was something to see it by
    found = memory.search("🍵🍵🍵🍵📐📐📐📐📐", strategy="two_stage", explain=True).hits
    assert all(
        hit.segment in {view.cube.id for view in memory.segments.list()} for hit in found if hit.cube.tier is Tier.MTM
    )


def test_pages_that_were_read_are_not_read_again(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    talk(world, memory, common=5, sittings=2, pages=FIRST_PAGES // 2)
    memory.consolidate()
    talk(world, memory, common=5, sittings=6)
    views = memory.segments.list()
    read = {page for view in views for page in view.page_ids[: len(view.page_ids) - view.cube.behaviour.interactions]}
    assert len(memory.segments.list()) > 1
    assert len(read) >= FIRST_PAGES // 2


def test_steps_of_any_size_give_the_same(world: World, monkeypatch):
    pictures = []
    for at_a_time in (1, 7, 100):
        monkeypatch.setattr(moves, "AT_A_TIME", at_a_time)
        monkeypatch.setattr(moves, "MANY_AT_A_TIME", at_a_time)
        world.clock.now = world.clock.now.replace(year=2027, month=1, day=1, hour=0, minute=0)
        memory = world.open(f"{at_a_time}.db", short_term_capacity=2)
        talk(world, memory, common=3)
        pictures.append((memory.stats().tuning, [len(view.page_ids) for view in memory.segments.list()]))
    assert pictures[0] == pictures[1] == pictures[2]


def test_restarts_and_other_processes_agree(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, common=4)
    told = memory.stats().tuning
    other = world.open(short_term_capacity=1)  # its own connection, and nothing in memory
    assert other.stats().tuning == told
    memory.close()
    assert world.open(short_term_capacity=1).stats().tuning == told


def test_values_stand_until_the_scope_has_grown(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, sittings=4)  # 20 pages, 19 of them in MTM
    with world.vault.read(ANN) as reader:
        first = Calibration.from_json(reader.note(NOTE))
    assert first
    assert first.pages == FIRST_PAGES
    memory.add("🎲")  # the 20th
    with world.vault.read(ANN) as reader:
        second = Calibration.from_json(reader.note(NOTE))
    assert second
    assert second.pages == int(FIRST_PAGES * YOUNG_GROWTH)


def test_scopes_are_calibrated_apart(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, common=4)
    assert in_use(memory.of(Scope(user="bob"))) == PAPER


def test_off_means_nothing_is_noted(world: World):
    memory = world.open(short_term_capacity=1, self_tuning=False)
    talk(world, memory, common=4)
    with world.vault.read(ANN) as reader:
        assert reader.note(NOTE) is None
    assert in_use(memory) == PAPER


def test_one_sitting_tells_nothing_of_strangers(world: World):
    memory = world.open(short_term_capacity=1)
    turns = []
    for number in range(40):
        turns.append(Turn(role=Role.USER, text=f"{AXES[number % 9]} {number}", at=world.clock.now))
        world.clock.advance(minutes=1)
    memory.add_many(turns)
    assert in_use(memory)["segment_threshold"] == 0.6


def test_two_stage_uses_m_and_k_of_the_scope_unless_told_otherwise(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, sittings=27, pages=4)
    k = int(in_use(memory)["recall_pages"])
    assert k != PAPER["recall_pages"]
    mtm = [hit for hit in memory.search("🍵🚲🌙", strategy="two_stage").hits if hit.cube.tier is not Tier.STM]
    assert len(mtm) == k
    assert len(memory.search("🍵🚲🌙").hits) == PAPER["recall_pages"]  # hybrid has nothing to do with it
    assert len(memory.search("🍵🚲🌙", strategy="two_stage", pages=3).hits) <= 3 + 1


def gossip(world: World, memory: Memory) -> None:
    """Sittings of exchanges that all look alike, but for the name of somebody that query and response share."""
    for sitting in range(8):
        turns = []
        for number in range(8 * sitting, 8 * sitting + 8):
            name = f"person{number}"
            turns += exchange(world, f"🍵 how is {name}?", f"🍵{'🚲' if number % 2 else '🌙'} ask {name}")
            world.clock.advance(minutes=1)
        memory.add_many(turns)
        world.clock.advance(hours=2)


def test_keywords_count_where_only_they_tell_pages_apart(world: World):
    memory = world.open(short_term_capacity=1)
    gossip(world, memory)
    assert in_use(memory)["keyword_weight"] > 0
    found = memory.search("🍵 what of person17?", strategy="two_stage", explain=True).hits[0]
    assert "person17" in found.text
    assert found.score == found.parts["cosine"] + found.parts["jaccard"]
    assert 0 < found.parts["jaccard"] <= in_use(memory)["keyword_weight"]


@pytest.mark.parametrize("settings", [{"self_tuning": False}, {"keyword_weight": 0.0}])
def test_without_a_weight_pages_are_ranked_as_in_the_paper(world: World, settings):
    memory = world.open(short_term_capacity=1, **settings)
    gossip(world, memory)
    found = memory.search("🍵 what of person17?", strategy="two_stage", explain=True).hits
    assert all(hit.score == hit.parts["cosine"] for hit in found)
    assert all("jaccard" not in hit.parts for hit in found)


def test_keywords_do_not_count_where_nothing_is_said(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, sittings=27, pages=4)  # symbols are no keywords
    assert in_use(memory)["keyword_weight"] == 0


def test_a_chinese_conversation_finds_its_theta(tmp_path):
    with MemoryOS.open(tmp_path / "memory.db", settings=load_settings(short_term_capacity=2)) as memory:
        (conversation,) = read_locomo(chinese_talk.FILE)
        load_conversation(memory, conversation)
        memory.wait()
        theta, *_ = memory.of(Scope(user=conversation.user)).stats().tuning
    assert theta.samples > 0
    assert theta.value != PAPER["segment_threshold"]
    assert theta.low <= theta.value <= theta.high


def test_a_link_to_one_segment_is_all_a_page_has(world: World):
    memory = world.open(short_term_capacity=1)
    talk(world, memory, common=5)
    placed = [page.id for page in memory.pages.list(tier=Tier.MTM)]
    assert Counter(link.source for link in world.links(LinkKind.MEMBER_OF, *placed)) == Counter(placed)


def test_spread_keeps_the_ends():
    assert spread(range(1000), 5) == [0, 249, 499, 749, 999]
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread([], 5) == []
