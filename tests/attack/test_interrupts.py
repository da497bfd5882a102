"""Interrupts at random moments of a call (Ctrl-C, an alarm): afterwards the memory works and the store is free."""

from __future__ import annotations

import dis
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count, pairwise
from pathlib import Path
from types import CodeType, FrameType

import pytest
from pydantic import SecretStr

import memoryos
from memoryos import Memory, MemoryOS, Role, Turn, load_settings, stores
from memoryos.errors import InvalidInput
from public import store_of

ROUNDS, LONG_ROUNDS = 3, 450  # interrupted calls of each operation, on each store
LONG_OTHERS = 30
TRIES = 20  # calls for each that is to be interrupted
SETTINGS = load_settings(embedder="hashing", busy_timeout_seconds=10.0)
NUMBERS = count()

Operation = Callable[[MemoryOS], object]


class Interrupt(BaseException):
    """What the handler of the signal raises, as Python's own raises KeyboardInterrupt."""


def add(memory: Memory) -> object:
    return memory.add(f"I bought {next(NUMBERS)} apples in Porto.", "How nice!")


def update(memory: Memory) -> object:
    return memory.update(memory.pages.list()[0].id, f"I bought {next(NUMBERS)} pears in Faro.")


def delete(memory: Memory) -> object:
    return memory.delete(memory.pages.list()[0].id)


OPERATIONS: dict[str, Operation] = {
    "add": add,
    "search": lambda memory: memory.search("How many apples?"),
    "context": lambda memory: memory.context("How many apples?"),
    "update": update,
    "delete": delete,
    "consolidate": lambda memory: memory.consolidate(),
}


@contextmanager
def alarms() -> Iterator[Callable[[Callable[[], object], float], bool]]:
    """A way to run a call with an alarm after so many seconds; it says whether that interrupted the call."""

    def rings(_number: int, _frame: object) -> None:
        raise Interrupt

    def run(call: Callable[[], object], seconds: float) -> bool:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            call()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            return True
        return False

    before = signal.signal(signal.SIGALRM, rings)
    try:
        yield run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_a_branch(memory: Memory) -> None:
    name = f"branch{next(NUMBERS)}"
    memory.branches.create(name)
    memory.branch(name).add("I like jazz.")
    memory.branches.discard(name)


def in_a_snapshot(memory: Memory) -> None:
    memory.snapshots.create(name := f"snapshot{next(NUMBERS)}")
    memory.snapshots.remove(name)


def merge(memory: Memory) -> None:
    first, second = (memory.add("I like green tea.") for _ in range(2))
    memory.duplicates.merge([first, second])
    memory.duplicates.unmerge(second)


def hold(memory: Memory) -> None:
    page = add(memory)
    memory.governance.freeze(page)
    memory.governance.thaw(page)
    memory.governance.release(memory.governance.hold(reason="a case", memory=page).id)
    memory.governance.erase(page)


def state(memory: Memory) -> None:
    memory.facts.add(f"I live in Town{next(NUMBERS)}.")
    memory.profile.set("name", f"Ann{next(NUMBERS)}")
    memory.proposals.publish([f"I live in City{next(NUMBERS)}.", "I like tea."], source="a registry")
    for proposal in memory.proposals.list()[:1]:
        memory.proposals.accept(proposal.id)


def carry_over(memory: Memory) -> None:
    guest = store_of(memory).memory("guest")
    guest.add("I bought a kite.")
    guest.export(file := Path(f"{next(NUMBERS)}.jsonl"))
    guest.forget()
    store_of(memory).admin.load(file, again=True)


def keep_rules(memory: Memory) -> None:
    memory.archiving.add("old", unused=3600)
    memory.archiving.remove("old")
    memory.governance.retain("short", ttl=3600, tags=["none"])
    memory.governance.unretain("short")


OTHERS: list[Operation] = [
    in_a_branch,
    in_a_snapshot,
    merge,
    hold,
    state,
    carry_over,
    keep_rules,
    lambda memory: memory.upkeep.rebuild(),
    lambda memory: (memory.digest(), memory.stats(), memory.log.events()),
]


