"""SqliteVault: the vault in one SQLite file (WAL, foreign keys, full sync, one transaction per operation).

Reads run beside a write and see the state before it. Writes take the lock at BEGIN, so two of them
never deadlock; the second waits as long as its call may still wait (`patience`). It asks for the lock again every
millisecond or so: SQLite's own waiting sleeps for longer and longer, so beside seven others that write without a pause
one got two turns in six seconds, and sooner or later none within its timeout.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL

from memoryos.clock import Clock
from memoryos.errors import IdTaken, InvalidInput, StorageError, StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.infrastructure.objects.object_store import LACKS
from memoryos.infrastructure.vault import compiled, migrations
from memoryos.infrastructure.vault.checksum import ESCAPED, shown
from memoryos.infrastructure.vault.index_files import IndexFiles
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.locks import timed
from memoryos.infrastructure.vault.patience import Patience, patience
from memoryos.infrastructure.vault.scrubbed import Scrubbed
from memoryos.infrastructure.vault.sql_vault import EVERY_TENANT, SqlVault
from memoryos.infrastructure.vault.sqlite import new_file, room
from memoryos.infrastructure.vault.sqlite.cipher import driver
from memoryos.infrastructure.vault.sqlite.ended_connection import EndedConnection
from memoryos.infrastructure.vault.sqlite.file_changes import SqliteJobSignal
from memoryos.infrastructure.vault.sqlite.fork_gate import InSession
from memoryos.infrastructure.vault.sqlite.inherited import closed, opened, refuse_inherited
from memoryos.infrastructure.vault.sqlite.log_cut import is_log_cut, operational, sizes_after
from memoryos.infrastructure.vault.sqlite.still import StillFile, log_of, may_be_written
from memoryos.infrastructure.vault.statements import spare_cursor
from memoryos.progress import Progress
from memoryos.regex import regex
from memoryos.scope import Scope

logger = logging.getLogger(__name__)

_BEGUN = "memoryos_begun"  # execution option: the driver begins its transactions
_PATIENCE = "memoryos_patience"  # execution option: seconds that a call waits
_WAIT_MS = "memoryos_wait_ms"  # noted with a connection: how long it waits for a lock

MOST_LOG = 32 * 2**20  # bytes of the log; SQLite begins it again by itself only at a moment at which nobody reads
_LOG_TRIES = 20  # to empty a larger one, without the lock between them; who begins to read meanwhile is not in the way
_LOG_PAUSE = 0.005  # seconds between two of them
_LARGEST_LOG = 4  # times as large: then others write all the time, and a try keeps them waiting for readers
_LOG_WAIT_MS = 25  # so long; half of what a step may take

_ROWS_IN_LOG = 1_000  # that this process changes before it copies the log into the file

_PAUSE = (0.0005, 0.002)  # seconds between two tries to take it; by chance, so that nobody is always late

_ERRORS: dict[int, type[StorageError]] = {  # by the code, or its low byte: the primary code
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_CANTOPEN: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_IOERR_SHMSIZE: StoreFull,  # no room for the index of the log, without which nothing is read
    sqlite3.SQLITE_CONSTRAINT: StoreCorrupt,  # our statements keep the constraints where rows and indexes agree
    sqlite3.SQLITE_CORRUPT: StoreCorrupt,
    sqlite3.SQLITE_NOTADB: StoreCorrupt,
}

_ID_TAKEN = "UNIQUE constraint failed: cubes.tenant, cubes.id"

_TEXT = partial(str, encoding="utf-8", errors=ESCAPED)  # the driver's own decoding quotes what it cannot decode

# What SQLite says where its schema is not the one that our statements are for.
_OF_THE_SCHEMA = regex(
    r"no such |malformed |unsupported file format|error in |foreign key mismatch|table \S+ has |ambiguous column name"
    r"|ON CONFLICT clause does not match|.*cannot modify |unrecognized token|near "
)

_CACHE_KB = 8_000  # of pages that the writer keeps: what changes more of them writes some to the log twice

_PRIMARY = 0xFF  # the bits of an error's code that name its kind


class SqliteVault(SqlVault):
    """A vault in the file at `path`; with a key, all of it is encrypted."""

    is_one_writer = True
    session = InSession
    unerased: tuple[str, ...] = (
        "the write-ahead log, if another process was reading meanwhile: run `memoryos scrub`",
        "snapshots and copies of the disk that were made outside this program",
    )

    def __init__(
        self,
        path: Path,
        *,
        embedder: str | None,
        clock: Clock,
        busy_timeout_seconds: float,
        is_only_read: bool = False,
        key: DataKey | None = None,
    ) -> None:
        refuse_inherited(path)
        self.path = path
        self._log = log_of(path)
        self.key = key
        self.key_file = KeyFile(path, busy_timeout_seconds) if key else None
        self._driver = driver(key)
        self.driver_error = self._driver.Error
        self._most = busy_timeout_seconds  # that a call waits
        self._lock = Lock()  # threads queue here instead of polling the file lock
        self._log_is_due = False  # to be emptied of what was erased
        self._most_log = MOST_LOG  # after which it is emptied next
        self._copied_rows = 0  # of those that this process has changed
        self._writer: Connection | None = None  # kept, for a new one costs as much as a small transaction
        self._still = StillFile.at(path, is_only_read=is_only_read)
        engine = self._connected(path, busy_timeout_seconds, is_only_read=is_only_read)
        self._reader = engine.execution_options(**{_BEGUN: True})
        opened(self)
        super().__init__(str(path), engine, embedder=embedder, clock=clock, is_only_read=is_only_read)
        self.index_files = IndexFiles(path, key)
        self.blobs = Blobs(beside=path, key=key)

    @property
    def is_writable(self) -> bool:
        """Whether this process may write the file, as far as it can tell beforehand."""
        return super().is_writable and self._still is None and may_be_written(self.path)

    def nbytes(self) -> int:
        """The size of the file and its log on disk, in bytes."""
        return sum(file.stat().st_size for file in (self.path, self._log) if file.exists())

    def close(self) -> None:
        """Release the file. A second call does nothing."""
        self._is_closed = True
        with self._lock:
            if self._writer:
                self._writer.close()
                self._writer = None
        super().close()
        closed(self)

    def errors_in_file(self, connection: Connection) -> list[str]:
        """The faults that SQLite's integrity check reports."""
        return [said for (said,) in connection.exec_driver_sql("PRAGMA integrity_check") if said != "ok"]

    def empty_log(self) -> None:
        """Checkpoint the log into the file and truncate it; postponed while a reader uses an older state."""
        self._log_is_due = True
        if self._is_log_copied() or self._is_log_copied():  # beside others, and once more what came in meanwhile
            self._log_is_due = not self._cuts_log()
        if self._log_is_due:
            logger.info("log not emptied yet", extra={"action": "erase"})  # the next erasure or close does it

    def scrub(self, progress: Progress | None = None) -> Scrubbed:
        """Rewrite the file without the traces of deleted rows, and empty its log."""
        before, refused = self.nbytes(), []
        steps: list[tuple[str, Callable[[Connection], bool]]] = [
            ("file", _is_compacted),
            ("log", partial(is_log_cut, most=0)),
        ]
        with self._alone(), self._usable():
            for number, (name, step) in enumerate(steps, 1):
                if not step(self._kept_writer()):
                    refused.append(f"{name}: another connection is in a transaction; run it again later")
                if progress:
                    progress(number, len(steps))
        names = [name for name, _ in steps if not any(said.startswith(name) for said in refused)]
        return Scrubbed(tuple(names), tuple(refused), before, self.nbytes())

    def _connected(self, path: Path, busy_timeout_seconds: float, *, is_only_read: bool) -> Engine:
        if self._still:
            return _engine(_url(path, immutable="1"), busy_timeout_seconds, self.key)
        if is_only_read and log_of(path).exists():
            return read_only_engine(path, busy_timeout_seconds, key=self.key)
        engine = _engine(_url(path), busy_timeout_seconds, self.key)
        if is_only_read:  # with mode=ro SQLite would leave a log and its index beside a file that had none
            event.listen(engine, "connect", _only_read)
        return engine

    @contextmanager
    def _reading(self, tenant: str | None) -> Iterator[Connection]:  # noqa: ARG002 - every statement names it
        # The driver begins, and the pool rolls back: with SQLAlchemy's events around, that takes twice as long.
        with self._usable(), self._undisturbed(), self._reader.connect() as connection:
            _start(connection, self._most)
            yield connection

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        if self._still:
            self._still.check()
        yield
        if self._still:
            self._still.check()

    @contextmanager
    def _writing(self, owner: Scope) -> Iterator[Connection]:  # noqa: ARG002 - one writer at a time, whose ever
        # The driver begins and commits: with SQLAlchemy's events around, that takes three times as long.
        with self._alone() as waiting, self._usable():
            writer = self._kept_writer()
            driver = writer.connection
            self._take_write_lock(writer, waiting)
            try:
                yield writer
                driver.commit()
            finally:
                driver.rollback()  # of what was not committed
                writer.rollback()  # SQLAlchemy's own, which a statement that it ran may have begun

    def _tidy_up(self) -> None:
        """Copy the log into the file now and then; empty one that has become large beside readers who take turns."""
        if self._log_is_due:  # a reader was in the way when words were erased
            self.empty_log()
        size = _size(self._log)
        if size > self._most_log:  # if one reads on, try later
            wait_ms = _LOG_WAIT_MS if size > _LARGEST_LOG * MOST_LOG else 0
            self._most_log = MOST_LOG if self._empties_log(wait_ms) else size + MOST_LOG // 4
        elif self._changed_rows() - self._copied_rows > _ROWS_IN_LOG:
            self._is_log_copied()

    def _empties_log(self, wait_ms: int) -> bool:
        """Try to empty the log a few times, while others read and write between two tries."""
        for _ in range(_LOG_TRIES):
            if (self._is_log_copied() or wait_ms) and self._cuts_log(wait_ms):
                return True
            time.sleep(_LOG_PAUSE)
        return False

    def _cuts_log(self, wait_ms: int = 0) -> bool:
        """Empty the log in steps between which others write; return whether nobody prevented it."""
        with suppress(StoreBusy):  # what was committed is on the disk, and what was erased is erased: this is no error
            for most in sizes_after(_size(self._log)):
                with timed(self._alone(), self.on_lock), self._usable():
                    if not is_log_cut(self._kept_writer(), most, wait_ms):
                        return False
            return True
        return False

    def _is_log_copied(self) -> bool:
        """Copy what no reader needs from the log into the file, while others write; return whether that is all."""
        self._copied_rows = self._changed_rows()
        try:
            with self._usable(), closing(self._engine.raw_connection()) as connection:
                is_busy, pages, copied = connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except StorageError as error:  # what was committed is in the log; the next try or reader tells what is wrong
            logger.warning("log not copied yet: %s", type(error).__name__, extra={"action": "copy"})
            return False
        return not is_busy and bool(pages == copied)

    def _changed_rows(self) -> int:
        """The number of rows that this process has changed: about as many pages are in the log."""
        writer = self._writer
        return int(writer.connection.total_changes) if writer else 0

    def _trying(self, owner: Scope) -> AbstractContextManager[Connection]:
        return self._writing(owner)

    def job_signal(self) -> SqliteJobSignal:
        """The listener that tells a worker that jobs may have become due; close it after use."""
        with self._usable():
            return SqliteJobSignal(self._engine)

    @contextmanager
    def _rewriting(self) -> Iterator[Connection]:
        with self._alone() as waiting, self._usable():
            writer = self._kept_writer()
            self._take_write_lock(writer, waiting)
            try:
                with writer.begin():
                    yield writer
            finally:
                writer.connection.rollback()  # where SQLAlchemy did not begin

    @contextmanager
    def _alone(self) -> Iterator[Patience]:
        """Hold the lock between writing threads; yield the call's patience."""
        self._process.check()  # a forked child would wait for a thread of its parent
        waiting = patience(self._most)
        if not waiting.takes(self._lock):
            raise StoreBusy(f"{self.name}: another thread of this process is writing or waiting to write; try again.")
        try:
            yield waiting
        finally:
            self._lock.release()

    def _take_write_lock(self, writer: Connection, waiting: Patience) -> None:
        """Begin a transaction that writes."""
        cursor = spare_cursor(writer)
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except self._driver.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or not waiting.left:
                    raise
            else:
                return
            waiting.pause(random.uniform(*_PAUSE))  # noqa: S311 - spreads load, guards nothing

    def _kept_writer(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect().execution_options(**{_BEGUN: True})
            self._writer.detach()  # from the pool, which would wait to have it back when the vault is forgotten
            cursor = self._writer.connection.cursor()
            cursor.execute("PRAGMA busy_timeout = 0")  # the waiting is ours
            cursor.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            cursor.execute("PRAGMA wal_autocheckpoint = 0")  # a commit would copy the log under the lock
        return self._writer

    def _explained(self, driver: BaseException | None) -> tuple[type[StorageError], str]:
        code = getattr(driver, "sqlite_errorcode", 0)
        if code & _PRIMARY == sqlite3.SQLITE_CANTOPEN and self._log.exists():
            told = f"{driver}; what was written last is in {self._log}: copy both to a folder you may write"
            return StoreReadOnly, told
        if code & _PRIMARY == sqlite3.SQLITE_CANTOPEN and self._is_unreadable():
            return StorageError, "the file cannot be read: check its permissions"
        if code == sqlite3.SQLITE_ERROR and _OF_THE_SCHEMA.match(str(driver)):  # our statements fit our schema
            return StoreCorrupt, shown(driver)
        if code & _PRIMARY == sqlite3.SQLITE_NOTADB and not (sealed := KeyFile(self.path)).exists():
            return StoreCorrupt, f"{driver}; if it is an encrypted store, put {sealed.path.name} back beside it"
        if str(driver) == _ID_TAKEN:
            return IdTaken, _ID_TAKEN
        if code in room.UNWRITTEN and (reason := room.lack_beside(self.path, self._log)):
            return StoreFull, f"{driver} ({reason})"
        return _ERRORS.get(code) or _ERRORS.get(code & _PRIMARY, StorageError), str(driver)

    def _is_unreadable(self) -> bool:
        as_now = os.access in os.supports_effective_ids
        return self.path.is_file() and not os.access(self.path, os.R_OK, effective_ids=as_now)

    def _prepare(self) -> None:
        if not self.is_only_read:
            create_private(self.path)
        is_ready = self._is_ready()
        if not is_ready and self._embedder is None:  # who opens a store with any embedder does not make one
            self._check_holds_store()
        if not self._still and not self.is_only_read:
            self._keep_a_log()  # only now: a database that is not ours was refused, and is left as it was
        if not is_ready:
            self._make_ready()
        with self._reading(EVERY_TENANT) as connection:
            self._check_embedder(connection)

    def _check_holds_store(self) -> None:
        with self._reading(EVERY_TENANT) as connection:
            if migrations.is_empty(connection):
                raise InvalidInput("path", f"{self.path} is empty and holds no MemoryOS store", "Name the file of one")

    def _create(self, connection: Connection) -> None:
        new_file.create(connection)

    def _keep_a_log(self) -> None:
        """Switch the file to WAL mode permanently. SQLite demands that this is outside a transaction."""
        with self._usable(), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA journal_mode = WAL")


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _is_compacted(writer: Connection) -> bool:
    """Rewrite the file; return whether no other connection prevented it."""
    cursor = writer.connection.cursor()
    try:
        cursor.execute("VACUUM")
    except MemoryError:  # so SQLCipher calls damage to some pages here; a check of the file calls it by its name
        cursor.execute("PRAGMA integrity_check").fetchall()
        raise
    except operational(writer) as error:
        if error.sqlite_errorcode & _PRIMARY not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return False
    return True


def read_only_engine(path: Path, busy_timeout_seconds: float = 30.0, *, key: DataKey | None = None) -> Engine:
    """Connections that cannot change the file."""
    return _engine(_url(path, mode="ro"), busy_timeout_seconds, key)


def put_in_one_file(path: Path, key: DataKey | None = None) -> None:
    """Merge the log of an unused store into its file, leave WAL mode, and flush the file to disk."""
    with closing(driver(key).connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def create_private(path: Path) -> None:
    """Create the file readable by its owner only; SQLite gives its WAL the same mode.

    One that exists is not touched: to close it would drop the locks that another memory of this process has on it.
    """
    if path.is_dir():
        raise InvalidInput("path", f"{path} is a folder", "Name a file in it, e.g. memory.db")
    if path.exists() and not path.is_file():
        raise InvalidInput("path", f"{path} is a device, a socket or the like", "Name a file, e.g. memory.db")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError:
        if path.parent.is_dir():
            raise InvalidInput("path", f"no file can be created in {path.parent}", "Choose another folder") from None
        raise InvalidInput("path", f"the folder {path.parent} does not exist", "Create it first") from None
    except NotADirectoryError:
        raise InvalidInput("path", f"{path.parent} is not a folder", "Name a file in a folder") from None
    except OSError as error:
        raise _from_os(path, error) from error


def _from_os(path: Path, error: OSError) -> StorageError:
    kind = StoreFull if error.errno in LACKS else StoreReadOnly
    return kind(f"{path}: {error.strerror}. {kind.__doc__}")


def _url(path: Path, **query: str) -> URL:
    if not query:
        return URL.create("sqlite", database=str(path))
    return URL.create("sqlite", database=path.absolute().as_uri(), query={**query, "uri": "true"})


def _engine(address: URL, busy_timeout_seconds: float, key: DataKey | None) -> Engine:
    kind = {} if key else {"factory": EndedConnection}  # SQLCipher's driver ends what is read by itself
    engine = create_engine(
        address,
        module=driver(key),
        connect_args={"timeout": busy_timeout_seconds, "check_same_thread": False, **kind},
        hide_parameters=True,  # an error must not quote what a user said
        max_overflow=-1,  # a thread waits for SQLite's lock, not for a free connection
        execution_options={_PATIENCE: busy_timeout_seconds, **compiled.SHARED},
    )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: sqlite3.Connection, _record: Any) -> None:
    connection.text_factory = _TEXT
    connection.isolation_level = None  # we say BEGIN ourselves, or DDL would commit behind our back
    connection.execute("PRAGMA synchronous = FULL")  # durable when add() returns, power cut included
    connection.execute("PRAGMA fullfsync = ON")  # on macOS only this empties the drive's own cache
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # deleted text is overwritten, not only unlinked


def _only_read(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get(_BEGUN, False):  # otherwise the driver has, before SQLAlchemy does with its first statement
        _start(connection, options[_PATIENCE])


def _start(connection: Connection, most: float) -> None:
    driver, wait_ms = connection.connection, f"{patience(most).left * 1000:.0f}"
    cursor = driver.cursor()
    if driver.info.get(_WAIT_MS) != wait_ms:  # nearly always it is as it was
        driver.info.pop(_WAIT_MS, None)  # who is interrupted in between leaves no wrong note
        cursor.execute(f"PRAGMA busy_timeout = {wait_ms}")
        driver.info[_WAIT_MS] = wait_ms
    cursor.execute("BEGIN")
