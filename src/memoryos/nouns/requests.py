"""Requests: what people ask of the memory in plain words (MemReader), read, previewed and done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from memoryos.caller import Caller
from memoryos.config import ExtractorKind
from memoryos.cube import MemCube
from memoryos.delegation import Delegation
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound, RequestChanged
from memoryos.kinds import Tier
from memoryos.models.chat import Answer, Message
from memoryos.nouns.memory_verbs import MemoryVerbs
from memoryos.nouns.noun import Noun
from memoryos.nouns.request_selection import RequestSelection, refuse_limit, told_nothing
from memoryos.operation.calls.door import door
from memoryos.operation.correction.forget import Forgotten
from memoryos.operation.recall.context import Context
from memoryos.operation.recall.overview import Profile
from memoryos.operation.requests.memory_call import CallReach, MemoryCall, MemoryOperation, Wish
from memoryos.operation.requests.model_request import ModelRequests
from memoryos.operation.requests.request_preview import RequestPreview, told_counts, told_near
from memoryos.operation.requests.request_reader import RequestReader
from memoryos.operation.scheduler.spending import Purpose
from memoryos.plain import PlainContent
from memoryos.scope import Scope
from memoryos.text import checked_text

RECENT = 7  # latest exchanges that a follow-up may refer to
_KEPT = "Near it, and kept"
SHARED_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RequestOutcome(PlainContent):
    """What came of a request."""

    call: MemoryCall  #: the request
    is_done: bool  #: False: nothing was changed; the preview says what would be, and its token confirms it
    text: str  #: what was done, in a sentence
    preview: RequestPreview | None = None  #: preview of what is not done yet; None: it is done
    ids: tuple[str, ...] = ()  #: ids of the memories that were stored, removed, frozen or thawed
    context: Context | None = None  #: what bears on a question
    profile: Profile | None = None  #: what is known about the user
    forgotten: Forgotten | None = None  #: counts and receipt, if everything was forgotten
    delegations: tuple[Delegation, ...] = field(default=(), hash=False)  #: rights that were given or ended


@door
class Requests(Noun):
    """The requests of one owner, in plain English or Chinese."""

    __slots__ = ("_memory",)

    def __init__(self, engine: Engine, scope: Scope, caller: Caller, memory: MemoryVerbs) -> None:
        super().__init__(engine, scope, caller)
        self._memory = memory

    def read(self, text: str) -> MemoryCall:
        """Return what a text asks of the memory, in fields. Nothing is changed.

        Rules read it; with the setting `request_reader=model`, the chat model does, and what it says is checked against
        the text. If the model fails, the rules read it, and `reason` says why. Pronouns and follow-ups ("and last
        week?") are completed from STM. Only the first paragraph counts, and nothing in it that is quoted: what a pasted
        document orders is not a request. Raises InvalidInput.
        """
        checked = checked_text("text", text, limit=self._engine.settings.max_text_chars)
        now = self._engine.clock().astimezone(self._engine.settings.zone)
        model = self._asked if self._engine.settings.request_reader is ExtractorKind.MODEL else None
        return RequestReader(self._caller.identity, self._scope, now, self._recent(), model).read(checked)

    def preview(self, text: str | MemoryCall) -> RequestPreview:
        """Return what a request would do, with the token that confirms exactly that. Nothing is changed.

        It lists the memories that would go, be frozen or thawed: their ids, first words and number. They do not count
        as found. Raises NotFound if there are none, and PermissionDenied and InvalidInput as the operation would.
        """
        return self._selection.preview(self._call(text))

    def do(self, text: str | MemoryCall, *, confirm: str | None = None) -> RequestOutcome:
        """Do what a request asks, through the verbs of this memory, so that the gate decides.

        What removes, freezes, thaws or shares needs `confirm`, the token of its preview: without one, nothing is
        changed, and the outcome has the preview. Raises RequestChanged if what would be done is no longer what was
        previewed, and what the verbs raise. If removing several memories fails halfway, those before are gone; the same
        request then previews the rest.
        """
        if confirm is not None:
            checked_text("confirm", confirm, limit=self._engine.settings.max_text_chars)
        call = self._call(text)
        if not call.operation.needs_confirmation:
            refuse_limit(call)
            return self._done[call.operation](self, call)
        preview = self._selection.preview(call)
        if confirm is None:
            return RequestOutcome(call, is_done=False, text=f"Nothing was changed yet. {preview.text}", preview=preview)
        if confirm != preview.confirm:
            raise RequestChanged
        return self._confirmed[call.operation](self, call, preview)

    @property
    def _selection(self) -> RequestSelection:
        return RequestSelection(self._engine, self._memory, self._scope)

    def _call(self, text: str | MemoryCall) -> MemoryCall:
        if not isinstance(text, MemoryCall):
            return self.read(text)
        if text.scope != self._scope:
            raise InvalidInput("text", "is a call about another memory", "Pass it to the memory that read it")
        return text

    def _recent(self) -> Sequence[MemCube]:
        self._engine.responder.wait()  # what was answered a moment ago is part of the memory
        pages = self._memory.pages.list(tier=Tier.STM, session=self._scope.session)
        return [page for page in pages if not page.is_document][-RECENT:]

    def _asked(self, text: str, recent: Sequence[MemCube]) -> Wish:
        def answer(messages: Sequence[Message]) -> Answer:
            return self._engine.account.answer(self._engine.responder.model(), messages, self._scope, Purpose.REQUESTS)

        return ModelRequests(answer)(text, recent)

    def _nothing(self, call: MemoryCall) -> RequestOutcome:
        is_skipped = call.operation is MemoryOperation.SKIP
        return RequestOutcome(call, True, "Nothing was stored" if is_skipped else told_nothing(call.text))

    def _recall(self, call: MemoryCall) -> RequestOutcome:
        since, until = call.said_between
        found = self._memory.context(call.query, since=since, until=until)
        return RequestOutcome(call, True, found.text, ids=found.ids, context=found)

    def _profile(self, call: MemoryCall) -> RequestOutcome:
        return RequestOutcome(call, True, "What is known", profile=self._memory.profile.get())

    def _store(self, call: MemoryCall) -> RequestOutcome:
        page = self._memory.add(call.content)
        return RequestOutcome(call, True, f"Stored as {page}", ids=(page,))

    def _forget(self, call: MemoryCall, preview: RequestPreview) -> RequestOutcome:
        if call.reach in (CallReach.ALL, CallReach.SESSION):
            done = self._memory.of(self._selection.doomed(call)).forget()
            return RequestOutcome(call, True, f"Removed for good: {told_counts(done.memories)}", forgotten=done)
        corrector = self._engine.corrector(self._scope)
        corrector.refuse_frozen(preview.ids, preview.ids)  # before any of them goes
        for one in preview.ids:
            with suppress(NotFound):  # it went with another one
                self._memory.delete(one)
        told = f"Removed for good: {told_counts(preview.counts)}{told_near(preview.near, _KEPT)}"
        return RequestOutcome(call, True, told, ids=preview.ids)

    def _freeze(self, call: MemoryCall, preview: RequestPreview) -> RequestOutcome:
        is_thawed = call.operation is MemoryOperation.THAW
        governance = self._memory.governance
        for one in preview.ids:
            (governance.thaw if is_thawed else governance.freeze)(one, reason="request")
        told = f"{'Thawed' if is_thawed else 'Frozen'}: {told_counts(preview.counts)}"
        return RequestOutcome(call, True, told, ids=preview.ids)

    def _share(self, call: MemoryCall, _: RequestPreview) -> RequestOutcome:
        made = self._memory.governance.delegate(call.to or "", ttl=SHARED_FOR)
        told = f"The caller {made.to!r} may read until {made.expires_at:%Y-%m-%d %H:%M} UTC, if the store has policies"
        return RequestOutcome(call, True, told, delegations=(made,))

    def _unshare(self, call: MemoryCall, _: RequestPreview) -> RequestOutcome:
        wanted = (call.to or "").casefold()
        ended = [one for one in self._memory.governance.delegations() if one.to.casefold() == wanted]
        if not ended:
            raise NotFound(f"nothing is shared with {call.to!r}: nothing was changed")
        for one in ended:
            self._memory.governance.revoke(one.id)
        return RequestOutcome(call, True, f"Ended {len(ended)} rights of {call.to!r}", delegations=tuple(ended))

    _done: ClassVar[Mapping[MemoryOperation, Callable[[Requests, MemoryCall], RequestOutcome]]] = {
        MemoryOperation.NONE: _nothing,
        MemoryOperation.SKIP: _nothing,
        MemoryOperation.RECALL: _recall,
        MemoryOperation.PROFILE: _profile,
        MemoryOperation.REMEMBER: _store,
        MemoryOperation.UPDATE: _store,
    }
    _confirmed: ClassVar[Mapping[MemoryOperation, Callable[[Requests, MemoryCall, RequestPreview], RequestOutcome]]] = {
        MemoryOperation.FORGET: _forget,
        MemoryOperation.FREEZE: _freeze,
        MemoryOperation.THAW: _freeze,
        MemoryOperation.SHARE: _share,
        MemoryOperation.UNSHARE: _unshare,
    }
