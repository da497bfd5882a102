"""What is done under the write lock: its steps stay as long as they are when a scope grows."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, func, literal_column, select, update

import memoryos
from memoryos import Memory, Role, Subject
from memoryos.cube import Fact, MemCube, Turn, to_json
from memoryos.errors import CubeProtected, NotFound, OnHold, StaleVersion
from memoryos.hold import HeldThing, LegalHold
from memoryos.infrastructure.vault import retention_part, tables
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import REVISIONS, Entry, JobState, Link, LinkKind, Operation
from memoryos.infrastructure.vault.session import SqlReader, SqlWriter
from memoryos.infrastructure.vault.soundness import verify
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.withdrawal import withdrawn
from memoryos.kinds import Kind, Origin, SemanticType, State
from memoryos.nouns import jobs
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction import (
    branch_maker,
    correct,
    expiry_job,
    followers,
    forget,
    removal,
    renewal,
    retention_job,
)
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.expiry_job import ExpiryJob
from memoryos.operation.correction.rederive import Again
from memoryos.operation.correction.removal import PAGES_AT_ONCE
from memoryos.operation.correction.renewal import Renewal
from memoryos.operation.correction.revised import NewWords
from memoryos.operation.hierarchy import changes, redescribe
from memoryos.operation.hierarchy.arrangement import Plan, Reason, Rehoming
from memoryos.operation.hierarchy.rehome import LAST_PAGES
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.knowledge import fact_base, support
from memoryos.operation.knowledge.carried import CarriedChains
from memoryos.operation.knowledge.lesson import Lesson
from memoryos.operation.maintenance import rebuild, repairer
from memoryos.operation.maintenance.moves import Mover
from memoryos.operation.paging import pager
from memoryos.operation.portability import load_export
from memoryos.operation.portability.export_file import read_lines
from memoryos.operation.portability.load_export import LoadedExport, Loader
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, some_at_a_time
from memoryos.scope import Scope

from .work import Counted, Writing, calls_in, carry_out, database_work, locks_of
from .world import ANN, AXES, START, LineExtractor, Symbols, World, added, texts

SAME = 1.5  # times as much work, at most, for twice as large a scope: it does not depend on the size
LINEAR = 2.8  # a little more than twice as much


@pytest.fixture
def size(long: bool) -> int:
    """More than what is done in one step."""
    return 80 if long else 34


def towns(count: int) -> str:
    return "\n".join(f"fact: Tom lives in Town{number}." for number in range(count))


def lives_in(place: str, page: str, at: datetime) -> Lesson:
    fact = Fact(subject=Subject.USER, text=f"Tom lives in {place}.", confidence=0.8)
    return Lesson(fact, (page,), at, SemanticType.FACT, Origin.INFERENCE, vector=np.array([0] * 10 + [1], np.float32))


def teach(world: World, *lessons: Lesson) -> None:
    with world.vault.write(ANN) as writer:
        world.promoter(LineExtractor()).planned(writer, ANN, lessons).flush(writer)


def taught(world: World, text: str, path: str) -> tuple[Memory, str]:
    """A memory that has learned what one page says."""
    memory = world.open(path, short_term_capacity=1)
    page = memory.add(text)
    memory.add("🚲 bye")
    return memory, page


def learned(world: World, count: int) -> list[int]:
    taught(world, towns(count), f"learn-{count}.db")
    with locks_of(world.vault) as taken:
        world.extract()
    return taken


def learned_of_segment(world: World, count: int) -> list[int]:
    """What the pages of one large segment say, 64 at a time."""
    memory = world.open(f"read-{count}.db", short_term_capacity=1, heat_threshold=10**6)
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.add("🚲 bye")
    world.queue()
    with locks_of(world.vault) as taken:
        assert world.runner(LineExtractor()).run_all(ANN) == 1
    assert memory.segments.list()[0].cube.behaviour.interactions == 0
    return taken


def deleted(world: World, count: int) -> list[int]:
    memory, page = taught(world, towns(count), f"delete-{count}.db")
    world.extract()
    with locks_of(world.vault) as taken:
        memory.delete(page)
    return taken


def deleted_of_segment(world: World, count: int) -> list[int]:
    """One page of a segment that has many, in one chain."""
    memory = world.open(f"segment-{count}.db", short_term_capacity=1)
    pages = added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.add("🚲 bye")
    with locks_of(world.vault) as taken:
        memory.delete(pages[0])
    return taken


def deleted_segment(world: World, count: int) -> list[int]:
    memory = world.open(f"whole-{count}.db", short_term_capacity=1)
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.add("🚲 bye")
    (segment,) = memory.segments.list()
    with locks_of(world.vault) as taken:
        memory.delete(segment.cube.id)
    return taken


def updated(world: World, count: int) -> list[int]:
    memory, page = taught(world, towns(count), f"update-{count}.db")
    world.extract()
    with locks_of(world.vault) as taken:
        memory.update(page, "fact: Tom lives in Rome.")
    return taken


def updated_of_segment(world: World, count: int) -> list[int]:
    """The first page of a long chain, by somebody who says which version they read."""
    memory = world.open(f"expected-{count}.db", short_term_capacity=1)
    pages = added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.add("🚲 bye")
    with locks_of(world.vault) as taken:
        memory.update(pages[0], "🍵 coffee", expected_version=1)
    assert "coffee" in memory.get(pages[1]).payload.chain_summary
    return taken


def moved(world: World, count: int) -> list[int]:
    memory = world.open(f"move-{count}.db", short_term_capacity=1)
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    with locks_of(world.vault) as taken:
        memory.wait()
    return taken


def asked_in_a_new_process(world: World, count: int) -> list[int]:
    """All segments are to be read, by a process that has nothing of the scope in memory."""
    memory = world.open(f"asked-{count}.db", short_term_capacity=1)
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.wait()
    residency = Residency(10**9, lambda: Resident(world.embedder.dim, world.embedder, 1))
    with locks_of(world.vault) as taken:
        Mover(world.vault, residency, world.settings, world.clock).promote_all(ANN)
    return taken


def rebuilt(world: World, count: int) -> list[int]:
    memory = world.open(f"rebuild-{count}.db", short_term_capacity=1)
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.wait()
    with locks_of(world.vault) as taken:
        memory.upkeep.rebuild()
    return taken


def rebuilt_of_small_segments(world: World, count: int) -> list[int]:
    """So many pages, each in a segment of its own."""
    memory = world.open(f"small-{count}.db", short_term_capacity=1)
    added(memory, (f"{symbol} {symbol}" for symbol in AXES[:count]))
    memory.add("bye")
    memory.wait()
    assert len(memory.segments.list()) == count
    with locks_of(world.vault) as taken:
        memory.upkeep.rebuild()
    return taken


def unlearned(world: World, count: int) -> list[int]:
    """A rebuild of one page, from which so many facts were learned."""
    memory, _ = taught(
        world, "\n".join(f"fact: Tom likes dish {number}." for number in range(count)), f"forget-{count}.db"
    )
    world.extract()
    assert len(memory.profile.get().user.facts) == min(count, world.settings.knowledge_capacity)
    with locks_of(world.vault) as taken:
        memory.upkeep.rebuild()
    return taken


def mixed(world: World, count: int, more: str = "") -> Memory:
    """Two topics in one segment, which are to be told apart."""
    memory = world.open(f"repair-{count}.db", short_term_capacity=1, self_repair=False, heat_threshold=1000)
    pages = added(memory, (f"{'🍵🚲'[number % 2]} {number}{more}" for number in range(count)))
    memory.add("📐 end")
    tea, bikes = (world.links(LinkKind.MEMBER_OF, page)[0].target for page in pages[:2])
    moves = tuple(Rehoming(page, bikes, tea, Reason.MOVE) for page in pages[1::2])
    with world.vault.write(ANN) as writer:
        carry_out(writer, Plan(moves), world.clock())
    return memory


def repaired(world: World, count: int) -> list[int]:
    memory = mixed(world, count)
    with locks_of(world.vault) as taken:
        assert memory.upkeep.repair().split == 1
    assert len(memory.segments.list()) == 2
    return taken


def undone(world: World, count: int) -> list[int]:
    memory = mixed(world, count)
    report = memory.upkeep.repair()
    with locks_of(world.vault) as taken:
        assert memory.upkeep.undo(*report.events).moved == count // 2
    assert len(memory.segments.list()) == 1
    return taken


def gone_with_merged(world: World, count: int) -> list[int]:
    """A page that took in so many equal ones, and goes."""
    memory = world.open(f"merged-{count}.db")
    pages = added(memory, ("🍵 tea" for _ in range(count)))
    for some in some_at_a_time(pages[1:]):
        memory.duplicates.merge([pages[0], *some])
    with locks_of(world.vault) as taken:
        memory.delete(pages[0])
    assert len(memory.pages.list()) == count - 1
    return taken


def merged(world: World, count: int) -> list[int]:
    """Equal pages, merged at once."""
    memory = world.open(f"merge-{count}.db")
    pages = added(memory, ("🍵 tea" for _ in range(count)))
    with locks_of(world.vault) as taken:
        memory.duplicates.merge(pages)
    assert len(memory.duplicates.merged(pages[0])) == count - 1
    return taken


def a_large_page(world: World, count: int) -> list[int]:
    """A page of many passages, stored and corrected: what the lock is not needed for is done before it is taken."""
    memory = world.open(f"large-{count}.db")
    text = " ".join(f"Word{number} of a very long text." for number in range(20 * count))
    with locks_of(world.vault) as taken:
        memory.update(memory.add(text), "Erratum. " + text)
    return taken


def thawed(world: World, count: int) -> list[int]:
    """A fact that was frozen and thawed as often, beside as many others."""
    memory = world.open(f"thaw-{count}.db")
    fact = memory.facts.add("Tom likes tea.")
    for number in range(count // 2):
        other = memory.facts.add(f"Tom likes dish {number}.")
        for one in (fact, other):
            memory.governance.freeze(one)
            memory.governance.thaw(one)
    memory.governance.freeze(fact)
    with locks_of(world.vault) as taken:
        assert memory.governance.thaw(fact).state is State.GENERATED
    return taken


def published(world: World, count: int) -> list[int]:
    """So many facts of one slot from a trusted source, all but the first a proposal; then as many others."""
    memory = world.open(f"publish-{count}.db")
    memory.proposals.publish([f"Tom lives in Town{number}" for number in range(count)], source="town hall")
    with locks_of(world.vault) as taken:
        memory.proposals.publish([f"Tom lives in City{number}" for number in range(count)], source="town hall")
    assert len(memory.proposals.list()) == 2 * count - 1
    return taken


def stated(world: World, count: int) -> list[int]:
    """What a caller states beside so many facts of one slot, and a field and a fact corrected as often."""
    memory, _ = taught(world, towns(count), f"stated-{count}.db")
    world.extract()
    corrected = memory.facts.add("Tom likes tea.")
    for number in range(count // 8):
        memory.update(corrected, f"Tom likes tea number {number}.")
        memory.profile.set("diet", f"diet {number}")
    with locks_of(world.vault) as taken:
        memory.facts.add("Tom plays chess.")
        memory.facts.add("Tom lives in Rome.")
        memory.profile.set("diet", "vegan")
        memory.proposals.publish(["Tom lives in Oslo."], source="town hall")
        memory.proposals.accept(memory.proposals.list()[0].id)
    assert texts(memory.facts.list())[-1] == "Tom lives in Oslo."
    return taken


def one_talk(world: World, count: int, **options: Any) -> Memory:
    """A session of one chain in one segment, of which each page says something of its own, and all say one thing."""
    memory = world.open(f"talk-{count}-{len(options)}.db", short_term_capacity=1, heat_threshold=10**6)
    talk = memory.of(replace(ANN, session="talk"))
    said = (f"🍵 tea {number}\nfact: Tom likes dish {number}.\ntrait: calm" for number in range(count))
    Memory.add_many(talk, [Turn(role=Role.USER, text=text) for text in said], **options)
    memory.add("🚲 bye")
    world.extract()
    return talk


def forgotten_session(world: World, count: int) -> list[int]:
    memory = one_talk(world, count)
    with locks_of(world.vault) as taken:
        assert memory.forget().memories["page"] == count
    return taken


def swept(world: World, count: int) -> list[int]:
    """Pages that expire together."""
    memory = one_talk(world, count, ttl=3600)
    world.clock.advance(hours=2)
    with locks_of(world.vault) as taken:
        memory.jobs.run()
    assert texts(memory.pages.list()) == ["🚲 bye"]
    return taken


@pytest.mark.once
@pytest.mark.parametrize(
    "work",
    [
        asked_in_a_new_process,
        deleted_of_segment,
        updated_of_segment,
        repaired,
        undone,
        a_large_page,
        unlearned,
        stated,
        thawed,
    ],
)
def test_a_step_under_the_lock_does_not_grow_with_the_scope(
    world: World, size: int, work: Callable[[World, int], list[int]]
):
    work(world, 6)  # what is compiled and cached once
    few, many = work(world, size), work(world, 2 * size)
    assert max(many) < SAME * max(few)


@pytest.mark.once
@pytest.mark.parametrize("work", [learned_of_segment, moved, rebuilt])
def test_steps_of_so_many_pages_do_not_grow_with_the_scope(
    world: World, size: int, work: Callable[[World, int], list[int]]
):
    work(world, 2)
    few, many = work(world, 3 * size), work(world, 6 * size)  # beyond the 64 pages of a step
    assert max(many) < SAME * max(few)


@pytest.mark.once
@pytest.mark.parametrize(
    "work", [learned, deleted, deleted_segment, updated, published, merged, gone_with_merged, forgotten_session, swept]
)
def test_nor_do_steps_that_together_grow_with_it_and_no_faster(
    world: World, size: int, work: Callable[[World, int], list[int]]
):
    work(world, 6)
    few, many = work(world, size), work(world, 2 * size)
    assert max(many) < SAME * max(few)
    assert sum(many) < LINEAR * sum(few)


@pytest.mark.once
def test_a_step_of_a_rebuild_costs_little_for_each_segment_that_ends(world: World):
    """Each of them was removed by itself: a step of pages from many segments took five times as long as of one."""
    rebuilt_of_small_segments(world, 1)
    few, many = rebuilt_of_small_segments(world, 4), rebuilt_of_small_segments(world, 8)
    assert max(many) < SAME * max(few)


def steps_of_pages_with(world: World, details: int) -> list[int]:
    """The calls under the lock when pages are moved, updated and deleted of which so much is told as metadata."""
    memory = world.open(f"{details}.db", short_term_capacity=1)
    pages = Memory.add_many(
        memory,
        [Turn(role=Role.USER, text=f"🍵 tea {number}") for number in range(CUBES_AT_ONCE + 4)],
        metadata={f"key {number}": number for number in range(details)},
    )
    with locks_of(world.vault) as steps:
        memory.wait()
        memory.update(pages[0], "🍵 tea")
        memory.delete(pages[1])
    return steps


@pytest.mark.once
def test_a_step_does_not_grow_with_what_is_told_about_each_page(world: World):
    """The labels of 64 pages with 600 keys each took 140 ms under the lock."""
    steps_of_pages_with(world, 1)
    few, many = steps_of_pages_with(world, 5), steps_of_pages_with(world, 50)
    assert max(many) < SAME * max(few)


def large_pages(memory: Memory, count: int, chars: int, told: str = "text") -> list[str]:
    if told == "text":
        return added(memory, (f"🍵 tea {number} " + "x " * (chars // 2) for number in range(count)))
    said = [Turn(role=Role.USER, text=f"🍵 tea {number}") for number in range(count)]
    return Memory.add_many(memory, said, metadata={"told": "x" * chars})


@contextmanager
def changed_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The characters of the documents that each call of `update` replaces."""
    update, sizes = SqlWriter.update, list[int]()

    def counting(writer: SqlWriter, entries: Sequence[Entry], operation: Operation, **more: Any) -> None:
        sizes.append(sum(len(to_json(entry.cube)) for entry in entries))
        update(writer, entries, operation, **more)

    with monkeypatch.context() as patched:
        patched.setattr(SqlWriter, "update", counting)
        yield sizes


