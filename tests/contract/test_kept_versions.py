"""How earlier versions are stored, and how many of them are kept."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, get_ident

import pytest
from sqlalchemy import select, update

from memoryos import Role, Turn, stores
from memoryos.cube import to_json
from memoryos.errors import CubeDamaged, NotFound
from memoryos.infrastructure.vault import cube_documents, tables, version_packing, version_part
from memoryos.infrastructure.vault.damage import Fault
from memoryos.infrastructure.vault.records import JobKind, LinkKind
from memoryos.infrastructure.vault.session import SqlWriter
from memoryos.infrastructure.vault.version_delta import PIECE, delta, restored
from memoryos.operation.correction import trim_job
from memoryos.operation.knowledge import support
from memoryos.operation.portability import load_export
from memoryos.operation.scheduler.step import CUBES_AT_ONCE
from public import store_of

DAY = 86_400


def numbers(memory, cube_id):
    return [one.version.number for one in memory.history(cube_id)]


def stored(memory):
    """The rows of earlier versions."""
    with memory._engine.vault.snapshot() as connection:
        return connection.execute(select(tables.versions).order_by(tables.versions.c.version)).all()


def talk(words, seed=1):
    """So many words, which do not repeat."""
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(words))


def edited(memory, times, words=1_400):
    """A page with so many small edits, and what it said in each version."""
    said = [talk(words)]
    page = memory.add(said[0])
    for number in range(times):
        told = said[-1].split(" ")
        told[number * 7 % words] = f"edit{number}"
        said.append(" ".join(told))
        memory.update(page, said[-1])
    return page, said


# How they are stored


def test_old_versions_are_differences_and_read_as_they_were(open_memory, place, long):
    memory, times = open_memory(), 40 if long else 18
    page, said = edited(memory, times, words=1_400 if long else 700)
    assert [one.payload.turns[0].text for one in memory.history(page)] == said
    rows = stored(memory)
    assert [row.version for row in rows if row.packed is None] == [times]
    assert [row.version for row in rows if row.packed is not None and row.base is None] == list(range(16, times, 16))
    assert sum(len(row.packed or row.document) for row in rows) < sum(map(len, said)) / 8
    assert stores.verify(place).damages == ()


@contextmanager
def counting(monkeypatch, module, name, counts):
    """Note the length of the text that each call of a function is about."""
    plain = getattr(module, name)

    def counted(text, *others):
        counts.append(len(text))
        return plain(text, *others)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, counted)
        yield


def test_versions_that_one_operation_makes_are_packed_before_it_takes_the_lock(open_memory, place, monkeypatch):
    memory = open_memory()
    vault, packed = type(memory._engine.vault), list[bool]()
    write, plain, locking = vault.write, version_packing.delta, set[int]()

    @contextmanager
    def noted_write(vault, *scope):
        with write(vault, *scope) as writer:
            locking.add(get_ident())
            try:
                yield writer
            finally:
                locking.discard(get_ident())

    def noted_delta(*texts):
        packed.append(get_ident() in locking)
        return plain(*texts)

    with monkeypatch.context() as patch:
        patch.setattr(vault, "write", noted_write)
        patch.setattr(version_packing, "delta", noted_delta)
        memory.add(" ".join(f"I live in Town{number}." for number in range(30)))
        memory.consolidate()
    whole = [row for row in stored(memory) if row.packed is None]
    assert len(stored(memory)) > 20
    assert len(whole) == 1
    assert packed == [False] * (len(stored(memory)) - 1), "none under the lock"
    assert stores.verify(place).damages == ()


def test_versions_that_are_packed_under_the_lock_have_so_many_characters(open_memory, monkeypatch):
    memory = open_memory()
    page, _ = edited(memory, 6, words=100)
    whole = {one.version.number: to_json(one) for one in memory.history(page)}
    with memory._engine.vault.change() as connection:
        for row in stored(memory):
            told = {"document": whole[row.version], "packed": None, "base": None}
            connection.execute(update(tables.versions).where(tables.versions.c.version == row.version).values(told))
    monkeypatch.setattr(version_part, "CHARS_AT_ONCE", 2 * len(whole[1]))
    with counting(monkeypatch, version_packing, "delta", packed := list[int]()):
        memory.update(page, "edit")
    assert 2 <= len(packed) <= 3
    assert len(memory.history(page)) == 8


def test_a_few_versions_go_without_reading_all_others(open_memory, monkeypatch):
    memory = open_memory()
    page, _ = edited(memory, 36, words=100)
    with counting(monkeypatch, version_part, "restored", read := list[int]()):
        memory.delete(page)
    assert 1 <= len(read) <= version_packing.WHOLE_EACH


def test_a_difference_that_was_changed_is_told_and_verify_names_it(open_memory, place):
    memory = open_memory()
    page, _ = edited(memory, 4, words=100)
    with memory._engine.vault.change() as connection:
        connection.execute(update(tables.versions).where(tables.versions.c.version == 2).values(packed=b"damaged"))
    with pytest.raises(CubeDamaged, match="version 1 of"):
        memory.history(page)
    assert [(one.fault, one.id) for one in stores.verify(place).damages] == [(Fault.VERSIONS, page)]


def test_versions_of_an_older_program_are_read_and_packed_with_the_next_change(open_memory):
    memory = open_memory()
    page, said = edited(memory, 5, words=100)
    whole = {one.version.number: to_json(one) for one in memory.history(page)}
    with memory._engine.vault.change() as connection:
        for row in stored(memory):
            told = {"document": whole[row.version], "checksum": None, "packed": None, "base": None}
            connection.execute(update(tables.versions).where(tables.versions.c.version == row.version).values(**told))
    assert [one.payload.turns[0].text for one in memory.history(page)] == said
    memory.update(page, "short")
    assert [row.version for row in stored(memory) if row.packed is None] == [6]
    assert [one.payload.turns[0].text for one in memory.history(page)] == [*said, "short"]


@pytest.mark.once
@pytest.mark.parametrize("size", [0, 1, PIECE, 5 * PIECE + 7])
def test_a_difference_gives_the_document_again(size):
    text = "é" + talk(size // 7 + 1)[:size]
    for later in (None, text, text[100:] + "x" * 50, "of another memory"):
        packed = delta(text, later)
        assert restored(packed, later) == text
    assert len(delta(text, text[:50] + "y" + text[50:])) < len(text) / 8 + 100
    with pytest.raises(ValueError, match="no difference"):
        restored(delta(text, text)[:-1], text)


# How many are kept


def test_the_latest_are_kept_and_the_others_leave_no_row(open_memory, place):
    memory = open_memory(most_versions=2)
    page, said = edited(memory, 5, words=60)
    memory.jobs.run()
    assert numbers(memory, page) == [4, 5, 6]
    assert [one.payload.turns[0].text for one in memory.history(page)] == said[3:]
    assert [row.version for row in stored(memory)] == [4, 5]
    with pytest.raises(NotFound, match="version 1 is not kept"):
        memory.governance.rollback(page, 1)
    told = [json.loads(one.detail) for one in memory.log.events() if one.detail and "versions_removed" in one.detail]
    assert {number for one in told for number in range(*one["versions_removed"])} <= {1, 2, 3}
    assert told[-1]["versions_removed"][1] == 3
    assert stores.verify(place).damages == ()


def sizes_of(monkeypatch, name, sizes):
    """Note of how many things each call of a writer's method is."""
    plain = getattr(SqlWriter, name)

    def counted(writer, things):
        some = list(things)
        sizes.append(len(some))
        return plain(writer, some)

    monkeypatch.setattr(SqlWriter, name, counted)


