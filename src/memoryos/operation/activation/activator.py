"""Activator: computes the KV states of prefixes, keeps them as cubes, and answers with them.

A state is used only if its sources are now, and for this caller, as they were when it was computed: that is asked in
one snapshot with the cube. Otherwise the text is computed anew, and the answer says why. Nothing changes a state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from uuid_utils.compat import uuid7

from memoryos.built_memory import STATE_BYTES, Activation, Blob
from memoryos.caller import Action
from memoryos.clock import Clock
from memoryos.cube import Access, Behaviour, Descriptive, Governance, Lifespan, MemCube, Version
from memoryos.errors import (
    ChangedMeanwhile,
    InvalidInput,
    ModelError,
    ModelNotConfigured,
    NotFound,
    ObjectsUnreachable,
    StoreCorrupt,
)
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault.built_cubes import replace_built
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, Link, LinkKind
from memoryos.kinds import Kind, Origin, SemanticType, Tier
from memoryos.models.chat import Answer, ChatModel, Message
from memoryos.models.local.joined_blocks import left_out
from memoryos.models.local.kept_states import KeptStates
from memoryos.models.local.local_chat import LocalChat, StatedChat
from memoryos.models.local.local_engine import NO_COMPOSITION, KVState
from memoryos.models.local.opened_model import OpenedModel
from memoryos.models.local.prompt_beginning import beginning
from memoryos.operation.activation.activated import ActivatedAnswer, ActivationView
from memoryos.operation.activation.prefix import Prefix, Show, again, chosen
from memoryos.operation.activation.prefix_state import PrefixState, place_of, state_key
from memoryos.operation.activation.recipe import Recipe, recipes, write_recipes
from memoryos.operation.activation.state_keeper import StateKeeper
from memoryos.operation.activation.state_meanings import StateMeanings
from memoryos.operation.answer.responder import Marker
from memoryos.operation.attachments.parcels import Parcel, check_place, with_parcels
from memoryos.operation.calls.permission import check_stored
from memoryos.operation.placement.answer_mode import Composing, ModeDecision, ModeReason
from memoryos.operation.placement.placement_policy import HeldBlock
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask
from memoryos.operation.scheduler.spending import ModelAccount, Purpose
from memoryos.scope import Scope

FORMAT = "memoryos-kv"  #: of the blob
ROUNDED = "memoryos-kv-8bit"  #: the same with 8-bit numbers: what is computed from it is not exactly that of the text
_NOT_BUILT = "there is no KV state: it is being built, or was removed, as a source changed or it was cold"
_CHANGED = "a source of the KV state changed, ended, or is not for this caller"
_OTHER_MODEL = "the KV state belongs to another model than the one that is loaded: build it again"
_NO_MEMORY = "this process has too little memory to load the KV state"
_NOT_USED = "the prompt begins in another way than the KV state, so the text was computed anew"
_OTHER_TOKENS = "the chat template writes several prefixes in another way than each by itself"
_NOT_LOCAL = "the chat model does not run in this process, so it has no KV states here"


@dataclass(frozen=True, slots=True)
class _Loading:
    """The states that one answer takes, by the names of their prefixes."""

    epoch: int
    taken: dict[str, tuple[PrefixState, KVState]] = field(default_factory=dict)


_Snapshot = tuple[Recipe, MemCube | None, Prefix, str]  # the last: why the state may not be used


@dataclass(frozen=True)
class Activator:
    """The activation memory of one store."""

    vault: Vault
    clock: Clock
    model: Callable[[], ChatModel]  #: raises ModelNotConfigured
    answering: Callable[[], ChatModel]  #: the same as it answers people; raises ModelError, too
    account: ModelAccount
    show: Show
    most_bytes: int
    #: of what the scheduler keeps in memory
    made_keeper: Callable[[KeptStates, StateMeanings | None], StateKeeper | None] = lambda *_: None
    visited: Callable[[Scope, Iterable[str]], None] = lambda *_: None  #: notes that answers used these memories
    meanings: StateMeanings | None = None  #: None: the policy does not ask how similar states are to a question
    states: KeptStates = field(init=False)
    keeper: StateKeeper | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", KeptStates(self.most_bytes))
        object.__setattr__(self, "keeper", self.made_keeper(self.states, self.meanings))

    # Building

    def order(self, owner: Scope, recipe: Recipe) -> str:
        """Store a recipe, and return the id of the job that builds its state."""
        with self.vault.write(owner) as writer:
            return self.ordered(writer, owner, recipe)

    def ordered(self, writer: Writer, owner: Scope, recipe: Recipe) -> str:
        """The same in the transaction of a writer."""
        self.check_change(owner, writer, recipe.name, Action.WRITE)
        write_recipes(writer, {**recipes(writer), recipe.name: recipe})
        (job_id,) = writer.enqueue(JobKind.ACTIVATE, payload=building_of(recipe.name), anew=True)
        return job_id

    def build(self, scope: Scope, job: Job) -> None:
        """Compute and store the state that a job asks for. Raises ModelError, ChangedMeanwhile."""
        name, now = str((job.payload or {})["name"]), self.clock()
        with self.vault.read(scope) as reader:
            recipe = recipes(reader).get(name)
            prefix = chosen(reader, recipe, now, self.show) if recipe else None
        chat = self._chat()
        if recipe is None or prefix is None or chat is None:
            return  # it was deleted meanwhile; or a server keeps states of its own, for prompts that begin alike
        engine = chat.engine
        state = engine.prefill(beginning(engine, _system(prefix)))
        data = engine.dumped(state, bits=recipe.bits)
        cube = _cube(
            scope.owner, recipe, prefix, (engine.name, engine.fingerprint.digest), len(state.tokens), data, now
        )
        parcels = {BlobRef.of(data).sha256: Parcel(data, STATE_BYTES)}
        self._drop_same(scope.owner, name, set(parcels))
        is_wanted = partial(self._is_current, recipe=recipe, prefix=prefix)
        store = partial(self._stored, cube, recipe, prefix)
        if not with_parcels(self.vault, scope.owner, parcels, self.clock, store, is_wanted):
            raise ChangedMeanwhile

    def _drop_same(self, owner: Scope, name: str, shas: set[str]) -> None:
        """Remove an earlier cube with the same bytes, which may be damaged: they are put again."""
        with self.vault.write(owner) as writer:
            replace_built(writer, [one.id for one in _built(writer, name) if _payload(one).blob.sha256 in shas])

    def _is_current(self, reader: Reader, recipe: Recipe, prefix: Prefix) -> bool:
        """Whether a state of this prefix is what the recipe asks for now."""
        now = chosen(reader, recipe, self.clock(), self.show)
        return recipes(reader).get(recipe.name) == recipe and now.is_same(prefix)

    def _stored(self, cube: MemCube, recipe: Recipe, prefix: Prefix) -> list[str]:
        """Put the cube in the place of an earlier one; nothing, if something changed while it was computed."""
        with self.vault.write(cube.scope) as writer:
            if not self._is_current(writer, recipe, prefix):
                return []
            earlier = _built(writer, recipe.name)
            number = 1 + max((one.version.number for one in earlier), default=0)
            writer.insert([Entry(replace(cube, version=Version(number=number)))])
            # Last: one that another process has just built has the same bytes.
            replace_built(writer, [one.id for one in earlier])
            writer.link([Link(cube.id, LinkKind.COMPUTED_FROM, one.id) for one in prefix.sources])
        return [cube.id]

    # Looking

    def views(self, owner: Scope) -> list[ActivationView]:
        """What there is, by name, as this caller may use it."""
        with self._seeing(owner) as reader:
            return [self._view(self._snapshot(reader, name)) for name in sorted(recipes(reader))]

    def view(self, owner: Scope, name: str) -> ActivationView:
        """One of these. Raises NotFound."""
        with self._seeing(owner) as reader:
            return self._view(self._snapshot(reader, name))

    def delete(self, owner: Scope, name: str) -> None:
        """Remove a recipe with its state. Raises NotFound."""
        with self.vault.write(owner) as writer:
            self.remove(writer, owner, name)

    def remove(self, writer: Writer, owner: Scope, name: str) -> None:
        """The same in the transaction of a writer."""
        self.check_change(owner, writer, name, Action.DELETE)
        known = recipes(writer)
        if known.pop(name, None) is None:
            raise _missing(name)
        writer.delete([one.id for one in _built(writer, name)])
        write_recipes(writer, known)

    def check_change(self, owner: Scope, reader: Reader, name: str, action: Action) -> None:
        """Raise PermissionDenied unless the caller may do this with the state of a prefix, if there is a prefix.

        So may be the memories that it tells now, of which a state that was built before knows nothing.
        """
        if (recipe := recipes(reader).get(name)) is not None:
            whole = reader.whole
            of_it = [*_built(whole, name), *chosen(whole, recipe, self.clock(), self.show).sources]
            check_stored(self.vault, owner, reader, [one.id for one in of_it], action, f"the activation {name!r}")

    def check_rounding(self) -> None:
        """Raise InvalidInput if the chat model runs here, and can have no smaller states."""
        if (chat := self._chat()) is not None:
            chat.check_rounding()

    def check_place(self) -> None:
        """Raise InvalidInput if the chat model runs here, and the store has no place for its states."""
        if self._chat() is not None:
            check_place(self.vault, "KV states")

    def recipe(self, owner: Scope, name: str) -> Recipe | None:
        """What a prefix of that name is made of."""
        with self.vault.read(owner) as reader:
            return recipes(reader).get(name)

    def cool(self, owner: Scope, name: str) -> None:
        """Remove the state of a prefix, and keep its recipe, from which it can be built again."""
        with self.vault.write(owner) as writer:
            writer.delete([one.id for one in _built(writer, name)])

    def forget(self, models: Iterable[object]) -> None:
        """Let all states in memory go, and what local models hold of prompts: something was erased."""
        self.states.clear()
        if self.keeper is not None:
            self.keeper.forget()
        if self.meanings is not None:
            self.meanings.forget()
        for model in models:
            if isinstance(model, LocalChat | OpenedModel):
                model.forget()

    # Answering

    def answer(
        self,
        owner: Scope,
        names: Sequence[str],
        query: str,
        marker: Marker,
        composing: Composing,
        *,
        recompute: int,
    ) -> ActivatedAnswer:
        """Answer a question behind prefixes, whose states are put together if `composing` says so.

        Otherwise only the state of the first one is used: what stands behind another text is not exact. Of states that
        are put together, so many tokens are computed anew. The answer has the mark of the `marker`. Raises NotFound,
        ModelError.
        """
        epoch = self.states.epoch
        with self._seeing(owner) as reader:
            found = [self._snapshot(reader, name) for name in names]
            now = self.clock()
            fresh = [
                prefix if not reason else chosen(reader, recipe, now, self.show) for recipe, _, prefix, reason in found
            ]
        messages: list[Message] = [*(one for prefix in fresh for one in _system(prefix))]
        messages.append({"role": "user", "content": query})
        chat, state, reason, is_composed = self.answering(), None, found[0][3], False
        loading = _Loading(epoch)
        mode = ModeDecision(reason=ModeReason.ONE_STATE)
        if isinstance(chat, LocalChat):
            mode = self._mode(chat, owner, query, found, composing)
            if mode.is_composed and not chat.engine.is_composing:  # before any state is loaded
                mode, reason = ModeDecision(reason=ModeReason.NOT_POSSIBLE), NO_COMPOSITION
            if mode.is_composed:
                state, reason = self._composed(chat, found, messages, recompute, loading)
                is_composed = state is not None
            if state is None:
                state, why = self._usable(chat, found[0], loading)
                reason = reason or why
        stated = StatedChat(chat, state) if isinstance(chat, LocalChat) else chat
        answer: Answer = self.account.answer(stated, messages, owner, Purpose.RESPOND)
        if isinstance(chat, LocalChat) and self.states.epoch != epoch:
            chat.forget()  # something was erased since the snapshot, and the model has read it since
        is_used = state is not None and 2 * answer.usage.cached_tokens > len(state.tokens)
        read = [
            cube for _, cube, _, _ in (found if is_composed else found[:1]) if cube is not None and state is not None
        ]
        if is_used:
            self.visited(owner, [cube.id for cube in read])
        if is_used and self.keeper is not None and isinstance(chat, LocalChat):
            taken = {name: one for name, one in loading.taken.items() if is_composed or name == names[0]}
            self.keeper.used(owner, query, taken, epoch, lambda name: self._findable(chat, owner, name))
        told = reason or ("" if is_used else _NOT_USED)
        is_rounded = answer.usage.cached_tokens > 0 and any(map(_is_rounded, read))
        marked = marker((cube for prefix in fresh for cube in prefix.sources), owner)(answer)
        return ActivatedAnswer(marked, is_used, told, is_composed and is_used, is_rounded, mode)

    def _mode(
        self, chat: LocalChat, owner: Scope, query: str, found: Sequence[_Snapshot], composing: Composing
    ) -> ModeDecision:
        """Whether the states of these prefixes are put together; a policy that fails costs no answer."""
        wanted = composing.priorities
        task = PlacementTask(query, owner, PlacementBudget(0), labels=frozenset(wanted), priorities=wanted)
        try:
            return composing.decided(len(found), lambda: self._held(chat, found, task), task)
        except InvalidInput:
            return ModeDecision(reason=ModeReason.FAILED)

    def held(self, ids: Collection[str], task: PlacementTask) -> list[HeldBlock]:
        """What a policy is told about the states with these ids that an answer to this caller would use."""
        chat = self._chat()
        if chat is None:
            return []
        with self._seeing(task.scope) as reader:
            found = [self._snapshot(reader, name) for name in sorted(recipes(reader))]
        return self._held(chat, [one for one in found if one[1] is not None and one[1].id in ids], task)

    def _held(self, chat: LocalChat, found: Iterable[_Snapshot], task: PlacementTask) -> list[HeldBlock]:
        there = [
            self._prefix_state(chat, recipe.name, cube, prefix)
            for recipe, cube, prefix, reason in found
            if cube is not None and not reason
        ]
        if self.meanings is None:
            return [one.held(task) for one in there]
        self.meanings.compare(task.query, there)
        return [one.held(task, self.meanings.alike(one.block(), task)) for one in there]

    def _usable(self, chat: LocalChat, found: _Snapshot, loading: _Loading) -> tuple[KVState | None, str]:
        """The state of one prefix; or why there is none."""
        recipe, cube, prefix, reason = found
        if cube is None or reason:
            return None, reason
        state, reason = self._state(chat, cube)
        if state is not None and self.keeper is not None:
            loading.taken[recipe.name] = self._prefix_state(chat, recipe.name, cube, prefix), state
        elif state is not None:
            self.states.keep(_key(cube), state, loading.epoch)
        return state, reason

    def _findable(self, chat: LocalChat, owner: Scope, name: str) -> PrefixState | None:
        """The state of a prefix, if an answer to this caller would use it."""
        with suppress(NotFound), self._seeing(owner) as reader:
            _, cube, prefix, reason = self._snapshot(reader, name)
            return None if cube is None or reason else self._prefix_state(chat, name, cube, prefix)
        return None

    def _prefix_state(self, chat: LocalChat, name: str, cube: MemCube, prefix: Prefix) -> PrefixState:
        known, owner = _payload(cube), cube.scope.owner
        told = (known.tokens, known.blob.size_bytes, prefix.heat, prefix.labels, cube.descriptive.provenance)
        return PrefixState(cube.id, owner, name, *told, lambda: self._state(chat, cube)[0])

    def _composed(
        self,
        chat: LocalChat,
        found: Sequence[_Snapshot],
        messages: Sequence[Message],
        recompute: int,
        loading: _Loading,
    ) -> tuple[KVState | None, str]:
        """The states of all prefixes as one; or why they cannot be put together."""
        loaded = [self._usable(chat, one, loading) for one in found]
        if missing := next((reason for state, reason in loaded if state is None), ""):
            return None, f"nothing was put together: {missing}"
        blocks = [state for state, _ in loaded if state is not None]
        skipped = left_out(blocks, chat.engine.chat_tokens(messages))
        if skipped is None:
            return None, _OTHER_TOKENS
        try:
            return chat.engine.compose(blocks, recompute=recompute, skipped=skipped), ""
        except ModelError as error:
            return None, str(error)

    def _state(self, chat: LocalChat, cube: MemCube) -> tuple[KVState | None, str]:
        """The state of a cube, from memory or from the object store; or why there is none."""
        if (kept := self.states.get(_key(cube))) is not None:
            return kept, ""
        try:
            with self.vault.read(cube.scope.owner) as reader:
                sha = _payload(cube).blob.sha256
                blob = reader.blobs.kept([sha])[sha]
            state = chat.engine.loaded(self.vault.blobs.view(blob.name))
        except KeyError:
            return None, _NOT_BUILT
        except (ModelError, StoreCorrupt, ObjectsUnreachable) as error:
            return None, str(error)
        except MemoryError:
            return None, _NO_MEMORY
        return state, ""

    @contextmanager
    def _seeing(self, owner: Scope) -> Iterator[Reader]:
        """A snapshot, after the states in memory whose cubes another process removed were let go."""
        with self.vault.view(owner) as reader:
            place = place_of(owner)
            kept = [key.removeprefix(place) for key in self.states.keys if key.startswith(place)]
            gone = set(kept).difference(reader.whole.kinds(kept)) if kept else ()
            self.states.drop(*(f"{place}{one}" for one in gone))
            yield reader

    def _snapshot(self, reader: Reader, name: str) -> _Snapshot:
        """A recipe, its cube and its prefix of now, and why the state may not be used. Raises NotFound."""
        recipe, now = recipes(reader).get(name), self.clock()
        if recipe is None:
            raise _missing(name)
        cube = next(iter(_built(reader, name)), None)
        chat = self._chat()
        if chat is None:
            return recipe, cube, chosen(reader, recipe, now, self.show), _NOT_LOCAL
        if cube is None:
            return recipe, None, chosen(reader, recipe, now, self.show), _not_built(reader, name)
        prefix, built = again(reader, recipe, cube.descriptive.provenance, now, self.show), _payload(cube)
        is_same = (prefix.text, prefix.versions) == (built.text, built.versions) and not cube.has_expired(now)
        if not is_same:
            self.states.drop(_key(cube))
            return recipe, cube, prefix, _CHANGED
        is_other = chat.loaded is not None and chat.loaded.fingerprint.digest != built.fingerprint
        return recipe, cube, prefix, _OTHER_MODEL if is_other else ""

    def _view(self, found: _Snapshot) -> ActivationView:
        recipe, cube, _, reason = found
        if cube is None:
            return ActivationView(recipe.name, None, False, reason)
        known = _payload(cube)
        told = (known.tokens, known.blob.size_bytes, known.model, cube.descriptive.recorded_at)
        used = (cube.behaviour.visits, cube.behaviour.last_access)
        sources = cube.descriptive.provenance
        return ActivationView(recipe.name, cube.id, not reason, reason, *told, sources, *used, _is_rounded(cube))

    def _chat(self) -> LocalChat | None:
        """The chat model, if it runs in this process."""
        try:
            chat = self.model()
        except ModelNotConfigured:
            return None
        return chat if isinstance(chat, LocalChat) else None


def _key(cube: MemCube) -> str:
    return state_key(cube.scope.owner, cube.id)


def _system(prefix: Prefix) -> list[Message]:
    return [{"role": "system", "content": prefix.text}]


def building_of(name: str) -> dict[str, str]:
    """The payload of the job that builds the state of a prefix."""
    return {"name": name}


def _built(reader: Reader, name: str) -> list[MemCube]:
    """The cubes of that name, the latest first; a crash or an import may leave more than one."""
    return [cube for cube in reversed(reader.cubes(Kind.ACTIVATION)) if cube.descriptive.title == name]


def _not_built(reader: Reader, name: str) -> str:
    """Why there is no cube of that name, with the error of the last job that failed to build it."""
    job = reader.latest_job(JobKind.ACTIVATE, [building_of(name)])
    return f"{_NOT_BUILT}; the last failure: {job.error}" if job is not None and job.error else _NOT_BUILT


def _payload(cube: MemCube) -> Activation:
    assert isinstance(cube.payload, Activation)  # noqa: S101 - by its kind
    return cube.payload


def _is_rounded(cube: MemCube) -> bool:
    return _payload(cube).blob.format == ROUNDED


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no activation {name!r} of this user and agent")


def _cube(
    owner: Scope, recipe: Recipe, prefix: Prefix, model: tuple[str, str], tokens: int, data: bytes, now: datetime
) -> MemCube:
    ref = BlobRef.of(data)
    payload = Activation(
        model=model[0],
        fingerprint=model[1],
        text=prefix.text,
        versions=prefix.versions,
        tokens=tokens,
        blob=Blob(sha256=ref.sha256, size_bytes=ref.size, format=ROUNDED if recipe.bits else FORMAT),
    )
    descriptive = Descriptive(
        event_at=now,
        recorded_at=now,
        updated_at=now,
        origin=Origin.INFERENCE,
        semantic_type=SemanticType.TASK_PROMPT,
        title=recipe.name,
        provenance=tuple(cube.id for cube in prefix.sources),
        derived_by=model[0],
    )
    governance = Governance(
        access=Access(mode=prefix.access), lifespan=Lifespan(expires_at=prefix.ends), sensitivity=prefix.sensitivity
    )
    return MemCube(
        id=str(uuid7()),
        scope=owner,
        tier=Tier.LPM,
        payload=payload,
        descriptive=descriptive,
        behaviour=Behaviour(last_access=now),
        governance=governance,
    )
