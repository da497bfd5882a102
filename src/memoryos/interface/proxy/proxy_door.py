"""ProxyDoor: an address of the OpenAI API: recall, insert the notes, pass on, pass back, and store the exchange.

Memory holds up a chat for a short time at most: if it fails, the request is passed on without notes, and a header says
so. To store the exchange is tried once: what fails is counted and logged, and nothing of it stays in the process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import httpx2
from anyio import to_thread
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from memoryos.caller import Caller
from memoryos.errors import MemoryOSError
from memoryos.interface.proxy.message_items import Item
from memoryos.interface.proxy.proxied_answer import ProxiedAnswer
from memoryos.interface.proxy.proxied_memory import ProxiedMemory, ProxiedNotes, RecentExchanges
from memoryos.interface.proxy.proxied_request import ProxiedRequest
from memoryos.interface.proxy.proxy_terms import ProxyMode, ProxyTerms, unnamed_user
from memoryos.interface.proxy.relay import AnswerCut, Check, begin, each, end, is_events, pour, until_gone
from memoryos.interface.proxy.upstream import Upstream
from memoryos.interface.rest.admission import Asking
from memoryos.interface.rest.desk import Desk
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.route import VERSION
from memoryos.interface.rest.server_metrics import ServerMetrics
from memoryos.language.memory_notes import notes_of
from memoryos.memory import Memory
from memoryos.scope import Scope as Owner

log = logging.getLogger("memoryos.server")

_SMALL = 65_536  # bytes of a body that is read between other requests, and not in a thread
_MOST_IDS = 64  # in a header: proxies refuse long ones
_OFF = ProxiedNotes("off")
_UNREAD = ProxiedNotes("skipped; the body has no dialogue")
_LATE = ProxiedNotes("unavailable; TooLong")


@dataclass(frozen=True, slots=True)
class ProxyDoor:
    """One address, as an ASGI application."""

    desk: Desk
    upstream: Upstream
    metrics: ServerMetrics
    recent: RecentExchanges
    storing: set[asyncio.Future[None]]  #: of exchanges that were answered; it is that of all addresses
    path: str  #: its address without values, for the log and the counts
    dialogue: str | None = None  #: the member of the body that holds the dialogue; None: it is passed on as it is

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["route"] = self
        request = Request(scope, receive)
        body = await request.body()
        path = scope["raw_path"].removeprefix(VERSION.encode())
        if {".", ".."} & {*scope["path"].split("/")} or b"#" in path:
            raise Refusing(404, "NotFound", "There is no such address", "Name the model")
        answered = self._passed if self.dialogue is None else self._told
        await until_gone(answered(request, path, body, send), receive)

    async def _passed(self, request: Request, path: bytes, body: bytes, send: Send) -> None:
        """Pass on what has nothing to do with memory."""
        answer = await self._sent(request, path, body, packed=True)
        async with aclosing(answer):
            await begin(send, answer, [])
            last = await pour(send, answer, lambda _: None, self._check(request), self.desk.limits.stall_seconds)
        await end(send, last)

    async def _told(self, request: Request, path: bytes, body: bytes, send: Send) -> None:
        """Answer with memory. When the client has all of the answer, the exchange is stored."""
        memory = await self._memory(request, body)
        notes, body = await self._noted(memory, body) if isinstance(memory, ProxiedMemory) else (memory, body)
        self.metrics.recalled(notes.status)
        answer = await self._sent(request, path, body, packed=False)
        said = ProxiedAnswer(is_stream=is_events(answer))
        try:
            async with aclosing(answer):
                await begin(send, answer, _headers(notes))
                last = await pour(send, answer, said.take, self._check(request), self.desk.limits.stall_seconds)
                said.end()
        finally:
            if isinstance(memory, ProxiedMemory) and answer.is_success:
                await self._store(memory, said, notes)
        await end(send, last)

    async def _sent(self, request: Request, path: bytes, body: bytes, *, packed: bool) -> httpx2.Response:
        """Pass a request on. If it is traced, the model server is told the trace."""
        with self.desk.traces.call(request.method, self.upstream.host, self.upstream.port) as call:
            answer = await self.upstream.send(request, path, body, packed=packed, trace=call.headers)
            call.status = answer.status_code
        return answer

    async def _memory(self, request: Request, body: bytes) -> ProxiedMemory | ProxiedNotes:
        """The memory for a request; or why it has none. Raises InvalidInput."""
        if len(body) <= _SMALL:
            return self._read(request, body)
        return await to_thread.run_sync(self._read, request, body)  # none of the threads that wait for the store

    def _read(self, request: Request, body: bytes) -> ProxiedMemory | ProxiedNotes:
        asked = ProxiedRequest.read(body, self.dialogue or "")
        terms = ProxyTerms.of(request, asked.user if asked else None, unnamed_user(self.desk.store.settings))
        if terms.owner is None:
            return _OFF
        if asked is None or not asked.is_read:
            return _UNREAD
        asking: Asking = request.state.asking
        if asking.failed:
            return ProxiedNotes(f"unavailable; {asking.failed}; not stored")
        opened = partial(self._opened, asking.caller, terms.owner)
        return ProxiedMemory(opened, terms, asked, self.recent)

    def _opened(self, caller: Caller, owner: Owner) -> Memory:
        return self.desk.store.by(caller).of(owner)

    async def _noted(self, memory: ProxiedMemory, body: bytes) -> tuple[ProxiedNotes, bytes]:
        """The notes, and the body with them."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self.desk.run(lambda: self._with_notes(memory, body), "memory.context")
        except (TimeoutError, Refusing):
            return _LATE, body
        except RecursionError:  # of a message that is nested that deep
            return ProxiedNotes("unavailable; RecursionError"), body

    def _with_notes(self, memory: ProxiedMemory, body: bytes) -> tuple[ProxiedNotes, bytes]:
        notes = memory.notes()
        if notes.text:
            body = memory.asked.with_notes(notes_of(notes.text), self.desk.store.settings.upstream_notes)
        return notes, body

    async def _store(self, memory: ProxiedMemory, said: ProxiedAnswer, notes: ProxiedNotes) -> None:
        """Store the exchange, if its answer is complete; a store that takes, or took, long is not waited for."""
        messages = said.messages
        if messages and memory.terms.mode is ProxyMode.ON:
            storing = asyncio.ensure_future(self._stored(memory, messages, notes))
            self.storing.add(storing)  # or nobody would hold it
            storing.add_done_callback(self.storing.discard)
            await asyncio.wait({storing}, timeout=0 if notes is _LATE else self._seconds)

    async def _stored(self, memory: ProxiedMemory, messages: Sequence[Item], notes: ProxiedNotes) -> None:
        """Store an exchange, or fail to. What goes wrong is counted: the client has its answer.

        A later attempt would bring words back that were forgotten meanwhile, or tell an older state as the newer one.
        """
        try:
            is_new = await self.desk.run(lambda: memory.store(messages, notes.shown), "memory.add")
            self.metrics.stored("stored" if is_new else "repeated")
        except (MemoryOSError, Refusing, RecursionError) as error:
            self._lost(type(error).__name__)
        except asyncio.CancelledError:
            self._lost("ServerEnded")
            raise

    def _lost(self, error: str) -> None:
        self.metrics.stored(error)
        log.warning('{"proxy": "not stored", "error": "%s"}', error)

    @property
    def _seconds(self) -> float:
        """How long a chat waits for memory."""
        return self.desk.store.settings.upstream_memory_seconds

    def _check(self, request: Request) -> Check:
        """What ends the answer to a key that was revoked."""
        asking = request.state.asking

        async def check() -> None:
            try:
                await self.desk.run(lambda: self.desk.admission.check(asking))
            except (MemoryOSError, Refusing) as error:
                raise AnswerCut(type(error).__name__) from None

        return each(self.desk.limits.recheck_seconds, check)


def _headers(notes: ProxiedNotes) -> list[tuple[bytes, bytes]]:
    told = [(b"x-memoryos-status", notes.status.encode())]
    return [*told, (b"x-memoryos-memories", ",".join(notes.ids[:_MOST_IDS]).encode())] if notes.ids else told
