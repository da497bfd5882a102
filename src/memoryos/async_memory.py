"""AsyncMemoryOS and AsyncMemory: MemoryOS and Memory with coroutines in place of methods.

There is one implementation; this side runs it in threads. A test compares both sides, name by name.
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
from memoryos.nouns.archiving import Archiving
from memoryos.nouns.audit import Audit
from memoryos.nouns.branches import Branches
from memoryos.nouns.duplicates import Duplicates
from memoryos.nouns.facts import Facts
from memoryos.nouns.governance import MemGovernance
from memoryos.nouns.jobs import Jobs
from memoryos.nouns.keys import Keys
from memoryos.nouns.log import Log
from memoryos.nouns.mounts import Mounts
from memoryos.nouns.pages import Pages
from memoryos.nouns.profiles import Profiles
from memoryos.nouns.proposals import Proposals
from memoryos.nouns.roles import Roles
from memoryos.nouns.segments import Segments
from memoryos.nouns.snapshots import Snapshots
from memoryos.nouns.upkeep import Upkeep
from memoryos.nouns.users import Users
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.scope import PRIVATE, Scope

_Sync = TypeVar("_Sync")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class Awaited(Generic[_Sync]):
    """An object whose methods are coroutines; they run the methods of `sync` in a thread."""

    def __init__(self, sync: _Sync) -> None:
        """Raises InvalidInput if `sync` is not an instance of the class that this one wraps."""
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
    swept = _awaited(Pages.swept)
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
    """The background jobs of one owner."""

    list = _awaited(Jobs.list)
    add = _awaited(Jobs.add)
    retry = _awaited(Jobs.retry)
    run = _awaited(Jobs.run)


class AsyncLog(Awaited[Log]):
    """The log of one owner."""

    events = _awaited(Log.events)
    usage = _awaited(Log.usage)


class AsyncMemGovernance(Awaited[MemGovernance]):
    """The states of one owner's memories (MemLifecycle), how long they are kept, and legal holds."""

    freeze = _awaited(MemGovernance.freeze)
    thaw = _awaited(MemGovernance.thaw)
    expire = _awaited(MemGovernance.expire)
    erase = _awaited(MemGovernance.erase)
    reveal = _awaited(MemGovernance.reveal)
    transitions = _awaited(MemGovernance.transitions)
    diff = _awaited(MemGovernance.diff)
    rollback = _awaited(MemGovernance.rollback)
    provenance = _awaited(MemGovernance.provenance)
    retain = _awaited(MemGovernance.retain)
    retention = _awaited(MemGovernance.retention)
    unretain = _awaited(MemGovernance.unretain)
    hold = _awaited(MemGovernance.hold)
    holds = _awaited(MemGovernance.holds)
    release = _awaited(MemGovernance.release)
    explain = _awaited(MemGovernance.explain)
    delegate = _awaited(MemGovernance.delegate)
    delegations = _awaited(MemGovernance.delegations)
    revoke = _awaited(MemGovernance.revoke)


class AsyncArchiving(Awaited[Archiving]):
    """The rules of one owner that archive pages by their use."""

    add = _awaited(Archiving.add)
    list = _awaited(Archiving.list)
    remove = _awaited(Archiving.remove)


class AsyncDuplicates(Awaited[Duplicates]):
    """Equal and nearly equal memories of one owner."""

    list = _awaited(Duplicates.list)
    merge = _awaited(Duplicates.merge)
    unmerge = _awaited(Duplicates.unmerge)
    merged = _awaited(Duplicates.merged)


class AsyncSnapshots(Awaited[Snapshots]):
    """The snapshots of one owner."""

    create = _awaited(Snapshots.create)
    list = _awaited(Snapshots.list)
    remove = _awaited(Snapshots.remove)


class AsyncBranches(Awaited[Branches]):
    """The branches of one owner."""

    create = _awaited(Branches.create)
    list = _awaited(Branches.list)
    named = _awaited(Branches.named)
    diff = _awaited(Branches.diff)
    discard = _awaited(Branches.discard)


class AsyncUpkeep(Awaited[Upkeep]):
    """Maintenance of one owner's memory. Most of it also happens automatically."""

    repair = _awaited(Upkeep.repair)
    undo = _awaited(Upkeep.undo)
    rebuild = _awaited(Upkeep.rebuild)
    index = _awaited(Upkeep.index)


class AsyncMounts(Awaited[Mounts]):
    """The mounted memories of one store. A search includes the mounts that serve its owner."""

    list = _awaited(Mounts.list)
    add = _awaited(Mounts.add)
    remove = _awaited(Mounts.remove)


class AsyncKeys(Awaited[Keys]):
    """The API keys of a store."""

    create = _awaited(Keys.create)
    list = _awaited(Keys.list)
    rotate = _awaited(Keys.rotate)
    revoke = _awaited(Keys.revoke)
    caller = _awaited(Keys.caller)


class AsyncUsers(Awaited[Users]):
    """The users of a store."""

    list = _awaited(Users.list)
    show = _awaited(Users.show)
    forget = _awaited(Users.forget)


class AsyncRoles(Awaited[Roles]):
    """The roles that identities were granted."""

    grant = _awaited(Roles.grant)
    list = _awaited(Roles.list)
    revoke = _awaited(Roles.revoke)


class AsyncAdmin(Awaited[Admin]):
    """Operations on the whole store."""

    scopes = _awaited(Admin.scopes)
    users = _awaited(Admin.users)
    count_users = _awaited(Admin.count_users)
    work = _awaited(Admin.work)
    register_job = _awaited(Admin.register_job)
    cool = _awaited(Admin.cool)
    export = _awaited(Admin.export)
    load = _awaited(Admin.load)
    forget = _awaited(Admin.forget)
    forget_tenant = _awaited(Admin.forget_tenant)
    verify_receipt = _awaited(Admin.verify_receipt)
    encryption = _awaited(Admin.encryption)
    rotate_encryption_key = _awaited(Admin.rotate_encryption_key)
    verify_mark = _awaited(Admin.verify_mark)


