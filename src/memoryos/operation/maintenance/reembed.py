"""Reembed: replace the vectors of a whole store, all tenants, without extracting anything again.

The new vectors are made beside the old ones, some cubes at a time, while searches and writes use the old embedder. When
nearly all are there, one transaction makes the rest and switches. An interrupted process leaves its vectors, and the
next one continues.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reembeddable
from memoryos.infrastructure.vault.records import NewVectors, StoredPassage, Unembedded, Vector
from memoryos.models.embedder import Embedder
from memoryos.operation.hierarchy.page_entries import page_direction, said_in
from memoryos.progress import Progress

AT_A_TIME = 256  # cubes embedded between two transactions
FEW = 64  # cubes that the last transaction may embed, while other writers wait
ROUNDS = 20  # writers that are faster than the embedder have to wait in the end
SWEPT = 2_000  # rows of the old change removed in one transaction

_START = ("", "")


def reembed(vault: Reembeddable, embedder: Embedder, progress: Progress | None = None) -> None:
    """Change the store to that embedder. If the store already uses it, abandon a change to another one."""
    _begin(vault, embedder)
    if not _is_done(vault, embedder):
        for _ in range(ROUNDS):
            if _round(vault, embedder, progress) <= FEW:
                break
        _finish(vault, embedder)
    while _sweep(vault, embedder):
        pass


def _begin(vault: Reembeddable, embedder: Embedder) -> None:
    while True:
        with vault.reembedding(embedder.name) as change:
            if change.begin():
                return
            change.sweep(SWEPT)


def _is_done(vault: Reembeddable, embedder: Embedder) -> bool:
    with vault.reembedding(embedder.name) as change:
        return change.is_done()


def _sweep(vault: Reembeddable, embedder: Embedder) -> bool:
    with vault.reembedding(embedder.name) as change:
        return change.sweep(SWEPT)


def _round(vault: Reembeddable, embedder: Embedder, progress: Progress | None) -> int:
    """Process the existing cubes once; return how many had no new vectors."""
    with vault.reembedding(embedder.name) as change:
        ready, total = change.tally()
    after, count, is_full = _START, 0, True
    while is_full and count < total:
        with vault.reembedding(embedder.name) as change:
            found = change.pending(after=after, limit=AT_A_TIME)
        made = _made(found, embedder)
        with vault.reembedding(embedder.name) as change:
            change.stage(made)
        count, is_full = count + len(found), len(found) == AT_A_TIME
        after = _key(found[-1].cube) if found else after
        if progress:
            progress(min(ready + count, total), total)
    return count


def _finish(vault: Reembeddable, embedder: Embedder) -> None:
    """Make the missing vectors and switch, in one transaction."""
    with vault.reembedding(embedder.name) as change:
        if change.is_done():  # another process was faster
            return
        after = _START
        while found := change.pending(after=after, limit=AT_A_TIME):
            change.stage(_made(found, embedder))
            after = _key(found[-1].cube)
        change.switch()


def _made(found: Sequence[Unembedded], embedder: Embedder) -> list[NewVectors]:
    texts = [text for one in found for text in _texts(one)]
    vectors = iter(embedder.embed(texts))
    return [_new(one, [next(vectors) for _ in _texts(one)]) for one in found]


def _texts(one: Unembedded) -> list[str]:
    """The texts to embed for a cube: the passages of a page, otherwise the whole text."""
    return [said_in(one.cube, passage.extent) for passage in one.passages] or [one.cube.meaning]


def _new(one: Unembedded, vectors: Sequence[Vector]) -> NewVectors:
    if not one.passages:
        return NewVectors(one.cube, vectors[0])
    said = [_with(passage, vector) for passage, vector in zip(one.passages, vectors, strict=True)]
    return NewVectors(one.cube, page_direction(said), vectors)


def _with(passage: StoredPassage, vector: Vector) -> StoredPassage:
    return passage._replace(vector=np.asarray(vector, "<f2").tobytes())


def _key(cube: MemCube) -> tuple[str, str]:
    return cube.scope.tenant, cube.id
