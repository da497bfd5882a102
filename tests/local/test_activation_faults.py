"""Real faults while a KV state is built: killed processes, two at once, a full disk, a window that is too small."""

from __future__ import annotations

import resource
import subprocess
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import forked
import memoryos
from memoryos import Settings, stores
from memoryos.errors import PromptTooLong, StoreFull
from memoryos.infrastructure.objects import object_store
from memoryos.kinds import Kind, Role
from memoryos.operation.activation.activator import Activator
from memoryos.operation.activation.recipe import Recipe

QUESTION = "Where does the user live?"
LATER = datetime(2026, 6, 2, tzinfo=UTC)  # prompts tell the time, and to some the tiny model says nothing

BUILD = """
import os, stat, sys, time
from datetime import UTC, datetime
from types import SimpleNamespace
import memoryos
from memoryos.caller import SYSTEM, acting
from memoryos.clock import system_clock
from memoryos.models.local.local_chat import LocalChat
from memoryos.operation.activation.activator import Activator

place, model, moment = sys.argv[1:]

def stops(*_):
    print("here", flush=True)
    time.sleep(600)

settings = memoryos.Settings(llm_model=f"local:{model}", embedder="hashing", local_threads=1, jobs="worker")
clock = (lambda: datetime(2026, 6, 1, tzinfo=UTC)) if moment == "talking" else system_clock
memory = memoryos.open(place, user="ann", settings=settings, clock=clock)
activator = memory._engine.activator
engine = activator.model().engine
print("ready", flush=True)
sys.stdin.readline()
if moment == "writing":
    usual = os.fsync  # the file has its bytes, and no name yet; a folder is flushed before
    os.fsync = lambda number: stops() if stat.S_ISREG(os.fstat(number).st_mode) else usual(number)
elif moment == "talking":
    for text in ("I have a boat called Aurora.", "我住在卑尔根。"):
        memory.respond(text)
    LocalChat.ask = stops  # the turns before are stored when the model is asked again
    memory.respond("And you?")
elif moment == "stored":
    Activator._stored = stops  # the bytes are in the object store, and no cube names them
acting(SYSTEM, lambda: activator.build(memory.scope, SimpleNamespace(payload={"name": "me"})))
print("built", flush=True)
"""


@pytest.fixture
def settings(tiny_long):
    model = tiny_long.with_suffix(".gguf")  # llama.cpp starts faster than torch
    return Settings(llm_model=f"local:{model}", embedder="hashing", llm_max_tokens=4, local_threads=1, jobs="worker")


@pytest.fixture
def path(tmp_path, settings) -> Path:
    """A store in which a prefix is wanted and not built."""
    place = tmp_path / "memory.db"
    with memoryos.open(place, user="ann", settings=settings, clock=lambda: LATER - timedelta(days=1)) as memory:
        memory.facts.add("The user lives in Oslo.")
        memory.facts.add("用户会说中文。")
        memory._engine.activator.order(memory.scope, Recipe(name="me", role="a helper"))
    return place


def started(path: Path, settings: Settings, moment: str) -> subprocess.Popen[str]:
    model = (settings.llm_model or "").removeprefix("local:")
    words = [forked.executable(), "-c", BUILD, str(path), model, moment]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def hears(program: subprocess.Popen[str], word: str) -> None:
    assert program.stdout
    for line in program.stdout:
        if line.strip() == word:
            return
    raise AssertionError(f"the program ended without saying {word}")


def goes_on(program: subprocess.Popen[str]) -> None:
    assert program.stdin
    program.stdin.write("\n")
    program.stdin.flush()


def kill(program: subprocess.Popen[str]) -> None:
    program.kill()
    assert program.stdout
    assert program.stdout.read() == ""  # it ends when no process can write there any more


def cubes(memory) -> list:
    with memory._engine.vault.read(memory.scope) as reader:
        return reader.cubes(Kind.ACTIVATION)


def build_here(memory) -> None:
    memory._engine.activator.build(memory.scope, type("Job", (), {"payload": {"name": "me"}})())


