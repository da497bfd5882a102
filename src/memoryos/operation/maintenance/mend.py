"""Mend: correct damaged derived data from the cubes. A cube itself is never removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Vault, Writer
from memoryos.infrastructure.vault.damage import Damage, Fault, Report
from memoryos.infrastructure.vault.note import Note
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.infrastructure.vault.rows import batches
from memoryos.infrastructure.vault.soundness import verify
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.strays import drop_strays
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.operation.hierarchy.page_entries import page_entries, segment_vector
from memoryos.progress import Progress
from memoryos.scope import Scope

AT_A_TIME = 256  # cubes mended in one transaction


def mend(
    vault: SqlVault, embedder: Embedder, progress: Progress | None = None, notes: Sequence[Note[Any]] = ()
) -> Report:
    """Verify the store, correct what is derived, and verify it again."""
    before = found = verify(vault, embedder.dim, progress, notes)
    if wrong := _of(found, Fault.COLUMNS):
        _rewrite(vault, wrong)
        found = verify(vault, embedder.dim, progress, notes)  # which links are possible depends on the columns
    _unlink(vault, _of(found, Fault.LINK))
    _index(vault, embedder, _of(found, Fault.PASSAGES))
    _index(vault, embedder, _of(found, Fault.VECTOR))  # only now: a segment's is the mean of its pages'
    if _of(found, Fault.STRAY):
        with vault.change() as connection:
            drop_strays(connection)
    left = verify(vault, embedder.dim, progress, notes) if before.damages else found
    return replace(left, repaired=len(set(before.damages) - set(left.damages)))


def _of(report: Report, fault: Fault) -> list[Damage]:
    """The damages of that kind, except those of unreadable cubes."""
    unreadable = {damage.id for damage in report.damages if damage.fault in (Fault.DOCUMENT, Fault.COLD)}
    return [damage for damage in report.damages if damage.fault is fault and damage.id not in unreadable]


def _rewrite(vault: Vault, damages: Iterable[Damage]) -> None:
    """Write cubes with their columns."""
    for owner, some in _portions(damages):
        with vault.write(owner) as writer:
            writer.update([Entry(cube) for cube in _cubes(writer, some)], Operation.REFRESH)


def _unlink(vault: Vault, damages: Iterable[Damage]) -> None:
    """Remove links; the event tells processes that follow the log to read the links again."""
    for owner, some in _portions(damages):
        with vault.write(owner) as writer:
            writer.unlink([damage.link for damage in some if damage.link])
            writer.update([Entry(cube) for cube in _cubes(writer, some)], Operation.REFRESH)


def _index(vault: Vault, embedder: Embedder, damages: Iterable[Damage]) -> None:
    """Make passages and vectors again."""
    for owner, some in _portions(damages):
        with vault.write(owner) as writer:
            cubes = _cubes(writer, some)
            pages = [cube for cube in cubes if cube.kind is Kind.PAGE]
            writer.update(page_entries(pages, embedder), Operation.REFRESH)
            others = [_entry(writer, embedder, cube) for cube in cubes if cube.kind is not Kind.PAGE]
            writer.update(others, Operation.REFRESH)


def _portions(damages: Iterable[Damage]) -> Iterator[tuple[Scope, list[Damage]]]:
    """The damages of each owner, in batches."""
    owned = [(damage.owner, damage) for damage in damages if damage.owner]
    for owner, group in groupby(sorted(owned, key=lambda pair: repr(pair[0])), key=lambda pair: pair[0]):
        for some in batches((damage for _, damage in group), AT_A_TIME):
            yield owner, some


def _cubes(writer: Writer, damages: Sequence[Damage]) -> list[MemCube]:
    """The cubes that still exist."""
    return list(writer.get(damage.id for damage in damages).values())


def _entry(writer: Writer, embedder: Embedder, cube: MemCube) -> Entry:
    if cube.kind not in (Kind.FACT, Kind.SEGMENT):
        return Entry(cube, passages=())  # such a cube has no vector
    is_segment = cube.kind is Kind.SEGMENT
    vector = segment_vector(writer, cube, embedder) if is_segment else embedder.embed([cube.meaning])[0]
    return Entry(cube, vector, ())
