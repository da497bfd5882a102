"""The queue: an owner's jobs in the table `jobs`, part of the transaction that causes or ends them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
)
from uuid_utils.compat import uuid7

from memoryos.clock import Clock, from_micros, micros
from memoryos.errors import LeaseLost
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.job_channel import signal
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.records import AskedJob, Job, JobKind, JobState
from memoryos.infrastructure.vault.statements import ask, insert_rows, update_job
from memoryos.infrastructure.vault.tables import OWNER

LONGEST_DELAY = timedelta(days=400)  # of a job that failed: a longer delay was set by a clock that ran ahead
LONGEST_LEASE = timedelta(hours=1)

_jobs = tables.jobs
_UNFINISHED = (JobState.QUEUED, JobState.LEASED)
_OURS = frozenset(JobKind)
_READING = frozenset({JobKind.EXTRACT.value, JobKind.READ_RECENT.value})  # they may share a model's call


class _Row(NamedTuple):
    """A job as it is stored; moments are microseconds since the epoch."""

    id: str
    kind: str
    cube_id: str | None
    state: str
    attempts: int
    created_at: int
    lease_until: int | None
    error: str | None
    priority: int
    not_before: int | None
    payload: str | None  #: as `_written` writes it


# SQLite keeps text in a column for numbers, where it is more than any of them: what is damaged so is no job any more.
_numbers = {"attempts": 2**31 - 1, "priority": 2**31 - 1} | dict.fromkeys(
    ("created_at", "lease_until", "not_before"), 2**63 - 1
)
has_numbers = and_(*(or_(_jobs.c[name].is_(None), _jobs.c[name] <= most) for name, most in _numbers.items()))
_is_unfinished = and_(or_(*(_jobs.c.state == state.value for state in _UNFINISHED)), has_numbers)
_mine = [_jobs.c[name] == bindparam(name) for name in OWNER]
_JOBS = (  # of an owner, in the states that are the `ids`
    select(*(_jobs.c[name] for name in _Row._fields))
    .where(*_mine, _jobs.c.state.in_(bindparam("ids", expanding=True)), has_numbers)
    .order_by(_jobs.c.created_at, _jobs.c.id)
)
_ASKED = (  # as in `records.AskedJob`
    select(*(_jobs.c[name] for name in AskedJob._fields))
    .where(*_mine, _is_unfinished)
    .order_by(_jobs.c.created_at, _jobs.c.id)
)
_ASKED_OF = _ASKED.where(_jobs.c.kind.in_(bindparam("ids", expanding=True)))
_ABOUT = (  # the unfinished jobs of a kind, on the cubes that are the `ids`
    select(*(_jobs.c[name] for name in _Row._fields))
    .where(*_mine, _is_unfinished, _jobs.c.kind == bindparam("kind"))
    .where(_jobs.c.cube_id.in_(bindparam("ids", expanding=True)))
    .order_by(_jobs.c.created_at, _jobs.c.id)
)
_ALIKE = (  # the unfinished jobs of a kind, about the scope, with a payload ("": with none)
    select(*(_jobs.c[name] for name in _Row._fields))
    .where(*_mine, _is_unfinished, _jobs.c.kind == bindparam("kind"), _jobs.c.cube_id.is_(None))
    .where(func.coalesce(_jobs.c.payload, "") == bindparam("payload"))
    .order_by(_jobs.c.created_at, _jobs.c.id)
)
_LATEST = (  # the latest job of a kind, with one of the payloads that are the `ids`
    select(*(_jobs.c[name] for name in _Row._fields))
    .where(*_mine, has_numbers)
    .where(_jobs.c.kind == bindparam("kind"), _jobs.c.payload.in_(bindparam("ids", expanding=True)))
    .order_by(_jobs.c.created_at.desc(), _jobs.c.id.desc())
    .limit(1)
)
_RANK = (
    _jobs.c.priority.desc(),
    case((_jobs.c.kind == JobKind.READ_RECENT.value, 1), else_=0),  # pages of STM come after those that have left it
    _jobs.c.created_at,
    _jobs.c.id,
)
_DAMAGED = "StoreCorrupt: the payload of the job is damaged: run `memoryos verify`, or restore from a backup"
_WITHOUT_PAYLOAD = frozenset({JobKind.ERASE.value, JobKind.EXPIRE.value})
_CUBES_AT_ONCE = 5_000  # named in one statement

# The conditions of `lease`, with the moments of `_moments`: statements made anew take longer than to run them.
_believed: BindParameter[int] = bindparam("believed")
_now: BindParameter[int] = bindparam("now")
_is_leased = and_(  # with a lease that has not expired
    _jobs.c.state == JobState.LEASED.value, _jobs.c.lease_until >= _now, _jobs.c.lease_until <= bindparam("longest")
)
_is_asked = and_(_jobs.c.attempts == 0, _jobs.c.created_at <= _believed)
_rests = and_(_jobs.c.not_before > _now, or_(_jobs.c.not_before <= _believed, _is_asked))
_is_due = or_(  # where no job of the owner is held
    and_(_jobs.c.state == JobState.QUEUED.value, or_(_jobs.c.not_before.is_(None), ~_rests)),
    and_(_jobs.c.state == JobState.LEASED.value, ~_is_leased),
)
_FIRST = (  # so many of the owner's jobs: the others, however many, are not read
    select(*(_jobs.c[name] for name in _Row._fields)).where(*_mine).order_by(*_RANK).limit(bindparam("limit"))
)
_is_of = _jobs.c.kind.in_(bindparam("ids", expanding=True))
_is_fresh = _jobs.c.attempts == 0
_HELD = _FIRST.where(_is_unfinished, _is_leased)
_DUE = _FIRST.where(_is_unfinished, _is_due)
_DUE_OF = _DUE.where(_is_of)
_FRESH_OF = _DUE_OF.where(_is_fresh)
_EARLY_OF = _FIRST.where(_jobs.c.state == JobState.QUEUED.value, has_numbers, ~_is_due, _is_of, _is_fresh)


def _of_owners(due: ColumnElement[bool]) -> Select[Any]:
    """The owners with such jobs and none that is held, the one with the oldest of these first."""
    owner = [_jobs.c[name] for name in OWNER]
    oldest = func.min(case((due, _jobs.c.created_at)))
    is_held = func.max(case((_is_leased, 1), else_=0))
    return (
        select(*owner)
        .where(_is_unfinished)
        .group_by(*owner)
        .having(oldest.is_not(None), is_held == 0)
        .order_by(oldest, *owner)
    )


_WAITING, _WAITING_FOR = _of_owners(_is_due), _of_owners(and_(_is_due, _is_of))


class WantedJob(NamedTuple):
    """The kind, payload, priority and time of a new job."""

    kind: str
    payload: Mapping[str, Any] | None = None
    priority: int = 0
    not_before: datetime | None = None
    is_anew: bool = False  #: one that failed, and waits, begins anew


def new_job(owner: Mapping[str, str], wanted: WantedJob, cube_id: str | None, now: datetime) -> dict[str, Any]:
    """The row of a job that waits."""
    return {
        **owner,
        "id": str(uuid7()),
        "kind": str(wanted.kind),
        "cube_id": cube_id,
        "state": JobState.QUEUED.value,
        "attempts": 0,
        "created_at": micros(now),
        "lease_until": None,
        "error": None,
        "priority": wanted.priority,
        "not_before": micros(wanted.not_before) if wanted.not_before else None,
        "payload": _written(wanted.payload),
    }


class Queue:
    """The jobs of one owner, within one transaction; `known` are the kinds that this process can do, None: all."""

    def __init__(
        self, connection: Connection, owner: dict[str, str], clock: Clock, known: Collection[str] | None = None
    ) -> None:
        self._connection = connection
        self._owner = owner
        self._clock = clock
        self._known = known

    def jobs(self, states: Sequence[JobState]) -> list[Job]:
        """The jobs in these states, oldest first."""
        return [_job_of(row) for row in self._rows(states or tuple(JobState))]

    def latest(self, kind: str, payloads: Sequence[Mapping[str, Any]]) -> Job | None:
        """The latest job of the kind, in whatever state, with one of these payloads."""
        values = {**self._owner, "kind": str(kind)}
        written = [text for one in payloads if (text := _written(one)) is not None]
        return next((_job_of(_Row._make(row)) for row in ask(self._connection, _LATEST, values, written)), None)

    def asked(self, kinds: Collection[str] = ()) -> list[AskedJob]:
        """The waiting and running jobs, of some kinds or of all, oldest first."""
        found = ask(self._connection, _ASKED_OF if kinds else _ASKED, self._owner, [str(kind) for kind in kinds])
        return list(map(AskedJob._make, found))

    def next_due(self) -> datetime | None:
        """The time at which the next job can be leased."""
        now = self._clock()
        rows = self._unfinished()
        doable = [row for row in rows if self._is_known(row)]
        held = [until for row in rows if (until := _held_until(row, now))] if doable else []
        moments = held or [max(_due_at(row, now), micros(now)) for row in doable]
        return from_micros(min(moments)) if moments else None

    def enqueue(self, wanted: WantedJob, cube_ids: Iterable[str | None]) -> list[str]:
        """Add a job for each cube, or None for the scope; hasten or raise one that waits already; returns their ids."""
        cubes = list(dict.fromkeys(cube_ids))
        waiting, now = self._waiting(wanted, cubes), self._clock()
        rows = [new_job(self._owner, wanted, cube_id, now) for cube_id in cubes if cube_id not in waiting]
        insert_rows(self._connection, _jobs, rows)
        hastened = [self._hasten(job, wanted) for job in waiting.values()]
        if (rows or any(hastened)) and (wanted.not_before is None or wanted.not_before <= now):
            signal(self._connection)
        return [*(job.id for job in waiting.values()), *(row["id"] for row in rows)]

    def drop_all(self) -> int:
        """Remove the owner's jobs except those of the kind SWEEP; return how many."""
        mine = (_jobs.c[name] == value for name, value in self._owner.items())
        gone = delete(_jobs).where(*mine, _jobs.c.kind != JobKind.SWEEP.value)
        return self._connection.execute(gone).rowcount

    def lease(self, *, lasting: timedelta, limit: int, early: Collection[str]) -> list[Job]:
        """Lease the due jobs and their companions, of one kind or all reading pages; those that failed come alone.

        One with a damaged payload is set aside, as a dead job: it stopped all others of its owner.
        """
        now = self._clock()
        if self._first(_HELD, 1, now):
            return []
        while self._set_aside(chosen := self._chosen(limit, early, now)):
            pass
        return [self._taken(row, now, lasting) for row in chosen]

    def release(self, job: Job) -> None:
        """End our lease as if there had been none."""
        self._release(job, {"state": JobState.QUEUED.value, "lease_until": None, "attempts": job.attempts - 1})
        signal(self._connection)

    def extend(self, job: Job, *, lasting: timedelta) -> None:
        """Extend our lease."""
        self._release(job, {"lease_until": micros(self._clock() + lasting)})

    def finish(self, job: Job) -> None:
        """End our lease; the job is done."""
        self._release(job, {"state": JobState.DONE.value, "lease_until": None, "error": None})

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """End our lease; the job waits, or is dead."""
        state = JobState.QUEUED if retry_at else JobState.DEAD
        later = micros(retry_at) if retry_at else None
        self._release(job, {"state": state.value, "lease_until": None, "error": error, "not_before": later})

    def retry(self, job_ids: Sequence[str]) -> int:
        """Put dead jobs back."""
        again = {"state": JobState.QUEUED.value, "attempts": 0, "not_before": None}
        tried = sum(self._set(job_id, again, state=JobState.DEAD.value) for job_id in dict.fromkeys(job_ids))
        if tried:
            signal(self._connection)
        return tried

    def _chosen(self, limit: int, early: Collection[str], now: datetime) -> list[_Row]:
        """The jobs to be leased."""
        chosen = self._first(_DUE, 1, now) if self._known is None else self._first(_DUE_OF, 1, now, self._known)
        if chosen and not chosen[0].attempts:
            kind = chosen[0].kind
            alike = _READING if kind in _READING else {kind}
            chosen = self._first(_FRESH_OF, limit, now, filter(self._knows, alike))
            if kind in early:
                chosen += self._first(_EARLY_OF, limit - len(chosen), now, [kind])
        return chosen

    def _set_aside(self, rows: Iterable[_Row]) -> bool:
        """Make those with a damaged payload dead jobs; return whether there were any."""
        damaged = [row.id for row in rows if not is_payload(row.payload)]
        for job_id in damaged:
            self._set(job_id, {"state": JobState.DEAD.value, "lease_until": None, "error": _DAMAGED})
        return bool(damaged)

    def _unfinished(self) -> list[_Row]:
        return self._rows(_UNFINISHED)

    def _first(self, query: Select[Any], limit: int, now: datetime, kinds: Iterable[str] = ()) -> list[_Row]:
        """The first of the owner's jobs that the query finds, of these kinds where it takes some."""
        values = {**self._owner, **_moments(now), "limit": limit}
        return [_legible(_Row._make(row)) for row in ask(self._connection, query, values, sorted(kinds))]

    def _rows(self, states: Sequence[JobState]) -> list[_Row]:
        return list(map(_Row._make, ask(self._connection, _JOBS, self._owner, [state.value for state in states])))

    def _is_known(self, row: _Row) -> bool:
        return self._knows(row.kind)

    def _knows(self, kind: str) -> bool:
        return self._known is None or kind in self._known

    def _waiting(self, wanted: WantedJob, cube_ids: Sequence[str | None]) -> dict[str | None, _Row]:
        payload = _written(wanted.payload)
        found = self._about(str(wanted.kind), payload, cube_ids)
        return {row.cube_id: row for row in found if row.payload == payload}

    def _about(self, kind: str, payload: str | None, cube_ids: Sequence[str | None]) -> Iterator[_Row]:
        """The unfinished jobs of the kind on these cubes; of the scope, those with the payload."""
        named = [one for one in cube_ids if one is not None]
        values = {**self._owner, "kind": kind}
        if len(named) < len(cube_ids):
            alike = {**values, "payload": payload or ""}
            yield from map(_Row._make, ask(self._connection, _ALIKE, alike))
        for start in range(0, len(named), _CUBES_AT_ONCE):
            yield from map(_Row._make, ask(self._connection, _ABOUT, values, named[start : start + _CUBES_AT_ONCE]))

    def _hasten(self, job: _Row, wanted: WantedJob) -> bool:
        """Make the job due earlier; return whether it changed. A failed job keeps its delay unless it begins anew."""
        if wanted.is_anew and job.state == JobState.QUEUED.value:
            job = job._replace(attempts=0)
            self._set(job.id, {"attempts": 0, "error": None})
        at, until = wanted.not_before, job.not_before
        sooner = None if at is None or until is None else min(until, micros(at))
        values = {"priority": max(job.priority, wanted.priority), "not_before": until if job.attempts else sooner}
        is_news = values != {"priority": job.priority, "not_before": until}
        if is_news:
            self._set(job.id, values)
        return is_news

    def _taken(self, row: _Row, now: datetime, lasting: timedelta) -> Job:
        taken = row._replace(state=JobState.LEASED.value, attempts=row.attempts + 1)
        changed = {"state": taken.state, "attempts": taken.attempts}
        self._set(row.id, {**changed, "lease_until": micros(now + lasting)})
        # Only who was taken early still has a time to wait for, whatever the clock said when it was put off.
        return _job_of(taken if _due_at(row, now) > micros(now) else taken._replace(not_before=None))

    def _release(self, job: Job, values: dict[str, Any]) -> None:
        """Change a job that we hold. Raises LeaseLost if another worker took it over."""
        if not self._set(job.id, values, state=JobState.LEASED.value, attempts=job.attempts):
            raise LeaseLost(f"job {job.id} was taken over by another worker; nothing was written")

    def _set(self, job_id: str, values: dict[str, Any], **now: Any) -> int:
        return update_job(self._connection, {**self._owner, "id": job_id, **now}, values)


