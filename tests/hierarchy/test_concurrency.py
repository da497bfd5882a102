"""Several at once: threads on one memory, workers on one job, a reader beside a writer that holds the lock."""

from __future__ import annotations

import sqlite3
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest

import memoryos
from memoryos import load_settings
from memoryos.errors import LeaseLost, StorageError
from memoryos.infrastructure.vault.records import JobState, LinkKind
from memoryos.infrastructure.vault.soundness import verify
from memoryos.kinds import Kind, Tier
from memoryos.operation.consolidation.promotion import READINGS

from .world import ANN, LineExtractor, World


class Interrupted(LineExtractor):
    """Reads like a LineExtractor, after something else has happened."""

    def __init__(self, meanwhile):
        self.meanwhile = meanwhile

    def extract(self, pages):
        self.meanwhile()
        return super().extract(pages)


def facts(world: World) -> list[str]:
    return [cube.text for cube in world.cubes(Kind.FACT, Tier.LPM)]


def test_many_new_stores_open_at_once(tmp_path):
    def use(number: int) -> int:
        settings = load_settings(embedder="hashing")
        with memoryos.open(tmp_path / f"{number}.db", user="ann", settings=settings) as memory:
            memory.add("hello")
            return len(memory.pages.list())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(8))) == [1] * 8


def test_what_many_state_at_once_is_one_fact_each_time_and_one_value(world: World):
    """A statement is planned beside other writers: what was stated meanwhile is part of the plan."""
    memory = world.open()
    towns = [f"Tom lives in Town{number}." for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(memory.facts.add, ["Tom likes tea.", *towns] * 4))
    assert None not in ids
    assert sum(text == "Tom likes tea." for text in facts(world)) == 1
    assert len([text for text in facts(world) if text in towns]) == 1
    assert len({cube.id for cube in world.cubes(Kind.FACT, Tier.LPM)}) == 2
    assert verify(world.vault).is_sound


def test_updates_beside_adds_lose_nothing(world: World):
    memory = world.open(short_term_capacity=1, segment_threshold=2)
    page = memory.add("🍵 first")

    def correct() -> None:
        for number in range(8):
            memory.update(page, f"🍵 corrected {number}")

    def add() -> None:
        for number in range(8):
            memory.add(f"🚲 {number}")

    with ThreadPoolExecutor(3) as pool:
        for task in [pool.submit(correct), pool.submit(correct), pool.submit(add)]:
            task.result()
    assert len(memory.pages.list()) == 9
    assert len(memory.history(page)) == 17
    assert memory.get(page).tier is Tier.MTM
    assert len(world.links(LinkKind.MEMBER_OF, page)) == 1


