"""OwnCache: the KV cache that follows the plans of `decide`, and the adapter that is trained of it.

What is done is logged with its reason in the transaction that orders it, and so is what is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce

from uuid_utils.compat import uuid7

from memoryos.caller import Caller
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.errors import NotFound, PermissionDenied
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.lora_adapters import LoraAdapters, have_trained
from memoryos.operation.activation.activated import ActivationView
from memoryos.operation.activation.recipe import Recipe, recipes
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.operation.placement.form_log import FormDecision, log_form
from memoryos.operation.placement.form_moves import FormMove, FormOfMemory, MoveGrounds, MoveReason, WeighedForms
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.placement.placement_log import history_of, write_history
from memoryos.operation.placement.unchanged_forms import UnchangedForm, UnchangedReason, forget_unchanged, log_unchanged
from memoryos.operation.placement.use_history import UseHistory
from memoryos.operation.training.training_sources import TEACHING
from memoryos.operation.training.wanted_adapter import WantedAdapter
from memoryos.scope import Scope

KV_NAME = "scheduler"  # of the KV cache that `decide` keeps, and of the adapter


@dataclass(frozen=True, slots=True)
class OwnCache:
    """The KV cache named `scheduler` of one owner, behind one plan."""

    engine: Engine
    scope: Scope
    caller: Caller
    plan: int  #: its number
    weighed: WeighedForms  #: the forms of now
    due: tuple[FormMove, ...]  #: the changes that are due
    view: ActivationView | None  #: of the KV cache; None: there is none

    @classmethod
    def of(
        cls, engine: Engine, scope: Scope, caller: Caller, plan: int, weighed: WeighedForms, view: ActivationView | None
    ) -> OwnCache:
        """The KV cache behind a plan, with what is due."""
        return cls(engine, scope, caller, plan, weighed, tuple(weighed.due()), view)

    def follow(self) -> None:
        """Build the KV of what has paid for it, remove it when it is cold, and have it trained when it is stable."""
        move = next((one for one in self.due if self.view is not None and one.id == self.view.id), None)
        try:
            if move is None or self.view is None:
                self._build()
            elif move.after is MemoryForm.TEXT:
                self._remove(move, self.view.sources)
            else:
                self._train(move, self.view.sources)
        except PermissionDenied:  # what it would change was made of more than this caller may use
            with self.engine.vault.write(self.scope.owner) as writer:
                self._log(writer, self._refused(MemoryForm.KV if move is None else move.after))

    def _remove(self, move: FormMove, sources: Sequence[str]) -> None:
        owner = self.scope.owner
        decision = FormDecision.of(move, KV_NAME, sources, self.weighed.now, self.plan)
        with suppress(NotFound), self.engine.vault.write(owner) as writer:  # another process may have been faster
            self.engine.activator.remove(writer, owner, KV_NAME)
            log_form(writer, decision)
            forget_unchanged(writer, KV_NAME, MemoryForm.KV)

    def _train(self, move: FormMove, sources: Sequence[str]) -> None:
        """Have an adapter trained of these memories, unless something speaks against it."""
        with self.engine.vault.view(self.scope.owner) as reader:
            kinds = {cube.kind for cube in reader.get(sources).values()}.intersection(TEACHING)
        reason = self._against_training(is_taught=bool(kinds))
        if reason is None:
            decision = FormDecision.of(move, KV_NAME, sources, self.weighed.now, self.plan)
            names = sorted(one.value for one in kinds)
            wanted = WantedAdapter(KV_NAME, names, list(sources), is_due=True, demand=str(uuid7()))
            have_trained(self.engine, self.scope, wanted, partial(log_form, decision=decision))
        self._log_training(reason)

    def _log_training(self, reason: UnchangedReason | None) -> None:
        """Log that the KV cache stays, and why it is not trained if it is not."""
        with self.engine.vault.write(self.scope.owner) as writer:
            if reason is None:
                forget_unchanged(writer, KV_NAME, MemoryForm.KV, MemoryForm.ADAPTER)
            if (kv := self._kv) is not None:
                left = [] if reason is None else [self._kept(kv, MemoryForm.ADAPTER, reason)]
                self._log(writer, [self._kept(kv, MemoryForm.TEXT, UnchangedReason.NOT_COLD), *left])

    def _against_training(self, *, is_taught: bool) -> UnchangedReason | None:
        if not self.engine.settings.placement_adapters:
            return UnchangedReason.SWITCHED_OFF
        if (against := self._against_storing()) is not None:
            return against
        if not self.engine.local.is_trainable:
            return UnchangedReason.NO_MODEL
        if not is_taught:
            return UnchangedReason.NOT_TRAINABLE
        names = [one.name for one in LoraAdapters(self.engine, self.scope, self.caller).list()]
        return UnchangedReason.TRAINED if KV_NAME in names else None

    def _build(self) -> None:
        """Order a new KV cache, if what is new in it has paid for all of it; then its debt is settled."""
        owner = self.scope.owner
        with self.engine.vault.write(owner) as writer:
            cache = self._next(writer)
            against = self._against_storing()
            is_due = cache.is_paid and against is None
            self._log(writer, [*self._both_kept(), *(() if is_due else self._unbuilt(cache, against))])
            if not is_due:
                return
            ids = [one.id for one in cache.texts]
            move = FormMove(KV_NAME, MemoryForm.TEXT, MemoryForm.KV, MoveReason.PAID, cache.grounds)
            log_form(writer, FormDecision.of(move, KV_NAME, ids, self.weighed.now, self.plan))
            forget_unchanged(writer, KV_NAME, MemoryForm.TEXT)
            write_history(writer, reduce(UseHistory.paid, cache.added, cache.weighed.history))
            recipe = Recipe(name=KV_NAME, role=DEFAULT_ROLE, kinds=(), ids=tuple(ids))
            self.engine.activator.ordered(writer, owner, recipe)
        self.engine.housekeeping.queued(self.scope)

    def _next(self, reader: Reader) -> _NextCache:
        """The KV cache of what has paid and of what it has already.

        It is the beginning of a prompt, so one more memory means to build it all again. What was used last stays in
        it, as far as the context has room.
        """
        weighed, before = replace(self.weighed, history=history_of(reader)), self._sources
        texts = {cube.id: as_text(cube) for cube in reader.get([*self._paid, *before]).values()}
        sizes = {one: text.tokens for one, text in texts.items()}
        chosen = sorted(weighed.history.used_last(sizes, self.engine.settings.context_tokens))
        return _NextCache(weighed, tuple(texts[one] for one in chosen), frozenset(chosen).difference(before))

    @property
    def _sources(self) -> tuple[str, ...]:
        """The memories in the KV cache."""
        return self.view.sources if self.view is not None else ()

    @property
    def _paid(self) -> list[str]:
        """The texts each of which has paid for KV of its own."""
        return [one.id for one in self.due if one.after is MemoryForm.KV]

    def _against_storing(self) -> UnchangedReason | None:
        return None if self.engine.vault.blobs.are_kept else UnchangedReason.NO_STORE

    # What is left as it is

    def _unbuilt(self, cache: _NextCache, against: UnchangedReason | None) -> Iterator[UnchangedForm]:
        """Why no KV cache is built, unless nothing was used that could be in it."""
        texts = [one for one in self.weighed.forms if one.form is MemoryForm.TEXT and one.id not in self._sources]
        paid = set(self._paid)
        if cache.is_paid and against is not None:
            yield self._left(cache.texts, against, cache.grounds)
        elif cache.added:
            yield self._left(cache.texts, UnchangedReason.NOT_PAID, cache.grounds)
        elif long := [one for one in texts if one.id in paid]:
            yield self._left(long, UnchangedReason.NO_ROOM)
        elif texts:
            free = [one for one in texts if not one.is_frozen]
            yield self._left(free or texts, UnchangedReason.NOT_PAID if free else UnchangedReason.FROZEN)
        elif cache.texts:
            is_usable = self.view is not None and self.view.is_usable
            yield self._left(cache.texts, UnchangedReason.NOTHING_NEW if is_usable else UnchangedReason.UNUSABLE)

    def _both_kept(self) -> Iterator[UnchangedForm]:
        """Why the KV cache is neither removed nor trained, if there is one and neither is due."""
        if (kv := self._kv) is None:
            return
        reasons = UnchangedReason.NOT_COLD, UnchangedReason.NOT_STABLE
        if kv.is_frozen:
            reasons = UnchangedReason.FROZEN, UnchangedReason.FROZEN
        yield self._kept(kv, MemoryForm.TEXT, reasons[0])
        yield self._kept(kv, MemoryForm.ADAPTER, reasons[1])

    def _refused(self, after: MemoryForm) -> Iterator[UnchangedForm]:
        """The decision that the caller may not have it changed to this form."""
        if after is not MemoryForm.KV:
            yield from (self._kept(kv, after, UnchangedReason.NOT_PERMITTED) for kv in (self._kv,) if kv is not None)
            return
        paid = set(self._paid)
        if texts := [one for one in self.weighed.forms if one.id in paid]:
            yield self._left(texts, UnchangedReason.NOT_PERMITTED)

    @property
    def _kv(self) -> FormOfMemory | None:
        """The KV cache, if it is there."""
        return next((one for one in self.weighed.forms if self.view is not None and one.id == self.view.id), None)

    def _kept(self, kv: FormOfMemory, after: MemoryForm, reason: UnchangedReason) -> UnchangedForm:
        """The decision that the KV cache stays one."""
        return self._decided(MemoryForm.KV, after, reason, self.weighed.grounds([kv]), self._sources)

    def _left(
        self, texts: Sequence[FormOfMemory], reason: UnchangedReason, grounds: MoveGrounds | None = None
    ) -> UnchangedForm:
        """The decision that texts stay texts."""
        known = self.weighed.grounds(texts) if grounds is None else grounds
        return self._decided(MemoryForm.TEXT, MemoryForm.KV, reason, known, [one.id for one in texts])

    def _decided(
        self, before: MemoryForm, after: MemoryForm, reason: UnchangedReason, grounds: MoveGrounds, ids: Sequence[str]
    ) -> UnchangedForm:
        at = self.weighed.now
        return UnchangedForm(KV_NAME, before, after, reason, grounds, tuple(ids), self.plan, at, at)

    def _log(self, writer: Writer, decisions: Iterable[UnchangedForm]) -> None:
        """Write decisions; those on a KV cache or memories that were removed meanwhile are left out."""
        made = [one for one in decisions if one.before is MemoryForm.TEXT or KV_NAME in recipes(writer)]
        there = writer.whole.kinds({source for one in made for source in one.sources})
        log_unchanged(writer, [one for one in made if there.keys() >= set(one.sources)])


@dataclass(frozen=True, slots=True)
class _NextCache:
    """The KV cache that would be built now."""

    weighed: WeighedForms
    texts: tuple[FormOfMemory, ...]  #: its memories, by their ids
    added: frozenset[str]  #: those that the KV cache of now does not have

    @property
    def owed_ms(self) -> float:
        """What KV of the added ones would have saved so far."""
        return sum(use.owed_ms for one, use in self.weighed.history.blocks.items() if one in self.added)

    @property
    def is_paid(self) -> bool:
        """Whether that is as much as building all of it costs."""
        return bool(self.added) and self.owed_ms >= self.weighed.costs.prefill_ms(sum(one.tokens for one in self.texts))

    @property
    def grounds(self) -> MoveGrounds:
        """The numbers behind that. Raises ValueError without memories."""
        return replace(self.weighed.grounds(self.texts), saved_ms=self.owed_ms)


def as_text(cube: MemCube) -> FormOfMemory:
    """A memory that is a text now."""
    known = cube.descriptive
    return FormOfMemory(
        id=cube.id,
        form=MemoryForm.TEXT,
        tokens=count_tokens(cube.text),
        changed_at=known.updated_at,
        built_at=known.recorded_at,
        heat=cube.behaviour.visits,
        is_frozen=cube.is_frozen,
    )