def _legible(row: _Row) -> _Row:
    """The row without a payload where its kind has none: what is damaged there must not end an erasure."""
    return row._replace(payload=None) if row.kind in _WITHOUT_PAYLOAD else row


def _job_of(row: _Row) -> Job:
    """The job. Raises StoreCorrupt if its row is damaged."""
    with legible("jobs"):
        return _as_told(row)


def _as_told(row: _Row) -> Job:
    row = _legible(row)
    is_damaged = not is_payload(row.payload)
    return Job(
        id=row.id,
        kind=JobKind(row.kind) if row.kind in _OURS else row.kind,
        cube_id=row.cube_id,
        state=JobState(row.state),
        attempts=row.attempts,
        created_at=from_micros(row.created_at),
        error=row.error or (_DAMAGED if is_damaged else None),
        priority=row.priority,
        not_before=from_micros(row.not_before) if row.not_before is not None else None,
        payload=None if is_damaged else _payload_of(row.payload),
    )


def is_payload(text: str | None) -> bool:
    """Whether a program may have stored it as the payload of a job."""
    try:
        _payload_of(text)
    except (ValueError, RecursionError):
        return False
    return True


def _payload_of(text: str | None) -> dict[str, Any] | None:
    """The payload that `_written` wrote so. Raises ValueError."""
    told = None if text is None else json.loads(text)
    if text is not None and not isinstance(told, dict):
        raise ValueError("no payload")
    return told


