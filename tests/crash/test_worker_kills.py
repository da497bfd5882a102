"""SIGKILL of workers at any moment, again and again: every page is read, once, and nothing else tells of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import forked
from crash.checks import assert_sound
from crash.workers import settings, state
from generation.scripted_model import Reply, ScriptedModel, scripted_model
from memoryos import Memory, MemoryOS, Scope
from memoryos.bench import scripted_reader
from memoryos.cube import MemCube, Trait, Turn
from memoryos.infrastructure.vault.records import JobState, LinkKind
from memoryos.kinds import Kind, Role

TESTS = Path(__file__).parents[1]
USERS = ("ann", "ben", "cleo", "dan", "小红")
PAGES, READ_BY_MODEL = (48, 200), (9, 15)  # of each user; in a long run
KILLS, KILLS_OF_MODEL = (20, 105), (6, 12)
KILLED, STATES = (14, 100), (4, 15)  # at least: a fast machine has done it all before the last ones begin
SEED = 20261121

# By page number; they come back, so that facts and traits gain support and fields change.
SAID = (
    ("I like spicy noodle soup from stall {0}.", "Noodle soup is fine."),
    ("I own a telescope that shows the rings of Saturn, model {0}.", "Saturn's rings need a good telescope."),
    ("I work as a nurse.", "That is hard work."),
    ("I love meeting new people and big parties.", "Parties are fun."),
    ("I live in Porto.", "Porto is lovely."),
    ("I hate my tax return and the accountant of street {0}.", "Accountants like a tax return."),
    ("我喜欢在{0}号公园跑步。", "跑步对身体好。"),
    ("My name is Carla.", "Nice to meet you."),
)


def turns(pages: int) -> Iterator[Turn]:
    for number in range(pages):
        said, answer = SAID[number // 2 % len(SAID)]
        yield Turn(role=Role.USER, text=said.format(number % 60))
        yield Turn(role=Role.ASSISTANT, text=answer)


def written(path: Path, url: str | None, pages: int) -> Path:
    """A store whose writer died before it moved a page."""
    memory = MemoryOS.open(path, settings=settings(url))
    memory._engine.housekeeping.abandon()
    for user in USERS:
        memory.of(Scope(user=user)).add_many(list(turns(pages)))
    memory.close()
    return path


def worked_on(
    store: Path, path: Path, url: str | None = None, *, kills: int = 0, like: Path | None = None
) -> tuple[int, int]:
    """Copy the store and let workers do its jobs, of which so many are to be killed, if it is as much work as `like`.

    Returns how many were, and in how many states they left the work.
    """
    shutil.copyfile(store, path)
    work = state(like)[:2] if like else (1, 1)
    numbers = map(str, (kills, SEED, *work))
    arguments = (str(path), *numbers, *([url] if url else []))
    done = forked.python("-m", "crash.workers", *arguments, cwd=TESTS, timeout=300)
    assert done.returncode == 0, done.stderr
    assert_sound(path)
    killed, states = map(int, done.stdout.split())
    return killed, states


@contextmanager
def opened(path: Path, url: str | None) -> Iterator[MemoryOS]:
    with closing(MemoryOS.open(path, settings=settings(url))) as memory:
        yield memory


def learned(memory: MemoryOS, user: str) -> dict[Kind, list[object]]:
    """What LPM holds of a user: what it says, and the pages that it rests on."""
    scope, persona = Scope(user=user), []
    with memory._engine.vault.read(scope) as reader:
        for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE):
            persona += reader.cubes(kind)
        rests_on = {cube.id: [] for cube in persona}
        for link in reader.targets(rests_on, LinkKind.DERIVED_FROM):
            rests_on[link.source].append(link.target)
    return {
        kind: sorted((repr(said(cube)), sorted(rests_on[cube.id])) for cube in persona if cube.kind is kind)
        for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE)
    }


def said(cube: MemCube) -> object:
    payload = cube.payload
    if isinstance(payload, Trait):  # when its level changed is told by how many pages are read together
        payload = replace(payload, changed_at=None)
    return payload, cube.descriptive.event_at, cube.behaviour.interactions


def assert_all_done(memory: Memory, pages: int) -> None:
    for user in USERS:
        scope = Scope(user=user)
        assert len(memory.of(scope).pages.list()) == pages
        assert {job.state for job in memory.of(scope).jobs.list() if not job.is_planned} == {JobState.DONE}
        assert not [job.error for job in memory.of(scope).jobs.list() if job.error]
        views = memory.of(scope).segments.list(archive=True)
        assert sum(len(view.page_ids) for view in views) == pages - memory.settings.short_term_capacity
        assert {view.cube.behaviour.interactions for view in views} == {0}


def assert_no_error_text(path: Path) -> None:
    held = b"".join(part.read_bytes() for part in path.parent.glob(path.name + "*"))
    for words in (b"Traceback", b"Error", b"Exception", b"LeaseLost", b"stopped"):
        assert words not in held


def test_every_page_is_read_once_however_often_workers_are_killed(tmp_path, long):
    pages, kills = PAGES[long], KILLS[long]
    store = written(tmp_path / "written.db", None, pages)
    worked_on(store, tmp_path / "calm.db")
    killed, states = worked_on(store, tmp_path / "killed.db", kills=kills, like=tmp_path / "calm.db")
    assert killed >= KILLED[long]
    assert states >= STATES[long], "they died all over the work"
    assert_no_error_text(tmp_path / "killed.db")
    with opened(tmp_path / "calm.db", None) as calm, opened(tmp_path / "killed.db", None) as memory:
        assert_all_done(calm, pages)
        assert_all_done(memory, pages)
        for user in USERS:
            wanted = learned(calm, user)
            assert all(wanted.values())
            assert learned(memory, user) == wanted


@pytest.fixture
def model(monkeypatch) -> Iterator[ScriptedModel]:
    """A model that reads well: what it says of a page does not depend on the pages it reads with it."""
    monkeypatch.setattr(scripted_reader, "WRONG_EVERY", 10**9)
    with scripted_model() as server:
        server.otherwise = lambda request: Reply(
            (json.dumps(scripted_reader.reply(request["messages"]), ensure_ascii=False),),
            delay_seconds=0.05,  # so that there is time to die in
        )
        yield server


def test_what_a_model_reads_is_learned_once_however_often_workers_are_killed(tmp_path, model, long):
    pages, kills = READ_BY_MODEL[long], KILLS_OF_MODEL[long]
    store = written(tmp_path / "written.db", model.url, pages)
    worked_on(store, tmp_path / "calm.db", model.url)
    calm_calls = len(model.requests)
    killed, states = worked_on(store, tmp_path / "killed.db", model.url, kills=kills, like=tmp_path / "calm.db")
    assert killed >= kills // 3
    assert states >= 2
    assert_no_error_text(tmp_path / "killed.db")
    with opened(tmp_path / "calm.db", model.url) as calm, opened(tmp_path / "killed.db", model.url) as memory:
        assert_all_done(calm, pages)
        assert_all_done(memory, pages)
        for user in USERS:
            assert learned(calm, user)[Kind.FACT]
            assert learned(memory, user) == learned(calm, user)
        spent = [one for user in USERS for one in memory.of(Scope(user=user)).log.usage()]
        assert sum(one.calls for one in spent) >= len(model.requests) - calm_calls, "no call is off the books"
