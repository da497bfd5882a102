"""How long each operation holds the write lock: in an ordinary scope, and in those that somebody made to be slow.

On SQLite a writer keeps all others waiting, whoever they are. So long work is planned beside them and written in
steps; here every step is timed, from when it has the lock until it lets go, with the commit. The hostile scope is one
talk about one thing, which is one segment and one chain, with facts that rest on every page; a page that fills one slot
1,000 times, 400 pages that fill it once each, and pages of 400,000 and 1,000,000 characters. The last operations are
`forget` of everything and `load` of all that was exported before. `undo` is measured if `repair` moved pages. In the
scope of one slot each page is one fact that follows all others: so they are one succession, and one profile field rests
on every page and has as many versions.

A large scope may be measured in parts: pages are added and read each time, because everything else needs them, and of
the rest only what was chosen is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.timing import percentiles
from memoryos.clock import system_clock
from memoryos.config import JobsRun, Settings
from memoryos.cube import Turn
from memoryos.engine import Engine
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault.locks import Hold
from memoryos.infrastructure.vault.place import database_url, is_url, open_vault
from memoryos.kinds import Role
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.operation.scheduler.step import some_at_a_time

BOUND_MS = 50.0  # of the lock in one step

SINGLE = 100  # pages added one by one
CHANGED = 10  # pages updated, and as many deleted
AT_ONCE = 64  # pages in one add_many
STATEMENTS = 1_000  # of one slot, on one page
NAMING = 400  # pages that name the slot
STATED = 10  # facts stated one by one, and as many proposals accepted
PUBLISHED = 100  # facts of one slot, published at once
TOGETHER = 200  # pages of a session that is forgotten, and as many that expire
DOUBLES = 100  # pages that become one
HUGE_CHARS = 400_000
BOOK_CHARS = 1_000_000

WAIT_SECONDS = 600.0  # for what goes on beside the calls, at least: a busy machine takes its time

BESIDE = "memoryos-housekeeping"  # the name of the thread that moves pages beside the calls

_SEED = 1
_USER = "ann"


class ScopeKind(StrEnum):
    """The kinds of scopes."""

    ORDINARY = "ordinary"
    HOSTILE = "hostile"
    ONE_SLOT = "one-slot"  # each page says one thing, and all of them exclude each other


USUAL = (ScopeKind.ORDINARY, ScopeKind.HOSTILE)  # what is measured unless told otherwise


class Locking(StrEnum):
    """What can be measured by itself."""

    ADD = "add"  # with the moves of what was added
    CONSOLIDATE = "consolidate"
    UPDATE = "update"
    DELETE = "delete"
    REPAIR = "repair"  # and undo
    REBUILD = "rebuild"
    FACTS = "facts"  # stated, published and accepted
    STATES = "states"  # frozen, thawed, on hold and with other labels
    DUPLICATES = "duplicates"
    EXPIRE = "expire"
    SESSION = "session"
    BRANCH = "branch"
    SNAPSHOT = "snapshot"
    SEGMENT = "segment"
    BOOK = "book"
    FORGET = "forget"  # and load


_ALWAYS = (Locking.ADD, Locking.CONSOLIDATE)  # done, and told only if they were chosen


@dataclass(frozen=True, slots=True)
class Held:
    """The steps of one operation."""

    steps: int
    seconds: float  #: that all of it took, also what was planned beside others
    p95_ms: float  #: of the lock
    longest_ms: float
    longest_cpu_ms: float  #: of the thread that had it: on a busy machine the rest is spent waiting
    longest_work_ms: float  #: of its CPU without the garbage that Python collected meanwhile
    p95_work_ms: float
    over: int  #: the steps with more work than the bound

    @classmethod
    def of(cls, holds: Sequence[Hold], seconds: float) -> Held:
        """Sum up."""
        times = [1_000 * hold.seconds for hold in holds] or [0.0]
        cpu = max((1_000 * hold.cpu_seconds for hold in holds), default=0.0)
        work = [1_000 * (hold.cpu_seconds - hold.collecting_seconds) for hold in holds] or [0.0]
        over = sum(one > BOUND_MS for one in work)
        return cls(len(holds), seconds, _p95(times), max(times), cpu, max(work), _p95(work), over)


def _p95(times: Sequence[float]) -> float:
    return percentiles(times, 95)["p95"]


@dataclass(frozen=True, slots=True)
class _Task:
    """Work that is measured under a name, with the name of what goes on beside it."""

    part: Locking
    name: str
    work: Callable[[], object]
    beside: str | None = None


@dataclass(frozen=True, slots=True)
class Locked:
    """The measurements in one scope."""

    kind: ScopeKind
    pages: int
    held: Mapping[str, Held]  #: by operation


@dataclass
class _Meter:
    """The holds of each operation. What moves pages is told from what adds them by its thread."""

    held: dict[str, Held] = field(default_factory=dict)
    _mine: list[Hold] = field(default_factory=list)
    _others: list[Hold] = field(default_factory=list)

    def note(self, hold: Hold) -> None:
        is_beside = threading.current_thread().name.startswith(BESIDE)
        (self._others if is_beside else self._mine).append(hold)

    @contextmanager
    def measuring(self, operation: str, beside: str | None = None) -> Iterator[None]:
        """All holds are those of the operation, but for those `beside` it in other threads."""
        self._mine.clear()
        self._others.clear()
        start = perf_counter()
        yield
        seconds = perf_counter() - start
        if beside is None:
            self.held[operation] = Held.of([*self._mine, *self._others], seconds)
        else:
            self.held[operation] = Held.of(self._mine, seconds)
            self.held[beside] = Held.of(self._others, seconds)


def measure(
    kinds: Sequence[ScopeKind],
    pages: int,
    settings: Settings,
    progress: Progress = unwatched,
    *,
    db: str | None = None,
    parts: Collection[Locking] = tuple(Locking),
) -> Iterator[Locked]:
    """Measure one scope after the other: each in a file that is gone afterwards, or for a user of its own in `db`."""
    embedder = load_embedder(settings.embedder, settings)
    wait = max(settings.busy_timeout_seconds, WAIT_SECONDS)
    # Jobs run when they are measured, and nothing fails because what goes on beside it takes long.
    chosen = settings.model_copy(update={"jobs": JobsRun.WORKER, "busy_timeout_seconds": wait})
    for kind in kinds:
        with TemporaryDirectory(prefix="memoryos-bench-") as folder:
            place = db or str(Path(folder) / "locks.db")
            yield Locked(kind, pages, _measured(kind, pages, chosen, embedder, place, progress, parts))


def _measured(
    kind: ScopeKind,
    pages: int,
    settings: Settings,
    embedder: Embedder,
    place: str,
    progress: Progress,
    parts: Collection[Locking],
) -> dict[str, Held]:
    meter = _Meter()
    vault = open_vault(
        database_url(place) if is_url(place) else Path(place),
        embedder=embedder.name,
        clock=system_clock,
        busy_timeout_seconds=settings.busy_timeout_seconds,
        key=EncryptionKey.of(settings),
    )
    with MemoryOS(Engine(vault, embedder, settings=settings)) as store:
        memory = store.memory(f"{_USER}-{kind.value}")
        memory.add("warm up")
        memory.consolidate()
        memory.wait()
        vault.on_lock = meter.note
        for task in _tasks(kind, pages, store, memory, {*parts, *_ALWAYS}):
            progress(f"{kind.value}: {task.name}", 0, 1)
            with meter.measuring(task.name, task.beside) if task.part in parts else nullcontext():
                task.work()
            progress(f"{kind.value}: {task.name}", 1, 1)
        vault.on_lock = None
    return meter.held


def _tasks(kind: ScopeKind, pages: int, store: MemoryOS, memory: Memory, parts: Collection[Locking]) -> Iterator[_Task]:
    """What is measured of these parts, in this order."""
    special: list[str] = []
    yield from _of_intake(kind, pages, store, memory, special)
    ids = [page.id for page in memory.pages.list()]
    some = ids[:: max(1, len(ids) // (2 * CHANGED))][: 2 * CHANGED]
    if Locking.UPDATE in parts:
        yield _Task(
            Locking.UPDATE, "update", partial(_each, some[:CHANGED], memory.update, "I moved to Lisbon and like jazz.")
        )
        if special:
            yield _Task(Locking.UPDATE, "update, special pages", lambda: memory.update(special[0], "I live in Lisbon."))
    if Locking.DELETE in parts:
        yield _Task(Locking.DELETE, "delete, a page", partial(_each, some[CHANGED:], memory.delete))
        if special:
            yield _Task(Locking.DELETE, "delete, special pages", partial(_each, special[1:], memory.delete))
    for part, tasks in _LATER.items():
        if part in parts:
            yield from tasks(kind, store, memory)


def _of_intake(kind: ScopeKind, pages: int, store: MemoryOS, memory: Memory, special: list[str]) -> Iterator[_Task]:
    """Pages are added, moved and read; the ids of the hostile ones are put into `special`."""
    said = _SAID[kind](pages)
    single, loaded = said[:SINGLE], said[SINGLE:]

    def add() -> None:
        for turns in single:
            memory.add_many(turns)

    def add_many() -> None:
        for some in some_at_a_time(loaded, AT_ONCE):
            memory.add_many([turn for page in some for turn in page])
        if kind is ScopeKind.HOSTILE:
            special.extend(_add_special(memory))
        memory.wait()

    yield _Task(Locking.ADD, "add", add, "move (a few at a time)")
    yield _Task(Locking.ADD, f"add_many, {AT_ONCE} pages", add_many, "move")
    yield _Task(Locking.CONSOLIDATE, "consolidate", lambda: _consolidated(store, memory))


def _of_repair(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    moved: list[int] = []
    yield _Task(Locking.REPAIR, "repair", lambda: moved.extend(memory.upkeep.repair().events))
    if moved:
        yield _Task(Locking.REPAIR, "undo", lambda: memory.upkeep.undo(*moved))


def _of_rebuild(_: ScopeKind, store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    yield _Task(Locking.REBUILD, "rebuild", lambda: _rebuilt(store, memory))


def _of_statements(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    """Facts of the slot that the hostile pages fill."""
    villages = [f"I live in Village{number}." for number in range(PUBLISHED)]
    ports = [f"I live in Port{number}." for number in range(STATED)]
    yield _Task(Locking.FACTS, "facts.add", partial(_each, ports, memory.facts.add))
    yield _Task(Locking.FACTS, "proposals.publish", partial(memory.proposals.publish, villages, source="a registry"))
    waiting = [one.id for one in memory.proposals.list()[:STATED]]
    yield _Task(Locking.FACTS, "proposals.accept", partial(_each, waiting, memory.proposals.accept))


def _of_states(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    """Facts, among them those that rest on most pages, and the largest segment; then some pages."""
    largest = max(memory.segments.list(archive=True), key=lambda view: len(view.page_ids)).cube.id
    known, pages, may = memory.facts.list(limit=CHANGED), memory.pages.list(limit=CHANGED), memory.governance
    ids = [*(fact.id for fact in known), largest]

    def hold_and_release(one: str) -> None:
        may.release(may.hold(reason="measured", memory=one).id)

    yield _Task(Locking.STATES, "governance.freeze", partial(_each, ids, may.freeze))
    yield _Task(Locking.STATES, "governance.thaw", partial(_each, ids, may.thaw))
    yield _Task(Locking.STATES, "governance.hold; release", partial(_each, ids, hold_and_release))
    relabel = partial(may.relabel, sensitivity=["measured"])
    yield _Task(Locking.STATES, "governance.relabel", partial(_each, [page.id for page in pages], relabel))


def _of_doubles(_: ScopeKind, store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    """Pages that become one, and again several."""
    doubles = memory.add_many([Turn(role=Role.USER, text="I like green tea.") for _ in range(DOUBLES)])
    _consolidated(store, memory)
    some = doubles[1 : CHANGED + 1]
    yield _Task(
        Locking.DUPLICATES, f"duplicates.merge, {len(doubles):,} pages", lambda: memory.duplicates.merge(doubles)
    )
    yield _Task(
        Locking.DUPLICATES,
        f"duplicates.unmerge, {len(some):,} pages",
        partial(_each, some, memory.duplicates.unmerge),
    )


def _of_expired(kind: ScopeKind, store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    ended = _added(kind, store, memory)
    each = partial(_each, ended, memory.governance.expire)
    yield _Task(Locking.EXPIRE, f"governance.expire, {len(ended):,} pages", each)
    yield _Task(Locking.EXPIRE, "sweep of what expired", memory.jobs.run)


def _of_session(kind: ScopeKind, store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    session = memory.of(replace(memory.scope, session="one"))
    _added(kind, store, session)
    yield _Task(Locking.SESSION, "forget, a session", session.forget)


def _added(kind: ScopeKind, store: MemoryOS, memory: Memory) -> list[str]:
    """More pages of the same kind, which are read."""
    said = _SAID[kind](TOGETHER)
    added = memory.add_many([turn for page in said for turn in page])
    _consolidated(store, memory)
    return added


def _of_branch(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    """A branch of all that is there."""
    yield _Task(Locking.BRANCH, "branches.create", lambda: memory.branches.create("trial"))
    yield _Task(Locking.BRANCH, "branches.discard", lambda: memory.branches.discard("trial"))


def _of_snapshot(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    yield _Task(Locking.SNAPSHOT, "snapshots.create", lambda: memory.snapshots.create("before"))
    yield _Task(Locking.SNAPSHOT, "snapshots.remove", lambda: memory.snapshots.remove("before"))


def _of_segment(_: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    largest = max(memory.segments.list(archive=True), key=lambda view: len(view.page_ids))
    name = f"delete, a segment of {len(largest.page_ids):,} pages"
    yield _Task(Locking.SEGMENT, name, lambda: memory.delete(largest.cube.id))


def _of_a_book(kind: ScopeKind, _store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    """A page as large as a book, stored and changed; `forget` finds both of its versions."""
    size, ids = f"a page of {BOOK_CHARS:,} characters", list[str]()

    def add() -> None:
        ids.append(memory.add(_long_text(BOOK_CHARS)))
        memory.wait()

    def update() -> None:
        memory.update(ids[0], "Erratum. " + _long_text(BOOK_CHARS))
        memory.wait()

    if kind is ScopeKind.HOSTILE:
        yield _Task(Locking.BOOK, f"add, {size}", add)
        yield _Task(Locking.BOOK, f"update, {size}", update)


def _of_the_end(_: ScopeKind, store: MemoryOS, memory: Memory) -> Iterator[_Task]:
    with TemporaryDirectory(prefix="memoryos-bench-") as folder:
        file = Path(folder) / "export.jsonl"
        memory.export(file)
        yield _Task(Locking.FORGET, "forget", memory.forget)
        yield _Task(Locking.FORGET, "load", partial(store.admin.load, file))


_LATER: Mapping[Locking, Callable[[ScopeKind, MemoryOS, Memory], Iterator[_Task]]] = {
    Locking.REPAIR: _of_repair,
    Locking.REBUILD: _of_rebuild,
    Locking.FACTS: _of_statements,
    Locking.STATES: _of_states,
    Locking.DUPLICATES: _of_doubles,
    Locking.EXPIRE: _of_expired,
    Locking.SESSION: _of_session,
    Locking.BRANCH: _of_branch,
    Locking.SNAPSHOT: _of_snapshot,
    Locking.SEGMENT: _of_segment,
    Locking.BOOK: _of_a_book,
    Locking.FORGET: _of_the_end,
}


def _each(pages: Sequence[str], change: Callable[..., object], *words: str) -> None:
    for page in pages:
        change(page, *words)


def _consolidated(store: MemoryOS, memory: Memory) -> None:
    memory.consolidate()
    store.admin.work(threading.Event(), poll_seconds=None)


def _rebuilt(store: MemoryOS, memory: Memory) -> None:
    memory.upkeep.rebuild()
    store.admin.work(threading.Event(), poll_seconds=None)


Page = Sequence[Turn]


def _dialogue(pages: int) -> list[Page]:
    turns = Dialogue(_SEED).session(pages)
    return [turns[start : start + 2] for start in range(0, len(turns), 2)]


def _hostile(pages: int) -> list[Page]:
    """An endless dialogue about one topic."""
    text = "I like green tea and I play chess with my brother Tom."
    return [[Turn(role=Role.USER, text=f"{text} Game {number}.")] for number in range(pages)]


def _one_slot(pages: int) -> list[Page]:
    return [[Turn(role=Role.USER, text=f"I live in Town{number}.")] for number in range(pages)]


_SAID: Mapping[ScopeKind, Callable[[int], list[Page]]] = {
    ScopeKind.ORDINARY: _dialogue,
    ScopeKind.HOSTILE: _hostile,
    ScopeKind.ONE_SLOT: _one_slot,
}


def _add_special(memory: Memory) -> list[str]:
    """The special hostile pages."""
    statements = " ".join(f"I live in Town{number}." for number in range(STATEMENTS))
    naming = [Turn(role=Role.USER, text=f"I live in City{number}.") for number in range(NAMING)]
    first, second = (memory.add(f"{name} speaks. {statements}") for name in ("Ann", "Ben"))
    return [first, second, *memory.add_many(naming)[:: NAMING // CHANGED], memory.add(_long_text(HUGE_CHARS))]


def _long_text(chars: int) -> str:
    return " ".join(f"Word{number} of a very long text." for number in range(chars // 24))[:chars]
