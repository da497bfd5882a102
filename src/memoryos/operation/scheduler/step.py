"""Steps: long work in short transactions.

A step is planned on a snapshot, beside other writers, and written under the lock. If something that it rests on changed
in between, it is planned again. After some tries, it is planned under the lock. Of a step that writes very much, some
may be written ahead in transactions of their own: planned once, written in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memoryos.caller import current_action
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Event, Operation
from memoryos.kinds import Kind
from memoryos.scope import Scope

LEARNED = (Kind.FACT, Kind.TRAIT, Kind.PROFILE)  # a plan rests on all of them: each is compared with what is new

CUBES_AT_ONCE = 32  # facts learned, or memories derived again, in one transaction

_HARMLESS = (Operation.VISIT, Operation.TRANSITION, Operation.LABEL)  # the last two come with another operation

_TRIES = 4
_EVENTS = 1_000  # if there are more since the snapshot, planning again is simpler

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """The writes of one transaction."""

    write: Callable[[Writer], object]  #: may raise, and then nothing is written
    rests_on: Collection[str]  #: pages, segments, and the cubes that it changes
    is_last: bool = True  #: whether the work is done with it
    holds: Callable[[Writer], bool] = lambda _: True  #: whether state that events do not show is unchanged
    ahead: Sequence[Callable[[Writer], object]] = ()  #: parts that are right without the rest, each a transaction

    def write_all(self, writer: Writer) -> None:
        """Write it in one transaction."""
        for write in (*self.ahead, self.write):
            write(writer)


def take(vault: Vault, scope: Scope, plan: Callable[[Reader], Step]) -> Step:
    """Plan a step, write it and return it."""
    for _ in range(_TRIES):
        with vault.read(scope, current_action()) as reader:  # so a caller with the right to write alone can plan
            sequence, step = reader.sequence(), plan(reader)
        if _written(vault, scope, step, sequence):
            return step
    with vault.write(scope) as writer:  # others are faster
        step = plan(writer)
        step.write_all(writer)
        return step


def _written(vault: Vault, scope: Scope, step: Step, sequence: int) -> bool:
    """Write the parts of a step, as long as it holds; whether it held to the end."""
    for write in (*step.ahead, step.write):
        with vault.write(scope) as writer:
            if not (holds(writer, step, sequence) and step.holds(writer)):
                return False
            write(writer)
            sequence = writer.sequence()  # what it wrote itself spoils nothing
    return True


def take_all(vault: Vault, scope: Scope, plan: Callable[[Reader], Step]) -> None:
    """Take steps until the last one."""
    while not take(vault, scope, plan).is_last:
        pass


def together(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in batches whose sizes add up to no more than `most`; a larger one comes alone."""
    some, total = list[T](), 0
    for item in items:
        own = size(item)
        if some and (len(some) == CUBES_AT_ONCE or total + own > most):
            yield some
            some, total = [], 0
        some.append(item)
        total += own
    if some:
        yield some


def some_at_a_time(items: Sequence[T], size: int = CUBES_AT_ONCE) -> list[Sequence[T]]:
    """The items in batches."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def holds(writer: Writer, step: Step, sequence: int) -> bool:
    """Whether nothing that the step rests on changed since that event."""
    events = writer.events(after=sequence, limit=_EVENTS + 1)
    return len(events) <= _EVENTS and not any(_spoils(event, step) for event in events)


def _spoils(event: Event, step: Step) -> bool:
    """Whether this event may change the plan."""
    is_learned = event.kind in LEARNED and event.operation not in _HARMLESS
    return is_learned or event.cube_id in step.rests_on
