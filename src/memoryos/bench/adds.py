"""Durable adds, and after each the least that one takes: both meet the machine as it is at that moment.

A shared machine is twice as fast at one time as at another, and a busy worker slows down all that is done beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memoryos.bench.timing import milliseconds, percentiles
from memoryos.memory import Memory

Exchange = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Adds:
    """Times of durable adds and of the floor, measured alternately; ms."""

    ms: dict[str, float]  #: p50 and p95 of one exchange
    floor_ms: float  #: p50 of embedding two texts and committing one row

    @property
    def ratio(self) -> float:
        """The median add as a multiple of the floor."""
        return self.ms["p50"] / self.floor_ms


def in_turn(
    memory: Memory, least: Callable[[Exchange], None], said: Iterable[Exchange]
) -> Iterator[tuple[float, float]]:
    """Alternate between an add and the floor; yield both times, ms."""
    exchanges = iter(said)
    for exchange, unheard in zip(exchanges, exchanges, strict=True):
        yield milliseconds(partial(memory.add, *exchange)), milliseconds(partial(least, unheard))


def summed_up(times: Sequence[tuple[float, float]]) -> Adds:
    """Summarise the times of adds and floors."""
    adds, floors = zip(*times, strict=True)
    return Adds(percentiles(adds, 50, 95), percentiles(floors, 50)["p50"])