class AsyncAudit(Awaited[Audit]):
    """The audit log of one store."""

    list = _awaited(Audit.list)
    export = _awaited(Audit.export)
    access = _awaited(Audit.access)
    permissions = _awaited(Audit.permissions)
    verify = _awaited(Audit.verify)


class AsyncMemory(Awaited[Memory]):
    """A Memory whose methods are coroutines, so that the event loop stays free. `sync` is the Memory itself."""

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
        """The owner of this memory."""
        return self.sync.scope

    @property
    def caller(self) -> Caller:
        """The caller who uses this memory."""
        return self.sync.caller

    @property
    def settings(self) -> Settings:
        """The settings of the store."""
        return self.sync.settings

    @property
    def facts(self) -> AsyncFacts:
        """The facts about the user and the agent."""
        return AsyncFacts(self.sync.facts)

    @property
    def profile(self) -> AsyncProfiles:
        """The profile of the user and of the agent."""
        return AsyncProfiles(self.sync.profile)

    @property
    def pages(self) -> AsyncPages:
        """The dialogue, page by page."""
        return AsyncPages(self.sync.pages)

    @property
    def segments(self) -> AsyncSegments:
        """The topic segments of MTM and of the archive."""
        return AsyncSegments(self.sync.segments)

    @property
    def proposals(self) -> AsyncProposals:
        """The proposed changes of facts that wait for a decision."""
        return AsyncProposals(self.sync.proposals)

    @property
    def jobs(self) -> AsyncJobs:
        """The background jobs of this owner."""
        return AsyncJobs(self.sync.jobs)

    @property
    def log(self) -> AsyncLog:
        """The log of changes and the usage of models."""
        return AsyncLog(self.sync.log)

    @property
    def governance(self) -> AsyncMemGovernance:
        """The states of memories, how long they are kept, and legal holds."""
        return AsyncMemGovernance(self.sync.governance)

    @property
    def archiving(self) -> AsyncArchiving:
        """The rules that archive pages by their use."""
        return AsyncArchiving(self.sync.archiving)

    @property
    def duplicates(self) -> AsyncDuplicates:
        """The memories that say the same."""
        return AsyncDuplicates(self.sync.duplicates)

    @property
    def snapshots(self) -> AsyncSnapshots:
        """The named moments of the log, for `as_of`."""
        return AsyncSnapshots(self.sync.snapshots)

    @property
    def branches(self) -> AsyncBranches:
        """The copies of this memory on which things can be tried."""
        return AsyncBranches(self.sync.branches)

    @property
    def upkeep(self) -> AsyncUpkeep:
        """Repair and rebuild."""
        return AsyncUpkeep(self.sync.upkeep)

    @property
    def mounts(self) -> AsyncMounts:
        """The memories that searches include beside this one. A mount belongs to the whole store."""
        return AsyncMounts(self.sync.mounts)

    async def branch(self, name: str) -> AsyncMemory:
        """Return a branch that `branches.create` made: what is stored or changed there stays there. Raises NotFound."""
        return AsyncMemory(await asyncio.to_thread(self.sync.branch, name))

    def of(self, scope: Scope) -> AsyncMemory:
        """Return another owner's memory in the same store. Closing it does not close the store."""
        return AsyncMemory(self.sync.of(scope))

    async def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE) -> AsyncIterator[str]:
        """Like `respond`, but yield the answer in pieces; the exchange is stored after the last piece."""
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
    """A MemoryOS whose methods are coroutines. `sync` is the MemoryOS itself."""

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
        policies: str | Path | None = None,
        key: str | None = None,
        read_only: bool = False,
        encryption_key: str | None = None,
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
            policies=policies,
            key=key,
            read_only=read_only,
            encryption_key=encryption_key,
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
        """Return one owner's memory. Creating it is cheap, and closing it keeps the store open. Raises InvalidInput.

        `caller` says who uses the memory (default: the caller with the `key` that the store was opened with, or the
        user); a gate may check it.
        """
        return self.of(Scope(user, agent, session, tenant, namespace), caller)

    def of(self, scope: Scope, caller: Caller | None = None) -> AsyncMemory:
        """Like `memory`, for a scope."""
        return AsyncMemory(self.sync.of(scope, caller))

    @property
    def settings(self) -> Settings:
        """The settings of the store."""
        return self.sync.settings

    @property
    def mounts(self) -> AsyncMounts:
        """The mounted memories, which searches include."""
        return AsyncMounts(self.sync.mounts)

    @property
    def keys(self) -> AsyncKeys:
        """The API keys by which callers are known."""
        return AsyncKeys(self.sync.keys)

    @property
    def users(self) -> AsyncUsers:
        """The users whose memories the store holds."""
        return AsyncUsers(self.sync.users)

    @property
    def roles(self) -> AsyncRoles:
        """The roles that identities were granted."""
        return AsyncRoles(self.sync.roles)

    @property
    def admin(self) -> AsyncAdmin:
        """Operations on the whole store."""
        return AsyncAdmin(self.sync.admin)

    @property
    def audit(self) -> AsyncAudit:
        """The audit log: who did what to which memory."""
        return AsyncAudit(self.sync.audit)

    wait = _awaited(MemoryOS.wait)
    close = _awaited(MemoryOS.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.sync.__exit__, kind, error, trace)
