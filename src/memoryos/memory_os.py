"""MemoryOS: a store of memories, and `open`, which opens one owner's memory in it at once."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from memoryos import arguments
from memoryos.caller import OPERATOR, Caller, Gate
from memoryos.clock import Clock, system_clock
from memoryos.config import Settings
from memoryos.engine import Engine, left
from memoryos.memory import Memory
from memoryos.models.chat import ChatModel
from memoryos.models.embedder import Embedder
from memoryos.models.reranker import Reranker
from memoryos.nouns.admin import Admin
from memoryos.nouns.mounts import Mounts
from memoryos.opening import engine_at
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.scope import PRIVATE, Scope


@door
class MemoryOS:
    """A store: the memories of many users and agents, in one file or one database. Threads may share it."""

    def __init__(self, engine: Engine, caller: Caller = OPERATOR) -> None:
        """Get one from `MemoryOS.open`; `caller` is who uses it as a whole."""
        self._engine = arguments.instance("engine", engine, Engine, "Call MemoryOS.open(...)")
        self._caller = arguments.instance("caller", caller, Caller, "Pass Caller(...)")

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        clock: Clock = system_clock,
        gate: Gate | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store in the file at `path`, creating it when it does not exist.

        `path` may be the URL of a PostgreSQL database, which must exist: postgresql://user:password@host/database;
        ":memory:" is a store in a temporary folder, which is gone when it is closed.
        The `gate` decides who may do what; everybody may do everything when it is left out.
        A store that is opened `read_only` must be there, and stays as it is: writes raise StoreReadOnly. Raises
        StorageError when the store cannot be used, ModelError when an embedder behind an endpoint does not answer,
        MissingExtra for a URL without the extra `postgres`.
        """
        engine = engine_at(
            path,
            settings=settings,
            embedder=embedder,
            chat=chat,
            reranker=reranker,
            clock=clock,
            gate=gate,
            read_only=read_only,
        )
        store = cls(engine)
        with ExitStack() as undo:
            undo.callback(engine.close)
            for mount in engine.settings.mounts:
                store.mounts.add(mount, later=True)
            undo.pop_all()
        return store

    def memory(
        self,
        user: str,
        *,
        agent: str | None = "default",
        session: str | None = None,
        tenant: str = "default",
        namespace: tuple[str, ...] = PRIVATE,
        caller: Caller | None = None,
    ) -> Memory:
        """One owner's memory; to make it costs nothing, and to close it closes nothing. Raises InvalidInput.

        The `caller` is who uses it, which a gate may ask for: the user, when left out.
        """
        return self.of(Scope(user, agent, session, tenant, namespace), caller)

    def of(self, scope: Scope, caller: Caller | None = None) -> Memory:
        """Like `memory`, for a scope."""
        return Memory(self._engine, arguments.scope(scope), arguments.caller(caller, scope))

    @property
    def settings(self) -> Settings:
        """What the store was opened with."""
        return self._engine.settings

    @property
    def mounts(self) -> Mounts:
        """The memories that searches look into, too."""
        return Mounts(self._engine, self._caller)

    @property
    def admin(self) -> Admin:
        """What concerns everybody."""
        return Admin(self._engine, self._caller)

    def wait(self, timeout: float | None = None) -> None:
        """Return when the work behind earlier calls is done: answers stored, hot segments extracted.

        After `timeout` seconds it raises StillRunning, which says how much is left; that goes on.
        """
        self._engine.wait(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Finish the work behind earlier calls and release the store. Calling it twice is harmless.

        After `timeout` seconds it raises StillRunning; then only what is under way is finished before the store is
        released, and the rest is left to the next process. Nothing that was stored is lost.
        """
        self._engine.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left(self._engine, kind, self.close)

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


def open(  # noqa: A001 - `memoryos.open`, as `gzip.open`
    path: str | Path,
    *,
    user: str,
    agent: str | None = "default",
    session: str | None = None,
    tenant: str = "default",
    namespace: tuple[str, ...] = PRIVATE,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    chat: ChatModel | None = None,
    reranker: Reranker | None = None,
    clock: Clock = system_clock,
    gate: Gate | None = None,
    caller: Caller | None = None,
    read_only: bool = False,
) -> Memory:
    """Open one owner's memory in the store at `path`; to close it closes the store.

    The store is opened as `MemoryOS.open` does it, and the owner is named as for `MemoryOS.memory`.
    """
    owner = Scope(user, agent, session, tenant, namespace)
    store = MemoryOS.open(
        path,
        settings=settings,
        embedder=embedder,
        chat=chat,
        reranker=reranker,
        clock=clock,
        gate=gate,
        read_only=read_only,
    )
    return Memory(store._engine, owner, arguments.caller(caller, owner), store.close)
