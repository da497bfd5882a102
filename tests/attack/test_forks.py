"""Forks, as preforking servers and multiprocessing make them: a child has no threads and no connections of its own."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import memoryos
from forked import fork
from memoryos import AnswerStream, AsyncMemory, AsyncMemoryOS, Memory, MemoryOS, Role, Turn, load_settings, process_lock
from memoryos.errors import ModelError, StorageError
from memoryos.frameworks.mem0 import Memory as Mem0Memory
from memoryos.infrastructure.vault.sqlite import fork_gate
from memoryos.models.chat import Answer
from memoryos.models.flow import Flow
from public import method_of, methods_of

LOCKS = type(threading.Lock()), type(threading.RLock()), threading.Condition
CHILDREN, LONG_CHILDREN, ADDS = 2, 8, 5
PAGES = 30  # of the parent; moving them is at work while it forks
SETTINGS = load_settings(embedder="hashing", busy_timeout_seconds=20.0)
HARMLESS = {"of"}  # it asks for nothing
PUBLIC = [name for name in methods_of(Memory) if name not in HARMLESS]


STORY = ("Once ", "upon ", "a time.")


class StoryTeller:
    """A chat model that says the first piece at once, and the others when it may."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()

    def answer(self, messages: Sequence[object]) -> Answer:
        return Answer("".join(STORY))

    def stream(self, messages: Sequence[object]) -> Iterator[str]:
        yield STORY[0]
        assert self.goes_on.wait(60)
        yield from STORY[1:]


def in_a_child(work: Callable[[], object]) -> int:
    """The id of a forked process that does the work; its exit code is 0 when that raised nothing."""
    if child := fork():
        return child
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # who hangs, ends
    signal.alarm(60)
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_every_public_method_is_refused_in_a_child(tmp_path):
    def ask_all() -> None:
        for name in PUBLIC:
            with pytest.raises(StorageError, match="open it again"):
                method_of(memory, name)()

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        memory.add("I bought a kite.")
        assert len(PUBLIC) > 30
        assert ended(in_a_child(ask_all)) == 0
        assert memory.search("kite").hits


def test_a_child_may_leave_the_block_of_its_parents_memory(tmp_path):
    memory = memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS)
    with memory:
        memory.add_many([Turn(role=Role.USER, text=f"I bought {number} kites.") for number in range(50)])
        assert ended(in_a_child(lambda: memory.__exit__(None, None, None))) == 0
        memory.wait()
        assert memory.search("kites").hits


def test_an_answer_in_pieces_is_refused_in_a_child_and_goes_on_in_its_parent(tmp_path):
    """Never begun, begun and all said: its child neither asks the model, stores, waits, nor stops the answer."""
    model = StoryTeller()

    def read_each() -> None:
        for number in range(len(streams)):
            with pytest.raises(StorageError, match="open it again"):
                next(streams[number])
            with pytest.raises(StorageError, match="open it again"):
                asyncio.run(anext(streams[number]))
        streams[0].close()
        streams.clear()
        gc.collect()

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS, chat=model) as memory:
        streams: list[AnswerStream] = [memory.respond_stream(f"Tell story number {number}.") for number in range(3)]
        for stream in streams[1:]:
            assert next(stream) == STORY[0]
        codes = [ended(in_a_child(read_each))]
        model.goes_on.set()
        assert list(streams[1]) == [*STORY[1:]]
        codes.append(ended(in_a_child(read_each)))
        assert codes == [0, 0]
        added = [memory.add(f"I bought {number} kites.") for number in range(ADDS)]
        assert "".join(streams[0]) == "".join(STORY)
        assert list(streams[2]) == [*STORY[1:]]
        memory.wait()
        pages = memory.pages.list()
        assert {page.id for page in pages}.issuperset(added)
        assert len(pages) == ADDS + len(streams)


def test_an_answer_of_an_async_memory_is_refused_in_a_child(tmp_path):
    model = StoryTeller()
    model.goes_on.set()

    async def read_both() -> None:
        for stream in (asked, begun):
            with pytest.raises(StorageError, match="open it again"):
                await anext(stream)
            await stream.aclose()

    async def begin() -> None:
        assert await anext(begun) == STORY[0]

    async def rest_of(stream) -> str:
        return "".join([piece async for piece in stream])

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS, chat=model) as memory:
        asked, begun = (AsyncMemory(memory).respond_stream(f"Tell story number {number}.") for number in range(2))
        asyncio.run(begin())
        assert ended(in_a_child(lambda: asyncio.run(read_both()))) == 0
        assert asyncio.run(rest_of(begun)) == "".join(STORY[1:])
        assert asyncio.run(rest_of(asked)) == "".join(STORY)


