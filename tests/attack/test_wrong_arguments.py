"""Wrong arguments that once raised errors of Python or of a library: each is refused by its name."""

from __future__ import annotations

from datetime import UTC, date, datetime
from threading import Event

import pytest

import memoryos
from memoryos import (
    AsyncMemory,
    Attachment,
    Caller,
    Kind,
    MemCube,
    MemoryOS,
    Mount,
    Namespace,
    Role,
    Scope,
    Settings,
    Turn,
)
from memoryos.arguments import store_place
from memoryos.clock import system_clock
from memoryos.errors import InvalidInput, StorageError
from memoryos.infrastructure.vault.place import open_vault
from memoryos.models.hashing import Hashing
from memoryos.operation.recall.fusion import Weights
from public import method_of, store_of

HUGE = 10**5000  # Python refuses to write it out


@pytest.fixture
def memory(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", embedder=Hashing()) as memory:
        memory.add("I live in Paris.")
        yield memory


@pytest.mark.once
@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("states", lambda memory: memory.jobs.list("deadly")),
        ("origin", lambda memory: memory.facts.add("I have a cat.", origin="hearsay")),
        ("origin", lambda memory: memory.profile.set("name", "Ann", origin=5)),
        ("origin", lambda memory: memory.add_many([], origin="hearsay")),
        ("after", lambda memory: memory.log.events(after=2**64)),
        ("limit", lambda memory: memory.log.events(limit=HUGE)),
        ("sequences", lambda memory: memory.upkeep.undo(HUGE)),
        ("weights", lambda memory: memory.search("Paris", weights=[])),
        ("weights.words", lambda _: Weights(words=float("nan"))),
        ("pages", lambda memory: memory.search("Paris", pages=HUGE)),
        ("tier", lambda memory: memory.pages.list(tier="")),
        ("kinds", lambda memory: memory.search("Paris", kinds=[HUGE])),
        ("scope", lambda memory: memory.of([]).search("Paris")),
        ("mount", lambda memory: memory.mounts.add(5)),
        ("mount.place", lambda _: Mount("notes", 5, Scope(user="ann"))),
        ("mount.scope", lambda _: Mount("notes", "notes.db", "ann")),
        ("name", lambda memory: memory.mounts.remove([])),
        ("mount", lambda memory: memory.add("hello", mount=[])),
        ("progress", lambda memory: memory.upkeep.rebuild(progress=5)),
        ("since", lambda memory: memory.log.usage(since=datetime(2026, 1, 1, tzinfo=UTC))),
        ("stop", lambda memory: store_of(memory).admin.work(None)),
        ("threads", lambda memory: store_of(memory).admin.work(Event(), threads=0)),
        ("poll_seconds", lambda memory: store_of(memory).admin.work(Event(), poll_seconds=float("nan"))),
        ("turn.role", lambda _: Turn(role="narrator", text="hello")),
        ("attachment.caption", lambda _: Attachment(caption=5)),
        ("memcube.id", lambda _: MemCube(5)),
        ("namespace", lambda _: Namespace(5)),
        ("kind", lambda _: Kind("pages")),
        ("caller.roles", lambda _: Caller("ann", roles=5)),
        ("caller.at", lambda _: Caller("ann", at="yesterday")),
        ("short_term_capacity", lambda _: Settings(short_term_capacity=0)),
        ("engine", lambda _: MemoryOS(5)),
        ("sync", lambda _: AsyncMemory(5)),
    ],
)
def test_a_wrong_argument_is_named(memory, field, call):
    with pytest.raises(InvalidInput) as refused:
        call(memory)
    assert refused.value.field == field


def test_right_arguments_of_the_same_kinds_still_work(memory):
    assert memory.jobs.list("dead") == []
    assert memory.log.usage(since=date(2026, 1, 1)) == []
    assert memory.search("Paris", weights=Weights(words=2), kinds=[Kind.PAGE]).hits
    assert Turn(role="user", text="hello") == Turn(role=Role.USER, text="hello")


@pytest.mark.file
@pytest.mark.parametrize(
    "place",
    [".", "/", "x" * 300, "a/" + "y" * 300 + "/memory.db", "~nosuchuser/x", chr(0xD800) + ".db", "x/" * 3000 + "a"],
)
def test_a_place_that_can_be_no_file_is_refused(place):
    with pytest.raises(InvalidInput) as refused:
        memoryos.open(place, user="ann")
    assert refused.value.field == "path"


@pytest.mark.file
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/proc/x", "no file can be created in /proc"),
        ("/dev/null", "is a device"),
        ("here.txt/memory.db", "here.txt is not a folder"),
        ("nowhere/memory.db", "the folder nowhere does not exist. Create it first"),
        ("x" * 5000, "Pass a shorter one"),
    ],
)
def test_what_is_said_of_a_place_is_so(tmp_path, place, said):
    (tmp_path / "here.txt").touch()
    with pytest.raises(InvalidInput, match=said):
        open_vault(store_place(place), embedder=Hashing.name, clock=system_clock, busy_timeout_seconds=1)


@pytest.mark.parametrize("year", [1, 1899, 9000, 9999])
def test_a_clock_at_an_end_of_the_calendar_is_named(tmp_path, year):
    far = memoryos.open(tmp_path / "far.db", user="ann", clock=lambda: datetime(year, 6, 1, tzinfo=UTC))
    with far, pytest.raises(InvalidInput, match="clock"):
        far.add("hello")


@pytest.mark.parametrize("operation", ["wait", "jobs.run", "upkeep.index"])
def test_work_on_a_closed_memory_is_refused(memory, operation):
    memory.close()
    with pytest.raises(StorageError, match="closed"):
        method_of(memory, operation)()