def test_versions_that_go_together_go_a_few_in_each_step(open_memory, place, monkeypatch):
    """A new limit removed all of them in one step, which also read them."""
    memory = open_memory()
    page, _ = edited(memory, 70, words=5)
    memory.close()
    memory = open_memory(most_versions=2)
    sizes_of(monkeypatch, "drop_versions", dropped := [])
    memory.update(page, "last")
    memory.jobs.run()
    assert numbers(memory, page) == [70, 71, 72]
    assert sum(dropped) == 69
    assert max(dropped) <= CUBES_AT_ONCE
    assert stores.verify(place).damages == ()


def test_what_was_withdrawn_with_them_goes_a_few_in_each_step_too(open_memory, place, monkeypatch):
    memory = open_memory()
    page = memory.add("I live in Town0.")
    memory.add_many(Turn(role=Role.USER, text=f"bye {number}") for number in range(4))
    memory.consolidate()
    for number in range(1, 24):
        memory.update(page, f"I live in Town{number}.")
    memory.close()
    memory = open_memory(most_versions=0)
    sizes_of(monkeypatch, "delete", deleted := [])
    memory.update(page, "I live in Rome.")
    memory.jobs.run()
    assert sum(deleted) >= 40  # a fact and a field of each version
    assert max(deleted) <= CUBES_AT_ONCE
    assert stores.verify(place).damages == ()


