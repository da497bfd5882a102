"""SqlVault: what every vault on a SQL database does the same way; a back end says how its transactions begin."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from typing import TypeVar, cast

from sqlalchemy import Connection, Engine, ExceptionContext, event, select, tuple_
from sqlalchemy.exc import DBAPIError

from memoryos.caller import Action, Gate, View, Views, current, current_action, running_call
from memoryos.clock import Clock
from memoryos.errors import (
    CubeProtected,
    EmbedderMismatch,
    Refused,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreReadOnly,
)
from memoryos.home_process import HomeProcess
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.infrastructure.vault import audit_part, migrations, queries, tables
from memoryos.infrastructure.vault.agent_part import AgentPart
from memoryos.infrastructure.vault.audit_entry import Deed, KeepDeed
from memoryos.infrastructure.vault.audit_part import AuditPart
from memoryos.infrastructure.vault.cold_part import is_pack
from memoryos.infrastructure.vault.contract import JobSignal, Order, Reader
from memoryos.infrastructure.vault.delegation_part import DelegationPart
from memoryos.infrastructure.vault.embedder_record import is_named
from memoryos.infrastructure.vault.erasure_part import ErasurePart
from memoryos.infrastructure.vault.index_files import IndexFiles
from memoryos.infrastructure.vault.kept_chains import KeptChains
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.key_part import KeyPart
from memoryos.infrastructure.vault.locks import OnLock, timed
from memoryos.infrastructure.vault.owner_part import traces
from memoryos.infrastructure.vault.owners import first_names, first_owners, told_owners
from memoryos.infrastructure.vault.patience import patience
from memoryos.infrastructure.vault.queue import Queue, waiting_owners
from memoryos.infrastructure.vault.records import Job
from memoryos.infrastructure.vault.reembedding import EMBEDDER, SqlReembedding
from memoryos.infrastructure.vault.role_part import RolePart
from memoryos.infrastructure.vault.scrubbed import Scrubbed
from memoryos.infrastructure.vault.session import SqlReader, SqlWriter
from memoryos.infrastructure.vault.statements import ask_one
from memoryos.infrastructure.vault.tenant_rule_part import TenantRulePart
from memoryos.infrastructure.vault.told_reader import ToldReader
from memoryos.infrastructure.vault.user_part import UserPart
from memoryos.infrastructure.vault.viewed import ViewedReader
from memoryos.kinds import Kind, Tier
from memoryos.progress import Progress
from memoryos.retention import VersionLimit
from memoryos.scope import Scope
from memoryos.text_cache import forget_texts

logger = logging.getLogger(__name__)

T = TypeVar("T")

EVERY_TENANT = None  # in the place of a tenant: the question is of the whole store

HIDDEN = "a memory that depends on it is protected, and nothing was changed: ask who administers this memory"

_BLOBS_AT_ONCE = 500  # bytes that are removed between two transactions

COPY = "copy"  # in `meta`: which copy of another store this is
_STORE = "store_of_memoryos"  # of an error of the database: the name of the store that it is of

UNFINISHED = "unfinished"  # in the place of the embedder, while a store is being copied; in `meta`, who does so


class SqlVault(ABC):
    """A vault behind an engine; `name` is what errors call it, `embedder` names what makes its vectors.

    No embedder, for a store that exists already, is whatever made them: to change to another one. One that is only
    read refuses writes with StoreReadOnly, and is not brought up to date.
    """

    unerased: tuple[str, ...]  #: what erasing rows leaves behind, and what to do about it
    driver_error: type[Exception]  #: what the driver raises where SQLAlchemy is not between
    key_file: KeyFile | None = None  #: the sealed keys of an encrypted file
    is_one_writer = False  # whether a transaction excludes the writers of all owners
    session: Callable[[], AbstractContextManager[object]] = nullcontext  #: what is around each use of the database

    def __init__(
        self, name: str, engine: Engine, *, embedder: str | None, clock: Clock, is_only_read: bool = False
    ) -> None:
        self.name = name
        self.is_only_read = is_only_read
        self.packs = Packs()
        self.blobs = Blobs()
        self.index_files: IndexFiles | None = None
        self.on_lock: OnLock | None = None
        self.on_erased: Callable[[], None] | None = None
        self.gate: Gate | None = None
        self.audits: KeepDeed | None = None
        self.merges = False
        self.version_limit: VersionLimit | None = None
        self.views: Views | None = None
        self.keys = KeyPart(self._reading, self._timed_rewriting)
        self.erasure = ErasurePart(name, clock, self.snapshot, self.change)
        self.delegations = DelegationPart(self._reading, self._timed_rewriting, clock)
        self.roles = RolePart(self._reading, self._timed_rewriting, clock)
        self.tenant_rules = TenantRulePart(self._reading, self.change, clock)
        self.tallies = UserPart(self._reading)
        self.agents = AgentPart(self._reading)
        self.kept_chains = KeptChains(self._reading, lambda owner: self._locked(self._writing(owner)))
        self.known_jobs: Collection[str] | None = None
        self.dim: int | None = None
        self._engine = engine
        event.listen(engine, "handle_error", partial(_sign, name))
        self._embedder = embedder
        self._clock = clock
        self._is_closed = False
        self._process = HomeProcess()
        with ExitStack() as undo:
            undo.callback(self.close)
            self._prepare()
            undo.pop_all()  # usable: the store stays open

    @property
    def is_writable(self) -> bool:
        """Whether this process may write the store, as far as it can tell beforehand."""
        return not self.is_only_read

    def pages_at_once(self, most: int) -> int:
        """How many pages one step may change, where it may change so many in a file."""
        return most

    @contextmanager
    def read(self, scope: Scope, action: Action = Action.READ) -> Iterator[SqlReader]:
        """A snapshot of the scope's owner; the gate is asked for the action."""
        with self._seeing(scope, action) as connection:
            yield SqlReader(connection, scope, self._clock, self.packs, self.known_jobs, self.dim)

    @contextmanager
    def view(self, scope: Scope, beside: Reader | None = None) -> Iterator[SqlReader]:
        """A snapshot with only the cubes that the caller may read; that of `beside`, if there is one."""
        with self._seeing(scope) if beside is None else self._seeing_beside(scope, beside) as connection:
            whole = ToldReader(connection, scope, self._clock, self.packs, self.known_jobs, self.dim)
            view = self.seen(scope)
            yield whole if view is None else ViewedReader(connection, scope, self._clock, whole, view, is_shown=True)

    @contextmanager
    def _seeing(self, scope: Scope, action: Action = Action.READ) -> Iterator[Connection]:
        self.admit(action, scope)
        with self._reading(scope.tenant) as connection:
            self._check_embedder(connection)
            with self._discreet(scope, connection):
                yield connection

    @contextmanager
    def _seeing_beside(self, scope: Scope, beside: Reader) -> Iterator[Connection]:
        self.admit(Action.READ, scope)
        whole = cast("SqlReader", beside.whole)
        assert whole._scope.tenant == scope.tenant  # noqa: S101 - the connection sees no other
        with self._discreet(scope, whole._connection):
            yield whole._connection

    @contextmanager
    def _discreet(self, scope: Scope, connection: Connection) -> Iterator[None]:
        """Tell a caller nothing of a memory that stands in its way and that it may not read."""
        try:
            yield
        except Refused as error:
            view = self.seen(scope) if error.memory_id is not None else None
            if error.memory_id is None or view is None:
                raise
            whole = SqlReader(connection, scope, self._clock, self.packs, self.known_jobs, self.dim)
            viewed = ViewedReader(connection, scope, self._clock, whole, view)
            if viewed.permitted([error.memory_id]):
                raise
            raise CubeProtected(HIDDEN) from None

    def seen(self, scope: Scope, action: Action = Action.READ) -> View | None:
        """What decides which cubes of the scope the caller may use; None: all."""
        view = self.views.view(current(), action, scope) if self.views else None
        return None if view is None or view.has_all(scope) else view

    @contextmanager
    def write(self, scope: Scope) -> Iterator[SqlWriter]:
        """A transaction on the scope's owner; waits for other writers, StoreBusy when too long."""
        self.admit(current_action(), scope)
        with timed(self._writing(scope.owner), self.on_lock) as connection:
            self._check_embedder(connection)
            writer = SqlWriter(connection, scope, self._clock, self.packs, self.known_jobs, self.dim)
            writer.version_limit, writer.merges = self.version_limit, self.merges
            begun = list[Deed]()
            if self.audits:
                writer.changes = {}
            with self._discreet(scope, connection):
                yield writer
            if writer.changes is not None:
                deeds = audit_part.deeds_of(scope.owner, self._clock(), writer.changes)
                begun = audit_part.append(connection, scope.owner, deeds)
                if self.is_one_writer:
                    begun = audit_part.append(connection, None, begun)
            self._forget_words(writer, scope)
        self._tidy_up()
        if self.audits:
            for deed in begun:
                self.audits(deed)
        if self.audits and (call := running_call()):
            call.written.add(scope.owner)
        self._forget_words(writer, scope)  # again: another process may have kept them before it could see the change
        self._let_go(writer)
        if writer.blobs.has_let_go:
            self._sweep_now(scope)

    def sweep_blobs(self, scope: Scope, drafts: Collection[str] = ()) -> None:
        """Remove the bytes that no cube of the owner refers to: what is due, or else of the `drafts`."""
        now = None if drafts else self._clock()
        with self.read(scope, current_action()) as reader:  # whoever may delete alone, too
            due = [one.name for one in reader.blobs.unused(drafts)] if now is None else reader.blobs.due(now)
        for some in (due[start : start + _BLOBS_AT_ONCE] for start in range(0, len(due), _BLOBS_AT_ONCE)):
            with self.write(scope) as writer:
                names = writer.blobs.claim(some, now)
            for name in names:
                self.blobs.remove(name)
            with self.write(scope) as writer:
                writer.blobs.forget(names)

    def _sweep_now(self, scope: Scope) -> None:
        """Remove bytes after the commit that let them go; where that fails, a job does it later."""
        try:
            self.sweep_blobs(scope)
        except StorageError as error:
            told = type(error).__name__
            logger.warning("bytes not removed yet: %s", told, extra={"action": "sweep", "error": told})

    def admit(self, action: Action, scope: Scope | None) -> None:
        """Ask the key and the gate of the caller; a scope of None means the whole store. Raises PermissionDenied."""
        if self.gate is not None:
            self.gate.admit(current(), action, scope)

    @property
    def audit(self) -> AuditPart:
        """The audit log."""
        return AuditPart(
            self.snapshot,
            lambda owner: self._locked(self._writing(owner)),
            lambda: self._locked(self._chaining()),
            self.is_one_writer,
        )

    def _forget_words(self, writer: SqlWriter, scope: Scope) -> None:
        """Remove the owner's saved index when a transaction deletes words."""
        if self.index_files and writer.has_removed_words:
            self.index_files.remove(scope.owner)

    def _let_go(self, writer: SqlWriter) -> None:
        """Empty what still holds words of what a transaction removed: caches of this process, and the log."""
        if writer.has_lost_memories:
            forget_texts()
        if writer.has_erased:
            self.empty_log()
        if writer.has_lost_memories and self.on_erased:
            self.on_erased()

    @contextmanager
    def reembedding(self, embedder: str) -> Iterator[SqlReembedding]:
        """A write transaction on the whole store, towards that embedder."""
        with self._timed_rewriting() as connection:
            yield SqlReembedding(connection, embedder, self._clock, self.packs)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """One snapshot of the whole store."""
        return self._reading(EVERY_TENANT)

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """A transaction on the whole store that excludes all other writers."""
        with self._timed_rewriting() as connection:
            self._check_embedder(connection)
            yield connection

    @contextmanager
    def _locked(self, transaction: AbstractContextManager[T]) -> Iterator[T]:
        """A transaction whose time is told to `on_lock`; after it, when others may write, the store tidies up."""
        with timed(transaction, self.on_lock) as connection:
            yield connection
        self._tidy_up()

    def _tidy_up(self) -> None:  # noqa: B027 - a server does it by itself
        """Do what may be done without the lock after a transaction."""

    def errors_in_file(self, connection: Connection) -> list[str]:  # noqa: ARG002 - a server looks after its files
        """The faults that the database's own integrity check reports."""
        return []

    def empty_log(self) -> None:  # noqa: B027 - a server keeps its own
        """Empty the write-ahead log, which may still hold deleted words."""

    @abstractmethod
    def scrub(self, progress: Progress | None = None) -> Scrubbed:
        """Overwrite the traces of deleted rows in the database's files, as far as permissions allow."""

    def number_after(self, connection: Connection, sequence: int) -> None:  # noqa: B027 - SQLite knows by itself
        """Make the next event number higher than that."""

    def owners(
        self, tenant: str, *, after: tuple[str, str, str] | None = None, limit: int | None = None
    ) -> list[Scope]:
        """Scopes of the tenant that hold a cube, in order."""
        cubes = tables.cubes
        query = (
            select(cubes.c.tenant, cubes.c.user_id, cubes.c.agent_id, cubes.c.namespace)
            .where(cubes.c.tenant == tenant)
            .distinct()
            .order_by(cubes.c.user_id, cubes.c.agent_id, cubes.c.namespace)
        )
        if after is not None:
            query = query.where(tuple_(cubes.c.user_id, cubes.c.agent_id, cubes.c.namespace) > after)
        with self._reading(tenant) as connection:
            return first_owners(connection, query, limit)

    def users(self, tenant: str, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Users of the tenant who have a cube, in order."""
        user = tables.cubes.c.user_id
        query = select(user).where(tables.cubes.c.tenant == tenant).distinct().order_by(user)
        if after is not None:
            query = query.where(user > after)
        with self._reading(tenant) as connection:
            return first_names(connection, query, limit)

    def owners_of(self, tenant: str, user: str | None = None) -> list[Scope]:
        """The scopes of a user, or of all users of a tenant, for which the store has more than deletion records."""
        with self._reading(tenant) as connection:
            return sorted(told_owners(connection.execute(traces(tenant, user))), key=repr)

    def copy_id(self) -> str | None:
        """The id of this copy of another store; None for an original."""
        with self._reading(EVERY_TENANT) as connection:
            return noted(connection, COPY)

    def waiting(self) -> list[Scope]:
        """The owners, of every tenant, with a job that is due or whose lease has ended, and none that is held.

        The one with the oldest of these jobs comes first.
        """
        with self._reading(EVERY_TENANT) as connection:
            return list(told_owners(waiting_owners(connection, self._clock(), self.known_jobs)))

    def claim(
        self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = (), order: Order = list
    ) -> tuple[Scope, list[Job]] | None:
        """Lease the jobs of the next waiting owner that no worker holds; None if there is none."""
        for owner in order(self.waiting()):
            with self._locked(self._trying(owner)) as connection:
                if connection is None:
                    continue
                self._check_embedder(connection)
                jobs = Queue(connection, tables.owner_row(owner), self._clock, self.known_jobs).lease(
                    lasting=lasting, limit=limit, early=early
                )
            if jobs:
                return owner, jobs
        return None

    def unsettled(self) -> list[Scope]:
        """The owners, of all tenants, with pages in STM that an ended process did not assign to segments."""
        cubes = tables.cubes
        fresh = (cubes.c.kind == Kind.PAGE.value, cubes.c.tier == Tier.STM.value, cubes.c.mark.is_(None))
        query = select(*(cubes.c[name] for name in tables.OWNER)).distinct()
        with self._reading(EVERY_TENANT) as connection:
            return list(told_owners(connection.execute(query.where(*fresh))))

    def archiving(self) -> list[Scope]:
        """The owners, of every tenant, with archived pages or with packs."""
        cubes, notes = tables.cubes, tables.notes
        archived = select(*(cubes.c[name] for name in tables.OWNER)).where(
            cubes.c.kind == Kind.PAGE.value, cubes.c.tier == Tier.ARCHIVE.value
        )
        packed = select(*(notes.c[name] for name in tables.OWNER)).where(is_pack(notes.c.key))
        with self._reading(EVERY_TENANT) as connection:
            return list(told_owners(connection.execute(archived.union(packed).order_by(*tables.OWNER))))

    @abstractmethod
    def nbytes(self) -> int:
        """The size of the store on disk, in bytes."""

    def close(self) -> None:
        """Release the store. A second call does nothing."""
        self._is_closed = True
        self._engine.dispose()

    @abstractmethod
    def _reading(self, tenant: str | None) -> AbstractContextManager[Connection]:
        """A transaction that sees one snapshot of a tenant, or of EVERY_TENANT."""

    @abstractmethod
    def _writing(self, owner: Scope) -> AbstractContextManager[Connection]:
        """A transaction on one owner that excludes other writers of that owner."""

    @abstractmethod
    def _trying(self, owner: Scope) -> AbstractContextManager[Connection | None]:
        """Like `_writing`, but None if another writer has the owner and the back end can tell so without waiting."""

    @abstractmethod
    def job_signal(self) -> JobSignal:
        """The listener that tells a worker that jobs may have become due; close it after use."""

    @abstractmethod
    def _rewriting(self) -> AbstractContextManager[Connection]:
        """A transaction on the whole store that excludes all other writers."""

    def _timed_rewriting(self) -> AbstractContextManager[Connection]:
        """The same, whose time is told to `on_lock`."""
        return self._locked(self._rewriting())

    def _chaining(self) -> AbstractContextManager[Connection]:
        """A transaction on the store's chain of the audit log, which excludes others on that chain."""
        return self._rewriting()

    @abstractmethod
    def _explained(self, driver: BaseException | None) -> tuple[type[StorageError], str]:
        """Our error class for an error of the driver, and its message without stored text."""

    @abstractmethod
    def _create(self, connection: Connection) -> None:
        """Create all tables in an empty database, and record the schema version."""

    def _upgrade(self, connection: Connection) -> None:
        if migrations.is_empty(connection):
            self._create(connection)
        else:
            migrations.upgrade(connection)

    def _prepare(self) -> None:
        """Check that the store exists and has our schema and our embedder; create or upgrade it if needed."""
        if not self._is_ready():
            self._make_ready()
        with self._reading(EVERY_TENANT) as connection:
            self._check_embedder(connection)

    def _is_ready(self) -> bool:
        with self._reading(EVERY_TENANT) as connection:
            return is_named(connection, self.name)

    def _make_ready(self) -> None:
        if self.is_only_read:
            raise StoreReadOnly(
                f"{self.name} has an older schema or is empty; open it once without read_only to upgrade it"
            )
        with self._rewriting() as connection:
            self._upgrade(connection)
            if self._embedder and noted(connection, EMBEDDER) is None:
                connection.execute(tables.meta.insert(), {"key": EMBEDDER, "value": self._embedder})

    def _check_embedder(self, connection: Connection) -> None:
        """Raise EmbedderMismatch for another embedder. Each session checks: another process may have changed it."""
        named = self._embedder is not None
        recorded = ask_one(connection, queries.EMBEDDER, {}) if named else noted(connection, EMBEDDER)
        if recorded == UNFINISHED and self._embedder != UNFINISHED:
            command = noted(connection, UNFINISHED) or "the copy that was begun"
            raise StorageError(f"{self.name} is not complete yet; to finish it, run: {command}")
        if named and recorded != self._embedder:
            raise EmbedderMismatch(
                f"the vectors in {self.name} were made by the embedder {recorded!r}, not by {self._embedder!r}; "
                f"open it with the setting `embedder` for {recorded!r}, or compute them anew with `memoryos reembed`"
            )

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn the driver's errors into ours, and refuse a store that was closed, and a copy in a forked child."""
        self._process.check()
        if self._is_closed:
            raise StorageError(f"the store {self.name} is closed; open it again")
        try:
            with self.session():
                yield
        except (DBAPIError, self.driver_error) as error:
            if getattr(error, _STORE, self.name) != self.name:  # of the other store of a copy, which explains it
                raise
            kind, said = self._explained(error.orig if isinstance(error, DBAPIError) else error)
            if kind is StoreBusy:  # what this call does next waits no more
                patience(0).spend_all()
            raise kind(f"{self.name}: {said}. {kind.__doc__}") from error
        except UnicodeError as error:  # of the driver: all text of ours was checked; it may hold what a user said
            raise StoreCorrupt(f"{self.name}: {type(error).__name__}. {StoreCorrupt.__doc__}") from None


def _sign(name: str, context: ExceptionContext) -> None:
    """Note in an error of the database which store it is of."""
    if context.sqlalchemy_exception is not None:  # None: the driver could not even send a text
        setattr(context.sqlalchemy_exception, _STORE, name)


def noted(connection: Connection, key: str) -> str | None:
    """The value under that key of the table `meta`."""
    value: str | None = connection.scalar(select(tables.meta.c.value).where(tables.meta.c.key == key))
    return value
