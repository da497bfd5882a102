"""Recent pages: those of STM are read, too, when nobody has spoken for long.

A page is read once it has joined a segment, and it joins one when STM has no room for it any more. Where the talk has
ended, the last pages would wait for ever. So one job waits for the oldest of them; it reads all of them, and a note
keeps which they are, so that they are not read again with their segment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from memoryos.config import Settings
from memoryos.cube import Kind, MemCube, State, Tier
from memoryos.infrastructure.vault.contract import JobKind, JobState, Reader, Writer

_NOTE = "read_in_stm"


def read_early(reader: Reader) -> frozenset[str]:
    """The pages that were read before they joined a segment, and have not been read with it."""
    return frozenset(json.loads(reader.note(_NOTE) or "[]"))


def note_early(writer: Writer, pages: Iterable[str], *, joined: Iterable[str] = ()) -> None:
    """Keep that these were read before they joined a segment, and forget those whose segment has been read."""
    before = read_early(writer)
    if after := before.union(pages).difference(joined):
        after = frozenset(writer.get(after))  # the others were deleted
    if after != before:
        writer.write_note(_NOTE, json.dumps(sorted(after)) if after else None)


def forget_early(writer: Writer) -> None:
    """Take none for read."""
    writer.write_note(_NOTE, None)


def due_recent(reader: Reader, settings: Settings, now: datetime) -> list[MemCube]:
    """The unread pages of STM, oldest first, once the oldest has waited for long enough.

    One that was added later than now was added by a clock that ran ahead: it would be asked for again and again.
    """
    pages = _unread(reader)
    until = _latest(pages[0], settings) if pages else None
    return [] if until is None or (now < until and pages[0].descriptive.recorded_at <= now) else pages


def ask_for_recent(writer: Writer, settings: Settings) -> bool:
    """Have the unread pages of STM read in time, if there are any; call it when no job waits for them."""
    pages = _unread(writer) if settings.recent_within_seconds is not None else []
    if pages:
        writer.enqueue(JobKind.READ_RECENT, [pages[0].id], not_before=_latest(pages[0], settings))
    return bool(pages)


def is_asked_for(reader: Reader) -> bool:
    """Whether a job waits for the pages of STM."""
    return any(job.kind is JobKind.READ_RECENT for job in reader.jobs(JobState.QUEUED, JobState.LEASED))


def _unread(reader: Reader) -> list[MemCube]:
    early = read_early(reader)
    settled = reader.cubes(Kind.PAGE, tiers=[Tier.STM], states=[State.ACTIVATED])
    return [page for page in settled if page.id not in early]


def _latest(page: MemCube, settings: Settings) -> datetime | None:
    within = settings.recent_within_seconds
    return page.descriptive.recorded_at + timedelta(seconds=within) if within is not None else None