@pytest.mark.each
@pytest.mark.parametrize("is_late", [False, True])
def test_what_was_withdrawn_stays_as_it_is_while_it_is_on_hold(open_memory, place, monkeypatch, is_late):
    """It lost all its links but two, and what it said of the pages, before anybody asked whether it may go."""
    monkeypatch.setattr(trim_job, "LINKS_AT_ONCE", 4)
    monkeypatch.setattr(support, "FEW", 0)
    memory = open_memory()
    page = memory.add("I live in Rome, you know.")
    memory.add_many(Turn(role=Role.USER, text="I live in Rome.") for _ in range(11))
    memory.add("bye")
    memory.consolidate()
    (fact,) = memory.facts.list()
    memory.update(page, "Hello there.")
    if is_late:  # on all that is there, once the job has seen what goes
        _after(monkeypatch, trim_job, "_withdrawn_from", lambda: memory.governance.hold(reason="a case"))
    else:
        memory.governance.hold(reason="a case", memory=fact.id)
    before = support_of(memory, fact.id)
    assert before == (12, 12)
    memory.close()
    memory = open_memory(most_versions=0)
    with memory._engine.vault.write(memory.scope) as writer:
        writer.enqueue(JobKind.TRIM, [page])
    memory.jobs.run()
    assert memory.governance.holds()
    assert support_of(memory, fact.id) == before
    assert stores.verify(place).damages == ()


def _after(monkeypatch, module, name, act):
    """Do something in another thread, as a caller, after the next call of a function has an answer."""
    plain, done = getattr(module, name), list[bool]()

    def told(*args):
        answer = plain(*args)
        if not done:
            done.append(True)
            thread = Thread(target=act)
            thread.start()
            thread.join()
        return answer

    monkeypatch.setattr(module, name, told)


@pytest.mark.each
def test_a_version_that_comes_when_a_trim_ends_is_trimmed_too(open_memory, monkeypatch):
    """The job was still there when the version came, so none was added, and then it ended."""
    memory = open_memory()
    page, _ = edited(memory, 4, words=5)
    memory.close()
    memory = open_memory(most_versions=2)
    _after(monkeypatch, trim_job, "take", lambda: memory.update(page, "last"))
    with memory._engine.vault.write(memory.scope) as writer:
        writer.enqueue(JobKind.TRIM, [page])
    memory.jobs.run()
    assert numbers(memory, page) == [4, 5, 6]


@pytest.mark.each
def test_a_trim_makes_the_document_before_it_takes_the_lock(open_memory, monkeypatch):
    memory, made, trimming = open_memory(), list[str](), list[bool]()
    page, _ = edited(memory, 4, words=5)
    memory.close()
    memory = open_memory(most_versions=2)
    plain, remove = tables.to_json, trim_job._remove

    def removing(*args):
        trimming.append(True)
        with monkeypatch.context() as patch:
            patch.setattr(tables, "to_json", lambda cube: made.append(cube.id) or plain(cube))
            patch.setattr(cube_documents, "to_json", lambda cube: made.append(cube.id) or plain(cube))
            remove(*args)

    monkeypatch.setattr(trim_job, "_remove", removing)
    with memory._engine.vault.write(memory.scope) as writer:
        writer.enqueue(JobKind.TRIM, [page])
    memory.jobs.run()
    assert trimming
    assert made == []
    assert numbers(memory, page) == [3, 4, 5]


def support_of(memory, cube_id):
    """The pages that a stored memory names, and its links to pages."""
    with memory._engine.vault.read(memory.scope) as reader:
        links = reader.targets([cube_id], LinkKind.DERIVED_FROM)
        return len(reader.get([cube_id])[cube_id].descriptive.provenance), len(list(links))