def test_the_pieces_of_a_model_end_with_an_error_in_a_child():
    """Its writer is a thread of the parent."""
    stopped = threading.Event()
    flow: Flow[str] = Flow()
    flow.tells(stopped.set)

    def read() -> None:
        with pytest.raises(ModelError, match="ask again in the child"):
            next(flow)
        flow.stop()
        assert not stopped.is_set()

    assert ended(in_a_child(read)) == 0


def test_the_store_itself_refuses_whatever_reaches_it_in_a_child(tmp_path):
    """Even if another thread was writing when it forked: the child would wait for it without end."""

    def read_and_write() -> None:
        for begin in (vault.snapshot, vault.change):
            with pytest.raises(StorageError, match="open it again"), begin():
                pass

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        vault = memory._engine.vault
        forks, goes_on = threading.Event(), threading.Event()

        def write() -> None:
            with vault.change():
                forks.set()
                goes_on.wait(60)

        writer = threading.Thread(target=write)
        writer.start()
        assert forks.wait(60)
        child = in_a_child(read_and_write)
        goes_on.set()
        writer.join()
        assert ended(child) == 0


def test_a_block_of_a_parents_memory_is_not_entered_in_a_child(tmp_path):
    def enter() -> None:
        for block in (memory, store):
            with pytest.raises(StorageError, match="open it again"), block:
                pass
        mem0.__exit__(None, None, None)
        for block in (AsyncMemory(memory), AsyncMemoryOS(store)):
            with pytest.raises(StorageError, match="open it again"):
                asyncio.run(block.__aenter__())

    with MemoryOS.open(tmp_path / "a.db", settings=SETTINGS) as store:
        memory = store.memory(user="ann")
        with Mem0Memory(tmp_path / "mem0.db", settings=SETTINGS) as mem0:
            assert ended(in_a_child(enter)) == 0


@pytest.mark.file
def test_a_child_is_told_that_sqlite_cannot_share_a_file_that_was_open(tmp_path):
    def open_again() -> None:
        with pytest.raises(StorageError, match="close it before you fork"):
            memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS)
        with memoryos.open(tmp_path / "own.db", user="ann", settings=SETTINGS) as own:
            own.add("I bought a kite.")

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        memory.add("I bought a kite.")
        assert ended(in_a_child(open_again)) == 0
        assert memory.search("kite").hits
    with memoryos.open(tmp_path / "own.db", user="ann", settings=SETTINGS) as own:
        assert own.search("kite").hits


def test_a_child_opens_what_was_closed_before_the_fork(tmp_path):
    def search() -> None:
        with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
            assert memory.search("kite").hits

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        memory.add("I bought a kite.")
    assert ended(in_a_child(search)) == 0


@pytest.mark.parametrize("back_end", ["postgres"], indirect=True)
def test_children_that_open_the_store_again_lose_nothing_while_the_parent_goes_on(tmp_path, long):
    """They are forked while housekeeping is at work and while another thread writes."""

    def write(child: int) -> None:
        with memoryos.open(tmp_path / "a.db", user=f"child {child}", settings=SETTINGS) as own:
            for number in range(ADDS):
                own.add(f"Child {child} bought {number} apples.")

    goes_on = threading.Event()
    acknowledged: list[str] = []

    def go_on() -> None:
        while not goes_on.is_set():
            acknowledged.append(memory.add("The parent bought a pear."))

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        memory.add_many([Turn(role=Role.USER, text=f"I bought {number} kites.") for number in range(PAGES)])
        thread = threading.Thread(target=go_on)
        thread.start()
        children = [
            in_a_child(lambda child=child: write(child)) for child in range(LONG_CHILDREN if long else CHILDREN)
        ]
        codes = [ended(child) for child in children]
        goes_on.set()
        thread.join()
        assert codes == [0] * len(children)
        memory.wait()
        kept = {page.id for page in memory.pages.list()}
        assert kept.issuperset(acknowledged)
        assert len(kept) == PAGES + len(acknowledged)
    for child in range(len(children)):
        with memoryos.open(tmp_path / "a.db", user=f"child {child}", settings=SETTINGS) as memory:
            assert len(memory.pages.list()) == ADDS


@pytest.mark.file
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells that a thread is gone")
def test_a_fork_waits_for_the_end_of_a_thread_that_used_a_store(tmp_path):
    """OpenSSL's last destructor of a thread holds a lock that a child of that moment would wait for without end."""
    libc, key = ctypes.CDLL(None), ctypes.c_uint()
    libc.pthread_key_create(ctypes.byref(key), libc.usleep)  # a destructor that takes its time
    ids = []

    def search() -> None:
        memory.search("kite")
        ids.append(threading.get_native_id())
        libc.pthread_setspecific(key, ctypes.c_void_p(300_000))  # microseconds

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        memory.add("I bought a kite.")
        thread = threading.Thread(target=search)
        thread.start()
        thread.join()
        ending = Path(f"/proc/self/task/{ids[0]}")
        assert ending.exists()
        child = in_a_child(lambda: None)
        assert not ending.exists()
    assert ended(child) == 0
    libc.pthread_key_delete(key)