@pytest.mark.parametrize("told", ["text", "metadata"])
def test_steps_of_large_pages_have_fewer_of_them(world: World, monkeypatch, told: str):
    """A step moved 64 pages and took back 32, whatever their size."""
    for module in (pager, rebuild):
        monkeypatch.setattr(module, "CHARS_AT_ONCE", 20_000)
    memory = world.open("large.db", short_term_capacity=1)
    with changed_by(monkeypatch) as moved:  # some of them move at once
        large_pages(memory, 12, 6_000, told)
        memory.wait()
    with changed_by(monkeypatch) as rebuilt:
        memory.upkeep.rebuild()
    for sizes in (moved, rebuilt):
        assert sum(sizes) > 12 * 6_000
        assert max(sizes) < 30_000
    (segment,) = memory.segments.list()
    assert len(segment.page_ids) == 11


@pytest.mark.parametrize("is_undone", [False, True], ids=["repair", "undo"])
def test_a_repair_of_large_pages_moves_fewer_of_them_in_a_step(world: World, monkeypatch, is_undone: bool):
    """A step moved 16 pages, whatever their size, and made their documents under the lock."""
    memory = mixed(world, 12, " large" * 1_000)
    monkeypatch.setattr(repairer, "CHARS_AT_ONCE", 15_000)
    with written_by(world.vault, monkeypatch, Operation.REHOME) as moved:
        report = memory.upkeep.repair()
    if is_undone:
        with written_by(world.vault, monkeypatch, Operation.REHOME) as moved:
            memory.upkeep.undo(*report.events)
    assert sum(map(len, moved)) == len(report.events) == 6
    assert max(map(len, moved)) == 2  # of 6,000 characters each
    assert all(entry.document for some in moved for entry in some)


def test_a_new_rule_ends_fewer_large_pages_in_a_step(world: World, monkeypatch):
    """A step changed 64 memories, whatever their size, and made their documents under the lock."""
    memory = world.open("large.db", short_term_capacity=1)
    large_pages(memory, 12, 6_000)
    memory.wait()
    monkeypatch.setattr(retention_job, "CHARS_AT_ONCE", 20_000)
    with written_by(world.vault, monkeypatch, Operation.REFRESH) as written:
        memory.governance.retain("all", ttl=timedelta(days=1), kinds=["page"])
        memory.jobs.run()
    with world.vault.read(ANN) as reader:
        ends = [page.governance.lifespan.expires_at for page in reader.cubes(Kind.PAGE)]
    assert len(ends) == 12
    assert all(ends)
    assert sum(map(len, written)) == 12
    assert max(map(len, written)) in (2, 3)
    assert all(entry.document for some in written for entry in some)


@contextmanager
def written_by(vault: SqlVault, monkeypatch: pytest.MonkeyPatch, operation: Operation) -> Iterator[list[list[Entry]]]:
    """The entries that each write transaction of the vault stores by an operation."""
    written: list[list[Entry]] = []
    update, writing = SqlWriter.update, vault._writing

    def counting(writer: SqlWriter, entries: Sequence[Entry], done: Operation, **more: Any) -> None:
        written[-1] += entries if done is operation else ()
        update(writer, entries, done, **more)

    @contextmanager
    def begun(owner: Scope) -> Iterator[Any]:
        written.append([])
        with writing(owner) as connection:
            yield connection

    with monkeypatch.context() as patched:
        patched.setattr(SqlWriter, "update", counting)
        patched.setattr(vault, "_writing", begun)
        yield written


