"""AsyncMemoryOS: the operations of MemoryOS, awaited. One implementation; this side only moves it to threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from memoryos.config import Settings
from memoryos.memory import MemoryOS
from memoryos.models.embedder import Embedder
from memoryos.mount import Mount
from memoryos.operation.respond import DEFAULT_ROLE
from memoryos.scope import Scope

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


def _awaited(
    method: Callable[Concatenate[MemoryOS, _Params], _Result],
) -> Callable[Concatenate[AsyncMemoryOS, _Params], Coroutine[Any, Any, _Result]]:
    """The method as a coroutine that runs it in a thread."""

    @wraps(method)
    async def call(self: AsyncMemoryOS, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return cast("Callable[Concatenate[AsyncMemoryOS, _Params], Coroutine[Any, Any, _Result]]", call)


class AsyncMemoryOS:
    """The same operations, awaited; each runs in a thread, so the event loop stays free."""

    def __init__(self, memory: MemoryOS) -> None:
        self.memory = memory

    @classmethod
    async def open(cls, path: str | Path, *, user: str | None = None, settings: Settings | None = None) -> Self:
        """Like `MemoryOS.open`; for its other arguments, pass AsyncMemoryOS(MemoryOS.open(...))."""
        return cls(await asyncio.to_thread(MemoryOS.open, path, user=user, settings=settings))

    add = _awaited(MemoryOS.add)
    add_many = _awaited(MemoryOS.add_many)
    update = _awaited(MemoryOS.update)
    delete = _awaited(MemoryOS.delete)
    add_fact = _awaited(MemoryOS.add_fact)
    set_profile = _awaited(MemoryOS.set_profile)
    publish = _awaited(MemoryOS.publish)
    proposals = _awaited(MemoryOS.proposals)
    accept = _awaited(MemoryOS.accept)
    reject = _awaited(MemoryOS.reject)
    repair = _awaited(MemoryOS.repair)
    undo_repair = _awaited(MemoryOS.undo_repair)
    consolidate = _awaited(MemoryOS.consolidate)
    rebuild = _awaited(MemoryOS.rebuild)
    search = _awaited(MemoryOS.search)
    tagged = _awaited(MemoryOS.tagged)
    context = _awaited(MemoryOS.context)
    digest = _awaited(MemoryOS.digest)
    respond = _awaited(MemoryOS.respond)
    get = _awaited(MemoryOS.get)
    history = _awaited(MemoryOS.history)
    profile = _awaited(MemoryOS.profile)
    pages = _awaited(MemoryOS.pages)
    segments = _awaited(MemoryOS.segments)
    events = _awaited(MemoryOS.events)
    jobs = _awaited(MemoryOS.jobs)
    stats = _awaited(MemoryOS.stats)
    scopes = _awaited(MemoryOS.scopes)
    mount = _awaited(MemoryOS.mount)
    unmount = _awaited(MemoryOS.unmount)
    wait = _awaited(MemoryOS.wait)
    close = _awaited(MemoryOS.close)

    @property
    def mounts(self) -> list[Mount]:
        """What is mounted, in the order it was."""
        return self.memory.mounts

    @staticmethod
    async def reembed(path: str | Path, embedder: Embedder, *, settings: Settings | None = None) -> None:
        """Like `MemoryOS.reembed`."""
        await asyncio.to_thread(MemoryOS.reembed, path, embedder, settings=settings)

    async def respond_stream(
        self, query: str, *, role: str = DEFAULT_ROLE, scope: Scope | None = None
    ) -> AsyncIterator[str]:
        """Like `MemoryOS.respond_stream`; between two pieces no thread is held."""
        pieces = await asyncio.to_thread(self.memory.respond_stream, query, role=role, scope=scope)
        with closing(pieces):
            async for piece in pieces:
                yield piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
