"""Recent pages: rules read the pages of STM at once, and a model after a delay.

A page joins a segment when STM has no room for it any more, and a segment is read when it is hot. Rules cost nothing,
so they need not wait for that: what is said outright is known when the page has found its chain. For a model one job
waits for the oldest page. Each page that was read is marked by a link to itself, so that it is not read again with its
segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import JobKind, JobState, Link, LinkKind
from memoryos.kinds import Kind, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.hierarchy.changes import Urgency


def read_early(reader: Reader, pages: Iterable[str]) -> frozenset[str]:
    """Return the pages that were read before they joined a segment, and not yet with it."""
    return frozenset(link.source for link in reader.targets(pages, LinkKind.READ))


def note_early(writer: Writer, pages: Iterable[str], *, joined: Iterable[str] = ()) -> None:
    """Mark these as read before they joined a segment, and unmark those whose segment has been read."""
    writer.link(_marks(writer.get(pages)))  # the others were deleted
    forget_early(writer, joined)


def forget_early(writer: Writer, pages: Iterable[str]) -> None:
    """Remove the marks that say that these pages were read."""
    writer.unlink(writer.targets(pages, LinkKind.READ))


def extracted(reader: Reader, pages: Iterable[str]) -> frozenset[str]:
    """Return the pages that were read with their segment."""
    return frozenset(link.source for link in reader.targets(pages, LinkKind.EXTRACTED))


def note_extracted(writer: Writer, pages: Iterable[str]) -> None:
    """Mark these as read with their segment."""
    writer.link([Link(page, LinkKind.EXTRACTED, page) for page in pages])


def unread_recent(reader: Reader, now: datetime) -> list[MemCube]:
    """The pages of STM that nobody has read, oldest first.

    Those that have expired are not to be read: one on hold stays in STM, and a job about it would come back for ever.
    """
    settled = reader.cubes(Kind.PAGE, tiers=[Tier.STM], marks=[CubeMark.CHAINED])
    early = read_early(reader, [page.id for page in settled])
    return [page for page in settled if page.id not in early and not page.has_expired(now)]


def due_recent(reader: Reader, settings: Settings, now: datetime) -> list[MemCube]:
    """The unread pages of STM, oldest first, once the oldest has waited for long enough.

    Pages with a time in the future (a clock ran ahead) count as due, so that they are not asked for repeatedly.
    """
    pages = unread_recent(reader, now)
    until = _latest(pages[0], settings) if pages else None
    return [] if until is None or (now < until and pages[0].descriptive.recorded_at <= now) else pages


def ask_for_recent(writer: Writer, settings: Settings, now: datetime) -> bool:
    """Add a job that reads the unread pages of STM in time, if there are any; call it when no such job waits."""
    pages = unread_recent(writer, now) if settings.recent_within is not None else []
    if pages:
        at_once = settings.recent_within == 0
        latest = None if at_once else _latest(pages[0], settings)
        writer.enqueue(JobKind.READ_RECENT, [pages[0].id], not_before=latest)
    return bool(pages)


def ask_for_all_recent(writer: Writer, now: datetime) -> None:
    """Add a job that reads the unread pages of STM now, or make the waiting one due."""
    if pages := unread_recent(writer, now):
        asked = writer.asked(JobKind.READ_RECENT)
        waiting = [job.cube_id for job in asked if job.state == JobState.QUEUED]
        writer.enqueue(JobKind.READ_RECENT, waiting[:1] or [pages[-1].id], priority=Urgency.ASKED)


def is_asked_for(reader: Reader) -> bool:
    """Whether a job waits for the pages of STM."""
    return bool(reader.asked(JobKind.READ_RECENT))


def _marks(pages: Iterable[str]) -> Sequence[Link]:
    return [Link(page, LinkKind.READ, page) for page in pages]


def _latest(page: MemCube, settings: Settings) -> datetime | None:
    within = settings.recent_within
    return page.descriptive.recorded_at + timedelta(seconds=within) if within is not None else None