class Delays:
    """Seconds after which an alarm rings within a call: at random, in about the time that such a call takes here."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._usual = chance, 0.02

    def next(self) -> float:
        return self._chance.uniform(0, self._usual)

    def took(self, seconds: float) -> None:
        """Note how long a call took that no alarm interrupted."""
        self._usual = 0.7 * self._usual + 0.3 * seconds


@pytest.mark.parametrize("name", OPERATIONS)
def test_after_an_interrupt_the_memory_works_and_the_store_is_free(tmp_path, long, name, record_property):
    delays, wanted, interrupted = Delays(random.Random(name)), LONG_ROUNDS if long else ROUNDS, 0
    with (
        memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory,
        memoryos.open(tmp_path / "a.db", user="ben", settings=SETTINGS) as other,
    ):
        for _ in range(12):
            add(memory)
        with alarms() as interrupting:
            for _ in range(TRIES * wanted):
                start = time.perf_counter()
                if interrupting(lambda: OPERATIONS[name](memory), delays.next()):
                    interrupted += 1
                else:
                    delays.took(time.perf_counter() - start)
                page = add(memory)
                assert memory.get(page).text.startswith("user: I bought")
                assert memory.search("apples").hits
                assert add(other)
                if interrupted == wanted:
                    break
        record_property("interrupted", interrupted)
        assert interrupted == wanted, "most alarms rang after the call"
        memory.wait()


@cache
def moments(code: CodeType) -> frozenset[int]:
    """The bytecodes of a function before which Python looks for signals: behind a call, and where a loop goes back."""
    known = list(dis.get_instructions(code))
    behind = [two.offset for one, two in pairwise(known) if one.opname.startswith(("CALL", "RESUME", "JUMP_BACKWARD"))]
    return frozenset(behind)


class InterruptAt:
    """Interrupts the thread it traces at one of the moments at which a signal could, counted from 1."""

    def __init__(self, number: int) -> None:
        self._number, self.seen = number, 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> InterruptAt:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in moments(frame.f_code):
            self.seen += 1
            if self.seen == self._number:
                raise Interrupt
        return self

    def during(self, call: Callable[[], object]) -> bool:
        """Run the call; whether it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            call()
        except Interrupt:
            return True
        finally:
            sys.settrace(before)
        return False


CALLS: dict[str, Callable[[Memory, str], object]] = {  # with the page that was added last
    "add": lambda memory, _: add(memory),
    "search": lambda memory, _: memory.search("How many apples?"),
    "update": lambda memory, page: memory.update(page, f"I bought {next(NUMBERS)} pears in Faro."),
    "delete": lambda memory, page: memory.delete(page),
    "consolidate": lambda memory, _: memory.consolidate(),
}
STRIDE = 19  # of the moments of a call, which are some fifty


@pytest.mark.parametrize("name", CALLS)
def test_after_an_interrupt_at_each_moment_of_a_call_the_memory_works_and_the_store_is_free(tmp_path, long, name):
    """Of all moments in the main thread, a few, others for each call, or each."""
    with (
        memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory,
        memoryos.open(tmp_path / "a.db", user="ben", settings=SETTINGS) as other,
    ):
        counted = InterruptAt(0)
        assert not counted.during(partial(CALLS[name], memory, add(memory)))
        assert counted.seen > 2 * STRIDE
        page, interrupted = add(memory), 0
        for number in range(1 if long else 1 + list(CALLS).index(name), counted.seen, 1 if long else STRIDE):
            interrupted += InterruptAt(number).during(partial(CALLS[name], memory, page))
            page = add(memory)
            assert memory.get(page).text.startswith("user: I bought")
            assert add(other)
        assert interrupted >= 3, "a call that has to wait has more moments than the one that was counted"
        assert memory.search("apples").hits
        memory.wait()


def test_after_an_interrupt_of_any_other_call_the_memory_works_too(tmp_path, long, back_end):
    with (
        memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory,
        memoryos.open(tmp_path / "a.db", user="ben", settings=SETTINGS) as other,
        alarms() as interrupting,
    ):
        add(memory)
        for number, operation in enumerate(OTHERS):
            delays, wanted, interrupted = Delays(random.Random(number)), LONG_OTHERS if long else 1, 0
            for _ in range(10 * TRIES * wanted):  # a short call ends before most alarms
                start = time.perf_counter()
                if interrupting(lambda call=operation: call(memory), delays.next()):
                    interrupted += 1
                else:
                    delays.took(time.perf_counter() - start)
                assert memory.get(add(memory)).text.startswith("user: I bought")
                assert memory.search("apples").hits
                assert add(other)
                if interrupted == wanted:
                    break
            assert interrupted == wanted, "most alarms rang after the call"
        memory.wait()
    if back_end == "sqlite":
        assert stores.verify("a.db", settings=SETTINGS).is_sound


def test_after_an_interrupt_the_store_is_opened_again(tmp_path, long):
    """An interrupt of `open` once left the lock of the module `logging` held, and every later `open` hung."""
    delays, wanted, interrupted = Delays(random.Random("open")), LONG_ROUNDS if long else 3 * ROUNDS, 0
    with memoryos.open(tmp_path / "a.db", user="ben", settings=SETTINGS) as other, alarms() as interrupting:
        for _ in range(TRIES * wanted):
            opened: list[Memory] = []
            start = time.perf_counter()
            if interrupting(lambda into=opened: into.append(open_as_ann(tmp_path)), delays.next()):
                interrupted += 1
            else:
                delays.took(time.perf_counter() - start)
            assert add(other)
            for memory in opened:
                memory.close()
            if interrupted == wanted:
                break
        assert interrupted == wanted, "most alarms rang after the call"
        with open_as_ann(tmp_path) as memory:
            assert memory.get(add(memory)).text.startswith("user: I bought")


