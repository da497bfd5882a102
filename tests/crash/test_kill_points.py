"""SIGKILL before every statement and every COMMIT: the store has the state before or after, never between."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from crash.checks import assert_answers, assert_consistent, assert_linked, assert_sound
from crash.killed import PAGES, Victim, copy, steps
from crash.stores import OTHER, SETTINGS, add_page, open_store, unique_word
from crash.victims import KEY, NEW, UNDONE, moves
from memoryos import Memory, stores
from memoryos.clock import system_clock
from memoryos.errors import CubeProtected, NotFound
from memoryos.infrastructure.vault.records import JobState
from memoryos.kinds import State
from memoryos.models.embedder import load_embedder
from memoryos.operation.maintenance.rebuild import Phase, stage_of
from public import store_of


def reopened(found: list[Victim], folder: Path) -> Iterator[tuple[Victim, Memory]]:
    """Each store, opened and checked; every third, and the last, is able to go on."""
    for later, victim in zip(reversed(range(len(found))), found, strict=True):
        with victim.reopen(folder) as memory:
            assert_consistent(memory)
            yield victim, memory
            if later % 3:
                continue
            pages = len(memory.pages.list())
            add_page(memory, NEW + 1)
            memory.wait()
            assert len(memory.pages.list()) == pages + 1
            assert_consistent(memory)


def page_ids(memory: Memory) -> set[str]:
    return {page.id for page in memory.pages.list()}


def facts(memory: Memory) -> list[str]:
    return sorted(fact.text for fact in memory.profile.get().user.facts)


def in_an_hour() -> datetime:
    """A clock by which the leases of a killed process have ended."""
    return system_clock() + timedelta(hours=1)


@pytest.fixture(scope="module")
def adds(victims, template, tmp_path_factory) -> list[Victim]:
    return victims("add", template, tmp_path_factory.mktemp("add"))


def test_an_add_is_there_or_not_and_an_acknowledged_one_is(template, adds, tmp_path):
    with open_store(copy(template, tmp_path)) as memory:
        before = page_ids(memory)
    outcomes = []
    for victim, memory in reopened(adds, tmp_path):
        new = page_ids(memory) - before
        assert before <= page_ids(memory)
        assert len(new) <= 1
        assert victim.done is None or new == {victim.done}
        outcomes.append(bool(new))
    assert steps(adds) >= 50
    assert outcomes == sorted(outcomes), "before its COMMIT it is not there, and after it always"
    assert set(outcomes) == {False, True}


def test_an_add_that_was_killed_is_repeated_with_its_key_and_there_once(victims, template, tmp_path):
    found, outcomes = victims("add_with_key", template, tmp_path), []
    for victim in found:
        with victim.reopen(tmp_path) as memory:
            before = page_ids(memory)
            page = add_page(memory, NEW, idempotency_key=KEY)
            memory.wait()
            assert victim.done in (None, page)
            assert page_ids(memory) == before | {page}
            assert len(memory.pages.list()) == PAGES + 1
            assert_consistent(memory)
            outcomes.append(page in before)
    assert steps(found) >= 8
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_the_add_that_is_killed_evicts_archives_and_extracts(template, adds, tmp_path):
    with open_store(copy(template, tmp_path)) as memory:
        before, known = memory.stats(), facts(memory)
    with adds[-1].reopen(tmp_path) as memory:
        after = memory.stats()
        assert after.archived_segments == before.archived_segments + 1
        assert after.archived_pages == before.archived_pages + 2
        assert len(facts(memory)) == len(known) + 1


def unfinished(memory):
    """The jobs that somebody waits for, or that failed."""
    return [job for job in memory.jobs.list() if job.state is not JobState.DONE and not job.is_planned]


def test_a_job_that_was_cut_off_is_done_later_and_once(adds, tmp_path):
    with adds[-1].reopen(tmp_path) as memory:
        expected = facts(memory)
    cut_off = 0
    for victim in adds:
        with victim.reopen(tmp_path, clock=in_an_hour) as memory:
            waiting = unfinished(memory)
            cut_off += len(waiting) * victim.deaths
            memory.consolidate()
            assert unfinished(memory) == []
            assert not waiting or facts(memory) == expected
    assert cut_off >= 3


def test_visits_are_counted_wholly_or_not_at_all(victims, template, tmp_path):
    counts = set()
    for _, memory in reopened(victims("visits", template, tmp_path), tmp_path):
        counts.add(tuple(page.behaviour.visits for page in memory.pages.list()))
    assert len(counts) == 2
    assert (0,) * PAGES in counts


def test_a_correction_is_there_or_not(victims, template, tmp_path):
    outcomes = []
    for victim, memory in reopened(victims("update", template, tmp_path), tmp_path):
        corrected = [page.id for page in memory.pages.list() if "Lisbon" in page.text]
        assert [victim.done] in ([None], corrected)
        assert [len(memory.history(page)) for page in corrected] in ([], [2])
        outcomes.append(bool(corrected))
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_a_deletion_is_whole_or_not_at_all(victims, template, tmp_path):
    outcomes = []
    for victim, memory in reopened(victims("delete", template, tmp_path), tmp_path):
        is_gone = len(memory.pages.list()) == PAGES - 1
        assert is_gone or len(memory.pages.list()) == PAGES
        assert victim.done not in page_ids(memory)
        outcomes.append((is_gone, facts(memory)))
    assert len({str(outcome) for outcome in outcomes}) == 2, "the facts go together with their page"


def test_a_deletion_in_parts_leaves_links_too_many_and_is_done_again(victims, template, tmp_path):
    rests = set()
    found = victims("delete_segment", template, tmp_path)
    for victim, memory in reopened(found, tmp_path):
        memory.wait()
        assert_linked(memory)
        tea = [fact for fact in memory.profile.get().user.facts if "green tea" in fact.text]
        rests.add(tuple(len(fact.descriptive.provenance) for fact in tea))
        pages = [page.id for page in memory.pages.list() if "green tea" in page.text]
        assert victim.done is None or len(pages) < 6
        for page in pages:
            memory.delete(page)
        assert not [text for text in facts(memory) if "green tea" in text or "Tom" in text]
        assert_linked(memory)
    assert len(rests) >= 3, "with all its pages, with fewer, and with those that stay"


def test_an_undo_is_finished_by_the_next_call(victims, template, tmp_path):
    found, were_back = victims("undo", template, tmp_path), set()
    for victim in found:
        with open_store(copy(victim.path, tmp_path), settings=UNDONE) as memory:
            assert_consistent(memory)
            wanted = {one.page: one.source for one in moves(memory).values()}
            before = {page: home for page, home in homes(memory).items() if page in wanted}
            were_back.add(sum(home == wanted[page] for page, home in before.items()))
            if before != wanted:
                assert victim.done is None
                memory.upkeep.undo(*moves(memory))
            assert homes(memory) | wanted == homes(memory)
            assert_consistent(memory)
    assert len(were_back) >= 3, "none, some and all"


def homes(memory: Memory) -> dict[str, str]:
    return {page: view.cube.id for view in memory.segments.list() for page in view.page_ids}


def memories_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM cubes").fetchone()
    return count


def test_what_was_forgotten_in_part_is_forgotten_by_the_next_call(victims, template, tmp_path):
    found, left = victims("forget", template, tmp_path), []
    for victim in found:
        path = copy(victim.path, tmp_path)
        left.append(memories_in(path))
        with open_store(path) as memory:
            memory.search("noodle soup")
            assert memory.forget().is_complete
        assert memories_in(path) == 0
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert len(set(left)) >= 5
    assert len(found) > len(set(left)), "some died between two transactions of one memory"


def in_three_hours() -> datetime:
    """A clock by which the pages of a sweep have expired, and the leases of a killed process have ended."""
    return system_clock() + timedelta(hours=3)


def test_a_sweep_that_was_cut_off_is_finished_and_nothing_comes_back(victims, template, tmp_path):
    found, left = victims("sweep", template, tmp_path), []
    for victim in found:
        left.append(memories_in(copy(victim.path, tmp_path)))
        with victim.reopen(tmp_path, clock=in_three_hours) as memory:
            assert memory.search("green tea", strategy="bm25").hits == ()
            memory.jobs.run()
            assert unfinished(memory) == []
            assert not [text for text in facts(memory) if "green tea" in text or "Tom" in text]
            assert len(memory.pages.list()) == PAGES
            assert_consistent(memory)
            assert_linked(memory)
        with closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
            (kept,) = connection.execute("SELECT count(*) FROM cubes WHERE expires_at IS NOT NULL").fetchone()
        assert kept == 0
    assert left == sorted(left, reverse=True)
    assert len(set(left)) >= 3


def grouping(memory: Memory) -> list[tuple[str, ...]]:
    return sorted(tuple(sorted(view.page_ids)) for view in memory.segments.list(archive=True))


def test_a_rebuild_answers_all_the_time_and_goes_on(victims, template, tmp_path):
    with open_store(copy(template, tmp_path)) as memory:
        memory.upkeep.rebuild()
        before, known, groups = page_ids(memory), facts(memory), grouping(memory)
    phases = []
    found = victims("rebuild", template, tmp_path)
    for victim in found:
        with victim.reopen(tmp_path, clock=in_an_hour) as memory:
            with memory._engine.vault.read(memory._scope) as reader:
                stage = stage_of(reader)
            phases.append(stage.phase if stage else None)
            assert page_ids(memory) == before
            assert_answers(memory)
            memory.search("noodle soup", strategy="two_stage")
            memory.profile.get()
            memory.upkeep.rebuild()
            assert_consistent(memory)
            assert (page_ids(memory), facts(memory), grouping(memory)) == (before, known, groups)
            assert unfinished(memory) == []
    assert steps(found) >= 230
    assert set(phases) == {None, *Phase}


def embedder_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        (name,) = connection.execute("SELECT value FROM meta WHERE key = 'embedder'").fetchone()
    return {load_embedder(name).name: name for name in (SETTINGS.embedder, OTHER)}[name]


def test_a_store_has_one_embedder_s_vectors_or_the_other_s(victims, template, tmp_path):
    with open_store(copy(template, tmp_path)) as memory:
        before, known, groups = page_ids(memory), facts(memory), grouping(memory)
    outcomes = []
    found = victims("reembed", template, tmp_path)
    for victim in found:
        name = embedder_of(copy(victim.path, tmp_path))
        outcomes.append(name == OTHER)
        assert victim.done is None or name == OTHER
        path = copy(victim.path, tmp_path)
        assert_sound(path)
        for present in (name, OTHER):
            with open_store(path, embedder=present) as memory:
                assert_consistent(memory)
                assert (page_ids(memory), facts(memory), grouping(memory)) == (before, known, groups)
            stores.reembed(path, load_embedder(OTHER), settings=SETTINGS)
    assert steps(found) >= 88
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_a_store_that_was_not_finished_is_finished_by_the_next_open(victims, tmp_path):
    found = victims("create", tmp_path / "there is none", tmp_path)
    assert steps(found) > 40
    for victim in found:
        with open_store(victim.path) as memory:
            assert memory.pages.list() == []
            add_page(memory, NEW)
        assert_sound(victim.path)


def test_a_frozen_topic_is_never_there_thawed_while_it_is_loaded(victims, template, tmp_path):
    found, seen = victims("load_frozen", template, tmp_path), []
    records = [json.loads(line) for line in (tmp_path / "frozen.jsonl").read_text().splitlines()]
    (topic,) = [one["memory"]["id"] for one in records if one.get("memory", {}).get("state") == State.FROZEN]
    for victim in found:
        with open_store(path := copy(victim.path, tmp_path)) as memory:  # its topics are described at the end of a load
            with suppress(NotFound):
                seen.append(memory.get(topic).text)
                assert memory.get(topic).is_frozen
                with pytest.raises(CubeProtected):
                    memory.update(topic, "Thawed.")
            store_of(memory).admin.load(tmp_path / "frozen.jsonl")
            loaded = memory.get(topic)
            assert (loaded.is_frozen, loaded.payload.pages) == (True, 2)
            assert "noodle" in loaded.text
            assert unique_word(NEW + 1) not in json.dumps([one.to_dict() for one in memory.history(topic)])
            assert_consistent(memory)
        assert_sound(path)
    assert "" in seen, "some died before it was described"
    assert len(set(seen)) == 2
