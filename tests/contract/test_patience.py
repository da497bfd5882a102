"""How long a call waits for others: `busy_timeout_seconds` in all, whatever it waits for and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Barrier, Event, Lock, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from contract import server
from contract.back_ends import BACK_ENDS
from memoryos import AsyncMemory, Memory, MemoryOS, Role, Scope, Turn, load_settings
from memoryos.engine import Engine
from memoryos.errors import StoreBusy
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.patience import apart, in_one_call, patience
from memoryos.infrastructure.vault.postgres import postgres_vault
from memoryos.models.hashing import Hashing
from memoryos.operation.maintenance import moves
from public import store_of

ALICE = Scope(user="alice")
MOST = 1.0  # seconds that a call waits
TOGETHER = 5 * MOST  # eight that wait at once take less, also on a busy machine; one after the other they take 8
SOON = 60.0  # seconds; nobody waits that long when all is well
MOST_MS, WAITED_MS = 1000, 250  # MOST in milliseconds, and a part of it

LIMIT = "SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'"  # of this session, in milliseconds
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

OpenVault = Callable[..., Vault]

pytestmark = pytest.mark.each  # the locks of each back end


@pytest.fixture
def open_vault(tmp_path: Path, back_end: str, clock) -> Iterator[OpenVault]:
    """open_vault(most): a vault on the one store, whose calls wait so many seconds."""
    opened: list[Vault] = []

    def call(most: float = MOST) -> Vault:
        opened.append(BACK_ENDS[back_end](tmp_path, clock, busy_timeout_seconds=most))
        return opened[-1]

    yield call
    for vault in opened:
        vault.close()
    server.give_back(tmp_path)


@pytest.fixture
def memory(open_vault: OpenVault, clock) -> Iterator[Memory]:
    settings = load_settings(embedder="hashing", busy_timeout_seconds=MOST, short_term_capacity=2)
    with MemoryOS(Engine(open_vault(), Hashing(), settings=settings, clock=clock)) as store:
        yield store.of(ALICE)


@contextmanager
def held(vault: Vault) -> Iterator[None]:
    """The write lock is another's for as long as the block takes."""
    is_held, leave = Event(), Event()

    def hold() -> None:
        with vault.write(ALICE):
            is_held.set()
            leave.wait(SOON)

    other = Thread(target=hold)
    other.start()
    assert is_held.wait(SOON)
    try:
        yield
    finally:
        leave.set()
        other.join()


def waited(call: Callable[[], object]) -> float:
    """Seconds until the call was refused."""
    since = monotonic()
    with pytest.raises(StoreBusy):
        call()
    return monotonic() - since


CALLS: dict[str, Callable[[Memory, str], object]] = {
    "add": lambda memory, page: memory.add("hello"),
    "set_profile": lambda memory, page: memory.profile.set("name", "Alice"),
    "update": lambda memory, page: memory.update(page, "I live in Rome."),
    "delete": lambda memory, page: memory.delete(page),
    "consolidate": lambda memory, page: memory.consolidate(),
    "rebuild": lambda memory, page: memory.upkeep.rebuild(),
}


WAYS = {"add", "delete", "rebuild"}  # a statement, steps, and steps of many pages; the others wait like one of them


@pytest.mark.parametrize("name", [pytest.param(one, marks=[] if one in WAYS else pytest.mark.long) for one in CALLS])
def test_threads_that_find_the_store_locked_are_all_told_so_in_time(memory: Memory, open_vault: OpenVault, name: str):
    """They do not wait one after the other: 8 threads waited 1, 2 ... 8 times as long."""
    page = memory.add("I live in Paris.")
    memory.wait()
    together = Barrier(8)

    def call(_: int) -> float:
        together.wait(SOON)
        return waited(lambda: CALLS[name](memory, page))

    with held(open_vault(SOON)), ThreadPoolExecutor(8) as pool:
        times = list(pool.map(call, range(8)))
    assert max(times) < TOGETHER


def hold_a_moment(vault: Vault, is_held: Event, seconds: float = 0.4 * MOST) -> None:
    """Lock the store for so long that a call may wait for it twice, but not three times."""
    with vault.write(ALICE):
        is_held.set()
        sleep(seconds)


@contextmanager
def held_for(vault: Vault, seconds: float) -> Iterator[None]:
    """The write lock is another's when the block begins, and free after so many seconds."""
    is_held = Event()
    other = Thread(target=hold_a_moment, args=(vault, is_held, seconds))
    other.start()
    assert is_held.wait(SOON)
    try:
        yield
    finally:
        other.join()


def held_a_moment(vault: Vault) -> AbstractContextManager[None]:
    """The write lock is another's when the block begins, and soon free."""
    return held_for(vault, 0.4 * MOST)


def test_awaited_calls_are_told_so_in_time_too(memory: Memory, open_vault: OpenVault):
    shared = AsyncMemory(memory)

    async def calls() -> list[object]:
        return await asyncio.gather(*(shared.add("hello") for _ in range(8)), return_exceptions=True)

    with held(open_vault(SOON)):
        since = monotonic()
        assert {type(error) for error in asyncio.run(calls())} == {StoreBusy}
        assert monotonic() - since < TOGETHER
    assert memory.pages.list() == []


def test_steps_of_one_call_share_what_it_may_wait(open_vault: OpenVault):
    vault, other, done = open_vault(), open_vault(SOON), []

    def steps() -> None:
        for number in range(10):
            with held_a_moment(other), vault.write(ALICE):
                done.append(number)

    with pytest.raises(StoreBusy):
        in_one_call(steps)
    assert len(done) < 5