@pytest.mark.once
def test_what_is_planned_beside_others_grows_no_faster_either(world: World):
    def deletion(count: int) -> int:
        memory, page = taught(world, towns(count), f"plan-{count}.db")
        world.extract()
        return calls_in(lambda: memory.delete(page))

    deletion(2)
    few, many = deletion(CUBES_AT_ONCE // 2), deletion(CUBES_AT_ONCE)
    assert many < LINEAR * few


def swept(world: World, memory: Memory) -> None:
    """The job that removes what has expired."""
    engine = memory._engine
    ExpiryJob(world.promoter(LineExtractor()), engine.forgetter.sources, engine._brancher).run(ANN, (), lambda: True)


@pytest.mark.once
def test_what_is_planned_for_pages_that_go_together_grows_no_faster(world: World, size: int):
    """Each page of a session, and each that expired, was deleted by itself: after each one, all that was left."""

    def session(count: int) -> int:
        return calls_in(one_talk(world, count).forget)

    def sweep(count: int) -> int:
        memory = one_talk(world, count, ttl=3600)
        world.clock.advance(hours=2)
        return calls_in(lambda: swept(world, memory))

    for work in (session, sweep):
        work(2)
        few, many = work(size), work(2 * size)
        assert many < LINEAR * few


@pytest.mark.once
def test_what_is_published_costs_no_more_beside_many_proposals(world: World):
    """What each of them says was found out again for each fact."""

    def published_beside(known: int, count: int) -> int:
        memory = world.open(f"beside-{known}-{count}.db")
        memory.proposals.publish([f"Tom lives in Town{number}" for number in range(known)], source="town hall")
        others = [f"Tom lives in City{number}" for number in range(count)]
        return calls_in(lambda: memory.proposals.publish(others, source="town hall"))

    def each(known: int) -> float:
        """Beyond the first, with which all proposals are read once; and without the list of them that is returned."""
        return (published_beside(known, 17) - published_beside(known, 1)) / 16

    each(2)
    assert each(80) < SAME * each(20)


def memory_of(hold: str) -> str:
    return str(json.loads(hold)["subject"])


def test_a_change_reads_the_legal_holds_on_what_it_changes_and_no_others(world: World, monkeypatch):
    """Each transaction read all holds of the owner, several times: 2,000 took longer than a step may."""
    memory = world.open()
    pages = added(memory, (f"🍵 tea {number}" for number in range(12)))
    for page in pages[1:]:
        memory.governance.hold(reason="a case", memory=page)
    read, note = list[str](), retention_part.HOLDS

    def reading(text: str) -> LegalHold:
        read.append(text)
        return note.reading(text)

    monkeypatch.setattr(retention_part, "HOLDS", replace(note, reading=reading))
    memory.update(pages[0], "🍵 milk")
    memory.delete(pages[0])
    assert read == []
    with pytest.raises(OnHold):
        memory.update(pages[1], "🍵 milk")
    assert {memory_of(text) for text in read} == {pages[1]}


def test_dead_jobs_are_tried_again_a_few_in_each_step(world: World, monkeypatch):
    """All of them were read and changed in one step."""
    monkeypatch.setattr(jobs, "_AT_ONCE", 5)
    memory, tried = world.open(), list[int]()
    with world.vault.write(ANN) as writer:
        for number in range(12):
            writer.enqueue("own", payload={"number": number})
    with world.vault._writing(ANN) as connection:
        connection.execute(update(tables.jobs).where(tables.jobs.c.kind == "own").values(state=JobState.DEAD.value))
    retry = SqlWriter.retry

    def counted(writer: SqlWriter, job_ids: Sequence[str]) -> int:
        tried.append(len(job_ids))
        return retry(writer, job_ids)

    monkeypatch.setattr(SqlWriter, "retry", counted)
    assert memory.jobs.retry() == 12
    assert tried == [5, 5, 2]


def test_dead_jobs_that_wait_again_begin_though_a_later_step_fails(world: World, monkeypatch):
    """Nobody was told of them until the next call."""
    monkeypatch.setattr(jobs, "_AT_ONCE", 1)
    memory, told = world.open(), list[Scope]()
    with world.vault.write(ANN) as writer:
        for number in range(2):
            writer.enqueue("own", payload={"number": number})
    with world.vault._writing(ANN) as connection:
        connection.execute(update(tables.jobs).where(tables.jobs.c.kind == "own").values(state=JobState.DEAD.value))
    retry, tried = SqlWriter.retry, list[str]()

    def failing(writer: SqlWriter, job_ids: Sequence[str]) -> int:
        if tried:
            raise KeyboardInterrupt
        tried.extend(job_ids)
        return retry(writer, job_ids)

    monkeypatch.setattr(SqlWriter, "retry", failing)
    monkeypatch.setattr(memory._engine.housekeeping, "queued", told.append)
    with pytest.raises(KeyboardInterrupt):
        memory.jobs.retry()
    assert told == [memory.scope]


@pytest.mark.once
def test_a_repair_in_many_steps_describes_a_segment_as_a_whole_once(world: World):
    def repair(count: int) -> int:
        mixed(world, count)
        return calls_in(lambda: world.repairer().repair(ANN))

    repair(4)
    few, many = repair(2 * LAST_PAGES), repair(4 * LAST_PAGES)
    assert many < LINEAR * few


@pytest.mark.file
@pytest.mark.parametrize("work", ["delete", "update", "forget"])
def test_what_sqlite_does_for_a_few_memories_does_not_grow_with_what_happened_to_others(world: World, work: str):
    """It looked through all events of the owner when a memory went: 12 of 25 ms of a step in 4,000 pages.

    The few have a topic of their own: the versions of a topic go with a page of it.
    """

    def done_beside(others: int) -> int:
        memory = world.open(f"{work}-{others}.db", short_term_capacity=1)
        few = [Memory.add(memory.of(Scope(user="ann", session="few")), f"🚲 ride {number}") for number in range(3)]
        for number in range(others):
            memory.add(f"🍵 page {number}")
        memory.wait()
        doings: dict[str, Callable[[], object]] = {
            "delete": lambda: memory.delete(few[0]),
            "update": lambda: memory.update(few[0], "🚲 other words"),
            "forget": memory.of(Scope(user="ann", session="few")).forget,
        }
        with database_work(world.vault) as steps:
            doings[work]()
        return max(steps)

    assert 0 < done_beside(80) < SAME * done_beside(20)


@pytest.mark.file
def test_changes_read_the_memories_that_they_change_and_not_all_that_the_owner_has(world: World):
    """From three on, the earlier versions were looked for among all memories of the owner."""

    def done_beside(others: int) -> int:
        memory = world.open(f"change-{others}.db")
        facts = [memory.get(memory.facts.add(f"Ann likes {thing}.")) for thing in ("tea", "chess", "jazz", "rain")]
        memory.add_many([Turn(role=Role.USER, text=f"🍵 page {number}") for number in range(others)])
        memory.wait()
        with database_work(world.vault) as steps, world.vault.write(ANN) as writer:
            writer.update(
                [Entry(replace(fact, version=replace(fact.version, number=2))) for fact in facts], Operation.REVISE
            )
        return max(steps)

    assert 0 < done_beside(400) < SAME * done_beside(200)


@pytest.mark.file
def test_the_links_of_one_memory_are_one_list_in_the_order_of_their_index(world: World):
    """Each was a row of its own, in any order: with 5,000 SQLite took three times as long."""
    memory = world.open("links.db", short_term_capacity=1)
    pages = added(memory, (f"🍵 tea {number}" for number in range(240)))
    memory.wait()

    def calls_with(targets: Sequence[str]) -> int:
        fact = memory.facts.add(f"Ann likes dish {len(targets)}.")
        links = [Link(fact, LinkKind.DERIVED_FROM, page) for page in targets]
        with world.vault.write(ANN) as writer, Counted() as counted:
            writer.link(links)
        stored = select(tables.links.c.target).where(tables.links.c.source == fact).order_by(literal_column("rowid"))
        with world.vault._writing(ANN) as connection:
            assert connection.execute(stored).scalars().all() == sorted(targets)
        return counted.calls

    mixed_up = random.Random(1).sample(pages, len(pages))
    calls_with(mixed_up[:60])
    assert calls_with(mixed_up[:200]) - calls_with(mixed_up[:100]) < 3 * 100


@pytest.mark.file
def test_the_links_of_one_memory_are_removed_as_one_list(world: World):
    """Each was removed with a statement of its own, which took SQLite three times as long."""
    memory = world.open("unlinked.db", short_term_capacity=1)
    pages = added(memory, (f"🍵 tea {number}" for number in range(120)))
    memory.wait()
    fact = memory.facts.add("Ann likes tea.")
    links = [Link(fact, LinkKind.DERIVED_FROM, page) for page in random.Random(1).sample(pages, len(pages))]
    said: list[str] = []
    with world.vault.write(ANN) as writer:
        writer.link(links)
        driver = writer._connection.connection.dbapi_connection
        driver.set_trace_callback(said.append)
        writer.unlink(links[:100])
        driver.set_trace_callback(None)
        assert {link.target for link in writer.targets([fact], LinkKind.DERIVED_FROM)} == {*pages} - {
            link.target for link in links[:100]
        }
    assert sum(one.startswith("DELETE FROM links") for one in said) == 1


@pytest.mark.once
def test_the_documents_of_what_ends_with_a_page_are_made_before_the_lock_is_taken(world: World, monkeypatch):
    memory, page = taught(world, towns(3), "ends.db")
    world.extract()
    written = written_from_now_on(monkeypatch)
    memory.governance.relabel(page, expires_at=world.clock() + timedelta(days=1))
    assert {entry.cube.kind for entry in written} == {Kind.PAGE, Kind.FACT}
    assert all(entry.document for entry in written)


def written_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """The memories that are replaced by newer ones."""
    written, original = list[Entry](), SqlWriter.update

    def update(writer: SqlWriter, entries: Sequence[Entry], operation: Operation, **told: Any) -> None:
        written.extend(entries)
        original(writer, entries, operation, **told)

    monkeypatch.setattr(SqlWriter, "update", update)
    return written


@pytest.mark.file
@pytest.mark.parametrize("call", ["thaw", "release", "sweep"])
def test_what_has_expired_is_found_without_a_look_at_all_that_the_owner_has(world: World, call: str):
    def done_beside(others: int) -> int:
        memory = world.open(f"{call}-{others}.db")
        fact = memory.facts.add("Ann likes tea.")
        memory.add_many([Turn(role=Role.USER, text=f"🍵 page {number}") for number in range(others)])
        memory.wait()
        hold = memory.governance.hold(reason="x", memory=fact)
        if call == "sweep":
            memory.governance.release(hold.id)
            memory.governance.expire(fact)
        elif call == "thaw":
            memory.governance.freeze(fact)
        with database_work(world.vault) as steps:
            if call == "sweep":
                memory.jobs.run()
            elif call == "thaw":
                memory.governance.thaw(fact)
            else:
                memory.governance.release(hold.id)
        return max(steps)

    assert 0 < done_beside(400) < SAME * done_beside(200)


@pytest.mark.once
@pytest.mark.parametrize("call", ["freeze", "thaw"])
def test_the_document_of_another_state_is_made_before_the_lock_is_taken(world: World, monkeypatch, call: str):
    memory = world.open()
    fact = memory.facts.add("Ann likes tea.")
    if call == "thaw":
        memory.governance.freeze(fact)
    written = written_from_now_on(monkeypatch)
    getattr(memory.governance, call)(fact)
    assert [bool(entry.document) for entry in written] == [True]


@pytest.mark.file
def test_what_an_expiry_would_reach_is_looked_at_before_the_lock_is_taken(world: World):
    """The succession of every fact that rests on the page was followed to its end under it."""

    def expired(count: int) -> int:
        memory, page = taught(world, towns(count), f"expired-{count}.db")
        world.extract()
        with database_work(world.vault) as steps:
            memory.governance.expire(page)
        assert page not in [one.id for one in memory.pages.list()]
        return max(steps)

    assert 0 < expired(80) < SAME * expired(20)


@pytest.mark.once
def test_facts_that_belong_into_the_middle_of_a_succession_cost_what_stands_around_them(world: World):
    def learned_among(known: int, count: int) -> int:
        memory = world.open(f"middle-{known}-{count}.db", short_term_capacity=1)
        early, between, late = (Memory.add(memory, f"🍵 page {number}") for number in range(3))
        teach(world, *(lives_in(f"Town{number}", early, START) for number in range(known // 2)))
        teach(world, *(lives_in(f"City{number}", late, START + timedelta(days=2)) for number in range(known // 2)))
        middle = [lives_in(f"Village{number}", between, START + timedelta(days=1)) for number in range(count)]
        return calls_in(lambda: teach(world, *middle))

    def each(known: int) -> float:
        """Beyond the first, with which the succession is put in order once."""
        return (learned_among(known, 17) - learned_among(known, 1)) / 16

    each(2)
    assert each(80) < SAME * each(20)


@pytest.mark.once
def test_a_fact_that_joins_a_long_succession_changes_the_links_of_its_neighbours_alone(world: World, monkeypatch):
    """Those of all were read and compared each time."""

    def read_for_one_more(known: int) -> int:
        memory = world.open(f"links-{known}.db", short_term_capacity=1)
        early, late = (Memory.add(memory, f"🍵 page {number}") for number in range(2))
        teach(world, *(lives_in(f"Town{number}", early, START) for number in range(known)))
        with monkeypatch.context() as patched:
            rows = Counter[str]()
            targets = SqlWriter.targets

            def counted(self: SqlWriter, sources: Iterable[str], kind: LinkKind) -> list[Link]:
                rows["read"] += len(found := targets(self, sources, kind))
                return found

            patched.setattr(SqlWriter, "targets", counted)
            teach(world, lives_in("Rome", late, START + timedelta(days=1)))
        return rows["read"]

    assert 0 < read_for_one_more(80) == read_for_one_more(20)


@pytest.mark.once
def test_a_succession_that_is_learned_and_goes_in_parts_is_put_in_order_once(world: World, monkeypatch):
    """Each part read all facts before it again, and put them in order anew."""
    seen, ordering, reading = Counter[str](), fact_base.succession, SqlReader.get

    def ordered(cubes: Sequence[MemCube], *args: Any, **options: Any) -> Any:
        seen["ordered"] += len(cubes)
        return ordering(cubes, *args, **options)

    def read(self: SqlReader, ids: Iterable[str]) -> dict[str, MemCube]:
        found = reading(self, ids)
        seen["read"] += sum(cube.kind is Kind.FACT for cube in found.values())
        return found

    monkeypatch.setattr(fact_base, "succession", ordered)
    monkeypatch.setattr(SqlReader, "get", read)

    def learned(parts: int) -> tuple[Counter[str], Counter[str]]:
        memory, page = taught(world, towns(parts * CUBES_AT_ONCE), f"parts-{parts}.db")
        seen.clear()
        world.extract()
        learning = seen.copy()
        (last,) = memory.profile.get().user.facts
        assert len(memory.history(last.id)) == parts * CUBES_AT_ONCE
        seen.clear()
        memory.delete(page)
        assert memory.profile.get().user.facts == ()
        return learning, seen.copy()

    (few, less), (many, more) = learned(2), learned(6)
    assert 0 < many["ordered"] < 3.2 * few["ordered"]
    assert many["read"] == few["read"] == 0
    assert 0 < more["ordered"] <= 6 * CUBES_AT_ONCE, "what is left after the first part, once"
    assert 0 < more["read"] < 3.6 * less["read"]


@pytest.mark.once
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_a_succession_that_is_carried_from_part_to_part_is_what_it_would_be_without(world: World, monkeypatch, seed):
    """Pages that say some of the same go, change and come, each in several parts."""

    def facts(memory: Memory) -> list[tuple[object, ...]]:
        with world.vault.read(ANN) as reader:
            cubes = {cube.id: cube for cube in reader.cubes(Kind.FACT) if not cube.is_withdrawn}
            rests = Counter(link.source for link in reader.targets(cubes, LinkKind.DERIVED_FROM))
            follows = Counter(link.target for link in reader.targets(cubes, LinkKind.SUPERSEDES))
        known = memory.pages.list()
        texts = {page.id: page.text for page in known}
        return sorted(
            (
                cube.text,
                cube.tier,
                cube.state,
                cube.descriptive.valid_from,
                cube.descriptive.valid_to or START,
                sorted(texts[page] for page in cube.descriptive.provenance),
                rests[cube.id],
                follows[cube.id],
                [cubes[one].text for one in (cube.version.supersedes, cube.version.superseded_by) if one],
            )
            for cube in cubes.values()
        )

    def outcomes(name: str) -> Iterator[list[tuple[object, ...]]]:
        chance, memory = random.Random(seed), world.open(name, short_term_capacity=1)
        texts = [
            "\n".join(f"fact: Tom lives in Town{town}." for town in chance.sample(range(90), 70)) for _ in range(4)
        ]
        ids = [memory.add(text) for text in texts[:3]]
        memory.add("🚲 bye")
        world.extract()
        corrector = Corrector(world.promoter(LineExtractor()), ANN)
        yield facts(memory)
        corrector.delete(ids[1])
        yield facts(memory)
        corrector.revise(ids[0], NewWords(texts[3]))
        assert world.runner(LineExtractor()).run_all(ANN) == 1
        yield facts(memory)
        corrector.delete(ids[2])
        yield facts(memory)

    carried = list(outcomes("carried.db"))
    monkeypatch.setattr(CarriedChains, "leave", lambda *_: None)
    assert carried == list(outcomes("alone.db"))
    assert [len(one) > CUBES_AT_ONCE for one in carried] == [True] * 4


@pytest.mark.once
def test_a_succession_is_read_again_if_somebody_changes_a_fact_between_two_parts(world: World, monkeypatch):
    memory, _ = taught(world, towns(2 * CUBES_AT_ONCE), "between.db")
    learning, parts = Promoter._take_in, list[int]()

    def learn_beside_others(self: Promoter, scope: Scope, lessons: Sequence[Lesson], *args: Any, **options: Any):
        learning(self, scope, lessons, *args, **options)
        parts.append(len(lessons))
        if len(parts) == 1:
            memory.facts.add("Tom lives in Rome.")

    monkeypatch.setattr(Promoter, "_take_in", learn_beside_others)
    world.extract()
    assert parts == [CUBES_AT_ONCE, CUBES_AT_ONCE]
    (last,) = memory.profile.get().user.facts
    assert last.text == "Tom lives in Rome."
    assert len(memory.history(last.id)) == 2 * CUBES_AT_ONCE + 1
    assert verify(world.vault).is_sound


def test_a_page_that_says_very_much_is_learned_whole_and_forgotten_whole(world: World):
    memory, page = taught(world, towns(100), "whole.db")
    world.extract()
    (last,) = memory.profile.get().user.facts
    assert last.text == "Tom lives in Town99."
    assert len(memory.history(last.id)) == 100
    assert memory.stats().facts.superseded == 99
    memory.delete(page)
    assert memory.profile.get().user.facts == ()
    assert not memory.search("Town", archive=True).user_facts


def test_of_a_field_that_one_page_changes_all_the_time_the_last_versions_are_kept(world: World):
    memory, _ = taught(world, "\n".join(f"city=Town{number}" for number in range(100)), "field.db")
    world.extract(LineExtractor())
    (field,) = memory.profile.get().user.profile
    assert field.payload.value == "Town99"
    values = [cube.payload.value for cube in memory.history(field.id)]
    assert values == ["Town0", *(f"Town{number}" for number in range(100 - REVISIONS, 100))]


def test_an_update_that_says_very_much_is_read_by_a_job(world: World):
    memory, page = taught(world, "fact: Tom lives in Rome.", "job.db")
    world.extract()
    Corrector(world.promoter(LineExtractor()), ANN).revise(page, NewWords(towns(100)))
    assert memory.profile.get().user.facts == ()
    assert world.runner(LineExtractor()).run_all(ANN) == 1
    assert [fact.text for fact in memory.profile.get().user.facts] == ["Tom lives in Town99."]


def chained(world: World, monkeypatch) -> tuple[Memory, list[str]]:
    """A long chain, of which each step describes two pages."""
    monkeypatch.setattr(followers, "CHARS_AT_ONCE", 60)
    memory = world.open(short_term_capacity=1)
    return memory, added(memory, (f"🍵 tea {number}" for number in range(40)))


def summaries(memory: Memory, pages: Sequence[str]) -> list[str]:
    return [memory.get(page).payload.chain_summary for page in pages]


def revise_it(memory: Memory, page_id: str) -> None:
    with memory._engine.vault.write(ANN) as writer:
        page = writer.get([page_id])[page_id]
        writer.update([Entry(replace(page, version=replace(page.version, number=2)))], Operation.REVISE)


def freeze_it(memory: Memory, page_id: str) -> None:
    memory.governance.freeze(page_id)


def delete_it(memory: Memory, page_id: str) -> None:
    memory.delete(page_id)


def interrupt_it(*_: object) -> None:
    raise KeyboardInterrupt


COMES_BETWEEN = [
    (revise_it, StaleVersion),
    (freeze_it, CubeProtected),
    (delete_it, NotFound),
    (interrupt_it, KeyboardInterrupt),
]


@pytest.mark.parametrize(("comes", "error"), COMES_BETWEEN)
def test_a_chain_stays_as_it_was_if_something_comes_while_it_is_described(world: World, monkeypatch, comes, error):
    """What follows the page is described before its new words are stored, a few pages at a time."""
    memory, pages = chained(world, monkeypatch)
    before = summaries(memory, pages[-5:])
    shorten = correct.shorten_chains
    later: list[str] = []

    def overtaken(*given: Any) -> None:
        shorten(*given)
        assert "coffee" in memory.get(pages[-1]).payload.chain_summary
        later.append(memory.add("🍵 tea last"))
        comes(memory, pages[0])

    monkeypatch.setattr(correct, "shorten_chains", overtaken)
    with pytest.raises(error):
        memory.update(pages[0], "🍵 coffee", expected_version=1)
    assert comes is delete_it or summaries(memory, pages[-5:]) == before
    left = [page for page in [*pages, *later] if comes is not delete_it or page != pages[0]]
    assert not any("coffee" in told for told in summaries(memory, left))
    assert verify(world.vault).is_sound


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_chain_stays_as_it_was_if_describing_it_is_interrupted(world: World, monkeypatch, after: int):
    memory, pages = chained(world, monkeypatch)
    before = summaries(memory, pages[1:])
    update, written = SqlWriter.update, list[int]()

    def interrupting(writer: SqlWriter, *given: Any, **told: Any) -> None:
        update(writer, *given, **told)
        if threading.current_thread().name.startswith("memoryos-housekeeping"):
            return  # work behind the calls, which an interrupt of this call does not reach
        written.append(len(written))
        if len(written) == after + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(SqlWriter, "update", interrupting)
    with pytest.raises(KeyboardInterrupt):
        memory.update(pages[0], "🍵 coffee", expected_version=1)
    assert len(written) > after
    assert summaries(memory, pages[1:]) == before
    assert verify(world.vault).is_sound


def test_a_chain_stays_described_if_the_interrupt_comes_after_the_new_words(world: World, monkeypatch):
    memory, pages = chained(world, monkeypatch)
    taking = correct.take

    def interrupting(*given: Any) -> None:
        taking(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(correct, "take", interrupting)
    with pytest.raises(KeyboardInterrupt):
        memory.update(pages[0], "🍵 coffee", expected_version=1)
    assert "coffee" in memory.get(pages[0]).text
    assert all("coffee" in told for told in summaries(memory, pages[1:]))


@pytest.mark.parametrize("call", ["update", "other", "delete", "rebuild"])
def test_a_chain_that_a_crash_left_with_other_words_is_described_by_the_next_change(
    world: World, monkeypatch, call: str
):
    """A killed process cannot describe it as before."""
    memory, pages = chained(world, monkeypatch)
    shorten = correct.shorten_chains

    def killed(*given: Any) -> None:
        shorten(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(correct, "shorten_chains", killed)
        patched.setattr(followers.Shortened, "undo", lambda *_: None)
        memory.update(pages[0], "🍵 coffee", expected_version=1)
    assert "coffee" in memory.get(pages[-1]).payload.chain_summary
    if call == "delete":
        memory.delete(pages[0])
    elif call == "rebuild":
        memory.upkeep.rebuild()
    else:
        memory.update(pages[0], "🍵 coffee" if call == "update" else "🍵 water", expected_version=1)
    told = summaries(memory, pages[1:])
    assert [call == "update"] * len(told) == ["coffee" in one for one in told]


@pytest.mark.parametrize("on", list(HeldThing))
def test_a_hold_that_comes_while_a_chain_is_described_is_kept(world: World, monkeypatch, on: HeldThing):
    """Holds were looked at once, before the chain was described, and the page on hold got the new words."""
    monkeypatch.setattr(followers, "CHARS_AT_ONCE", 60)
    memory = world.open(short_term_capacity=1, scope=replace(ANN, session="case"))
    pages = added(memory, (f"🍵 tea {number}" for number in range(40)))
    held = {HeldThing.MEMORY: {"memory": pages[0]}, HeldThing.SESSION: {"session": "case"}, HeldThing.OWNER: {}}[on]
    shorten = correct.shorten_chains

    def overtaken(*given: Any) -> None:
        shorten(*given)
        memory.governance.hold(reason="a case", **held)

    monkeypatch.setattr(correct, "shorten_chains", overtaken)
    before = memory.get(pages[0])
    with pytest.raises(OnHold):
        memory.update(pages[0], "🍵 coffee", mode="append")
    assert memory.get(pages[0]) == before
    assert verify(world.vault).is_sound


def test_a_hold_that_comes_between_the_plan_and_its_writing_is_kept(world: World, monkeypatch):
    memory = world.open(short_term_capacity=1)
    page = memory.add("🍵 tea")
    planned = correct._Revising.planned

    def overtaken(revising: Any, reader: Reader) -> Any:
        step = planned(revising, reader)
        if not memory.governance.holds():
            memory.governance.hold(reason="a case", memory=page)
        return step

    monkeypatch.setattr(correct._Revising, "planned", overtaken)
    before = memory.get(page)
    with pytest.raises(OnHold):
        memory.update(page, "🍵 coffee", expected_version=1)
    assert memory.get(page) == before


def test_chains_forget_a_page_to_their_ends(world: World):
    memory = world.open(short_term_capacity=1)
    first = Memory.add(memory, "🍵 The kettle whistles.")
    pages = added(memory, (f"🍵 x{number}" for number in range(100)))
    memory.wait()
    assert "kettle" in memory.get(pages[-1]).payload.chain_summary
    memory.delete(first)
    assert not any("kettle" in memory.get(page).payload.chain_summary for page in pages)


@pytest.mark.once
@pytest.mark.parametrize("line", ["fact: Tom likes tea.", "fact: Tom likes dish {}."])
def test_deleting_a_segment_reads_no_page_again_for_each_few_that_go(world: World, monkeypatch, line: str):
    """What all its pages say was derived again from those that were left, for every 16 that went."""
    read: list[int] = []
    lessons = Again.lessons
    monkeypatch.setattr(
        Again, "lessons", lambda again, pages, *wanted: read.append(len(pages)) or lessons(again, pages, *wanted)
    )
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    added(memory, (f"🍵 tea {number}\n" + line.format(number) for number in range(8 * PAGES_AT_ONCE)))
    memory.add("🚲 bye")
    world.extract()
    (segment,) = [view for view in memory.segments.list() if len(view.page_ids) > PAGES_AT_ONCE]
    read.clear()
    memory.delete(segment.cube.id)
    assert sum(read) <= 2 * PAGES_AT_ONCE
    assert memory.profile.get().user.facts == ()
    assert len(memory.pages.list()) == 1


@pytest.mark.once
def test_deleting_a_segment_looks_at_what_goes_and_not_each_time_at_all_that_is_left(world: World, monkeypatch):
    """After each 16 pages, it asked of all others whether they had been read: a quarter of the time at 2,000 pages."""
    asked, extracted = list[int](), redescribe.extracted

    def counting(reader: Reader, pages: Iterable[str]) -> frozenset[str]:
        asked.append(len(pages := list(pages)))
        return extracted(reader, pages)

    monkeypatch.setattr(redescribe, "extracted", counting)
    memory, count = world.open(short_term_capacity=1), 10 * PAGES_AT_ONCE
    added(memory, (f"🍵 tea {number}" for number in range(count)))
    memory.add("🚲 bye")
    (segment,) = memory.segments.list()
    asked.clear()
    memory.delete(segment.cube.id)
    assert max(asked) <= PAGES_AT_ONCE
    assert sum(asked) <= 2 * count


def test_a_segment_that_goes_in_steps_counts_the_pages_that_nobody_has_read(world: World, monkeypatch):
    memory = world.open(short_term_capacity=1, heat_threshold=10**6)
    added(memory, (f"🍵 tea {number}" for number in range(PAGES_AT_ONCE)))
    memory.add("🚲 bye")
    world.extract()
    added(memory, (f"🍵 tea {number}" for number in range(2 * PAGES_AT_ONCE)))
    memory.add("🚲 bye")
    memory.wait()
    segment = max(memory.segments.list(), key=lambda view: len(view.page_ids))
    going, told = removal.Removal._deletion, list[tuple[int, int]]()

    def watching(self: removal.Removal, reader: Reader, cube_id: str, kind: Kind) -> Any:
        cube = reader.one(cube_id)
        told.append((cube.behaviour.interactions, len(reader.unread(cube_id))))
        return going(self, reader, cube_id, kind)

    monkeypatch.setattr(removal.Removal, "_deletion", watching)
    memory.delete(segment.cube.id)
    assert len({unread for _, unread in told}) > 2
    assert all(counted == unread for counted, unread in told)


def test_a_large_segment_goes_with_its_pages(world: World):
    memory = world.open(short_term_capacity=1)
    added(memory, (f"🍵 tea {number}" for number in range(60)))
    other = Memory.add(memory, "🚲 bye")
    (segment,) = memory.segments.list()
    memory.delete(segment.cube.id)
    assert memory.segments.list(archive=True) == []
    assert [page.id for page in memory.pages.list()] == [other]


@pytest.mark.once
@pytest.mark.parametrize("options", [{}, {"ttl": 3600}], ids=["session", "sweep"])
def test_nothing_is_derived_again_from_pages_that_go_next(world: World, monkeypatch, options: dict[str, Any]):
    read: list[int] = []
    lessons = Again.lessons
    monkeypatch.setattr(
        Again, "lessons", lambda again, pages, *wanted: read.append(len(pages)) or lessons(again, pages, *wanted)
    )
    monkeypatch.setattr(expiry_job, "AT_ONCE", 2 * PAGES_AT_ONCE)
    memory = one_talk(world, 5 * PAGES_AT_ONCE, **options)
    read.clear()
    forget_or_sweep(world, memory)
    assert sum(read) == 0
    assert memory.profile.get().user.is_empty
    assert verify(world.vault).is_sound


def forget_or_sweep(world: World, memory: Memory) -> None:
    """Let what expires go, or else the session."""
    if memory.pages.list()[0].governance.lifespan.own_end:
        world.clock.advance(hours=2)
        memory.jobs.run()
    else:
        memory.forget()


@pytest.mark.once
def test_pages_that_go_together_describe_the_rest_of_their_chain_once(world: World):
    """Each of them described all that were left, one after the other."""
    memory = world.open(short_term_capacity=1)
    turns = [Turn(role=Role.USER, text=f"🍵 tea {number}") for number in range(60)]
    Memory.add_many(memory, turns[:40], ttl=3600)
    kept = Memory.add_many(memory, turns[40:])
    memory.wait()
    world.clock.advance(hours=2)
    with world.vault.read(ANN) as reader:
        before = reader.sequence()
    memory.jobs.run()
    assert [page.id for page in memory.pages.list()] == kept
    with world.vault.read(ANN) as reader:
        changed = Counter(event.cube_id for event in reader.events(after=before) if event.kind is Kind.PAGE)
    assert memory.get(kept[0]).payload.chain_summary.startswith("🍵 tea 40")
    assert all(changed[page] <= 2 for page in kept)
    assert sum(changed[page] for page in kept) <= len(kept) + CUBES_AT_ONCE


@pytest.mark.once
def test_memories_that_are_stored_anew_when_pages_go_are_so_many_that_their_links_fit_in_a_step(
    world: World, monkeypatch
):
    """Each that was revised goes, with its links, and comes with those that are left: one step had all of 32."""
    count, planned = 2 * PAGES_AT_ONCE, list[int]()
    memory = world.open(short_term_capacity=1, heat_threshold=10**6)
    talk = memory.of(replace(ANN, session="talk"))
    added(talk, (f"🍵 tea {number}\nfact: Tom lives in Town{number}." for number in range(count)))
    memory.add("🚲 bye")
    world.extract()
    with world.vault.write(ANN) as writer:
        for fact in world.cubes(Kind.FACT):
            newer = replace(fact, version=replace(fact.version, number=2))
            writer.update([Entry(newer)], Operation.REVISE)
    unlearning = removal.Removal._unlearning

    def noted(self: removal.Removal, reader: Any, some: Sequence[str], leaving: frozenset[str]) -> Any:
        planned.append(len(some))
        return unlearning(self, reader, some, leaving)

    monkeypatch.setattr(removal.Removal, "_unlearning", noted)
    monkeypatch.setattr(removal, "LINKS_AT_ONCE", 4)
    talk.forget()
    assert planned == [4] * (count // 4)
    assert verify(world.vault).is_sound


def test_pages_that_go_together_go_in_steps_of_so_many_characters(world: World, monkeypatch):
    def largest_step(number: int) -> int:
        talk = world.open(f"large-{number}.db", short_term_capacity=1).of(replace(ANN, session="talk"))
        added(talk, ("🍵 " + 500 * f"word{number} " for number in range(PAGES_AT_ONCE)))
        talk.wait()
        with removed_from(world.vault) as removed:
            assert talk.forget().memories["page"] == PAGES_AT_ONCE
        return max(size for _, size in removed)

    together = largest_step(0)
    monkeypatch.setattr(removal, "CHARS_AT_ONCE", 8_000)
    assert largest_step(1) < together / 4


@pytest.mark.parametrize("options", [{}, {"ttl": 3600}], ids=["session", "sweep"])
def test_pages_that_go_together_and_die_between_two_steps_leave_a_sound_store(
    world: World, monkeypatch, options: dict[str, Any]
):
    memory = one_talk(world, 3 * PAGES_AT_ONCE, **options)
    delete, pages = SqlWriter.delete, list[int]()

    def die(writer: SqlWriter, ids: Sequence[str]) -> None:
        if Kind.PAGE in writer.kinds(ids).values():
            pages.append(len(ids))
            if len(pages) > 1:
                raise KeyboardInterrupt
        delete(writer, ids)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SqlWriter, "delete", die)
        if options:
            world.clock.advance(hours=2)
            swept(world, memory)
        else:
            memory.forget()
    assert len(world.cubes(Kind.PAGE)) == 2 * PAGES_AT_ONCE + 1
    assert verify(world.vault).is_sound
    for view in memory.segments.list():
        assert len(view.page_ids) == view.cube.payload.pages
    if options:
        memory.jobs.run()
    else:
        memory.forget()
    assert texts(world.cubes(Kind.PAGE)) == ["🚲 bye"]
    assert verify(world.vault).is_sound


@contextmanager
def removed_from(vault: SqlVault) -> Iterator[list[tuple[int, int]]]:
    """What goes in each write transaction of the vault: rows of memories, and characters of documents."""
    removed: list[tuple[int, int]] = []
    writing: Writing = vault._writing

    @contextmanager
    def counting(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection:
            before = stored_in(connection)
            yield connection
            rows, characters = (one - other for one, other in zip(before, stored_in(connection), strict=True))
            removed.append((rows, characters))

    vault._writing = counting  # type: ignore[method-assign]
    yield removed
    vault._writing = writing  # type: ignore[method-assign]


def stored_in(connection: Connection) -> tuple[int, int]:
    cubes, versions = tables.cubes, tables.versions
    counted = (cubes, versions, tables.links, tables.passages)
    rows = [connection.scalar(select(func.count()).select_from(table)) or 0 for table in counted]
    sizes = [connection.scalar(select(func.sum(func.length(table.c.document)))) or 0 for table in (cubes, versions)]
    return sum(rows), sum(sizes)


@contextmanager
def stored_by(vault: SqlVault) -> Iterator[list[tuple[int, int]]]:
    """What comes in each write transaction of the vault: rows of memories, and characters of documents."""
    with removed_from(vault) as removed:
        stored: list[tuple[int, int]] = []
        yield stored
    stored += [(-rows, -characters) for rows, characters in removed]


def resting_on_all(world: World, count: int) -> Memory:
    """A trait that rests on so many pages and has as many earlier versions, each with all these pages."""
    memory = world.open(f"rests-{count}.db", short_term_capacity=1, heat_threshold=10**6)
    added(memory, (f"🍵 tea {number}\ntrait: calm" for number in range(count)))
    memory.add("🚲 bye")
    world.extract()
    (trait,) = world.cubes(Kind.TRAIT)
    assert len(trait.descriptive.provenance) == count
    for number in range(trait.version.number, trait.version.number + count):
        newer = replace(trait, version=replace(trait.version, number=number + 1))
        with world.vault.write(ANN) as writer:
            writer.update([Entry(newer)], Operation.REVISE)
    return memory


@pytest.mark.parametrize(("rows", "characters"), [(40, 10**9), (10**9, 20_000), (60, 30_000)])
def test_what_an_owner_forgets_in_one_step_does_not_grow(world: World, monkeypatch, rows: int, characters: int):
    """One transaction removed 64 memories with all their versions and links, however many they had."""
    monkeypatch.setattr(forget, "PARTS_AT_ONCE", rows)
    monkeypatch.setattr(forget, "CHARS_AT_ONCE", characters)
    for count in (20, 40):
        memory = resting_on_all(world, count)
        with world.vault.read(ANN) as reader:
            before = reader.census()
        with removed_from(world.vault) as removed:
            forgotten = memory.forget()
        assert forgotten.is_complete
        assert forgotten.memories == {"page": count + 1, "segment": before.of(Kind.SEGMENT), "trait": 1}
        assert sum(gone for gone, _ in removed) > 3 * count
        assert max(gone for gone, _ in removed) <= rows
        assert max(size for _, size in removed) <= characters


@pytest.mark.parametrize("characters", [10**9, 60_000])
def test_what_a_deletion_removes_in_one_step_does_not_grow_with_the_history(world: World, monkeypatch, characters: int):
    """One transaction removed a memory with all its earlier versions, however many they were."""
    monkeypatch.setattr(changes, "CHARS_AT_ONCE", characters)
    for count in (40, 80):
        memory = resting_on_all(world, count)
        (trait,) = world.cubes(Kind.TRAIT)
        before = len(memory.history(trait.id))
        with world.vault.read(ANN) as reader:
            largest = max(one.size for one in reader.kept_versions([trait.id]))
        with removed_from(world.vault) as removed:
            memory.delete(trait.id)
        assert world.cubes(Kind.TRAIT) == []
        assert max(size for _, size in removed) <= (REVISIONS + 2) * largest
        assert sum(gone for gone, _ in removed) > before


@contextmanager
def losses_of(vault: SqlVault, cube_id: str) -> Iterator[list[int]]:
    """How many of its links and earlier versions a memory loses in each write transaction."""
    lost: list[int] = []
    writing: Writing = vault._writing
    links, versions = tables.links, tables.versions

    def left(connection: Connection) -> int:
        counts = (
            select(func.count()).select_from(links).where(links.c.source == cube_id),
            select(func.count()).select_from(versions).where(versions.c.cube_id == cube_id),
        )
        return sum(connection.scalar(count) or 0 for count in counts)

    @contextmanager
    def counting(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection:
            before = left(connection)
            yield connection
            lost.append(before - left(connection))

    vault._writing = counting  # type: ignore[method-assign]
    yield lost
    vault._writing = writing  # type: ignore[method-assign]


def test_a_memory_that_is_derived_anew_from_very_many_pages_leaves_in_steps(world: World, monkeypatch):
    """It was removed with all its links in the step that stored it anew with them: 63 ms with 2,500."""
    monkeypatch.setattr(renewal, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    memory = resting_on_all(world, 60)
    (trait,) = world.cubes(Kind.TRAIT)
    page = memory.pages.list()[7].id
    with losses_of(world.vault, trait.id) as lost:
        memory.delete(page)
    assert sum(lost) >= 120
    assert max(lost) <= REVISIONS + 3
    (renewed,) = world.cubes(Kind.TRAIT)
    assert renewed.id != trait.id
    assert len(renewed.descriptive.provenance) == 59
    assert page not in renewed.descriptive.provenance
    assert verify(world.vault).is_sound


def taken_out(corrector: Corrector, page: str) -> None:
    corrector.delete(page)


def reworded(corrector: Corrector, page: str) -> None:
    corrector.revise(page, NewWords("🍵 coffee\ntrait: calm"))


@pytest.mark.parametrize(("work", "left"), [(taken_out, 19), (reworded, 20)])
def test_what_other_pages_say_beside_it_is_not_embedded_again(
    world: World, monkeypatch, work: Callable[[Corrector, str], None], left: int
):
    """All facts that the pages of a trait tell were embedded, to derive the trait and one fact again."""
    memory = world.open(short_term_capacity=1, heat_threshold=10**6)
    pages = added(memory, (f"🍵 tea {number}\ntrait: calm\nfact: Tom has dog {number}." for number in range(20)))
    memory.add("🚲 bye")
    world.extract()
    assert len(world.cubes(Kind.TRAIT)[0].descriptive.provenance) == 20
    embedded, embed = list[str](), Symbols.embed

    def counting(self: Symbols, texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        return embed(self, texts)

    monkeypatch.setattr(Symbols, "embed", counting)
    work(Corrector(world.promoter(LineExtractor()), ANN), pages[7])
    assert [len(trait.descriptive.provenance) for trait in world.cubes(Kind.TRAIT)] == [left]
    assert not [text for text in embedded if "dog" in text and "dog 7" not in text]


@pytest.mark.parametrize("held", ["page", "memory"])
def test_an_update_that_a_hold_refuses_before_its_first_step_leaves_what_rests_on_the_page(
    world: World, monkeypatch, held
):
    """What is derived again before the page has its new words lost the page, though nothing else was changed."""
    monkeypatch.setattr(correct, "some_at_a_time", lambda ids: some_at_a_time(ids, 1))
    memory = world.open(short_term_capacity=1, heat_threshold=10**6)
    page = memory.add("🍵\nfact: Tom likes jazz.\nfact: Tom plays chess.\nfact: Tom is tall.")
    memory.add("🚲 bye")
    world.extract()
    before = sorted((fact.id, fact.is_withdrawn, fact.descriptive.provenance) for fact in world.cubes(Kind.FACT))
    assert len(before) == 3
    preparing = correct._Revising.prepared

    def held_before(self: Any, reader: Any, some: Any) -> Any:
        if not memory.governance.holds():
            memory.governance.hold(reason="court", memory=page if held == "page" else before[0][0])
        return preparing(self, reader, some)

    monkeypatch.setattr(correct._Revising, "prepared", held_before)
    with pytest.raises(OnHold):
        memory.update(page, "🍵 coffee")
    assert sorted((f.id, f.is_withdrawn, f.descriptive.provenance) for f in world.cubes(Kind.FACT)) == before


@pytest.mark.parametrize("place", ["_renewed", "_end"])
def test_a_memory_that_comes_on_hold_while_it_is_derived_anew_stays_as_it_is(world: World, monkeypatch, place: str):
    """It lost all its links but two before its end was refused."""
    monkeypatch.setattr(renewal, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    memory = resting_on_all(world, 60)
    (trait,) = world.cubes(Kind.TRAIT)
    page, before = memory.pages.list()[7].id, stored_of(world, trait.id)
    plain = getattr(Renewal, place)

    def late(one: Renewal, *args: Any, **told: Any) -> Any:
        if not memory.governance.holds():
            hold = threading.Thread(target=lambda: memory.governance.hold(reason="a case", memory=trait.id))
            hold.start()
            hold.join()
        return plain(one, *args, **told)

    monkeypatch.setattr(Renewal, place, late)
    with pytest.raises(OnHold):
        memory.delete(page)
    assert stored_of(world, trait.id) == before
    assert page in [one.id for one in memory.pages.list()]
    (left,) = (cube for cube in world.cubes(Kind.TRAIT) if cube.id == trait.id)
    assert left.is_withdrawn == (place == "_end")
    assert verify(world.vault).is_sound


def stored_of(world: World, cube_id: str) -> tuple[tuple[str, ...], int, int]:
    """The pages that a memory names, and how many links to pages and earlier versions it has."""
    with world.vault.read(ANN) as reader:
        links = reader.targets([cube_id], LinkKind.DERIVED_FROM)
        pages = reader.get([cube_id])[cube_id].descriptive.provenance
        return pages, len(list(links)), len(list(reader.kept_versions([cube_id])))


def test_a_withdrawn_memory_with_very_many_links_leaves_in_steps_with_one_of_its_pages(world: World, monkeypatch):
    """Without earlier versions it went in one step."""
    monkeypatch.setattr(renewal, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    memory = world.open(short_term_capacity=1, heat_threshold=10**6)
    added(memory, (f"🍵 tea {number}\ntrait: calm" for number in range(90)))
    memory.add("🚲 bye")
    world.extract()
    (trait,) = world.cubes(Kind.TRAIT)
    assert trait.version.number == 1
    with world.vault.write(ANN) as writer:
        writer.update([Entry(withdrawn(trait, world.clock()))], Operation.REFRESH)
    with losses_of(world.vault, trait.id) as lost:
        memory.delete(memory.pages.list()[7].id)
    assert trait.id not in [cube.id for cube in world.cubes(Kind.TRAIT)]
    assert sum(lost) == 90
    assert max(lost) <= 20
    assert verify(world.vault).is_sound


def test_a_long_history_that_a_user_stated_leaves_in_steps_when_the_memory_is_derived_anew(world: World, monkeypatch):
    """Because it is derived again from them, all versions of such a memory went in one step."""
    monkeypatch.setattr(renewal, "CHARS_AT_ONCE", 1_000)
    memory = resting_on_all(world, 80)
    (trait,) = world.cubes(Kind.TRAIT)
    stated = replace(trait, descriptive=replace(trait.descriptive, origin=Origin.USER_INPUT))
    with world.vault.write(ANN) as writer:
        writer.update([Entry(replace(stated, version=replace(trait.version, number=200)))], Operation.REVISE)
    with losses_of(world.vault, trait.id) as lost:
        memory.delete(memory.pages.list()[7].id)
    assert sum(lost) >= 160
    assert max(lost) <= REVISIONS + 2 + 80  # with its links, which are few
    assert trait.id not in {cube.id for cube in world.cubes(Kind.TRAIT)}
    assert len(world.cubes(Kind.TRAIT)) == 1
    assert verify(world.vault).is_sound


@pytest.mark.parametrize("before", ["thin_out", "take"])
def test_a_memory_that_is_no_longer_withdrawn_does_not_leave(world: World, monkeypatch, before: str):
    """Whether it was withdrawn was asked once, before its links went, and before it went itself."""
    monkeypatch.setattr(renewal, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    memory = resting_on_all(world, 60)
    (trait,) = world.cubes(Kind.TRAIT)
    going = getattr(renewal, before)

    def believed_again(vault: SqlVault, home: Scope, *given: Any, **options: Any) -> Any:
        with vault.write(home) as writer:
            cube = writer.get([trait.id])[trait.id]
            if cube.is_withdrawn:
                writer.update(
                    [Entry(replace(trait, state=State.ACTIVATED, descriptive=cube.descriptive))], Operation.REFRESH
                )
        return going(vault, home, *given, **options)

    monkeypatch.setattr(renewal, before, believed_again)
    page = memory.pages.list()[7].id
    renewal.Renewal(Corrector(world.promoter(LineExtractor()), ANN).again(ANN)).renew([page], {page})
    (left,) = [cube for cube in world.cubes(Kind.TRAIT) if cube.id == trait.id]
    assert not left.is_withdrawn
    if before == "thin_out":
        assert left.descriptive.provenance == trait.descriptive.provenance
        assert len(world.links(LinkKind.DERIVED_FROM, trait.id)) == 60


@pytest.mark.parametrize("call", ["update", "unlink", "delete"])
def test_a_deletion_that_dies_while_a_large_memory_is_derived_anew_is_completed_by_the_next(
    world: World, monkeypatch, call: str
):
    monkeypatch.setattr(renewal, "LINKS_AT_ONCE", 20)
    monkeypatch.setattr(support, "LINKS_AT_ONCE", 20)
    memory = resting_on_all(world, 60)
    page = memory.pages.list()[7].id

    def die(writer: SqlWriter, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SqlWriter, call, die)
        memory.delete(page)
    assert verify(world.vault).is_sound
    assert memory.get(page).id == page
    assert len([cube for cube in world.cubes(Kind.TRAIT) if not cube.is_withdrawn]) == 1
    memory.delete(page)
    (renewed,) = world.cubes(Kind.TRAIT)
    assert len(renewed.descriptive.provenance) == 59
    assert page not in renewed.descriptive.provenance
    assert verify(world.vault).is_sound


def test_what_goes_with_its_last_page_goes_without_a_long_history(world: World):
    """All earlier versions of a derived memory went in one step: 304 ms for a field with 1,504."""
    memory, lost = resting_on_all(world, 80), list[int]()
    earlier = len(memory.history(world.cubes(Kind.TRAIT)[0].id)) - 1
    writing: Writing = world.vault._writing

    @contextmanager
    def counting(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection:
            count = select(func.count()).select_from(tables.versions)
            before = connection.scalar(count)
            yield connection
            lost.append(before - connection.scalar(count))

    world.vault._writing = counting  # type: ignore[method-assign]
    memory.delete(memory.segments.list()[0].cube.id)
    assert world.cubes(Kind.TRAIT) == []
    assert sum(lost) == earlier >= 80
    assert max(lost) <= REVISIONS + 1
    assert verify(world.vault).is_sound


def exported(world: World, count: int, folder: Path) -> tuple[Path, MemCube]:
    """A file with a trait that rests on so many pages and has as many earlier versions, and that trait."""
    memory = resting_on_all(world, count)
    file = folder / f"{count}.jsonl"
    memory.export(file)
    (trait,) = world.cubes(Kind.TRAIT)
    memory.forget()
    return file, trait


def loaded(world: World, file: Path) -> LoadedExport:
    return Loader(world.vault, world.embedder, world.clock, again=True).load(lambda: read_lines(file))


def versions(world: World, cube: MemCube) -> list[MemCube]:
    """All that is known of a memory, oldest first."""
    with world.vault.read(ANN) as reader:
        return [*reader.history(cube.id), reader.get([cube.id])[cube.id]]


def test_what_a_load_stores_in_one_step_does_not_grow(world: World, tmp_path: Path, monkeypatch):
    """One transaction stored 64 memories with all their versions, however many, and all their links."""
    monkeypatch.setattr(load_export, "CHARS_AT_ONCE", 60_000)
    monkeypatch.setattr(load_export, "LINKS_AT_ONCE", 40)
    for count in (40, 80):
        file, trait = exported(world, count, tmp_path)
        largest = len(to_json(trait))
        with stored_by(world.vault) as stored:
            assert loaded(world, file).memories["trait"] == 1
        assert len(versions(world, trait)) == count + 1
        assert sum(rows for rows, _ in stored) > 2 * count
        assert max(size for _, size in stored) <= max(60_000, (REVISIONS + 2) * largest)
        assert max(rows for rows, _ in stored) <= 4 * CUBES_AT_ONCE


def test_a_load_looks_for_the_pages_of_a_memory_before_it_has_the_lock(world: World, tmp_path: Path, monkeypatch):
    """With 2,000 pages, that took two thirds of the longest step."""
    monkeypatch.setattr(load_export, "CHARS_AT_ONCE", 1)
    file, trait = exported(world, 60, tmp_path)
    asked, kinds = list[int](), SqlWriter.kinds

    def counting(writer: SqlWriter, ids: Iterable[str]) -> dict[str, Kind]:
        asked.append(len(wanted := list(ids)))
        return kinds(writer, wanted)

    monkeypatch.setattr(SqlWriter, "kinds", counting)
    loaded(world, file)
    assert max(asked) == 1
    assert {link.target for link in world.links(LinkKind.DERIVED_FROM, trait.id)} == set(trait.descriptive.provenance)


def test_what_goes_after_a_load_has_looked_for_it_is_no_page_of_what_is_loaded(
    world: World, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(load_export, "CHARS_AT_ONCE", 1)
    file, trait = exported(world, 6, tmp_path)
    looked, sources, (*others, lost) = list[bool](), load_export._sources, trait.descriptive.provenance

    def losing(reader: Reader, records: Sequence[Any], outline: Any) -> Set[str]:
        found = sources(reader, records, outline)
        if records[0].cube.id == trait.id:
            looked.append(isinstance(reader, SqlWriter))
            if len(looked) == 1:
                with world.vault.write(ANN) as writer:
                    writer.delete([lost])
        return found

    monkeypatch.setattr(load_export, "_sources", losing)
    monkeypatch.setattr(Loader, "_joined", lambda *_: None)
    loaded(world, file)
    assert looked == [False, True]
    assert {link.target for link in world.links(LinkKind.DERIVED_FROM, trait.id)} == set(others)


def test_a_load_stores_large_versions_after_their_memory(world: World, tmp_path: Path, monkeypatch):
    """One transaction stored a memory of a million characters with 33 earlier versions of that size."""
    monkeypatch.setattr(load_export, "CHARS_AT_ONCE", 20_000)
    file, trait = exported(world, 80, tmp_path)
    keep, kept = SqlWriter.keep_versions, list[int]()

    def counting(writer: SqlWriter, earlier: Sequence[Entry]) -> None:
        kept.append(sum(len(entry.document or "") for entry in earlier))
        keep(writer, earlier)

    with monkeypatch.context() as patched:
        patched.setattr(SqlWriter, "keep_versions", counting)
        loaded(world, file)
    assert sum(kept) > 80 * 3_000
    assert max(kept) <= 20_000
    assert [cube.version.number for cube in versions(world, trait)] == list(range(1, trait.version.number + 1))
    assert verify(world.vault).is_sound


def test_what_a_branch_copies_in_one_step_does_not_grow(world: World, monkeypatch):
    """One transaction copied 64 memories with all their versions, and wrote their documents under the lock."""
    monkeypatch.setattr(branch_maker, "CHARS_AT_ONCE", 60_000)
    memory = resting_on_all(world, 80)
    (trait,) = world.cubes(Kind.TRAIT)
    with stored_by(world.vault) as stored:
        branch = memory.branches.create("trial")
    assert len(memory.branch("trial").history(branch.id_of(trait.id))) == trait.version.number
    assert max(size for _, size in stored) <= max(60_000, 2 * len(to_json(trait)))
    assert max(rows for rows, _ in stored) <= 2 * branch_maker.LINKS_AT_ONCE


def test_a_load_that_dies_amid_the_versions_is_completed_by_the_next(world: World, tmp_path: Path, monkeypatch):
    file, trait = exported(world, 100, tmp_path)
    keep, kept = SqlWriter.keep_versions, list[int]()

    def die(writer: SqlWriter, earlier: Sequence[Entry]) -> None:
        kept.append(len(earlier))
        if len(kept) > 6:
            raise KeyboardInterrupt
        keep(writer, earlier)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SqlWriter, "keep_versions", die)
        loaded(world, file)
    assert REVISIONS < len(versions(world, trait)) < 101
    assert not [found for found in verify(world.vault).damages if "before version" in str(found)]
    again = loaded(world, file)
    assert again.memories.get("trait", 0) == 0
    assert [cube.version.number for cube in versions(world, trait)] == list(range(1, trait.version.number + 1))
    assert versions(world, trait)[-1] == trait
    assert loaded(world, file).memories == {}
    assert verify(world.vault).is_sound


def test_a_deletion_that_dies_amid_the_versions_leaves_a_sound_memory(world: World, monkeypatch):
    memory = resting_on_all(world, 100)
    (trait,) = world.cubes(Kind.TRAIT)

    def die(writer: SqlWriter, ids: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(SqlWriter, "delete", die)
        memory.delete(trait.id)
    versions = [cube.version.number for cube in memory.history(trait.id)]
    newest = trait.version.number
    assert versions == [1, *range(newest - REVISIONS, newest + 1)]
    assert memory.get(trait.id).payload == trait.payload
    assert verify(world.vault).is_sound
    memory.delete(trait.id)
    assert world.cubes(Kind.TRAIT) == []


@pytest.mark.file  # by the rules that read English: a page may overrule there what the user stated
def test_a_deletion_that_dies_loses_nothing_that_the_user_stated(tmp_path, monkeypatch):
    """When a page goes, a field is derived again from its history, of which the middle had gone before."""
    with memoryos.open(tmp_path / "m.db", user="ann", settings=memoryos.Settings(short_term_capacity=1)) as memory:
        memory.add("I live in Town0.")
        memory.consolidate()
        memory.profile.set("location", "Berlin")
        pages = [memory.add(f"I live in Town{number}.") for number in range(1, 81)]
        memory.consolidate()

        def die(writer: SqlWriter, ids: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(SqlWriter, "delete", die)
            memory.delete(pages[40])
        (field,) = memory.profile.get().user.profile
        assert "Berlin" in [cube.payload.value for cube in memory.history(field.id)]
