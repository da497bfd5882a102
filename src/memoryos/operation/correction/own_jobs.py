"""Own jobs: the kinds of jobs that every store does by itself."""

from __future__ import annotations

from collections.abc import Callable

from memoryos.infrastructure.vault.records import JobKind
from memoryos.operation.attachments.parcels import Sweeper
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.brancher import Brancher, BranchJob
from memoryos.operation.correction.deletion_job import DeletionJob
from memoryos.operation.correction.expiry_job import ExpiryJob
from memoryos.operation.correction.merge_job import MergeJob
from memoryos.operation.correction.retention_job import RetentionJob
from memoryos.operation.correction.trim_job import TrimJob
from memoryos.operation.maintenance.archive_job import ArchiveJob
from memoryos.operation.maintenance.repairer import Repairer
from memoryos.operation.recall.sources import Sources
from memoryos.operation.scheduler.job_kinds import JobType, internal
from memoryos.scope import Scope


def own_jobs(
    promoter: Promoter, repairer: Repairer, sources: Sources, brancher: Callable[[Scope], Brancher]
) -> list[JobType]:
    """The kinds with their handlers."""
    asks, vault = promoter.reader is not None, promoter.vault
    return [
        internal(JobKind.EXTRACT, promoter, needs_model=asks),
        internal(JobKind.READ_RECENT, promoter, needs_model=asks),
        internal(JobKind.REPAIR, repairer),
        internal(JobKind.SWEEP, Sweeper(vault)),
        internal(JobKind.ERASE, DeletionJob(promoter, sources, brancher)),
        internal(JobKind.RETAIN, RetentionJob(vault)),
        internal(JobKind.EXPIRE, ExpiryJob(promoter, sources, brancher)),
        internal(JobKind.MERGE, MergeJob(vault, promoter.settings, promoter.clock)),
        internal(JobKind.TRIM, TrimJob(promoter)),
        internal(JobKind.BRANCH, BranchJob(brancher)),
        internal(JobKind.ARCHIVE, ArchiveJob(vault, promoter.clock)),
    ]