def test_what_no_call_waits_for_waits_each_time_anew(open_vault: OpenVault):
    vault, other, waited = open_vault(2 * MOST), open_vault(SOON), 0
    for _ in range(7):  # 2.8 seconds of 2
        with held_a_moment(other), vault.write(ALICE):
            waited += 1
    assert waited == 7


@pytest.fixture
def in_steps(memory: Memory, monkeypatch) -> Memory:
    """A memory that is rebuilt in a transaction for each page."""
    monkeypatch.setattr(moves, "AT_A_TIME", 1)
    memory.add_many([Turn(role=Role.USER, text=f"I live in Town{number}.") for number in range(8)])
    memory.wait()
    return memory


def test_a_store_that_is_locked_again_and_again_is_busy(in_steps: Memory, open_vault: OpenVault):
    other, told = open_vault(SOON), []
    with ThreadPoolExecutor(1) as pool:

        def lock(done: int, total: int) -> None:
            told.append((done, total))
            is_held = Event()
            pool.submit(hold_a_moment, other, is_held)
            assert is_held.wait(SOON)

        with pytest.raises(StoreBusy):
            in_steps.upkeep.rebuild(progress=lock)
    assert len(told) < 6
    in_steps.upkeep.rebuild()  # goes on
    assert len(in_steps.pages.list()) == 8


def test_work_does_not_count(in_steps: Memory):
    worked = iter([0.3 * MOST] * 4)
    in_steps.upkeep.rebuild(progress=lambda done, total: sleep(next(worked, 0)))
    assert next(worked, None) is None, "longer than a call may wait"


def test_a_call_in_a_call_shares_what_is_left():
    def nested() -> float:
        patience(MOST).spend(0.3)
        in_one_call(lambda: patience(MOST).spend(0.3))
        return patience(MOST).left

    assert in_one_call(nested) == pytest.approx(0.4 * MOST)
    assert patience(MOST).left == MOST


@pytest.fixture
def lock_tables(tmp_path: Path) -> Callable[[], AbstractContextManager[object]]:
    """lock_tables(): nobody else writes into the tables of the store on PostgreSQL, for as long as the block takes."""

    @contextmanager
    def locked() -> Iterator[None]:
        with server.administrator(str(server.store_of(tmp_path).database)) as stranger, stranger.transaction():
            stranger.execute("LOCK TABLE cubes IN EXCLUSIVE MODE")
            yield

    return locked


@contextmanager
def limits_met(memory: Memory) -> Iterator[list[int]]:
    """How long the statements of each transaction that writes may wait for others, in milliseconds."""
    vault, begun, met = memory._engine.vault, postgres_vault.begun, list[int]()

    @contextmanager
    def noted(engine: Any, *given: Any) -> Iterator[tuple[Any, Any]]:
        with begun(engine, *given) as (connection, answers):
            if engine is vault._engine:
                met.append(connection.exec_driver_sql(LIMIT).scalar_one())
            yield connection, answers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_vault, "begun", noted)
        yield met


@contextmanager
def held_until_waited_for(vault: Vault) -> Iterator[None]:
    """The lock of the owner is another's until somebody has waited for it for a while."""
    is_held = Event()

    def hold() -> None:
        with vault.write(ALICE), server.administrator() as administrator:
            is_held.set()
            end = monotonic() + SOON
            while not administrator.execute(WAITING).fetchone() and monotonic() < end:
                sleep(0.005)
            sleep(WAITED_MS / 1000)

    other = Thread(target=hold)
    other.start()
    assert is_held.wait(SOON)
    try:
        yield
    finally:
        other.join()


@pytest.mark.parametrize("back_end", ["postgres"], indirect=True, scope="session")
@pytest.mark.parametrize("name", ["add", "delete"])
def test_a_table_that_a_stranger_locks_is_waited_for_with_what_the_lock_of_the_owner_left(
    memory: Memory, open_vault: OpenVault, lock_tables, name: str
):
    """They were waited for one after the other, each for as long as a call may wait: twice, in all."""
    page, other = memory.add("I live in Paris."), open_vault(SOON)
    memory.wait()

    def left() -> int:
        with limits_met(memory) as met, lock_tables(), held_until_waited_for(other):
            waited(lambda: CALLS[name](memory, page))
        with suppress(StoreBusy):  # what the work behind the call met, too
            memory.wait()
        return next(iter(met), MOST_MS)  # a busy machine may give the lock of the owner too late

    assert any(left() <= MOST_MS - WAITED_MS for _ in range(5))


def test_a_worker_does_not_share_what_a_call_waited(memory: Memory, open_vault: OpenVault):
    memory.add("I live in Paris.")

    def call() -> int:
        patience(MOST).spend_all()
        with held_a_moment(open_vault(SOON)):
            return store_of(memory).admin.work(Event(), poll_seconds=None)

    in_one_call(call)
    assert in_one_call(lambda: (patience(MOST).spend_all(), apart(lambda: patience(MOST).left))) == (None, MOST)


def test_who_finds_no_room_does_not_wait_again_for_the_lock():
    """A lock of threads and a second one, in one call."""
    first, second = Lock(), Lock()
    first.acquire()
    second.acquire()

    def call() -> tuple[bool, float, bool]:
        return patience(0.2).takes(first), patience(0.2).left, patience(0.2).takes(second)

    assert in_one_call(call) == (False, pytest.approx(0.0, abs=0.01), False)
