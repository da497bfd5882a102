"""ProxiedMemory: what a request has of memory: the notes for it, and the exchange that is stored after its answer."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock

from memoryos.cached_property import cached_property
from memoryos.caller import Action, acting
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput, MemoryOSError, PermissionDenied
from memoryos.interface.proxy.message_items import Item
from memoryos.interface.proxy.proxied_request import ProxiedRequest
from memoryos.interface.proxy.proxy_terms import ProxyMode, ProxyTerms
from memoryos.memory import Memory
from memoryos.models.shapes import all_storable
from memoryos.operation.answer.respond import Prompt
from memoryos.operation.intake.messages import Messages

_RETRY_SECONDS = 600.0  # for which a client may repeat a request: as long as the official ones wait for an answer
_MOST_EXCHANGES = 10_000  # that are known, the latest
_KEY_FIELD = "idempotency_key"


@dataclass(frozen=True, slots=True)
class ProxiedNotes:
    """What memory says for a request."""

    status: str  #: used, nothing, off, skipped or unavailable, and why
    text: str = ""
    shown: tuple[MemCube, ...] = ()  #: the memories in the text

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of these memories."""
        return tuple(dict.fromkeys(cube.id for cube in self.shown))


class RecentExchanges:
    """The exchanges that were stored a short time ago, so that a repeated request is not stored again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._pages: dict[bytes, Sequence[str]] = {}  # of those that are stored

    def note(self, exchange: bytes) -> bool:
        """Whether it is new; from now on it is known."""
        now = self._clock()
        with self._lock:
            while self._known and (len(self._known) >= _MOST_EXCHANGES or self._is_old(now)):
                self._pages.pop(self._known.popitem(last=False)[0], None)
            if exchange in self._known:
                return False
            self._known[exchange] = now
            return True

    def stored(self, exchange: bytes, pages: Sequence[str]) -> None:
        """It is stored, in these pages."""
        with self._lock:
            if exchange in self._known:
                self._pages[exchange] = pages

    def pages(self, exchange: bytes) -> Sequence[str]:
        """The pages in which it is stored; none if it is not known."""
        with self._lock:
            return self._pages.get(exchange, ())

    def forget(self, exchange: bytes) -> None:
        """It could not be stored."""
        with self._lock:
            self._known.pop(exchange, None)

    def _is_old(self, now: float) -> bool:
        return now - next(iter(self._known.values())) > _RETRY_SECONDS


@dataclass(frozen=True)
class ProxiedMemory:
    """One owner's memory, for one request."""

    opened: Callable[[], Memory]  #: which takes a call of the store: not in the thread in which all requests wait
    terms: ProxyTerms
    asked: ProxiedRequest
    recent: RecentExchanges = field(repr=False)

    @cached_property
    def memory(self) -> Memory:
        """The memory itself."""
        return self.opened()

    def notes(self) -> ProxiedNotes:
        """What bears on the request. Raises PermissionDenied if the caller may neither read nor write there."""
        question = self.asked.question
        if not question:
            return ProxiedNotes("skipped; the user says nothing")
        tokens = self.terms.tokens or self.memory.settings.upstream_tokens
        try:
            told = self.recent.pages(self.name)  # a repeated request needs no note of its first answer
            found = self.memory.context(question, tokens=tokens, dialogue=self.asked.items, exclude=told)
        except PermissionDenied:
            self.check_may_store()
            return ProxiedNotes("unavailable; PermissionDenied")
        except MemoryOSError as error:
            return ProxiedNotes(f"unavailable; {type(error).__name__}")
        shown = tuple(line.cube for line in found.lines)
        if not shown:
            return ProxiedNotes("nothing" if found.fits else "nothing; no memory fits into so few tokens")
        return ProxiedNotes("used", found.text, shown)

    def check_may_store(self) -> None:
        """Raise PermissionDenied if the caller may not write there."""
        acting(self.memory.caller, lambda: self.memory._engine.admit(Action.WRITE, self.memory.scope))

    def store(self, answer: Sequence[Item], shown: Sequence[MemCube]) -> bool:
        """Store the exchange, unless it is a repeated one; whether it was stored. Raises MemoryOSError."""
        if self.terms.mode is not ProxyMode.ON or not answer:
            return False
        if not self.recent.note(self.name) and self.terms.key is None:
            return False
        try:
            pages = self._add([*self.asked.exchange, *answer], shown, self.name.hex() if self.terms.key else None)
        except MemoryOSError as error:
            if isinstance(error, InvalidInput) and error.field == _KEY_FIELD:
                return False  # the first answer to this request was stored
            self.recent.forget(self.name)
            raise
        self.recent.stored(self.name, pages)
        return True

    def _add(self, messages: Sequence[Item], shown: Sequence[MemCube], key: str | None) -> Sequence[str]:
        engine, owner = self.memory._engine, self.memory.scope
        prompt = Prompt((), tuple(shown))  # its memories, which the answer may repeat
        about = acting(self.memory.caller, lambda: engine.responder.inherit(prompt, owner))
        told: Messages = all_storable(list(messages))
        return self.memory.add(told, idempotency_key=key, sensitivity=about.sensitivity)

    @cached_property
    def name(self) -> bytes:
        """What tells this request from others of the owner, also in a later process."""
        told = [
            self.terms.key,
            self.memory.scope.to_dict(),
            self.asked.document.get(self.asked.name),
            *self.asked.kept_in,
        ]
        return hashlib.sha256(json.dumps(told).encode()).digest()