def test_a_segment_takes_a_page_with_it_that_joined_at_the_last_moment(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵 one")
    memory.add("🍵 two")
    segment = memory.segments.list()[0].cube.id
    with ThreadPoolExecutor(2) as pool:
        adds = pool.submit(lambda: [memory.add(f"🍵 {number}") for number in range(10)])
        deletion = pool.submit(memory.delete, segment)
        adds.result()
        deletion.result()
    homes = {link.source for view in memory.segments.list() for link in world.links(LinkKind.MEMBER_OF, *view.page_ids)}
    assert {page.id for page in memory.pages.list(tier=Tier.MTM)} == homes


def test_a_job_that_was_taken_over_does_not_count_twice(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵\nfact: Ann drinks tea.")
    memory.add("🍵 again")
    world.queue()

    def another_worker() -> None:
        world.clock.advance(minutes=2)  # our lease has run out
        assert world.runner(LineExtractor()).run_all(ANN) == 1
        memory.add("🍵\nfact: Ann drinks coffee.")
        memory.add("🍵 more")

    assert world.runner(Interrupted(another_worker)).run_all(ANN) == 0
    assert memory.segments.list()[0].cube.behaviour.interactions == 2
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE]


def test_a_lease_that_is_over_cannot_be_finished(world: World):
    memory = world.open(short_term_capacity=1)
    memory.add("🍵")
    memory.add("🍵")
    world.queue()
    with world.vault.write(ANN) as writer:
        [ours] = writer.lease(lasting=timedelta(seconds=1))
    world.clock.advance(seconds=2)
    with world.vault.write(ANN) as writer:
        [theirs] = writer.lease(lasting=timedelta(seconds=1))
    assert ours.id == theirs.id
    with pytest.raises(LeaseLost), world.vault.write(ANN) as writer:
        writer.finish(ours)
    with world.vault.write(ANN) as writer:
        writer.finish(theirs)


def test_words_corrected_while_they_are_read_are_read_again_at_once(world: World, caplog):
    memory = world.open(short_term_capacity=1)
    page = memory.add("🍵\nfact: Ann lives in Rome.")
    memory.add("🍵")
    world.queue()
    corrections = iter(["🍵\nfact: Ann lives in Oslo."])

    def correct_once() -> None:
        for text in corrections:
            memory.update(page, text)

    world.runner(Interrupted(correct_once)).run_all(ANN)
    assert facts(world) == ["Ann lives in Oslo."]
    assert [job.state for job in memory.jobs.list()] == [JobState.DONE]
    assert not caplog.records


def test_words_that_change_with_every_reading_are_read_later(world: World):
    memory = world.open(short_term_capacity=1)
    page = memory.add("🍵\nfact: Ann lives in Rome.")
    memory.add("🍵")
    world.queue()
    numbers = iter(range(1000))

    def correct() -> None:
        memory.update(page, f"🍵\nfact: Ann lives in Oslo {next(numbers)}.")

    world.runner(Interrupted(correct)).run_all(ANN)
    assert facts(world) == []
    assert next(numbers) == READINGS
    memory.close()  # its worker reads with other rules, and would come first
    with closing(world.open_vault()) as world.vault:
        world.clock.advance(seconds=5)  # when it is tried again
        world.runner(LineExtractor()).run_all(ANN)
        assert facts(world) == [f"Ann lives in Oslo {READINGS - 1}."]


def test_jobs_of_a_process_that_died_run_after_the_next_add(world: World):
    first = world.open(short_term_capacity=1)
    first.add("🍵")
    first.add("🍵")
    world.queue()
    first.close()
    second = world.open(short_term_capacity=1)
    second.add("🚲")
    second.wait()
    assert [job.state for job in second.jobs.list()] == [JobState.DONE]


@pytest.mark.file
def test_a_search_needs_no_lock(world: World):
    memory = world.open(short_term_capacity=100)
    for number in range(70):
        memory.add(f"🍵 {number}")
    other = sqlite3.connect(world.folder / "memory.db")
    other.execute("BEGIN IMMEDIATE")
    try:
        assert len(memory.search("🍵", pages=100).hits) == 70
    finally:
        other.rollback()
        other.close()
    memory.wait()
    assert memory.pages.list()[0].behaviour.visits == 1


def test_visits_that_could_not_be_written_are_written_later(world: World):
    world.open("memory.db").close()
    memory = world.open(short_term_capacity=100)
    world.vault._engine.dispose()
    for number in range(70):
        memory.add(f"🍵 {number}")
    memory.wait()  # for what follows the adds: only the visits are refused below
    with world.refusing("UPDATE"):
        memory.search("🍵", pages=100)
        memory.wait()
        memory.wait()  # who tries again is told no more
    memory.add("🍵 last")
    assert memory.pages.list()[0].behaviour.visits == 1


def test_an_error_of_the_store_does_not_quote_what_was_said(world: World):
    memory = world.open()
    memory.add("🍵")
    secret = "hunter" + "2"  # a traceback shows the source line, too
    with world.refusing("INSERT"), pytest.raises(StorageError) as caught:
        memory.add(f"my password is {secret}")
    assert secret not in "".join(traceback.format_exception(caught.value))


@pytest.mark.file
def test_what_was_deleted_or_replaced_is_gone_from_the_files(tmp_path):
    settings = load_settings(embedder="hashing")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings) as memory:
        kept = memory.add("We met at the zanzibarquux yesterday.")
        gone = memory.add("The plimpsofrag is under the mat.")
        memory.update(kept, "We met at home.")
        memory.delete(gone)
        memory.delete(kept)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"zanzibarquux" not in content
    assert b"plimpsofrag" not in content
