"""Retention job: gives the memories that are stored already the ends that changed retention rules say.

New memories get theirs when they are written. The job takes some memories at a time, and one that has to give way goes
on where it was, unless the rules changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, Operation
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, chars_of
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import Step, take, together
from memoryos.retention import RetentionRule, governed
from memoryos.scope import Scope

AT_A_TIME = 64  # memories looked at in one go; fewer are changed in one transaction


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far the rules are applied."""

    rules: list[str]
    after: int  #: the position up to which they are


PROGRESS = Note("retained", as_json(_Progress))


@dataclass(frozen=True)
class RetentionJob:
    """Runs jobs of the kind `RETAIN`."""

    vault: Vault
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Apply the rules to what is stored."""
        with self.vault.read(scope) as reader:
            rules, after = reader.retention.rules(), _begun(PROGRESS.of(reader), reader.retention.rules())
        while (last := self._apply(scope, rules, after)) is not None:
            after = last
            if not goes_on():
                with self.vault.write(scope) as writer:
                    writer.write_note(PROGRESS.key, json.dumps(asdict(_Progress(_written(rules), after))))
                return jobs
        with self.vault.write(scope) as writer:
            _finish(writer, jobs, rules)
        return ()

    def _apply(self, scope: Scope, rules: Sequence[RetentionRule], after: int) -> int | None:
        """Apply the rules to the next memories; the position of the last one, or None at the end."""
        with self.vault.read(scope) as reader:
            some = reader.placed(after=after, limit=AT_A_TIME)
            cubes = reader.get(one.id for one in some).values()
            changing = [cube.id for cube in cubes if governed(cube, rules) is not cube]
        if changing:
            take(self.vault, scope, partial(_ending, ids=changing))
        return some[-1].position if some else None


def _ending(reader: Reader, ids: Sequence[str]) -> Step:
    """Give memories the ends that the rules say; large ones in parts, each of which is right without the others."""
    rules = reader.retention.rules()
    entries = [Entry(governed(cube, rules)).prepared for cube in reader.get(ids).values()]
    parts = [partial(_store, some) for some in together(entries, chars_of, CHARS_AT_ONCE)]
    *ahead, last = parts or [partial(_store, ())]
    return Step(last, ids, ahead=ahead)


def _store(entries: Sequence[Entry], writer: Writer) -> None:
    writer.update(entries, Operation.REFRESH)  # which applies the rules, should they be others meanwhile


def _finish(writer: Writer, jobs: Sequence[Job], rules: Sequence[RetentionRule]) -> None:
    writer.write_note(PROGRESS.key, None)
    for job in jobs:
        writer.finish(job)
    if writer.retention.rules() != rules:
        writer.enqueue(JobKind.RETAIN)


def _begun(known: _Progress | None, rules: Sequence[RetentionRule]) -> int:
    """The position up to which these rules are applied."""
    return known.after if known and known.rules == _written(rules) else 0


def _written(rules: Sequence[RetentionRule]) -> list[str]:
    return [rule.written() for rule in rules]
