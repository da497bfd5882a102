"""AsyncMemoryOS and AsyncMemory: the operations of MemoryOS and Memory, awaited.

One implementation; this side only moves it to threads. A test compares both sides, name by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, get_args

from memoryos import arguments
from memoryos.caller import Caller, Gate
from memoryos.clock import Clock, system_clock
from memoryos.config import Settings
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.memory_os import open as open_memory
from memoryos.models.chat import ChatModel
from memoryos.models.embedder import Embedder
from memoryos.models.reranker import Reranker
from memoryos.nouns.admin import Admin
from memoryos.nouns.facts import Facts
from memoryos.nouns.jobs import Jobs
from memoryos.nouns.log import Log
from memoryos.nouns.mounts import Mounts
from memoryos.nouns.pages import Pages
from memoryos.nouns.profiles import Profiles
from memoryos.nouns.proposals import Proposals
from memoryos.nouns.segments import Segments
from memoryos.nouns.upkeep import Upkeep
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.scope import PRIVATE, Scope

_Sync = TypeVar("_Sync")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class Awaited(Generic[_Sync]):
    """An object whose methods are awaited; `sync` is the one that does the work, in a thread."""

    def __init__(self, sync: _Sync) -> None:
        """Raises InvalidInput for what is not of the kind that this class awaits."""
        kind: type[_Sync] = get_args(type(self).__orig_bases__[0])[0]  # type: ignore[attr-defined]
        self.sync = arguments.instance("sync", sync, kind, f"Pass a {kind.__name__}")


def _awaited(
    method: Callable[Concatenate[_Sync, _Params], _Result],
) -> Callable[Concatenate[Awaited[_Sync], _Params], Coroutine[Any, Any, _Result]]:
    """The method as a coroutine that runs it in a thread."""

    @wraps(method)
    async def call(self: Awaited[_Sync], *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return cast("Callable[Concatenate[Awaited[_Sync], _Params], Coroutine[Any, Any, _Result]]", call)


def _opened(function: Callable[_Params, Memory]) -> Callable[_Params, Coroutine[Any, Any, AsyncMemory]]:
    """The function as a coroutine that opens the memory in a thread."""

    @wraps(function)
    async def call(*args: _Params.args, **kwargs: _Params.kwargs) -> AsyncMemory:
        return AsyncMemory(await asyncio.to_thread(function, *args, **kwargs))

    return call


class AsyncFacts(Awaited[Facts]):
    """The facts of one owner."""

    add = _awaited(Facts.add)
    list = _awaited(Facts.list)
    count = _awaited(Facts.count)


class AsyncProfiles(Awaited[Profiles]):
    """Profile fields, traits and facts of the user and of the agent."""

    get = _awaited(Profiles.get)
    set = _awaited(Profiles.set)


class AsyncPages(Awaited[Pages]):
    """The dialogue pages of one owner."""

    list = _awaited(Pages.list)
    count = _awaited(Pages.count)
    attachments = _awaited(Pages.attachments)
    attachment = _awaited(Pages.attachment)


class AsyncSegments(Awaited[Segments]):
    """The segments of one owner."""

    list = _awaited(Segments.list)
    count = _awaited(Segments.count)


class AsyncProposals(Awaited[Proposals]):
    """The proposals of one owner."""

    publish = _awaited(Proposals.publish)
    list = _awaited(Proposals.list)
    accept = _awaited(Proposals.accept)
    reject = _awaited(Proposals.reject)


class AsyncJobs(Awaited[Jobs]):
    """The jobs of one owner."""

    list = _awaited(Jobs.list)
    add = _awaited(Jobs.add)
    retry = _awaited(Jobs.retry)
    run = _awaited(Jobs.run)


class AsyncLog(Awaited[Log]):
    """The log of one owner."""

    events = _awaited(Log.events)
    usage = _awaited(Log.usage)


class AsyncUpkeep(Awaited[Upkeep]):
    """What keeps one owner's memory in order; most of it is done without being asked for."""

    repair = _awaited(Upkeep.repair)
    undo = _awaited(Upkeep.undo)
    rebuild = _awaited(Upkeep.rebuild)
    index = _awaited(Upkeep.index)


class AsyncMounts(Awaited[Mounts]):
    """What is mounted in one store, for those whom each mount serves."""

    list = _awaited(Mounts.list)
    add = _awaited(Mounts.add)
    remove = _awaited(Mounts.remove)


class AsyncAdmin(Awaited[Admin]):
    """The work of a store as a whole."""

    scopes = _awaited(Admin.scopes)
    users = _awaited(Admin.users)
    count_users = _awaited(Admin.count_users)
    work = _awaited(Admin.work)
    register_job = _awaited(Admin.register_job)
    cool = _awaited(Admin.cool)
    export = _awaited(Admin.export)
    load = _awaited(Admin.load)
    forget = _awaited(Admin.forget)