def _written(payload: Mapping[str, Any] | None) -> str | None:
    """A payload as it is stored: equal payloads give equal text."""
    return None if payload is None else json.dumps(payload, ensure_ascii=False, sort_keys=True)


def waiting_owners(connection: Connection, now: datetime, known: Collection[str] | None = None) -> Iterator[Any]:
    """The owners of whom `lease` takes jobs of the `known` kinds, the one with the oldest of these first."""
    query = _WAITING if known is None else _WAITING_FOR
    return ask(connection, query, _moments(now), sorted(known or ()))


def _moments(now: datetime) -> dict[str, int]:
    """What `_is_due` and `_is_leased` compare with."""
    return {"now": micros(now), "believed": micros(now + LONGEST_DELAY), "longest": micros(now + LONGEST_LEASE)}


def _held_until(row: _Row, now: datetime) -> int:
    """When its lease ends, in microseconds since the epoch; 0 without one, as which a lease counts that is too long."""
    until = row.lease_until if row.state == JobState.LEASED.value else None
    return until if until and micros(now) <= until <= micros(now + LONGEST_LEASE) else 0


def _due_at(row: _Row, now: datetime) -> int:
    """When a job that nobody holds can be taken, in microseconds since the epoch.

    A time far ahead counts if somebody asked for it, but not if a clock that ran ahead reckoned it.
    """
    if row.state != JobState.QUEUED.value or row.not_before is None:
        return 0
    believed = micros(now + LONGEST_DELAY)
    is_asked = not row.attempts and row.created_at <= believed
    return row.not_before if is_asked or row.not_before <= believed else 0
