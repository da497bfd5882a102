"""MemoryOS: a store of memories; and `open`, which opens a store and one owner's memory in it.

What works on a store, and the database below it, is imported when a store is opened. So what stands here says
`memoryos.Memory`: the package imports that when it is first used.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import memoryos
from memoryos import expected
from memoryos.caller import OPERATOR, Caller, Gate
from memoryos.clock import Clock, system_clock
from memoryos.errors import InvalidInput
from memoryos.exports import MODULES
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand, by_a_hand
from memoryos.operation.calls.keywords import named
from memoryos.operation.scheduler import forked_imports  # noqa: F401 - a thread that opens a store imports modules
from memoryos.scope import PRIVATE, Scope

if TYPE_CHECKING:
    from memoryos.engine import Engine


@door
class MemoryOS:
    """A store: the memories of many users and agents, in one file or one database. Threads may share it."""

    def __init__(self, engine: Engine, caller: Caller = OPERATOR) -> None:
        """Call `MemoryOS.open` instead; `caller` is the caller of the operations on the whole store."""
        from memoryos.engine import Engine  # loaded already, unless this is something else

        self._engine = expected.instance("engine", engine, Engine, "Call MemoryOS.open(...)")
        self._caller = expected.instance("caller", caller, Caller, "Pass Caller(...)")

    def __repr__(self) -> str:
        return f"MemoryOS(store={self._engine.vault.name!r})"

    @classmethod
    @named
    @by_a_hand
    def open(
        cls,
        path: str | Path,
        *,
        settings: memoryos.Settings | None = None,
        embedder: memoryos.Embedder | None = None,
        chat: memoryos.ChatModel | None = None,
        reranker: memoryos.Reranker | None = None,
        clock: Clock = system_clock,
        gate: Gate | None = None,
        policies: str | Path | None = None,
        key: str | None = None,
        read_only: bool = False,
        encryption_key: str | None = None,
        purpose: str | None = None,
        application: str | None = None,
        caller_session: str | None = None,
    ) -> Self:
        """Open the store at `path`, and create the file if it does not exist.

        `path` is a file, or the URL of an existing PostgreSQL database: postgresql://user:password@host/database.
        ":memory:" is a store in a temporary folder, which is removed on close. The `gate` decides who may do what
        (default: everybody may do everything). `policies`, a .cedar file or a folder of them, decide instead of a gate
        (default: the setting `policies`). An API `key` tells who calls the operations on the store, and who uses its
        memories unless a caller is passed; PermissionDenied is raised if it is not valid. These calls are made for the
        `purpose` by the `application`, which a key must have (`keys.caller`), in the session `caller_session`. With
        `read_only`, the store must exist and writes raise StoreReadOnly. With an `encryption_key` (default: that of the
        settings), a new file is encrypted; an encrypted file needs its key, and one in clear needs none, or this raises
        WrongKey. Raises StorageError if the store cannot be used, InvalidInput for a policy that is wrong, ModelError
        if an embedder behind an endpoint does not answer, and MissingExtra for a PostgreSQL URL without the extra
        `postgres`, policies without `governance`, or a key without `encryption`.
        """
        from memoryos.opening import engine_at  # with all that works on a store: most of the time of an import

        engine = engine_at(
            path,
            settings=settings,
            embedder=embedder,
            chat=chat,
            reranker=reranker,
            clock=clock,
            gate=gate,
            policies=policies,
            read_only=read_only,
            encryption_key=encryption_key,
        )
        store = cls(engine)
        with ExitStack() as undo:
            undo.callback(engine.close)
            for mount in engine.settings.mounts:
                store.mounts.add(mount, later=True)
            if key is None:
                known = replace(OPERATOR, purpose=purpose, session=caller_session, application=application)
            else:
                known = store.keys.caller(key, purpose=purpose, session=caller_session, application=application)
            undo.pop_all()
        return cls(engine, known)

    def memory(
        self,
        user: str,
        *,
        agent: str | None = "default",
        session: str | None = None,
        tenant: str = "default",
        namespace: tuple[str, ...] = PRIVATE,
        caller: Caller | None = None,
    ) -> memoryos.Memory:
        """Return one owner's memory. Creating it is cheap, and closing it keeps the store open. Raises InvalidInput.

        `caller` says who uses the memory (default: the caller with the `key` that the store was opened with, or the
        user); a gate may check it.
        """
        return self.of(Scope(user, agent, session, tenant, namespace), caller)

    def of(self, scope: Scope, caller: Caller | None = None) -> memoryos.Memory:
        """Like `memory`, for a scope."""
        known = expected.caller(caller, expected.scope(scope), self._caller)
        return memoryos.Memory(self._engine, scope, known)

    def by(self, caller: Caller) -> MemoryOS:
        """Return the same store, whose operations are those of this caller. Closing it closes the store."""
        return MemoryOS(self._engine, expected.instance("caller", caller, Caller, "Pass Caller(...)"))

    @property
    def settings(self) -> memoryos.Settings:
        """The settings of the store."""
        return self._engine.settings

    @property
    def mounts(self) -> memoryos.Mounts:
        """The mounted memories, which searches include."""
        return memoryos.Mounts(self._engine, self._caller)

    @property
    def keys(self) -> memoryos.Keys:
        """The API keys by which callers are known."""
        return memoryos.Keys(self._engine, self._caller)

    @property
    def agents(self) -> memoryos.Agents:
        """The agents that have memories in the store."""
        return memoryos.Agents(self._engine, self._caller)

    @property
    def users(self) -> memoryos.Users:
        """The users whose memories the store holds."""
        return memoryos.Users(self._engine, self._caller)

    @property
    def roles(self) -> memoryos.Roles:
        """The roles that identities were granted."""
        return memoryos.Roles(self._engine, self._caller)

    @property
    def retention(self) -> memoryos.TenantRetention:
        """The retention rules of whole tenants."""
        return memoryos.TenantRetention(self._engine, self._caller)

    @property
    def admin(self) -> memoryos.Admin:
        """Operations on the whole store."""
        return memoryos.Admin(self._engine, self._caller)

    @property
    def audit(self) -> memoryos.Audit:
        """The audit log: who did what to which memory."""
        return memoryos.Audit(self._engine, self._caller, _load_operations)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the background work of earlier calls is done: answers are stored and hot segments extracted.

        It does not wait for jobs that are not due yet, such as merging (`merge_duplicates`), nor with the setting
        `jobs=worker` for those that workers do (`memoryos jobs run`). Raises StillRunning with counts after `timeout`
        seconds (work goes on), StoreReadOnly if work is due but not allowed.
        """
        self._engine.wait(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Finish the background work of earlier calls and release the store. A second call does nothing.

        As soon as it begins, new calls raise StorageError. After `timeout` seconds it raises StillRunning; a store with
        nothing left to do closes with any timeout. Running work is still completed before the store is released; the
        rest is left to the next process. Nothing that was stored is lost.
        """
        self._engine.close(timeout)

    def __enter__(self) -> Self:
        self._engine.hand.check_process()
        self._engine.hand.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from memoryos.closing import left  # loaded already

        left(self._engine, kind, self.close)

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


def _load_operations() -> None:
    """Import each class with operations, which are known from then on."""
    for name, module in MODULES.items():
        if module == "memory" or module.startswith("nouns."):
            getattr(memoryos, name)


@named
@by_a_hand
def open(  # noqa: A001 - `memoryos.open`, as `gzip.open`
    path: str | Path,
    *,
    user: str,
    agent: str | None = "default",
    session: str | None = None,
    tenant: str = "default",
    namespace: tuple[str, ...] = PRIVATE,
    settings: memoryos.Settings | None = None,
    embedder: memoryos.Embedder | None = None,
    chat: memoryos.ChatModel | None = None,
    reranker: memoryos.Reranker | None = None,
    clock: Clock = system_clock,
    gate: Gate | None = None,
    caller: Caller | None = None,
    key: str | None = None,
    policies: str | Path | None = None,
    read_only: bool = False,
    encryption_key: str | None = None,
    purpose: str | None = None,
    application: str | None = None,
    caller_session: str | None = None,
    branch: str | None = None,
) -> memoryos.Memory:
    """Open one owner's memory in the store at `path`. Closing it closes the store.

    The arguments are those of `MemoryOS.open` and `MemoryOS.memory`. An API `key` tells who calls, in place of the
    `caller`; PermissionDenied is raised if it is not valid. With the name of a `branch`, that one is opened
    (`Memory.branch`); NotFound is raised if there is none.
    """
    told = {"key": key, "purpose": purpose, "application": application, "caller_session": caller_session}
    if caller is not None and (twice := next((name for name, one in told.items() if one is not None), None)):
        raise InvalidInput(twice, "is passed together with a caller", "Pass one of them")
    owner = Scope(user, agent, session, tenant, namespace)
    store = MemoryOS.open(
        path,
        settings=settings,
        embedder=embedder,
        chat=chat,
        reranker=reranker,
        clock=clock,
        gate=gate,
        policies=policies,
        key=key,
        read_only=read_only,
        encryption_key=encryption_key,
        purpose=purpose,
        application=application,
        caller_session=caller_session,
    )
    with ExitStack() as undo:
        undo.callback(store.close)
        known = expected.caller(caller, owner, store._caller)
        if branch is not None:
            owner = memoryos.Memory(store._engine, owner, known).branch(branch).scope
        undo.pop_all()
    return memoryos.Memory(store._engine, owner, known, store.close)