class AsyncMemory(Awaited[Memory]):
    """What one owner's agent remembers; the event loop stays free. `sync` is the same Memory without await."""

    open = staticmethod(_opened(open_memory))

    add = _awaited(Memory.add)
    add_many = _awaited(Memory.add_many)
    update = _awaited(Memory.update)
    delete = _awaited(Memory.delete)
    forget = _awaited(Memory.forget)
    export = _awaited(Memory.export)
    consolidate = _awaited(Memory.consolidate)
    search = _awaited(Memory.search)
    tagged = _awaited(Memory.tagged)
    context = _awaited(Memory.context)
    digest = _awaited(Memory.digest)
    respond = _awaited(Memory.respond)
    get = _awaited(Memory.get)
    history = _awaited(Memory.history)
    stats = _awaited(Memory.stats)
    wait = _awaited(Memory.wait)
    close = _awaited(Memory.close)

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.sync.scope

    @property
    def caller(self) -> Caller:
        """In whose name it is used."""
        return self.sync.caller

    @property
    def settings(self) -> Settings:
        """What the store was opened with."""
        return self.sync.settings

    @property
    def facts(self) -> AsyncFacts:
        """What was stated about the user and the agent, or learned."""
        return AsyncFacts(self.sync.facts)

    @property
    def profile(self) -> AsyncProfiles:
        """The user and the agent as LPM knows them."""
        return AsyncProfiles(self.sync.profile)

    @property
    def pages(self) -> AsyncPages:
        """The dialogue, page by page."""
        return AsyncPages(self.sync.pages)

    @property
    def segments(self) -> AsyncSegments:
        """The topics of MTM and of the archive."""
        return AsyncSegments(self.sync.segments)

    @property
    def proposals(self) -> AsyncProposals:
        """Changes of facts that wait for an answer."""
        return AsyncProposals(self.sync.proposals)

    @property
    def jobs(self) -> AsyncJobs:
        """The work behind the calls."""
        return AsyncJobs(self.sync.jobs)

    @property
    def log(self) -> AsyncLog:
        """What changed, and what models took."""
        return AsyncLog(self.sync.log)

    @property
    def upkeep(self) -> AsyncUpkeep:
        """Repair and rebuild."""
        return AsyncUpkeep(self.sync.upkeep)

    @property
    def mounts(self) -> AsyncMounts:
        """The memories that searches look into beside this one; they are mounted for the whole store."""
        return AsyncMounts(self.sync.mounts)

    def of(self, scope: Scope) -> AsyncMemory:
        """Another owner's memory in the same store; to close it closes nothing."""
        return AsyncMemory(self.sync.of(scope))

    async def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE) -> AsyncIterator[str]:
        """Like `respond`, in pieces; the turn is stored when the last piece has been taken."""
        pieces = await asyncio.to_thread(self.sync.respond_stream, query, role=role)
        with closing(pieces):
            async for piece in pieces:
                yield piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.sync.__exit__, kind, error, trace)


class AsyncMemoryOS(Awaited[MemoryOS]):
    """A store of memories, awaited. `sync` is the same MemoryOS without await."""

    @classmethod
    async def open(
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
        """Like `MemoryOS.open`."""
        store = await asyncio.to_thread(
            MemoryOS.open,
            path,
            settings=settings,
            embedder=embedder,
            chat=chat,
            reranker=reranker,
            clock=clock,
            gate=gate,
            read_only=read_only,
        )
        return cls(store)

    def memory(
        self,
        user: str,
        *,
        agent: str | None = "default",
        session: str | None = None,
        tenant: str = "default",
        namespace: tuple[str, ...] = PRIVATE,
        caller: Caller | None = None,
    ) -> AsyncMemory:
        """One owner's memory; to make it costs nothing, and to close it closes nothing. Raises InvalidInput.

        The `caller` is who uses it, which a gate may ask for: the user, when left out.
        """
        return self.of(Scope(user, agent, session, tenant, namespace), caller)

    def of(self, scope: Scope, caller: Caller | None = None) -> AsyncMemory:
        """Like `memory`, for a scope."""
        return AsyncMemory(self.sync.of(scope, caller))

    @property
    def settings(self) -> Settings:
        """What the store was opened with."""
        return self.sync.settings

    @property
    def mounts(self) -> AsyncMounts:
        """The memories that searches look into, too."""
        return AsyncMounts(self.sync.mounts)

    @property
    def admin(self) -> AsyncAdmin:
        """What concerns everybody."""
        return AsyncAdmin(self.sync.admin)

    wait = _awaited(MemoryOS.wait)
    close = _awaited(MemoryOS.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.sync.__exit__, kind, error, trace)
