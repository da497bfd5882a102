"""Expiry job: removes the memories of a scope whose lifespan has ended, with all that rests on them alone.

One job waits for each scope, until the next memory expires there. The transaction that writes a memory with an end adds
it, so a crash loses neither. Each memory goes by the way of a deletion, its copies in branches first. One that is
frozen or on hold, or that keeps such a memory, stays hidden. A thaw or a release adds the job again; as it may be in
another scope, or come while the job runs, the job also looks again by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memoryos.errors import CubeProtected, MemoryOSError, NotFound, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.vault.contract import Vault, Writer
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.kinds import Kind
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.copies import Copies
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.swept import note_swept
from memoryos.operation.recall.sources import Sources
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import some_at_a_time
from memoryos.scope import Scope

AT_ONCE = 64  # pages that go between two looks at who else waits
LOOK_AGAIN = timedelta(hours=1)  # after which what could not go is looked at again


@dataclass(frozen=True)
class ExpiryJob:
    """Runs jobs of the kind `EXPIRE`."""

    promoter: Promoter
    sources: Sources
    brancher: Callable[[Scope], Brancher]
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Remove what has expired, and wait for what expires next.

        Raises the first ObjectsUnreachable or StoreCorrupt about a memory, when the others are removed.
        """
        sweep = _Sweep(self.promoter, Corrector(self.promoter, scope), Copies(self.brancher(scope)))
        for some in sweep.batches():
            if not goes_on():
                return jobs
            sweep.remove(some)
        self.sources.follow_erasure(scope.owner)
        if sweep.failures:
            raise sweep.failures[0]
        with self.promoter.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if (due := self._due(writer, sweep.kept)) is not None:
                writer.enqueue(JobKind.EXPIRE, not_before=due)
        return ()

    def _due(self, writer: Writer, kept: Collection[str]) -> datetime | None:
        """When to look next; None if nothing has expired or will."""
        now, expired, following = self.promoter.clock(), writer.expired(), writer.next_expiry()
        if any(cube_id not in kept for cube_id in expired):
            return now
        moments = [now + LOOK_AGAIN] if expired else []
        return min([*moments, *([following] if following else [])], default=None)


@dataclass
class _Sweep:
    """One look at what has expired: what goes, and what stays."""

    promoter: Promoter
    corrector: Corrector
    copies: Copies
    kept: set[str] = field(default_factory=set)  #: expired no more, or frozen, on hold or below such a memory
    failures: list[MemoryOSError] = field(default_factory=list)
    _pages: frozenset[str] = frozenset()  # all that go

    def batches(self) -> list[Sequence[str]]:
        """What goes, in batches: the last pages first, and then other memories one by one."""
        with self._vault.read(self._scope) as reader:
            expired = reader.expired()
            self.kept.update(reader.retention.held(expired))
            kinds = reader.kinds(expired)
        waiting = [one for one in expired if one not in self.kept]
        pages = sorted(one for one in waiting if kinds.get(one) is Kind.PAGE)  # as they were added
        free = [self._free(some) for some in some_at_a_time(pages, AT_ONCE)]
        self._pages = frozenset(page for some in free for page in some)
        others = [[one] for one in waiting if kinds.get(one) is not Kind.PAGE]
        return [*filter(None, reversed(free)), *others]

    def remove(self, some: Sequence[str]) -> None:
        """Remove memories that are still there and still expired; if not all of them may go, one by one."""
        try:
            self._remove(some)
        except NotFound:  # it went with another one
            return
        except (CubeProtected, ObjectsUnreachable, StoreCorrupt) as error:
            if len(some) > 1:
                for one in reversed(some):
                    self.remove([one])
            elif isinstance(error, CubeProtected):
                self.kept.update(some)
            else:
                self.failures.append(error)

    def _free(self, pages: Sequence[str]) -> list[str]:
        """Those of these pages that may go; the others are kept."""
        try:
            self.corrector.refuse_frozen(pages)
        except CubeProtected:
            if len(pages) > 1:
                return [page for one in pages for page in self._free([one])]
            self.kept.update(pages)
            return []
        return list(pages)

    def _remove(self, some: Sequence[str]) -> None:
        with self._vault.read(self._scope) as reader:
            known = reader.get(some)  # a damaged one is missing, and its columns told
        now = self.promoter.clock()
        gone = [one for one in some if one not in known or known[one].has_expired(now)]
        self.kept.update(set(some).difference(gone))
        swept = [name for one in gone if one in known for name in known[one].descriptive.source_ids]
        pages = [one for one in gone if one in self._pages]
        self.corrector.refuse_frozen(pages, gone)  # before copies go, and names are noted
        self.copies.removed(gone, lambda: self._delete(gone, swept))

    def _delete(self, gone: Sequence[str], swept: Sequence[str]) -> None:
        if swept:
            with self._vault.write(self._scope) as writer:  # before the pages go, for a crash in between
                note_swept(writer, swept)
        if self._pages.issuperset(gone):
            self.corrector.delete_pages(gone, self._pages - self.kept)
        else:
            for one in gone:
                self.corrector.delete(one)

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    @property
    def _scope(self) -> Scope:
        return self.corrector.scope
