"""Rereading: a page is read again if its correction was cut short.

Of what a page says very much, some is derived again before the page has its new words. If these never come, because the
update was refused or the process died, the page still says what nobody believes of it any more: a job reads it again.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.scope import Scope

REREAD_AFTER = timedelta(minutes=10)  # longer than an update takes


def reread_unless_changed(vault: Vault, home: Scope, page: MemCube, now: datetime) -> None:
    """Have a page read again in a while, unless it has other words by then."""
    with vault.write(home) as writer:
        writer.enqueue(JobKind.EXTRACT, [page.id], payload=_version_of(page), not_before=now + REREAD_AFTER)


def is_to_be_read(page: MemCube, job: Job) -> bool:
    """Whether the page has the words that the job is to read."""
    return job.payload in (None, _version_of(page))


def _version_of(page: MemCube) -> dict[str, int]:
    return {"version": page.version.number}
