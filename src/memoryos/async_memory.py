"""AsyncMemoryOS and AsyncMemory: MemoryOS and Memory with coroutines in place of methods.

There is one implementation; this side runs it in threads. A test compares both sides, name by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self

from memoryos.async_answer_stream import AsyncAnswerStream
from memoryos.async_nouns import (
    AsyncActivations,
    AsyncAdmin,
    AsyncAgents,
    AsyncArchiving,
    AsyncAudit,
    AsyncBranches,
    AsyncDocuments,
    AsyncDuplicates,
    AsyncFacts,
    AsyncJobs,
    AsyncKeys,
    AsyncLog,
    AsyncLoraAdapters,
    AsyncMemGovernance,
    AsyncMemoryForms,
    AsyncMemScheduler,
    AsyncMounts,
    AsyncPages,
    AsyncPipelines,
    AsyncProfiles,
    AsyncProposals,
    AsyncRequests,
    AsyncRoles,
    AsyncSegments,
    AsyncSnapshots,
    AsyncTenantRetention,
    AsyncUpkeep,
    AsyncUsers,
    Awaited,
    awaited,
)
from memoryos.caller import Caller, Gate
from memoryos.clock import Clock, system_clock
from memoryos.config import Settings
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.memory_os import open as open_memory
from memoryos.models.chat import ChatModel
from memoryos.models.embedder import Embedder
from memoryos.models.reranker import Reranker
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.scope import PRIVATE, Scope

_Params = ParamSpec("_Params")


def _opened(function: Callable[_Params, Memory]) -> Callable[_Params, Coroutine[Any, Any, AsyncMemory]]:
    """The function as a coroutine that opens the memory in a thread."""

    @wraps(function)
    async def call(*args: _Params.args, **kwargs: _Params.kwargs) -> AsyncMemory:
        return AsyncMemory(await asyncio.to_thread(function, *args, **kwargs))

    return call


class AsyncMemory(Awaited[Memory]):
    """A Memory whose methods are coroutines, so that the event loop stays free. `sync` is the Memory itself."""

    open = staticmethod(_opened(open_memory))

    add = awaited(Memory.add)
    add_many = awaited(Memory.add_many)
    update = awaited(Memory.update)
    delete = awaited(Memory.delete)
    forget = awaited(Memory.forget)
    export = awaited(Memory.export)
    consolidate = awaited(Memory.consolidate)
    search = awaited(Memory.search)
    tagged = awaited(Memory.tagged)
    context = awaited(Memory.context)
    digest = awaited(Memory.digest)
    respond = awaited(Memory.respond)
    get = awaited(Memory.get)
    history = awaited(Memory.history)
    stats = awaited(Memory.stats)
    wait = awaited(Memory.wait)
    close = awaited(Memory.close)

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
    def documents(self) -> AsyncDocuments:
        """Texts of any length, stored part by part."""
        return AsyncDocuments(self.sync.documents)

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
    def schedule(self) -> AsyncMemScheduler:
        """Which memories take part in an answer, in which form, and why."""
        return AsyncMemScheduler(self.sync.schedule)

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
    def adapters(self) -> AsyncLoraAdapters:
        """What a local model learned from this memory, as adapters."""
        return AsyncLoraAdapters(self.sync.adapters)

    @property
    def activations(self) -> AsyncActivations:
        """The prefixes of prompts whose KV states are kept for a model in this process."""
        return AsyncActivations(self.sync.activations)

    @property
    def forms(self) -> AsyncMemoryForms:
        """The memories as text, as KV states and as adapters, and the ways between these forms."""
        return AsyncMemoryForms(self.sync.forms)

    @property
    def branches(self) -> AsyncBranches:
        """The copies of this memory on which things can be tried."""
        return AsyncBranches(self.sync.branches)

    @property
    def pipelines(self) -> AsyncPipelines:
        """The chains of operations that run as one."""
        return AsyncPipelines(self.sync.pipelines)

    @property
    def upkeep(self) -> AsyncUpkeep:
        """Repair and rebuild."""
        return AsyncUpkeep(self.sync.upkeep)

    @property
    def requests(self) -> AsyncRequests:
        """What people ask of this memory in plain words."""
        return AsyncRequests(self.sync.requests)

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

    def respond_stream(self, query: str, *, role: str = DEFAULT_ROLE) -> AsyncAnswerStream:
        """Like `respond`, but yield the answer in pieces; the exchange is stored after the last piece.

        The whole `answer`, with its mark, is an attribute of the stream after the last piece.
        """
        return AsyncAnswerStream(partial(self.sync.respond_stream, query, role=role))

    async def __aenter__(self) -> Self:
        self.sync.__enter__()  # a child of a fork is refused
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
        purpose: str | None = None,
        application: str | None = None,
        caller_session: str | None = None,
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
            purpose=purpose,
            application=application,
            caller_session=caller_session,
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

    def by(self, caller: Caller) -> AsyncMemoryOS:
        """Return the same store, whose operations are those of this caller. Closing it closes the store."""
        return AsyncMemoryOS(self.sync.by(caller))

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
    def agents(self) -> AsyncAgents:
        """The agents that have memories in the store."""
        return AsyncAgents(self.sync.agents)

    @property
    def users(self) -> AsyncUsers:
        """The users whose memories the store holds."""
        return AsyncUsers(self.sync.users)

    @property
    def roles(self) -> AsyncRoles:
        """The roles that identities were granted."""
        return AsyncRoles(self.sync.roles)

    @property
    def retention(self) -> AsyncTenantRetention:
        """The retention rules of whole tenants."""
        return AsyncTenantRetention(self.sync.retention)

    @property
    def admin(self) -> AsyncAdmin:
        """Operations on the whole store."""
        return AsyncAdmin(self.sync.admin)

    @property
    def audit(self) -> AsyncAudit:
        """The audit log: who did what to which memory."""
        return AsyncAudit(self.sync.audit)

    wait = awaited(MemoryOS.wait)
    close = awaited(MemoryOS.close)

    async def __aenter__(self) -> Self:
        self.sync.__enter__()  # a child of a fork is refused
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.sync.__exit__, kind, error, trace)
