"""Support: the pages that a memory rests on, taken from it a few at a time.

A memory that loses thousands of pages loses all but one of them before it is derived again: first its document tells
no more of them, then its links go in parts. So a crash leaves links too many, never too few: the memory is found by
the pages that go, and whoever derives it again compares its links with its document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.operation.scheduler.step import CUBES_AT_ONCE, Step, some_at_a_time, take
from memoryos.scope import Scope

LINKS_AT_ONCE = 1_000  # removed in one transaction

FEW = LINKS_AT_ONCE // CUBES_AT_ONCE  # pages that one memory may lose where it is derived again beside others


def thin_out(
    vault: Vault, scope: Scope, memories: Iterable[str], going: Collection[str], *, only_withdrawn: bool = False
) -> None:
    """Take pages that are `going` from those of the memories that rest on many of them, except the last page.

    What is on hold stays as it is. With `only_withdrawn`, so does what is not withdrawn when it is its turn.
    """
    leaving = frozenset(going)
    with vault.read(scope) as reader:
        links = reader.targets(memories, LinkKind.DERIVED_FROM)
    lost = Counter(link.source for link in links if link.target in leaving)
    for memory in (one for one, count in lost.items() if count > FEW):
        take(vault, scope, partial(_thinning, memory=memory, going=leaving, only_withdrawn=only_withdrawn))


def _thinning(reader: Reader, *, memory: str, going: frozenset[str], only_withdrawn: bool) -> Step:
    parts, held = list[Callable[[Writer], None]](), reader.retention.held([memory])
    stored = {} if held else reader.get([memory])
    for cube in (one for one in stored.values() if one.is_withdrawn or not only_withdrawn):
        *lost, _ = [page for page in cube.descriptive.provenance if page in going] or [""]
        smaller = _without(cube, frozenset(lost))
        rests_on = frozenset(smaller.descriptive.provenance)
        links = reader.targets([memory], LinkKind.DERIVED_FROM)
        parts.append(partial(_store, entry=Entry(smaller).prepared))
        doomed = [link for link in links if link.target not in rests_on]
        parts += [partial(_unlink, links=some) for some in some_at_a_time(doomed, LINKS_AT_ONCE)]
    *ahead, last = parts or [lambda _: None]  # it is gone, damaged, or stays
    return Step(last, [memory], holds=lambda writer: writer.retention.held([memory]) == held, ahead=ahead)


def _without(cube: MemCube, pages: frozenset[str]) -> MemCube:
    """The memory as it rests on the others."""
    known = cube.descriptive
    support = tuple(page for page in known.provenance if page not in pages)
    mentions = tuple(one for one in known.mentions if one.source not in pages)
    return replace(cube, descriptive=replace(known, provenance=support, mentions=mentions))


def _store(writer: Writer, *, entry: Entry) -> None:
    writer.update([entry], Operation.REFRESH)


def _unlink(writer: Writer, *, links: Sequence[Link]) -> None:
    writer.unlink(links)
