"""Moves: waiting pages find their segments. A move is planned on a snapshot and written if the plan is still valid.

Planning takes ten times as long as writing. So a step plans on a snapshot, then locks the store and writes the plan. If
something that it rests on has changed, it plans again under the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from memoryos.clock import Clock
from memoryos.config import Settings
from memoryos.errors import StoreBusy
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.patience import patience
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.operation.hierarchy.recent import ask_for_all_recent
from memoryos.operation.index.residency import Residency
from memoryos.operation.maintenance.rebuild import Stage, placed, stage_of, write_stage
from memoryos.operation.paging.pager import Pager
from memoryos.operation.recall.visits import Counts
from memoryos.scope import Scope

AT_A_TIME = 64  # pages moved in one transaction
MANY_AT_A_TIME = 128  # when somebody waits for the end: each step also costs what does not depend on its pages
FEW_AT_A_TIME = 8  # when they must be planned under the lock

_TRIES = 4
_EVENTS = 1_000  # more than these since the snapshot, and to plan again is simpler


@dataclass(frozen=True, slots=True)
class Left:
    """The work that is left for an owner after a step."""

    pages: bool
    jobs: bool


@dataclass(frozen=True, slots=True)
class _Plan:
    pager: Pager
    pages: bool  # whether more wait
    sequence: int  # of the last event that it knows
    stage: Stage | None  # of a rebuild
    then: Stage | None  # the one after it


@dataclass
class Mover:
    """Moves the pages of one store."""

    vault: Vault
    residency: Residency
    settings: Settings
    clock: Clock

    def __post_init__(self) -> None:
        self._lock = Lock()  # two threads would plan the same moves

    def step(self, owner: Scope, visits: Counts, settled: Callable[[], None], *, in_a_hurry: bool = False) -> Left:
        """Move some pages and count the visits; `settled` is called under the lock when no page waits."""
        limit = self.vault.pages_at_once(MANY_AT_A_TIME if in_a_hurry else AT_A_TIME)
        with self._alone():
            for _ in range(_TRIES):
                plan = self._planned(owner, visits, limit)
                if plan is None:
                    break
                with self.vault.write(owner) as writer:
                    if (events := self._since(plan, writer)) is not None:
                        return _written(plan, writer, events, settled)
            self._follow(owner)
            with self.vault.write(owner) as writer:  # others are faster
                return _written(self._planned_alone(owner, writer, visits), writer, 0, settled)

    def promote_all(self, owner: Scope) -> None:
        """Queue the extraction of all segments with new pages, hot or not, and of the pages of STM."""
        self._follow(owner)
        with self.vault.write(owner) as writer:
            pager = self._pager(owner, writer)
            pager.promote_all()
            pager.flush(writer)
            ask_for_all_recent(writer, self.clock())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not patience(self.settings.busy_timeout_seconds).takes(self._lock):
            raise StoreBusy("another thread of this process is moving pages; try again")
        try:
            yield
        finally:
            self._lock.release()

    def _follow(self, owner: Scope) -> None:
        """Load the index, or follow what was written, beside others: under the lock only what came since is left."""
        with self.vault.read(owner) as reader:
            self.residency.following(owner, reader)

    def _planned(self, owner: Scope, visits: Counts, limit: int) -> _Plan | None:
        """Plan the moves on a snapshot; None if the segments must be formed again, which needs a writer."""
        with self.vault.read(owner) as reader:
            pager = self._pager(owner, reader)
            if pager.asks_for_other_segments:
                return None
            plan = _plan(pager, reader, visits, limit)
        pager.changes.prepare()
        return plan

    def _planned_alone(self, owner: Scope, writer: Writer, visits: Counts) -> _Plan:
        """Plan a few moves under the lock; none if a young scope forms its segments again."""
        pager = self._pager(owner, writer)
        if not pager.asks_for_other_segments:
            return _plan(pager, writer, visits, FEW_AT_A_TIME)
        pager.form_anew(writer)
        pager.visit(visits)
        stage = stage_of(writer)
        return _Plan(pager, True, 0, stage, stage)

    def _since(self, plan: _Plan, writer: Writer) -> int | None:
        """The number of pages added since the plan was made; None if the plan is no longer valid."""
        if stage_of(writer) != plan.stage:
            return None
        events = writer.events(after=plan.sequence, limit=_EVENTS + 1)
        harmless = all(event.kind is Kind.PAGE and event.operation is Operation.ADD for event in events)
        return len(events) if harmless and len(events) <= _EVENTS else None

    def _pager(self, owner: Scope, reader: Reader) -> Pager:
        return Pager(reader, self.residency.following(owner, reader), self.settings, self.clock())


def _plan(pager: Pager, reader: Reader, visits: Counts, limit: int) -> _Plan:
    stage = stage_of(reader)
    pager.visit(visits)
    more, then = placed(stage, pager.move, limit)
    return _Plan(pager, more, reader.sequence(), stage, then)


def _written(plan: _Plan, writer: Writer, events: int, settled: Callable[[], None]) -> Left:
    jobs = plan.pager.flush(writer)
    if plan.then != plan.stage:
        write_stage(writer, plan.then)
    pages = plan.pages or events > 0
    if not pages:  # noted while the store is locked: what comes in later is noted later
        settled()
    return Left(pages, jobs)
