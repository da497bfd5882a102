"""When pages are extracted: hot ones soon, cold ones in the end, and by whoever is there to do it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import memoryos
from memoryos import Memory, MemoryOS, Scope, load_settings
from memoryos.bench.scripted_reader import ScriptedReader
from memoryos.clock import system_clock
from memoryos.cube import Turn
from memoryos.engine import Engine
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.kinds import Kind, Role, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.maintenance import worker
from memoryos.operation.scheduler.job_runner import LEASE
from public import store_of

from .world import ANN, World

BEN = Scope(user="ben")
SOON = 60.0  # seconds; nobody waits that long when all is well
LIMIT = 3600.0  # seconds within which a cold page is extracted
BATCH = 300.0  # seconds that a hot page waits for others
TALK = [("I have two cats, Miso and Nori.", "Cute!"), ("I live in Porto.", "Lovely."), ("Good night.", "Good night!")]


def facts(memory: Memory, scope: Scope = ANN) -> list[str]:
    return sorted(fact.text for fact in memory.of(scope).profile.get().user.facts)


def talk(memory: Memory, scope: Scope = ANN) -> None:
    for said, answer in TALK:
        memory.of(scope).add(said, answer)


def extractions(memory: Memory, *states: JobState) -> list:
    return [job for job in memory.jobs.list(*states) if job.kind is JobKind.EXTRACT]


def until(condition: Callable[[], object]) -> None:
    """Wait for it, and fail when it never comes."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


@pytest.fixture
def cold(world: World) -> Memory:
    """A memory in which nothing becomes hot."""
    return world.open(short_term_capacity=1, heat_threshold=10**6, extract_within_seconds=LIMIT)


def test_a_cold_page_is_extracted_when_its_time_has_come_and_not_before(world: World, cold: Memory):
    talk(cold)
    assert [job.not_before for job in extractions(cold, JobState.QUEUED)]
    world.clock.advance(seconds=LIMIT - 1)
    cold.jobs.run()
    assert facts(cold) == []
    world.clock.advance(seconds=1)
    cold.jobs.run()
    assert len(facts(cold)) >= 2
    assert extractions(cold, JobState.QUEUED, JobState.LEASED, JobState.DEAD) == []


def test_the_next_call_does_what_has_become_due(world: World, cold: Memory):
    talk(cold)
    world.clock.advance(seconds=LIMIT)
    cold.add("And good morning.", "Good morning!")
    assert len(facts(cold)) >= 2


def test_the_next_process_does_what_has_become_due(world: World, cold: Memory):
    talk(cold)
    cold.close()
    world.clock.advance(seconds=LIMIT)
    other = world.open(short_term_capacity=1, heat_threshold=10**6, extract_within_seconds=LIMIT)
    assert facts(other) == []
    assert store_of(other).admin.work(threading.Event(), poll_seconds=None) >= 1
    assert len(facts(other)) >= 2


def test_pages_that_follow_do_not_put_a_page_off(world: World, cold: Memory):
    cold.add("I like tea. 🍵")
    for _ in range(4):
        cold.add("I like more tea. 🍵")
        world.clock.advance(seconds=LIMIT / 4)
    cold.jobs.run()
    assert facts(cold)


def test_a_page_that_follows_an_extraction_gets_a_time_of_its_own(world: World, cold: Memory):
    cold.add("I like tea. 🍵")
    cold.add("I like green tea. 🍵")
    world.clock.advance(seconds=LIMIT)
    cold.jobs.run()
    before = facts(cold)
    cold.add("I grow my own tea. 🍵")
    cold.add("I have nine teapots. 🍵")
    world.clock.advance(seconds=LIMIT - 1)
    cold.jobs.run()
    assert facts(cold) == before
    world.clock.advance(seconds=1)
    cold.jobs.run()
    assert len(facts(cold)) > len(before)


def test_without_a_limit_a_cold_page_is_never_extracted(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=10**6, extract_within_seconds=None)
    talk(memory)
    assert extractions(memory) == []


def test_a_hot_page_is_extracted_at_once_by_rules(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=0, extract_within_seconds=LIMIT)
    talk(memory)
    assert len(facts(memory)) >= 2
    assert {job.state for job in extractions(memory)} == {JobState.DONE}


