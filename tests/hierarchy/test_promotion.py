"""Promotion: hot segments are extracted into LPM, each in its turn, exactly once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memoryos import Kind, Memory, Role, Tier, Turn
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.records import Entry, JobKind, JobState, Operation
from memoryos.operation.scheduler.job_runner import MOST_TRIES

from .world import ANN, LineExtractor, World


class Failing:
    name = "failing"

    def extract(self, pages):
        raise RuntimeError("the model is on fire")


def learned(world: World) -> list[tuple[str, str, int, tuple[str, ...]]]:
    return [
        (cube.id, cube.text, cube.version.number, cube.descriptive.provenance)
        for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE)
        for cube in world.cubes(kind)
    ]


TOPIC = {"🍵": "tea leaf cup pot", "🚲": "bike wheel road helmet", "🌙": "moon sky crater star"}


def fill(memory: Memory, symbol: str, pages: int) -> None:
    for number in range(pages):
        memory.add(f"{symbol} {TOPIC[symbol]}\nfact: {symbol} {number}")


def test_heat_must_exceed_the_threshold(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 5)
    memory.wait()
    assert memory.segments.list()[0].heat == 5  # four pages, and no time has passed
    assert memory.jobs.list() == []
    fill(memory, "🍵", 1)
    memory.wait()
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE]


def test_visits_make_a_segment_hot(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 2)
    for _ in range(4):
        memory.search("🍵")
    fill(memory, "🚲", 1)  # writes the visits: 4 + 1 page + 1
    memory.wait()
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE]


def test_a_hot_segment_without_new_pages_is_left_in_peace(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 2)
    for _ in range(3):
        for _ in range(9):
            memory.search("🍵", pages=2)
        fill(memory, "🚲", 1)
        memory.wait()
    tea = max(memory.segments.list(), key=lambda view: view.heat).cube.id
    assert [job.cube_id for job in memory.jobs.list()].count(tea) == 1


def test_only_the_interactions_are_reset(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 3)
    fill(memory, "🚲", 1)
    memory.search("🍵", pages=2)
    memory.search("🍵", pages=2)
    before = memory.segments.list()[0].cube
    memory.consolidate()
    after = memory.segments.list()[0].cube
    assert (after.behaviour.visits, after.behaviour.interactions) == (2, 0)
    assert after.behaviour.last_access == before.behaviour.last_access
    assert after.payload == before.payload


def test_only_new_pages_are_extracted(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 3)
    memory.add("end")
    seen: list[list[str]] = []

    class Recorder:
        name = "recorder"

        def extract(self, pages):
            seen.append([page.id for page in pages])
            return []

    first = list(memory.segments.list()[0].page_ids)
    world.extract(Recorder())
    fill(memory, "🍵", 2)
    memory.add("end")
    world.extract(Recorder())
    everything = next(view.page_ids for view in memory.segments.list() if len(view.page_ids) == 5)
    assert seen[0] == first
    assert set(everything[3:]) <= set(seen[1])
    assert sum(map(len, seen)) == 6  # and the first "end", once


def test_every_hot_segment_gets_its_turn(world: World):
    memory = world.open(short_term_capacity=1)
    topics = [*TOPIC.items()] * 6
    said = [f"{symbol} {words}" for symbol, words in topics]
    memory.add_many([Turn(role=Role.USER, text=text) for text in [*said, "end"]])
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE] * 3
    assert [view.cube.behaviour.interactions for view in memory.segments.list()] == [0, 0, 0]


def test_a_segment_that_stays_hot_starves_no_other(world: World):
    memory = world.open(short_term_capacity=1)
    fill(memory, "🍵", 2)
    for _ in range(20):
        memory.search("🍵", pages=2)
    fill(memory, "🚲", 7)
    memory.wait()
    by_visits = sorted(memory.segments.list(), key=lambda view: -view.cube.behaviour.visits)
    assert [view.cube.behaviour.visits for view in by_visits][1:] == [0]
    assert by_visits[0].heat > 20
    assert {job.cube_id for job in memory.jobs.list(JobState.DONE)} == {view.cube.id for view in by_visits}


def test_a_job_that_runs_again_changes_nothing(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.add("🍵\nfact: likes tea\ntrait: Food\ncity=Rome")
    memory.add("🍵\nfact: likes tea\ntrait: Food\ncity=Paris")
    memory.add("end")
    segment = memory.segments.list()[0].cube
    assert world.extract() == 1
    before = learned(world)
    assert [text for _, text, _, _ in before] == ["likes tea", "Food (low): said so", "city: Paris"]
    for again in (segment, None):  # as if the reset was lost; then with nothing new
        with world.vault.write(ANN) as writer:
            if again:
                writer.update([Entry(again)], Operation.REFRESH)
            writer.enqueue(JobKind.EXTRACT, [segment.id])
        assert world.runner(LineExtractor()).run_all(ANN) == 1
        assert learned(world) == before


def test_a_segment_waits_in_the_queue_only_once(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 2)
    world.queue()
    world.queue()
    assert memory.stats().jobs_waiting == 1


def test_pages_that_join_while_a_job_runs_are_extracted_later(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 3)

    class Joining(LineExtractor):
        def extract(self, pages):
            memory.add("🍵 tea leaf cup pot\nfact: late")
            return super().extract(pages)

    world.extract(Joining())
    assert memory.segments.list()[0].cube.behaviour.interactions == 1
    memory.add("end")
    world.extract()
    assert sorted(text for _, text, _, _ in learned(world)) == ["late", *(f"🍵 {number}" for number in range(3))]


def test_a_dead_job_is_tried_again_on_demand_and_learns_what_it_would_have(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 3)
    world.extract_until_dead(Failing())
    (dead,) = memory.jobs.list(JobState.DEAD)
    with pytest.raises(NotFound, match="no dead job 'other'"):
        memory.jobs.retry(dead.id, "other")
    assert memory.jobs.list(JobState.DEAD) == [dead]
    assert memory.jobs.retry() == 1
    memory.wait()
    assert [(job.id, job.state, job.error) for job in memory.jobs.list()] == [(dead.id, JobState.DONE, None)]
    assert memory.segments.list()[0].cube.behaviour.interactions == 0
    assert memory.jobs.retry() == 0


def test_what_a_process_left_behind_is_done_on_demand(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 3)
    (segment,) = memory.segments.list()
    with world.vault.write(ANN) as writer:
        writer.enqueue(JobKind.EXTRACT, [segment.cube.id])
    memory.jobs.run()
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE]


def test_a_failing_extractor_buries_the_job_and_loses_nothing(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 3)
    pages, segment = memory.pages.list(), memory.segments.list()[0].cube
    assert world.extract_until_dead(Failing()) == 0
    (job,) = memory.jobs.list()
    # What an unknown error says may quote a user: no more than its name is kept.
    assert (job.state, job.attempts, job.error) == (JobState.DEAD, MOST_TRIES, "RuntimeError")
    assert (memory.stats().jobs_dead, memory.stats().jobs_waiting) == (1, 0)
    assert (memory.pages.list(), memory.segments.list()[0].cube) == (pages, segment)
    assert learned(world) == []
    assert world.extract() == 1  # once the cause is gone
    assert len(learned(world)) == 2


def test_one_failing_segment_does_not_hold_up_the_next(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.add("🍵 poison")
    memory.add("🚲\nfact: rides")
    memory.add("end")

    class Picky(LineExtractor):
        def extract(self, pages):
            if any("poison" in page.text for page in pages):
                raise ValueError("poison")
            return super().extract(pages)

    assert world.extract_until_dead(Picky()) == 1
    assert [text for _, text, _, _ in learned(world)] == ["rides"]


def test_an_abandoned_job_is_taken_over_when_its_lease_ends(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    memory.add("🍵\nfact: likes tea")
    memory.add("end")
    world.queue()
    with world.vault.write(ANN) as writer:
        writer.lease(lasting=timedelta(hours=1))
    assert world.runner(LineExtractor()).run_all(ANN) == 0
    world.clock.advance(hours=2)
    assert world.runner(LineExtractor()).run_all(ANN) == 1
    assert [text for _, text, _, _ in learned(world)] == ["likes tea"]


@pytest.mark.parametrize(("said", "known"), [("I have a dog called Rex.", "Rex"), ("我住在北京。", "北京")])
def test_what_a_user_says_reaches_lpm_without_a_model(world: World, said, known):
    memory = world.open(short_term_capacity=1)
    memory.add(said, "Noted.")
    memory.add("end")
    memory.consolidate()
    assert any(known in fact.text for fact in memory.profile.get().user.facts)
    assert memory.pages.list(tier=Tier.MTM)[0].payload.turns[0].text == said


def test_a_segment_that_was_deleted_leaves_no_job_behind(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 2)
    world.queue()
    memory.delete(memory.segments.list()[0].cube.id)
    assert world.runner(LineExtractor()).run_all(ANN) == 0
    assert memory.jobs.list() == []


@pytest.mark.parametrize(("threshold", "is_due"), [(0, True), (1000, False)])
def test_a_page_that_joins_while_its_segment_is_read_is_read_soon_if_it_is_hot(world: World, threshold, is_due):
    memory = world.open(short_term_capacity=1, heat_threshold=1000, extract_within_seconds=3600, self_tuning=False)
    memory.add("🍵\nfact: likes tea")
    memory.add("🍵\nfact: likes green tea")

    class Slow(LineExtractor):
        def extract(self, pages):
            if "likes green tea" not in str(pages):
                memory.add("🚲 end")
                memory.wait()
            return super().extract(pages)

    world.settings = world.settings.model_copy(update={"heat_threshold": threshold})
    world.clock.advance(hours=2)
    runner = world.runner(Slow())
    assert runner.run_all(ANN) == (2 if is_due else 1)
    assert [text for _, text, _, _ in learned(world)] == ["likes tea", "likes green tea"][: 2 if is_due else 1]
    world.clock.advance(hours=2)
    assert runner.run_all(ANN) == (0 if is_due else 1)


def test_extraction_keeps_what_was_written_meanwhile(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    fill(memory, "🍵", 2)
    segment = memory.segments.list()[0].cube

    class Visiting(LineExtractor):
        def extract(self, pages):
            visited = replace(segment, behaviour=replace(segment.behaviour, visits=7))
            with world.vault.write(ANN) as writer:
                writer.update([Entry(visited)], Operation.VISIT)
            return super().extract(pages)

    world.extract(Visiting())
    assert memory.segments.list()[0].cube.behaviour.visits == 7
