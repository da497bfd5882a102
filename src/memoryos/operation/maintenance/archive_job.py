"""Archive job: gives pages and facts that were not used for as long as a rule says the state archived.

One job waits for each scope with such rules. It looks at all of them, notes those that are due within the time after
which a new one could be, and comes back when the first of them is. So it is exact, and seldom looks at everything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryos.clock import Clock, from_micros, micros
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, Operation
from memoryos.kinds import State
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, chars_to_write
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import some_at_a_time, together
from memoryos.retention import COUNTED, UnusedRule
from memoryos.scope import Scope

READ_AT_A_TIME = 500
MOST_NOTED = 1_000  # memories that wait
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=365)  # until everything is looked at again


@dataclass(frozen=True, slots=True)
class _DuePages:
    """The pages and facts that are due until a moment, each with its time."""

    until: datetime
    memories: dict[str, datetime]

    @property
    def due(self) -> datetime:
        """When to look next."""
        return min([self.until, *self.memories.values()])

    def written(self, rules: Sequence[UnusedRule]) -> str:
        pages = {page: micros(due) for page, due in self.memories.items()}
        return json.dumps({"rules": _told(rules), "until": micros(self.until), "pages": pages})


@dataclass(frozen=True, slots=True)
class _WrittenRules:
    """The note: the rules, and what is due by them; times in microseconds."""

    rules: list[str]
    until: int
    pages: dict[str, int]


class _Noted(NamedTuple):
    """The rules, and what was due by them."""

    rules: list[str]
    waiting: _DuePages


def _noted(text: str) -> _Noted:
    told = as_json(_WrittenRules)(text)
    pages = {page: from_micros(due) for page, due in told.pages.items()}
    return _Noted(told.rules, _DuePages(from_micros(told.until), pages))


WAITING = Note("archiving", _noted)


@dataclass(frozen=True)
class ArchiveJob:
    """Runs jobs of the kind `ARCHIVE`."""

    vault: Vault
    clock: Clock
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Archive what is due, and wait for what is due next."""
        now = self.clock()
        with self.vault.read(scope) as reader:
            rules = reader.retention.unused_rules()
            waiting = _waiting(reader, rules, now) if rules else None
        if waiting is None:
            return self._finished(scope, jobs, rules, None)
        for some in self._due(scope, [page for page, due in waiting.memories.items() if due <= now]):
            if not goes_on():
                return jobs
            with self.vault.write(scope) as writer:
                later = _archive(writer, rules, some, now)
            for page in some:
                del waiting.memories[page]
            waiting.memories.update((page, due) for page, due in later.items() if due < waiting.until)
        return self._finished(scope, jobs, rules, waiting)

    def _due(self, scope: Scope, due: Sequence[str]) -> Iterator[list[str]]:
        """These memories in batches, each of which is archived in one transaction."""
        for some in some_at_a_time(due, READ_AT_A_TIME):
            with self.vault.read(scope) as reader:
                sizes = Counter({cube.id: chars_to_write(cube) for cube in reader.get(some).values()})
            yield from together(some, sizes.__getitem__, CHARS_AT_ONCE)

    def _finished(
        self, scope: Scope, jobs: Sequence[Job], rules: Sequence[UnusedRule], waiting: _DuePages | None
    ) -> Sequence[Job]:
        with self.vault.write(scope) as writer:
            writer.write_note(WAITING.key, waiting.written(rules) if waiting else None)
            for job in jobs:
                writer.finish(job)
            if writer.retention.unused_rules() != rules:  # they changed meanwhile
                writer.enqueue(JobKind.ARCHIVE)
            elif waiting:
                writer.enqueue(JobKind.ARCHIVE, not_before=waiting.due)
        return ()


def _archive(writer: Writer, rules: Sequence[UnusedRule], ids: Sequence[str], now: datetime) -> dict[str, datetime]:
    """Archive those of these memories that are still due; return when the others are."""
    later, by_rule = dict[str, datetime](), dict[str, list[Entry]]()
    for cube in writer.get(ids).values():
        rule, due = _first(rules, cube)
        if rule is None or due is None:
            continue
        if due > now:
            later[cube.id] = due
        else:
            by_rule.setdefault(rule.name, []).append(Entry(replace(cube, state=State.ARCHIVED)))
    for name, entries in by_rule.items():
        writer.update(entries, Operation.MOVE, cause=f"not used: rule {name}")
    return later


def _waiting(reader: Reader, rules: Sequence[UnusedRule], now: datetime) -> _DuePages:
    """What waits, as it was noted; everything is looked at if that is over or the rules are others."""
    noted = WAITING.of(reader)
    if noted and noted.rules == _told(rules) and noted.waiting.until > now:
        return noted.waiting
    until = now + max(SHORTEST, min(LONGEST, *(timedelta(seconds=rule.unused_seconds) for rule in rules)))
    dues = sorted((due, cube.id) for cube in _counted(reader) if (due := _first(rules, cube)[1]) and due < until)
    if len(dues) > MOST_NOTED:
        until = max(now, dues[MOST_NOTED][0])
    return _DuePages(until, {page: due for due, page in dues[:MOST_NOTED]})


def _counted(reader: Reader) -> Iterator[MemCube]:
    after = 0
    while places := reader.placed(after=after, limit=READ_AT_A_TIME):
        yield from reader.get(place.id for place in places if place.kind in COUNTED).values()
        after = places[-1].position


def _first(rules: Sequence[UnusedRule], cube: MemCube) -> tuple[UnusedRule | None, datetime | None]:
    """The rule that archives the memory first, and when."""
    found = [(due, rule.name, rule) for rule in rules if (due := rule.due(cube))]
    due, _, rule = min(found, key=lambda one: one[:2], default=(None, "", None))
    return rule, due


def _told(rules: Sequence[UnusedRule]) -> list[str]:
    return [rule.to_json() for rule in rules]
