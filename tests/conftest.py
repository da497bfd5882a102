"""What all tests share: a clock that stands still, an embedder without a model, and cubes to store."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from contract import server
from contract.back_ends import BACK_ENDS
from frozen_clock import FrozenClock
from memoryos import caller
from memoryos.cube import Behaviour, Descriptive, MemCube, Page, Payload, Turn
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Origin, Role, SemanticType, Tier
from memoryos.models.hashing import Hashing
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.scope import Scope

settings.register_profile("here", deadline=None, max_examples=20)  # a busy machine takes as long as it takes
settings.register_profile("long", deadline=None, max_examples=200)

TESTS = Path(__file__).parent
OPERATIONS = {"consolidation", "generation", "hierarchy", "jobs", "lists", "mounts", "recall"}  # not the store itself
DOORS = {"acceptance", "blobs", "frameworks", "pipelines", "portability", "proxy"}  # nor these

# Of so many functions of a folder, one runs on a store that is no file, with its first case.
SHARE = {**dict.fromkeys(OPERATIONS | DOORS, 12), "contract": 6}

REPEATING = {"attack": 18}  # where functions ask the same of each of many methods, ids or commands: one of so many
MANY = 4  # cases of such a function

# What their tests share, a model and a browser, takes a worker half a minute to make. They come first: then one worker
# has them all, for one that runs out of tests takes those that would come last.
FIRST = ("local", "page")

RAM_DISK = Path("/dev/shm")
RAM_NEEDED = 4 * 2**30  # bytes: many times what the tests were seen to use (0.3 GB)

MakeCube = Callable[..., MemCube]
MakeEntry = Callable[..., Entry]


def _is_fit_for_stores(folder: Path) -> bool:
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= RAM_NEEDED and not found.f_flag & os.ST_NOEXEC


# A store waits for its disk at every commit. Tests kill processes, not machines, so files in RAM show the same.
if "TMPDIR" not in os.environ and _is_fit_for_stores(RAM_DISK):
    os.environ["TMPDIR"] = tempfile.tempdir = str(RAM_DISK)


# Else each worker compiles all tests again, and each program that a test starts all of ours.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also what is marked long, and more examples: an hour")
    parser.addoption("--fuzz", type=float, metavar="SECONDS", help="CPU time of calls with wrong arguments that go on")
    parser.addoption("--store", choices=list(BACK_ENDS), help="the one store that tests of both run on")


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than there are cores: tests wait a third of their time, for disks, pauses and processes that die."""
    return (yield) + 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let each test that takes a back end run on every one, unless it is marked to be for one alone."""
    if "back_end" not in metafunc.fixturenames or _names_its_own(metafunc.definition):
        return
    wanted = metafunc.config.getoption("--store")
    is_for_one = any(metafunc.definition.get_closest_marker(name) for name in ("file", "once"))
    names = [name for name in BACK_ENDS if wanted in (None, name) and (name == "sqlite" or not is_for_one)]
    metafunc.parametrize("back_end", names, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker begin with another folder: of a new clone, each then compiles other tests, and all read them."""
    report = yield
    if collector.path == TESTS and isinstance(collector, pytest.Dir | pytest.Package):
        first = len(report.result) * _number_of_worker() // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def _number_of_worker() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Leave out what is marked long, and cases on other stores that are for one alone or repeat the way through it.

    Before, pytest orders them by what they share: all workers must have them in one order.
    """
    items.sort(key=_folder_of)
    yield
    is_long = config.getoption("--long")
    items[:] = [item for item in items if is_long or not item.get_closest_marker("long")]
    items[:] = [item for item in items if _names_its_own(item) or not _is_for_another(item)]
    if config.getoption("--store") is None:
        items[:] = _without_repeated_ways(items)
    items.sort(key=lambda item: _folder_of(item) not in FIRST)


def _folder_of(test: pytest.Item) -> str:
    return _folder(test.path)


@cache
def _folder(path: Path) -> str:
    """The folder of that file of tests; thousands of tests share the path, and are asked for it three times."""
    return path.relative_to(TESTS).parts[0]


def _is_for_another(test: pytest.Item) -> bool:
    return _store_of(test) != "sqlite" and any(map(test.get_closest_marker, ("file", "once")))


def _store_of(test: pytest.Item) -> str:
    values = test.callspec.params if isinstance(test, pytest.Function) and hasattr(test, "callspec") else {}
    return str(values.get("back_end", "sqlite"))


def _without_repeated_ways(items: list[pytest.Item]) -> list[pytest.Item]:
    """All tests, but on a store that is no file only some of those that ask it for the same as others do.

    Of the operations and doors, the first case of every twelfth function: they differ in what is computed, not in what
    the store is asked to do, which the contract tests compare. Of these, every sixth function of what a memory does;
    the tests of the vault itself, and what is marked `each`, run whole. `--store postgres` runs all there.
    """
    functions: dict[tuple[Path, str], dict[str, int]] = {}
    cases: dict[tuple[Path, str], int] = Counter(map(_function_of, items))
    met: dict[tuple[Path, str], int] = Counter()
    kept = []
    for item in items:
        of = _function_of(item)
        known = functions.setdefault((item.path, _store_of(item)), {})
        number, case = known.setdefault(of[1], len(known)), met[of]
        met[of] += 1
        if _is_new_way(item, number, case, cases[of]):
            kept.append(item)
    return kept


def _function_of(test: pytest.Item) -> tuple[Path, str]:
    return test.path, f"{test.name.partition('[')[0]} on {_store_of(test)}"


def _is_new_way(test: pytest.Item, number: int, case: int, cases: int) -> bool:
    """Whether the case of the function of that number asks the store for what no other one does."""
    if _store_of(test) == "sqlite" or test.get_closest_marker("each"):
        return True
    folder = _folder_of(test)
    if "vault" in _given(test) and folder not in OPERATIONS:
        return True  # of the store itself
    if folder in SHARE:
        return case == 0 and number % SHARE[folder] == 0
    return folder not in REPEATING or cases < MANY or (case + number) % REPEATING[folder] == 0


def _given(test: pytest.Item) -> Collection[str]:
    """What the test works with: all its fixtures, or, where a memory on a vault is asked, those that it names."""
    if isinstance(test, pytest.Function) and test.get_closest_marker("memory"):
        return inspect.signature(test.function).parameters
    return getattr(test, "fixturenames", ())


def _names_its_own(test: pytest.Item) -> bool:
    return any("back_end" in mark.args[0] for mark in test.iter_markers("parametrize"))


def pytest_configure(config: pytest.Config) -> None:
    """Let tests that read a vault beside the memories on it act for somebody; threads that forget it fail."""
    settings.load_profile("long" if config.getoption("--long") else "here")
    caller._CURRENT.set(caller.Caller("tests"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage meanwhile: all that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leave what is there from now on out of garbage collections: thousands of memories come and go beside it."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)  # in the place of 700, 10, 10: they take a twentieth of the time


def pytest_sessionfinish() -> None:
    """Stop the server now: a worker of xdist that takes its time to exit is killed, and would leave it behind."""
    server.stop()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Name what failed once more: of a long output CI shows only the end."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    for report in terminal.getreports("failed") + terminal.getreports("error") if terminal else ():
        terminal.write_line(f"failed: {report.nodeid}")


@pytest.fixture(scope="session")
def back_end(request: pytest.FixtureRequest) -> str:
    """The name of a store that the contract is held against."""
    return request.param


@pytest.fixture
def place(back_end: str, tmp_path: Path) -> Iterator[str]:
    """What `MemoryOS.open` is given to open the store of this test, on each back end in turn."""
    if back_end == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    yield server.store_of(tmp_path).render_as_string()
    server.give_back(tmp_path)


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether time is no matter."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 6, 1, tzinfo=UTC))


@pytest.fixture
def hashing() -> Hashing:
    return Hashing()


@pytest.fixture
def cube(clock: FrozenClock) -> MakeCube:
    """cube(payload, ...): a cube of Alice's, with the next free id."""
    numbers = count(1)

    def make(
        payload: Payload,
        *,
        id: str | None = None,  # noqa: A002 - the name of the field
        scope: Scope | None = None,
        tier: Tier = Tier.STM,
        semantic_type: SemanticType = SemanticType.DIALOGUE,
    ) -> MemCube:
        return MemCube(
            id=id or f"cube-{next(numbers)}",
            scope=scope or Scope(user="alice"),
            tier=tier,
            payload=payload,
            descriptive=Descriptive(
                event_at=clock(),
                recorded_at=clock(),
                updated_at=clock(),
                origin=Origin.USER_INPUT,
                semantic_type=semantic_type,
            ),
            behaviour=Behaviour(last_access=clock()),
        )

    return make


@pytest.fixture
def page(cube: MakeCube, clock: FrozenClock) -> MakeCube:
    """page(text, ...): a page of one user turn; the other arguments are those of `cube`."""

    def make(text: str = "hello", **fields: object) -> MemCube:
        return cube(Page(turns=(Turn(role=Role.USER, text=text, at=clock()),)), **fields)

    return make


@pytest.fixture
def entry(page: MakeCube, hashing: Hashing) -> MakeEntry:
    """entry(text, ...): a page with a vector and its passage, ready to insert."""

    def make(text: str = "hello", **fields: object) -> Entry:
        (made,) = page_entries([page(text, **fields)], hashing)
        return replace(made, vector=hashing.embed([text])[0])

    return make
