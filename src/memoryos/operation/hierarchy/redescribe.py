"""Describing chains and segments anew, after pages of theirs changed or went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Entry, LinkKind, Operation, Writer
from memoryos.operation.hierarchy.chain import summarised
from memoryos.operation.hierarchy.mid_term import formed, page_of
from memoryos.operation.passages import page_vectors

FOLLOWERS = 32  # pages that are told what a model wrote: those that wait for it, and STM


def redescribe_chains(writer: Writer, pages: Sequence[str]) -> None:
    """Make the chain summaries again, from these pages to the end of their chains."""
    waiting = list(pages)
    while waiting:
        page_id = waiting.pop()
        for cube in writer.get([page_id]).values():
            previous = [link.target for link in writer.targets([page_id], LinkKind.CHAIN)]
            before = next(iter(writer.get(previous).values()), None)
            payload = summarised(before, page_of(cube))
            writer.update([Entry(replace(cube, payload=payload))], Operation.REFRESH)
        waiting += [link.source for link in writer.sources([page_id], LinkKind.CHAIN)]


def rewrite_chain(writer: Writer, page_id: str, written: str) -> None:
    """Give the chain that ends with this page the summary that a model wrote, and let the pages after it extend that.

    It stops at a page where a model wrote later, or that is far away: what such a page has stays as it is.
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


def redescribe_segments(writer: Writer, segments: Iterable[str], now: datetime) -> None:
    """Describe segments from the pages they have now, without what a model wrote of them; an empty one goes."""
    for segment in writer.get(segments).values():
        ids = [link.source for link in writer.sources([segment.id], LinkKind.MEMBER_OF)]
        if ids:
            writer.update([_described(writer, segment, ids, now)], Operation.REFRESH)
        else:
            writer.delete([segment.id])


def in_order(cubes: Mapping[str, MemCube]) -> list[MemCube]:
    """Cubes by the time they are about."""
    return sorted(cubes.values(), key=lambda cube: (cube.descriptive.event_at, cube.id))


def _described(writer: Writer, segment: MemCube, ids: Sequence[str], now: datetime) -> Entry:
    payload = formed(in_order(writer.get(ids)))
    vectors = list(page_vectors(writer, ids).values())
    cube = replace(
        segment,
        payload=payload,
        descriptive=replace(segment.descriptive, updated_at=now, event_at=payload.first_at, derived_by=None),
        behaviour=replace(segment.behaviour, interactions=min(segment.behaviour.interactions, len(ids))),
    )
    return Entry(cube, np.stack(vectors).mean(axis=0, dtype=np.float32))