def open_as_ann(folder: Path) -> Memory:
    return memoryos.open(folder / "a.db", user="ann", settings=SETTINGS)


def test_a_call_that_was_interrupted_is_finished_before_the_next_one(tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def slow(done: int, total: int) -> None:
        begun.set()
        assert go_on.wait(30)

    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        threading.Thread(target=lambda: begun.wait(30) and os.kill(os.getpid(), signal.SIGUSR1)).start()
        before = signal.signal(signal.SIGUSR1, _interrupt)
        try:
            with pytest.raises(Interrupt):
                memory.add_many([Turn(role=Role.USER, text="I bought a kite.")], progress=slow)
        finally:
            signal.signal(signal.SIGUSR1, before)
        go_on.set()
        assert [page.text for page in memory.pages.list()] == ["user: I bought a kite."]
        assert memory.search("kite").hits


def _interrupt(_number: int, _frame: object) -> None:
    raise Interrupt


def test_an_error_within_a_call_reaches_the_caller(tmp_path):
    with memoryos.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        with suppress(SystemExit):
            memory.add_many(leaving())
        assert memory.stats().stm_pages == 0


def leaving() -> Iterator[object]:
    yield from ()
    raise SystemExit(3)


# Whole stores

SEALED = SETTINGS.model_copy(update={"encryption_key": SecretStr("a key of these tests, forty characters of it")})


def changes_encryption() -> None:
    stores.encrypt("a.db", settings=SEALED)
    stores.decrypt("a.db", settings=SEALED)


WHOLE: dict[str, Callable[[], object]] = {
    "backup": lambda: stores.backup("a.db", f"backup{next(NUMBERS)}.db", settings=SETTINGS),
    "copy": lambda: stores.copy("a.db", f"copy{next(NUMBERS)}.db", settings=SETTINGS),
    "verify": lambda: stores.verify("a.db", repair=True, settings=SETTINGS),
    "scrub": lambda: stores.scrub("a.db", settings=SETTINGS),
    "encryption": changes_encryption,
}


@pytest.mark.file
@pytest.mark.parametrize("name", WHOLE)
def test_after_an_interrupt_of_a_whole_store_it_is_free_and_no_half_of_one_is_left(tmp_path, long, name):
    delays, wanted, interrupted = Delays(random.Random(name)), LONG_ROUNDS if long else 3, 0
    with open_as_ann(tmp_path) as memory:
        add(memory)
    with alarms() as interrupting:
        for _ in range(TRIES * wanted):
            start = time.perf_counter()
            if interrupting(WHOLE[name], delays.next()):
                interrupted += 1
            else:
                delays.took(time.perf_counter() - start)
            assert list(tmp_path.glob("*.partial*")) == []
            settings = SEALED if stores.encryption_status("a.db").is_encrypted else SETTINGS
            with memoryos.open("a.db", user="ann", settings=settings) as memory:
                assert memory.get(add(memory)).text.startswith("user: I bought")
            if settings is SEALED:
                stores.decrypt("a.db", settings=SEALED)
            if interrupted == wanted:
                break
    assert interrupted == wanted, "most alarms rang after the call"
    for backup in tmp_path.glob("backup*.db"):
        assert stores.verify(backup, settings=SETTINGS).is_sound


@pytest.mark.file
@pytest.mark.parametrize("name", ["backup", "verify"])
def test_an_interrupt_ends_what_is_done_with_a_whole_store_at_its_next_step(tmp_path, name):
    """The interrupt comes within a step, which is finished; the next one does not begin."""
    steps: list[int] = []
    here = threading.main_thread().ident

    def progress(done: int, _total: int) -> None:
        steps.append(done)
        signal.pthread_kill(here, signal.SIGUSR1)
        assert noticed.wait(30)

    noticed = threading.Event()

    def interrupt(_number: int, _frame: object) -> None:
        noticed.set()
        raise Interrupt

    with open_as_ann(tmp_path) as memory:
        add(memory)
        before = signal.signal(signal.SIGUSR1, interrupt)
        try:
            with pytest.raises(Interrupt):
                call = stores.backup if name == "backup" else stores.verify
                call("a.db", *["b.db"] * (name == "backup"), settings=SETTINGS, progress=progress)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert len(steps) == 1
        assert sorted(path.name for path in tmp_path.glob("b.db*")) == []
        assert add(memory)


def test_what_a_whole_store_refuses_is_said_as_before(tmp_path):
    with pytest.raises(InvalidInput, match="progress: expected a function"):
        stores.verify("a.db", progress=5)