def test_a_version_goes_when_it_is_old_enough_and_not_before(open_memory, clock):
    memory = open_memory(version_days=2)
    page, _ = edited(memory, 1, words=20)
    clock.advance(days=1)
    memory.update(page, "again")
    clock.advance(days=1, seconds=-1)
    memory.jobs.run()
    assert numbers(memory, page) == [1, 2, 3]
    clock.advance(seconds=1)
    memory.jobs.run()
    assert numbers(memory, page) == [2, 3]
    clock.advance(days=1)
    memory.jobs.run()
    assert numbers(memory, page) == [3]


@pytest.mark.parametrize("keeper", ["frozen", "hold"])
def test_nothing_goes_of_what_is_frozen_or_on_hold(open_memory, clock, keeper):
    memory = open_memory(version_days=1)
    page, _ = edited(memory, 3, words=20)
    governance = memory.governance
    held = governance.freeze(page) if keeper == "frozen" else governance.hold(reason="a case", memory=page)
    clock.advance(days=2)
    memory.jobs.run()
    assert numbers(memory, page) == [1, 2, 3, 4]
    if keeper == "frozen":
        governance.thaw(page)
    else:
        governance.release(held.id)
    clock.advance(hours=1)
    memory.jobs.run()
    assert numbers(memory, page) == [4]


def test_what_a_snapshot_shows_stays_until_it_ends(open_memory, clock):
    memory = open_memory(most_versions=0)
    page = memory.add("first")
    memory.snapshots.create("start", ttl=DAY)
    memory.update(page, "second")
    memory.update(page, "third")
    memory.jobs.run()
    assert memory.get(page, as_of="start").text == "user: first"
    clock.advance(days=2)
    memory.jobs.run()
    assert numbers(memory, page) == [3]


def test_branches_and_exports_of_trimmed_memories_are_sound(open_memory, place, tmp_path):
    memory = open_memory(most_versions=1)
    page, _ = edited(memory, 4, words=20)
    memory.jobs.run()
    branch = memory.branches.create("what if")
    copy = memory.branch("what if")
    assert numbers(copy, branch.id_of(page)) == [4, 5]
    memory.export(tmp_path / "tom.jsonl")
    memory.branches.discard("what if")
    memory.forget()
    store_of(memory).admin.load(tmp_path / "tom.jsonl", again=True)
    assert numbers(memory, page) == [4, 5]
    assert stores.verify(place).damages == ()


def test_an_older_file_does_not_bring_back_versions_that_went(open_memory, place, tmp_path, clock, monkeypatch):
    """Of a memory that changed no more since; unless that is said to be the wish."""
    monkeypatch.setattr(load_export, "CHARS_AT_ONCE", 20)  # as if each version were large
    memory = open_memory(version_days=1)
    page, _ = edited(memory, 3, words=20)
    memory.export(file := tmp_path / "tom.jsonl")
    clock.advance(days=2)
    memory.jobs.run()
    assert numbers(memory, page) == [4]
    assert store_of(memory).admin.load(file).known == 1
    assert numbers(memory, page) == [4]
    assert store_of(memory).admin.load(file, again=True).known == 1
    assert numbers(memory, page) == [1, 2, 3, 4]
    assert stores.verify(place).damages == ()


@pytest.mark.file
@pytest.mark.parametrize("way", ["trim", "delete", "forget"])
def test_no_byte_of_a_packed_version_stays_in_the_files(open_memory, place, clock, way):
    """The secret is in one old version only, and compressed there."""
    memory = open_memory(version_days=1)
    page = memory.add("SECRET " + talk(60, seed=7))
    for text in (talk(60), talk(60, seed=2), talk(60, seed=3)):
        memory.update(page, text)
    packed = [row.packed for row in stored(memory) if row.packed]
    assert len(packed) == 2
    if way == "trim":
        clock.advance(days=2)
    else:
        memory.delete(page) if way == "delete" else memory.forget()
    memory.jobs.run()
    assert not stored(memory)
    memory.close()
    left = b"".join(file.read_bytes() for file in Path(place).parent.glob("memory.db*"))
    assert not [one for one in packed if one[8:40] in left]
