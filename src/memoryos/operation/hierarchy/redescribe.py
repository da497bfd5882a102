"""Updating the summaries of chains and segments after their pages changed or were deleted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memoryos.caller import SYSTEM
from memoryos.cube import MemCube
from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault.audit_entry import BACKGROUND
from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation, Vector
from memoryos.kinds import Origin
from memoryos.operation.hierarchy.chain import summarised
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import formed, page_of, segment_of
from memoryos.operation.hierarchy.page_entries import centre, page_vectors
from memoryos.operation.hierarchy.recent import extracted

FOLLOWERS = 32  # pages that are told what a model wrote: those that wait for it, and STM

_CORRECTED = json.dumps({"reason": "a page of it was corrected"})
_BY_PROGRAM = {"by": SYSTEM.identity, "call": BACKGROUND}
_RETOLD = json.dumps({**_BY_PROGRAM, "reason": "other pages are in it"})
_REPAIRED = json.dumps({**_BY_PROGRAM, "reason": "repair: other pages are in it"})

Retell = Callable[[Changes, MemCube, Entry], object]  # stores a segment, given as it was and as it is described again


def described_chains(changes: Changes, pages: Iterable[str]) -> list[MemCube]:
    """Return the pages whose chain summaries change, starting with these, each after the page that it continues.

    Following stops where a summary stays the same, because later summaries are made from it.
    """
    described: dict[str, MemCube] = {}
    begun = set(pages)
    waiting = sorted(begun)
    while waiting:
        page_id = waiting.pop()
        goes_on = page_id in begun
        for cube in changes.get([page_id]):
            before = _before(changes, page_id, described)
            again = replace(cube, payload=summarised(before, page_of(cube)))
            goes_on |= again != cube or bool(page_of(cube).chain_written)
            if again != cube:
                described[page_id] = again
        if goes_on:
            waiting += [link.source for link in changes.reader.sources([page_id], LinkKind.CHAIN)]
    return list(described.values())


def _before(changes: Changes, page_id: str, described: Mapping[str, MemCube]) -> MemCube | None:
    """The page that this one continues, with the pending changes."""
    previous = [link.target for link in changes.reader.targets([page_id], LinkKind.CHAIN)]
    found = changes.get(previous)
    return described.get(found[0].id, found[0]) if found else None


def rewrite_chain(writer: Writer, page_id: str, written: str) -> None:
    """Give the chain that ends with this page the summary that a model wrote, and let the pages after it extend that.

    It stops at a page that a model summarised later, and after a number of pages; their summaries stay.
    """
    cube = writer.get([page_id])[page_id]
    earlier = page_of(cube)
    cube = replace(cube, payload=replace(earlier, chain_summary=written, chain_written=written))
    writer.update([Entry(cube)], Operation.CHAIN)
    for _ in range(FOLLOWERS):
        links = writer.sources([cube.id], LinkKind.CHAIN)
        follower = next(iter(writer.get(link.source for link in links).values()), None)
        if follower is None or page_of(follower).chain_written not in ("", earlier.chain_written):
            return
        earlier = page_of(follower)
        cube = replace(follower, payload=summarised(cube, earlier))
        writer.update([Entry(cube)], Operation.CHAIN)


def retell(changes: Changes, segment: MemCube, entry: Entry) -> None:
    """Store a segment that is described again: with the next number if a person wrote what it said.

    So nobody takes the words of the program for those of that person. They are not kept: they may quote pages that go.
    """
    if segment.descriptive.origin is Origin.USER_INPUT:
        changes.change(_numbered(entry, segment.version.number + 1), Operation.REFRESH, _RETOLD)
    else:
        changes.change(entry, Operation.REFRESH)


def retell_repaired(
    changes: Changes, segment: MemCube, entry: Entry, *, begun: int | None = None, is_kept: bool = True
) -> int | None:
    """Store a segment after a repair moved pages; returns the number of the version that tells so, None without one.

    A repair begins one version of a segment, whatever the number of its steps; `begun` is that of an earlier one. The
    version before it stays if `is_kept`: it may quote pages that leave.
    """
    is_own = segment.descriptive.origin is not Origin.USER_INPUT  # what a person wrote is a version of its own
    if is_own and entry.cube.payload == segment.payload:
        changes.change(entry, Operation.REFRESH)
        return begun
    number = segment.version.number
    is_begun = is_own and number == begun
    told = entry if is_begun else _numbered(entry, number + 1)
    if is_kept and not is_begun:
        changes.revise(told, _REPAIRED)
    else:
        changes.change(told, Operation.REFRESH, _REPAIRED)
    return told.cube.version.number


def _numbered(entry: Entry, number: int) -> Entry:
    return replace(entry, cube=replace(entry.cube, version=replace(entry.cube.version, number=number)))


def redescribe_segments(changes: Changes, segments: Iterable[str], now: datetime, tell: Retell = retell) -> None:
    """Summarise segments again from the pages they will have, without the words of a model; remove empty ones."""
    for segment in changes.get(segments):
        pages = changes.members(segment.id)
        if pages:
            tell(changes, segment, _described(changes, segment, pages, now, {}))
        else:
            changes.remove(segment.id)


def describe_corrected(changes: Changes, segments: Iterable[str], now: datetime, known: Mapping[str, Vector]) -> None:
    """Give segments whose pages have new words a new version, made of these; `known` are the vectors of such pages."""
    for segment in changes.get(segments):
        entry = _described(changes, segment, changes.members(segment.id), now, known)
        changes.revise(_numbered(entry, segment.version.number + 1), _CORRECTED)


def described_while_it_goes(changes: Changes, segment: MemCube, members: Sequence[str], last: int) -> Entry:
    """A segment that loses some of its `members` in steps, summarised from some of the remaining ones."""
    left = [one for one in members if one not in changes.gone]
    entry = _described(changes, segment, changes.get(left[:last]), segment.descriptive.updated_at, {})
    payload = replace(segment_of(entry.cube), pages=len(left))
    lost = _unread(changes, [one for one in members if one in changes.gone])  # to count those left would take all steps
    behaviour = replace(segment.behaviour, interactions=max(0, segment.behaviour.interactions - lost))
    return replace(entry, cube=replace(entry.cube, payload=payload, behaviour=behaviour))


def _unread(changes: Changes, pages: Sequence[str]) -> int:
    """The number of these pages that were not read with their segment."""
    return len(pages) - len(extracted(changes.reader, pages))


def in_order(cubes: Mapping[str, MemCube]) -> list[MemCube]:
    """Cubes by the time they are about."""
    return sorted(cubes.values(), key=lambda cube: (cube.descriptive.event_at, cube.id))


def _described(
    changes: Changes, segment: MemCube, pages: Sequence[MemCube], now: datetime, known: Mapping[str, Vector]
) -> Entry:
    if not pages:
        raise StoreCorrupt(f"no page of the segment {segment.id} can be read: run `memoryos verify --repair`")
    payload = formed(in_order({page.id: page for page in pages}))
    vectors = page_vectors(changes.reader, (page.id for page in pages if page.id not in known))
    vectors |= {page.id: known[page.id] for page in pages if page.id in known}
    cube = replace(
        segment,
        payload=payload,
        descriptive=replace(
            segment.descriptive, updated_at=now, event_at=payload.first_at, derived_by=None, origin=Origin.INFERENCE
        ),
        behaviour=replace(segment.behaviour, interactions=_unread(changes, [page.id for page in pages])),
    )
    return Entry(cube, centre(vectors, segment.id))