FORKING = """
import faulthandler, multiprocessing, sys, time
import memoryos
folder, delay = sys.argv[1], float(sys.argv[2])
def child():
    faulthandler.dump_traceback_later(30, exit=True)
    with memoryos.open(f"{folder}/child.db", user="ben") as other:
        other.add("hello")
        other.search("hello")
memory = memoryos.open(f"{folder}/parent.db", user="ann")
memory.add("I live in Oslo.", "ok")  # the work behind it imports modules and uses SQLite
time.sleep(delay)
forked = multiprocessing.get_context("fork").Process(target=child)
forked.start()
forked.join()
sys.exit(forked.exitcode)
"""


@pytest.mark.file
@pytest.mark.parametrize("delay", [0.05, pytest.param(0.2, marks=pytest.mark.long)])
def test_a_child_that_was_forked_amid_the_work_of_its_parent_uses_a_store_of_its_own(tmp_path, delay):
    """In a new process, where the modules are not loaded yet: a fork in the middle of an import left a lock behind."""
    done = subprocess.run([sys.executable, "-c", FORKING, tmp_path, str(delay)], check=False, timeout=60)
    assert done.returncode == 0


def locks_of_modules() -> dict[str, Any]:
    """Every lock of a module or a class of the library, and of what all stores of a process share."""
    found: dict[str, Any] = {f"process lock {number}": one for number, one in enumerate(process_lock._locks)}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "memoryos" and name != fork_gate.__name__:  # a fork waits for that one
            for kind in (module, *(one for one in list(vars(module).values()) if isinstance(one, type))):
                for key, value in list(vars(kind).items()):
                    one = getattr(value, "lock", value) if isinstance(value, functools.cached_property) else value
                    if isinstance(one, LOCKS):
                        found[f"{name}.{kind.__name__}.{key}"] = one
    return found


def test_a_child_uses_a_store_of_its_own_whatever_locks_the_threads_of_its_parent_hold(tmp_path):
    """A thread holds each for moments of its work."""

    def use(place: Path) -> None:
        with memoryos.open(place, user="ben", settings=load_settings(embedder="static")) as own:
            own.add("Ich wohne in Porto und lese gern. I like kites and walking. 我住在成都。")
            own.consolidate()
            assert own.search("Where are the kites that I like?").hits
            assert own.context("Wo wohne ich?").text

    def hold() -> None:
        with ExitStack() as held:
            for lock in locks.values():
                held.enter_context(lock)
            holds.set()
            assert may_end.wait(60)

    use(tmp_path / "parent.db")  # everything is loaded
    locks, holds, may_end = locks_of_modules(), threading.Event(), threading.Event()
    assert len(locks) > 4
    holder = threading.Thread(target=hold)
    holder.start()
    assert holds.wait(60)
    child = in_a_child(lambda: use(tmp_path / "own.db"))
    code = ended(child)
    may_end.set()
    holder.join()
    assert code == 0
    use(tmp_path / "parent.db")


def test_a_process_lock_of_the_thread_that_forks_stays_held_in_the_child():
    """It leaves the block there."""
    lock = process_lock.ProcessLock()

    def leave() -> None:
        assert lock._lock.locked()

    with lock:
        assert ended(in_a_child(leave)) == 0
    assert not lock._lock.locked()


RETURNING = """
import os, signal, sys
import memoryos
from memoryos import Role, Turn, stores
forked = []
def returns(done, total):
    if not forked:
        forked.append(os.fork())
        if not forked[0]:
            signal.alarm(60)  # who hangs, ends
store, what = sys.argv[1:]
with memoryos.open(store, user="ann", settings=memoryos.load_settings(embedder="hashing")) as memory:
    turns = [Turn(role=Role.USER, text="I bought a kite.")] * 3
    memory.add_many(turns, progress=returns if what == "add" else None)
    assert memory.pages.count() == 3
if what == "verify":
    assert stores.verify(store, progress=returns).is_sound
sys.exit(os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]))
"""


@pytest.mark.file
@pytest.mark.parametrize("what", ["add", "verify"])
def test_a_child_that_a_callback_forks_and_returns_in_ends_with_one_error(tmp_path, what):
    """Nobody waits for the call there: it waited for the next one for ever."""
    command = [sys.executable, "-c", RETURNING, tmp_path / "a.db", what]
    done = subprocess.run(command, check=False, timeout=90, capture_output=True, text=True)
    assert done.returncode == 1
    assert "end the child in the callback (os._exit)" in done.stderr