def test_a_segment_that_becomes_hot_waits_no_longer(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=2.5, self_tuning=False, extract_within_seconds=LIMIT)
    memory.add("I like tea. 🍵")
    memory.add("I like green tea. 🍵")
    assert facts(memory) == []
    memory.add("I grow my own tea. 🍵")
    assert facts(memory)


def test_a_limit_beyond_what_a_job_can_wait_is_refused():
    for seconds in (1e9, 1e15, float("inf")):
        with pytest.raises(ValueError, match="extract_within_seconds"):
            load_settings(extract_within_seconds=seconds)
        with pytest.raises(ValueError, match="batch_seconds"):
            load_settings(batch_seconds=seconds)


def test_the_longest_limit_is_kept(world: World):
    longest = 365 * 86_400
    memory = world.open(short_term_capacity=1, heat_threshold=10**6, extract_within_seconds=longest)
    talk(memory)
    world.clock.advance(seconds=longest - 1)
    memory.jobs.run()
    assert facts(memory) == []
    world.clock.advance(seconds=1)
    memory.jobs.run()
    assert facts(memory)


# With a model


@pytest.fixture
def reading(world: World):
    """reading(...): a memory that a model reads for, in which everything is hot; the model counts its calls."""
    opened = []

    def make(**settings) -> tuple[Memory, ScriptedReader]:
        wanted = {"short_term_capacity": 1, "heat_threshold": 0, "extractor": "model", "batch_seconds": BATCH}
        values = load_settings(**{**wanted, "embedder": "hashing", **settings})
        model = ScriptedReader()
        memory = memoryos.open(world.folder / "model.db", user=ANN.user, settings=values, chat=model, clock=world.clock)
        opened.append(memory)
        return memory, model

    yield make
    for memory in opened:
        memory.close()


def test_a_hot_page_waits_for_others_at_most_so_long(world: World, reading):
    memory, model = reading(batch_pages=100)
    talk(memory)
    memory.wait()
    world.clock.advance(seconds=BATCH - 1)
    memory.jobs.run()
    assert model.calls == 0
    assert facts(memory) == []
    world.clock.advance(seconds=1)
    memory.jobs.run()
    assert len(facts(memory)) >= 2
    assert model.calls == 3, "facts, persona and summaries of all pages at once"


def test_hot_pages_that_fill_a_batch_wait_no_longer(reading):
    memory, model = reading(batch_pages=2)
    memory.add(*TALK[0])
    memory.add(*TALK[1])
    memory.wait()
    assert model.calls == 0, "one page is hot, the other in STM"
    memory.add(*TALK[2])
    memory.wait()
    assert len(facts(memory)) >= 2
    assert model.calls == 3


def test_no_call_reads_more_than_a_batch(world: World, reading):
    memory, _ = reading(batch_pages=4)
    for number in range(13):
        memory.add(f"I have a boat called number {number}, and I like it.", "Fine.")
    memory.consolidate()
    calls = {one.purpose: one.calls for one in memory.log.usage()}
    assert calls["facts"] == calls["persona"] == 4, "13 pages"
    assert calls["summary"] == 3, "12 of them have left STM"


def test_without_a_wait_each_hot_page_goes_at_once(reading):
    memory, model = reading(batch_pages=100, batch_seconds=0)
    memory.add(*TALK[0])
    memory.add(*TALK[1])
    memory.wait()
    assert len(facts(memory)) == 1
    assert model.calls == 3


# Who does it


@pytest.fixture
def real(world: World):
    """real(...): a memory by the clock on the wall, in which nothing becomes hot."""
    world.clock = system_clock

    def make(**settings) -> Memory:
        wanted = {"short_term_capacity": 1, "heat_threshold": 10**6, "extract_within_seconds": 0.5}
        return world.open(**{**wanted, **settings})

    return make


def test_the_timer_calls_back_in_the_process_that_is_open(real):
    began, memory = time.monotonic(), real(extract_within_seconds=0.5)
    talk(memory)
    until(lambda: facts(memory))
    assert time.monotonic() - began >= 0.5, "not before its time"


def test_the_timer_of_a_process_that_left_the_jobs_to_workers_is_silent(real):
    memory = real(jobs="worker", extract_within_seconds=0.1)
    talk(memory)
    time.sleep(0.5)
    assert facts(memory) == []
    assert store_of(memory).admin.work(threading.Event(), poll_seconds=None) >= 1
    assert facts(memory)