@pytest.mark.parametrize("moment", ["writing", "stored"])
def test_nothing_half_written_is_used_after_a_kill(path, settings, moment):
    with started(path, settings, moment) as program:
        hears(program, "ready")
        goes_on(program)
        hears(program, "here")
        kill(program)
    left = [one.name for one in (path.parent / "memory.db.objects").iterdir()]
    assert [name.endswith(".partial") for name in left] == [moment == "writing"]
    with memoryos.open(path, user="ann", settings=settings) as memory:
        assert cubes(memory) == []
        told = memory.activations.answer("me", QUESTION)
        assert (told.is_from_state, told.answer.usage.cached_tokens) == (False, 0)
        assert told.reason.startswith("there is no KV state")
        build_here(memory)
        again = memory.activations.answer("me", QUESTION)
        assert (again.is_from_state, again.answer.text) == (True, told.answer.text)
        assert len(cubes(memory)) == 1
    assert stores.verify(path, settings=settings).is_sound


def test_a_kill_in_a_turn_loses_the_states_and_none_of_the_text_before(path, settings):
    with started(path, settings, "talking") as program:
        hears(program, "ready")
        goes_on(program)
        hears(program, "here")
        kill(program)
    short = settings.model_copy(update={"prompt_tokens": 256, "context_tokens": 64})  # facts may be known by now
    with memoryos.open(path, user="ann", settings=short, clock=lambda: LATER) as memory:
        said = [turn.words for page in memory.pages.list() for turn in page.payload.turns if turn.role is Role.USER]
        assert said == ["I have a boat called Aurora.", "我住在卑尔根。"]
        assert memory.respond("And you?").text


def test_two_processes_that_build_the_same_at_once_leave_one_whole_cube(path, settings):
    with ExitStack() as running:
        programs = [running.enter_context(started(path, settings, "")) for _ in range(2)]
        for program in programs:
            hears(program, "ready")
        for program in programs:
            goes_on(program)
        assert [program.wait() for program in programs] == [0, 0]
    with memoryos.open(path, user="ann", settings=settings) as memory:
        assert len(cubes(memory)) == 1
        told = memory.activations.answer("me", QUESTION)
        assert (told.is_from_state, told.reason) == (True, "")
    assert stores.verify(path, settings=settings).is_sound


def test_a_state_takes_the_place_of_the_same_one_that_another_process_built_meanwhile(path, settings, monkeypatch):
    stored = Activator._stored

    def after_another(activator, *what):
        monkeypatch.setattr(Activator, "_stored", stored)
        build_here(memory)
        return stored(activator, *what)

    with memoryos.open(path, user="ann", settings=settings) as memory:
        monkeypatch.setattr(Activator, "_stored", after_another)
        build_here(memory)
        assert len(cubes(memory)) == 1
        assert memory.activations.answer("me", QUESTION).is_from_state
    assert stores.verify(path, settings=settings).is_sound


def test_a_disk_that_is_full_in_the_middle_of_a_save_stores_nothing(path, settings, monkeypatch):
    usual, limits = object_store.Folder.put, resource.getrlimit(resource.RLIMIT_FSIZE)

    def narrow(self, name: str, data: bytes) -> None:
        assert len(data) > 4_096
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, limits[1]))
        try:
            usual(self, name, data)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    with memoryos.open(path, user="ann", settings=settings) as memory:
        monkeypatch.setattr(object_store.Folder, "put", narrow)
        with pytest.raises(StoreFull):
            build_here(memory)
        assert cubes(memory) == []
        assert [*(path.parent / "memory.db.objects").iterdir()] == []
        assert not memory.activations.answer("me", QUESTION).is_from_state
        monkeypatch.undo()
        build_here(memory)
        assert memory.activations.answer("me", QUESTION).is_from_state


def test_a_prefix_beyond_the_window_is_named_and_nothing_is_stored(path, settings, clock):
    small = settings.model_copy(update={"local_window": 64, "jobs": "here"})
    with memoryos.open(path, user="ann", settings=small, clock=clock) as memory:
        memory.activations.build("long")
        memory.jobs.run(timeout=timedelta(seconds=60).total_seconds())
        found = memory.activations.get("long")
        assert (found.id, found.is_usable) == (None, False)
        assert "the last failure: PromptTooLong" in found.reason
        with pytest.raises(PromptTooLong):
            memory.activations.answer("long", QUESTION)
        assert cubes(memory) == []
