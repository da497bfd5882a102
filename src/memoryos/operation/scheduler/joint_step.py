"""Joint step: several steps written in one transaction, in their order: all of them or none.

Each is planned on a snapshot, beside other writers. If something that it rests on changed since, by another writer or
by a step before it, it is planned again under the lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from memoryos.caller import current_action
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Event
from memoryos.operation.scheduler.step import Step, holds
from memoryos.scope import Scope

_EVENTS = 1_000  # of one step that are told


@dataclass(frozen=True, slots=True)
class JointPlan:
    """One of the steps."""

    plan: Callable[[Reader], Step]
    named: Callable[[], AbstractContextManager[None]]  #: what makes its errors name it


@dataclass(frozen=True, slots=True)
class JointDone:
    """What became of one of the steps."""

    events: Sequence[Event]  #: what it changed
    seconds: float  #: to plan and to write it


class _Undone(Exception):
    """Ends a transaction that is not to be kept; nobody else sees it."""


def take_jointly(vault: Vault, scope: Scope, plans: Sequence[JointPlan], *, keeps: bool) -> list[JointDone]:
    """Plan the steps and write them; return what each did. Unless it `keeps` them, all of it is undone."""
    spent, planned = list[float](), list[Step]()
    with vault.read(scope, current_action()) as reader:
        sequence = reader.sequence()
        for one in plans:
            begun = time.perf_counter()
            with one.named():
                planned.append(one.plan(reader))
            spent.append(time.perf_counter() - begun)
    done = list[JointDone]()
    with suppress(_Undone), vault.write(scope) as writer:
        for one, step, seconds in zip(plans, planned, spent, strict=True):
            with one.named():
                done.append(_written(writer, one, step, sequence, seconds))
        if not keeps:
            raise _Undone
    return done


def _written(writer: Writer, one: JointPlan, step: Step, sequence: int, seconds: float) -> JointDone:
    begun, before = time.perf_counter(), writer.sequence()
    if not (holds(writer, step, sequence) and step.holds(writer)):
        step = one.plan(writer)
    step.write_all(writer)
    events = writer.events(after=before, limit=_EVENTS)
    return JointDone(events, seconds + time.perf_counter() - begun)