def test_a_process_that_ends_does_not_wait_for_its_timer(real):
    memory = real(extract_within_seconds=LIMIT)
    talk(memory)
    began = time.monotonic()
    memory.close()
    assert time.monotonic() - began < SOON


def test_jobs_that_are_left_to_workers_are_done_by_work(world: World):
    memory = world.open(jobs="worker", short_term_capacity=1, heat_threshold=0)
    for scope in (ANN, BEN):
        talk(memory, scope)
    memory.jobs.run()
    assert facts(memory) == []
    waiting = sum(len(memory.of(scope).jobs.list(JobState.QUEUED)) for scope in (ANN, BEN))
    assert waiting >= 2
    assert store_of(memory).admin.work(threading.Event(), threads=2, poll_seconds=None) == waiting
    for scope in (ANN, BEN):
        assert len(facts(memory, scope)) >= 2
    assert store_of(memory).admin.work(threading.Event(), poll_seconds=None) == 0


def test_a_worker_stops_when_it_is_told(world: World):
    memory = world.open()
    stop, results = threading.Event(), []
    thread = threading.Thread(target=lambda: results.append(store_of(memory).admin.work(stop, poll_seconds=0.01)))
    thread.start()
    assert thread.is_alive()
    stop.set()
    thread.join(SOON)
    assert results == [0]


# What a dead process left


@pytest.fixture
def dying(world: World, monkeypatch):
    """dying(): a memory that never gets to move a page, as if its process died after each call."""
    opened = []

    def make() -> Memory:
        vault = world.open_vault()
        settings = load_settings(short_term_capacity=1, heat_threshold=0)
        engine = Engine(vault, world.embedder, settings=settings, clock=world.clock)
        engine.housekeeping.abandon()
        opened.append(engine)
        return MemoryOS(engine).of(ANN)

    yield make
    for engine in opened:
        engine.close()


def states(world: World) -> set[tuple[Tier, CubeMark | None]]:
    with world.vault.read(ANN) as reader:
        return {(page.tier, page.mark) for page in reader.cubes(Kind.PAGE)}


def leave(memory: Memory, *texts: str) -> None:
    memory.add_many([Turn(role=Role.USER, text=text) for text in texts])


def test_a_worker_moves_what_a_dead_process_left(world: World, dying):
    memory = world.open(short_term_capacity=1, heat_threshold=0, jobs="worker")
    leave(dying(), "I like tea. 🍵", "I have a bike. 🚲", "I see the moon. 🌙")
    assert states(world) == {(Tier.STM, None)}
    assert store_of(memory).admin.work(threading.Event(), poll_seconds=None) >= 2
    assert states(world) == {(Tier.MTM, CubeMark.CHAINED), (Tier.STM, CubeMark.CHAINED)}
    assert facts(memory)


def test_a_worker_that_runs_for_long_moves_it_again_and_again(world: World, dying, monkeypatch):
    monkeypatch.setattr(worker, "LOOK_AROUND_SECONDS", 0.05)
    memory = world.open(short_term_capacity=1, heat_threshold=0, jobs="worker")
    stop = threading.Event()
    thread = threading.Thread(target=lambda: store_of(memory).admin.work(stop, poll_seconds=0.01))
    thread.start()
    try:
        for texts in (("I like tea. 🍵", "I have a bike. 🚲"), ("I see the moon. 🌙", "I play dice. 🎲")):
            leave(dying(), *texts)
            until(lambda: None not in {state for _, state in states(world)})
    finally:
        stop.set()
        thread.join()
    assert len(world.cubes(Kind.PAGE, Tier.STM)) == 1, "the others have moved"


def test_a_worker_rests_while_another_one_holds_the_jobs_of_a_scope(world: World):
    memory = world.open(short_term_capacity=1, heat_threshold=0, jobs="worker")
    leave(memory, "I like tea. 🍵", "I have a bike. 🚲", "I see the moon. 🌙")
    with world.vault.write(ANN) as writer:
        [held] = writer.lease(lasting=LEASE, limit=1)
        assert writer.jobs(JobState.QUEUED), "others are due"
    assert world.vault.waiting() == []
    assert store_of(memory).admin.work(threading.Event(), poll_seconds=None) == 0
    with world.vault.write(ANN) as writer:
        writer.release(held)
    assert store_of(memory).admin.work(threading.Event(), poll_seconds=None) >= 2
