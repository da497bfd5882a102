"""Where the talk has ended, the pages of STM are read in time, too, and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import memoryos
from memoryos import Memory
from memoryos.bench.scripted_reader import ScriptedReader
from memoryos.config import load_settings
from memoryos.infrastructure.vault.records import Job, JobKind, JobState
from memoryos.kinds import Kind, Tier
from memoryos.operation.hierarchy.recent import read_early
from public import store_of

from .world import ANN, World

LIMIT = 3600.0  # seconds within which a page of STM is read
SAID = ["I have two cats, Miso and Nori.", "I live in Porto.", "I work as a nurse."]
LATER = ["I like the cello.", "I play chess on Sundays.", "I have a sister in Lisbon.", "I drink tea."]


def facts(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in memory.profile.get().user.facts)


def waiting(memory: Memory) -> list[Job]:
    return [job for job in memory.jobs.list(JobState.QUEUED) if job.kind is JobKind.READ_RECENT]


def early(memory: Memory) -> frozenset[str]:
    with memory._engine.vault.read(ANN) as reader:
        return read_early(reader, [page.id for page in reader.cubes(Kind.PAGE)])


@pytest.fixture
def opened(world: World) -> Callable[..., Memory]:
    """opened(): a memory with room for three pages in STM, in which nothing is hot."""

    def make(**settings: object) -> Memory:
        wanted = {"short_term_capacity": 3, "heat_threshold": 10**6, "recent_within_seconds": LIMIT}
        return world.open(**{**wanted, **settings})

    return make


def talk(memory: Memory, texts: list[str]) -> list[str]:
    return [memory.add(text) for text in texts]


def test_the_last_pages_of_a_talk_are_read_when_their_time_has_come_and_not_before(world: World, opened):
    memory = opened()
    pages = talk(memory, SAID)
    world.clock.advance(seconds=LIMIT - 1)
    memory.jobs.run()
    assert facts(memory) == []
    world.clock.advance(seconds=1)
    memory.jobs.run()
    assert len(facts(memory)) == 3
    assert early(memory) == set(pages)
    assert {page.tier for page in memory.pages.list()} == {Tier.STM}, "they stay what is said last"
    assert waiting(memory) == []


def test_one_job_waits_for_all_of_them(opened):
    memory = opened()
    talk(memory, [*SAID, *LATER])
    assert len(waiting(memory)) == 1
    assert waiting(memory)[0].is_planned


def test_the_next_process_reads_them(world: World, opened):
    memory = opened()
    talk(memory, SAID)
    memory.close()
    world.clock.advance(seconds=LIMIT)
    other = opened()
    assert store_of(other).admin.work(threading.Event(), poll_seconds=None) == 1
    assert len(facts(other)) == 3


def test_who_goes_on_talking_is_asked_for_again(world: World, opened):
    memory = opened()
    talk(memory, SAID)
    world.clock.advance(seconds=LIMIT / 2)
    talk(memory, LATER)
    world.clock.advance(seconds=LIMIT / 2)
    memory.jobs.run()
    assert facts(memory) == [], "those in STM are half an hour old; the others joined segments"
    world.clock.advance(seconds=LIMIT / 2)
    memory.jobs.run()
    assert len(facts(memory)) >= 2


def test_a_page_that_was_read_in_stm_is_not_read_again_with_its_segment(world: World):
    settings = {"short_term_capacity": 3, "heat_threshold": 0, "extractor": "model", "batch_seconds": 0}
    values = load_settings(embedder="hashing", recent_within_seconds=LIMIT, **settings)
    model = Watched()
    with memoryos.open(world.folder / "m.db", user="ann", settings=values, chat=model, clock=world.clock) as memory:
        pages = talk(memory, SAID)
        world.clock.advance(seconds=LIMIT)
        memory.jobs.run()
        assert model.tasks == ["facts", "profile"], "what is said last needs no summary"
        known = facts(memory)
        talk(memory, LATER)
        memory.wait()
        assert early(memory) == set(), "their segments were read"
        read = [text for task, text in zip(model.tasks, model.texts, strict=True) if task == "facts"]
        assert sum(SAID[0] in text for text in read) == 1
        summed = [text for task, text in zip(model.tasks, model.texts, strict=True) if task == "topics"]
        assert any(SAID[0] in text for text in summed), "but their segment is told of them"
        assert set(known) < set(facts(memory))
        assert memory.get(pages[0]).tier is not Tier.STM


class Watched(ScriptedReader):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[str] = []
        self.texts: list[str] = []

    def answer(self, messages):
        task = messages[0]["content"]
        self.tasks.append(next(name for name in ("facts", "profile", "topics", "verdicts") if f'"{name}"' in task))
        self.texts.append(messages[1]["content"])
        return super().answer(messages)


def test_the_job_outlives_the_page_that_it_was_asked_for(world: World, opened):
    memory = opened()
    pages = talk(memory, SAID)
    memory.delete(pages[0])
    assert len(waiting(memory)) == 1
    world.clock.advance(seconds=LIMIT)
    memory.jobs.run()
    assert len(facts(memory)) == 2


def test_a_page_that_was_read_and_is_deleted_leaves_nothing(world: World, opened):
    memory = opened()
    pages = talk(memory, SAID)
    world.clock.advance(seconds=LIMIT)
    memory.jobs.run()
    memory.delete(pages[1])
    assert not any("Porto" in fact for fact in facts(memory))
    talk(memory, LATER)
    assert pages[1] not in {page.id for page in memory.pages.list()}


def test_a_page_that_was_read_and_is_corrected_is_learned_anew(world: World, opened):
    memory = opened()
    pages = talk(memory, SAID)
    world.clock.advance(seconds=LIMIT)
    memory.jobs.run()
    memory.update(pages[1], "I live in Braga.")
    memory.jobs.run()
    assert any("Braga" in fact for fact in facts(memory))
    assert not any("Porto" in fact for fact in facts(memory))


def test_a_rebuild_reads_them_again(world: World, opened):
    memory = opened()
    talk(memory, SAID)
    world.clock.advance(seconds=LIMIT)
    memory.jobs.run()
    before = facts(memory)
    memory.upkeep.rebuild()
    memory.jobs.run()
    assert facts(memory) == before
    assert len(memory.pages.list()) == 3


def test_without_a_limit_they_wait_until_they_leave(world: World, opened):
    memory = opened(recent_within_seconds=None)
    talk(memory, SAID)
    world.clock.advance(days=365)
    memory.jobs.run()
    assert waiting(memory) == []
    assert facts(memory) == []


def test_an_empty_memory_asks_for_nothing(opened):
    memory = opened()
    memory.wait()
    memory.jobs.run()
    assert memory.jobs.list() == []


def test_a_clock_that_jumps_back_has_them_read_once(world: World, opened):
    memory = opened(recent_within_seconds=30 * 86_400)
    pages = talk(memory, SAID)
    world.clock.advance(days=-900)
    memory.jobs.run()
    assert len(facts(memory)) == 3
    assert early(memory) == set(pages)
    assert waiting(memory) == []
