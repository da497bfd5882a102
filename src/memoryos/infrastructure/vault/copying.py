"""Copying: one store's rows become those of another, whatever database either is on.

The target is compared with one snapshot of the source: extra rows are removed and missing rows are inserted. So an
interrupted copy can continue, and no write to the source is missed. Until the end, the target has no embedder's name,
so every other session on it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update
from uuid_utils.compat import uuid7

from memoryos.clock import Clock
from memoryos.errors import EmbedderMismatch, InvalidInput, StorageError
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.vault import checksum, rows, tables
from memoryos.infrastructure.vault.blob_copying import copy_blobs
from memoryos.infrastructure.vault.cold_part import is_pack
from memoryos.infrastructure.vault.place import Place, open_vault
from memoryos.infrastructure.vault.queries import is_cold
from memoryos.infrastructure.vault.reembedding import EMBEDDER
from memoryos.infrastructure.vault.sql_vault import COPY, UNFINISHED, SqlVault, noted
from memoryos.plain import Plain
from memoryos.progress import Progress

MANIFEST = "backup"  # in `meta`: what a backup says of itself, and of no copy of it
RUN = "unfinished_run"  # in `meta`: which process copies; one that was taken for dead must not write any more

COLD_AT_A_TIME = 256  # documents brought back in one transaction

ROUNDS = 5  # a source that is written all the time is copied as it was at the begin of the last one


@dataclass(frozen=True, slots=True)
class Copied(Plain):
    """Counts of a copy."""

    rows: int
    behind: int  #: how many events the source logged since
    forgotten_again: int = 0  #: how many erasures, made since the backup was, a restore applied again


class Target:
    """A store that is not complete yet, for the process that copies into it."""

    def __init__(self, vault: SqlVault) -> None:
        self.vault = vault
        self._run = str(uuid7())

    def take_over(self, command: str) -> None:
        """Claim the copy for this process; `command` finishes it if this process does not."""
        with self.vault.change() as connection:
            earlier = noted(connection, UNFINISHED)
            if earlier not in (None, command):
                raise InvalidInput(
                    "target", f"another copy into it was started: {earlier}", "Finish that, or remove it"
                )
            _note(connection, {UNFINISHED: command, RUN: self._run})

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """A transaction, as long as no other process has taken over."""
        with self.vault.change() as connection:
            if noted(connection, RUN) != self._run:
                raise StorageError("another process is already continuing this copy; nothing was written")
            yield connection

    def number(self) -> None:
        """Let events that are written from now on get later numbers than those that were copied."""
        newest = select(func.max(tables.events.c.sequence))
        with self.change() as connection:
            if sequence := connection.scalar(newest):
                self.vault.number_after(connection, sequence)

    def finish(self, meta: Mapping[str, str]) -> None:
        """Turn the target into a normal store with these data about itself."""
        self.number()
        with self.change() as connection:
            connection.execute(delete(tables.meta))
            _note(connection, {**meta, COPY: str(uuid7())})

    def close(self) -> None:
        """Release the store, complete or not."""
        self.vault.close()


def begin(
    place: Place,
    command: str,
    *,
    clock: Clock,
    busy_timeout_seconds: float,
    object_store: str | None = None,
    key: EncryptionKey | None = None,
) -> Target:
    """Open a target: a place without a store, or with an empty one, or the same copy that was cut off.

    The bytes of attachments go to the `object_store`, or beside its file. With a key, all of it is encrypted. Raises
    InvalidInput when something else is there.
    """

    def opened(embedder: str | None) -> SqlVault:
        return open_vault(
            place,
            embedder=embedder,
            clock=clock,
            busy_timeout_seconds=busy_timeout_seconds,
            object_store=object_store,
            key=key,
        )

    try:
        vault = opened(UNFINISHED)
    except EmbedderMismatch:
        with closing(opened(None)) as found:
            _claim(found)
        vault = opened(UNFINISHED)
    with ExitStack() as undo:
        undo.callback(vault.close)
        target = Target(vault)
        target.take_over(command)
        undo.pop_all()
    return target


def copy(
    source: SqlVault, target: Target, progress: Progress | None = None, before_end: Callable[[], int] = lambda: 0
) -> Copied:
    """Make the target equal to the source, and finish it.

    `before_end` is called when it holds everything, and returns how many erasures it applied.
    """
    for _ in range(ROUNDS):
        with source.snapshot() as ours:
            total = copy_snapshot(ours, target, progress)
            newest, meta = _newest(ours), about(ours)
        copy_blobs(source, target.vault, target.change)
        with source.snapshot() as now:
            behind = _events_after(now, newest)
        if not behind:
            break
    bring_back(target, source.packs)
    target.number()
    forgotten_again = before_end()
    target.finish(meta)
    return Copied(total, behind, forgotten_again)


def copy_snapshot(ours: Connection, target: Target, progress: Progress | None = None) -> int:
    """Make the rows of the target equal to ours; return their number."""
    _prune(ours, target)
    total = rows.count(ours)
    with target.vault.snapshot() as theirs:
        done = rows.count(theirs)
    for table in rows.CONTENT:
        with target.vault.snapshot() as theirs:
            for batch in rows.batches(rows.missing(ours, theirs, table), rows.AT_A_TIME):
                with target.change() as connection:
                    rows.insert_all(connection, table, batch)
                done += len(batch)
                if progress:
                    progress(done, total)
    return total


def bring_back(target: Target, packs: Packs) -> None:
    """Put the documents that lie in packs of the source into the target, so that it needs none of them."""
    cubes, notes = tables.cubes, tables.notes
    cold = select(cubes.c.tenant, cubes.c.id, cubes.c.document).where(is_cold(cubes.c.document))
    with target.vault.snapshot() as theirs:
        found = theirs.execute(
            cold.order_by(cubes.c.tenant, cubes.c.id), execution_options={"yield_per": COLD_AT_A_TIME}
        )
        for batch in rows.batches(found, COLD_AT_A_TIME):
            found_here = ((row, packs.document(row.id, row.document)) for row in batch)
            documents = [(row.tenant, row.id, text, checksum.of_text(text)) for row, text in found_here]
            with target.change() as connection:
                for tenant, cube_id, document, told in documents:
                    mine = (cubes.c.tenant == tenant, cubes.c.id == cube_id)
                    connection.execute(update(cubes).where(*mine).values(document=document, checksum=told))
    with target.change() as connection:
        connection.execute(delete(notes).where(is_pack(notes.c.key)))


def _prune(ours: Connection, target: Target) -> None:
    """Remove the rows of the target that differ from ours."""
    for table in reversed(rows.CONTENT):
        with target.vault.snapshot() as theirs:
            surplus = () if rows.is_empty(theirs, [table]) else rows.surplus(ours, theirs, table)
            for batch in rows.batches(surplus, rows.AT_A_TIME):
                with target.change() as connection:
                    rows.remove(connection, table, batch)


def about(connection: Connection) -> dict[str, str]:
    """The data of the store about itself that also hold for a copy."""
    return {row.key: row.value for row in rows.stream(connection, tables.meta) if row.key not in (MANIFEST, COPY)}


def _claim(vault: SqlVault) -> None:
    with vault.change() as connection:
        if not rows.is_empty(connection):
            raise InvalidInput("path", f"{vault.name} holds memory already", "Name a new file or an empty database")
        _note(connection, {EMBEDDER: UNFINISHED})


def _note(connection: Connection, meta: Mapping[str, str]) -> None:
    connection.execute(delete(tables.meta).where(tables.meta.c.key.in_(list(meta))))
    if meta:
        connection.execute(tables.meta.insert(), [{"key": key, "value": value} for key, value in meta.items()])


def _newest(connection: Connection) -> int:
    return connection.scalar(select(func.max(tables.events.c.sequence))) or 0


def _events_after(connection: Connection, sequence: int) -> int:
    query = select(func.count()).select_from(tables.events).where(tables.events.c.sequence > sequence)
    return connection.scalar(query) or 0
