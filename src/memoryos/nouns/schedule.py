"""MemScheduler: which memories take part in an answer, in which form, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from math import inf

from memoryos import arguments
from memoryos.built_memory import AdapterStage
from memoryos.caller import Action, Caller
from memoryos.clock import micros
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import Kind, State
from memoryos.listing import Listing
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.memory_verbs import MemoryVerbs
from memoryos.nouns.noun import Noun
from memoryos.nouns.own_cache import KV_NAME, OwnCache, as_text
from memoryos.operation.activation.activated import ActivationView
from memoryos.operation.calls.door import door
from memoryos.operation.placement.answer_mode import Composing, ModeDecision, ModeReason
from memoryos.operation.placement.cost_model import SMOLLM2
from memoryos.operation.placement.form_log import MOST_TOLD, FormDecision, logged_forms
from memoryos.operation.placement.form_moves import FormMove, FormOfMemory, WeighedForms
from memoryos.operation.placement.memory_block import BlockFault, MemoryBlock, MemoryForm
from memoryos.operation.placement.placement_log import LoggedPlacement, history_of, log_plan, logged
from memoryos.operation.placement.placement_plan import PlacementPlan, PlacementReason
from memoryos.operation.placement.placement_policy import HeldBlock, PlacementPolicy, policy_named
from memoryos.operation.placement.placement_task import PlacementBudget, PlacementTask
from memoryos.operation.placement.planner import planned
from memoryos.operation.placement.state_log import STATE_LOG, StateDecision, StateLog
from memoryos.operation.placement.unchanged_forms import unchanged
from memoryos.operation.placement.use_history import UseHistory
from memoryos.operation.recall.hit import Recall
from memoryos.operation.training.adapter_cubes import adapter_in, used_version
from memoryos.operation.training.loaded_adapters import loaded_in
from memoryos.operation.training.training_sources import stale_source
from memoryos.operation.training.wanted_adapter import wanted_adapters
from memoryos.scope import Scope

OFF = "off"
MOST_PRIORITY = 9
MOST_MS = 3_600_000.0
PRELOADED = 8  # memories that a plan names, at most


@door
class MemScheduler(Noun):
    """The decisions about one owner's memories: text, KV cache or adapter."""

    __slots__ = ("_memory",)

    def __init__(self, engine: Engine, scope: Scope, caller: Caller, memory: MemoryVerbs) -> None:
        super().__init__(engine, scope, caller)
        self._memory = memory

    def explain(
        self,
        query: str,
        *,
        tokens: int | None = None,
        ms: float | None = None,
        size_bytes: int | None = None,
        priorities: Mapping[str, int] | None = None,
    ) -> PlacementPlan:
        """Return which memories would take part in the answer to a question, in which form and order, and why.

        Nothing is noted but the visits that any search counts. The budgets are for the memories alone: `tokens` of the
        model's context (default: the setting `context_tokens`), `ms` until the first token, `size_bytes` of KV caches
        and adapters. `priorities` are of tags, 0 to 9: a memory with a higher one comes first (default: the setting
        `placement_priorities`). With the setting `placement_states`, `states` has why KV states are in memory or are
        not. `forms` has why KV caches and adapters were made or removed, as `decide` and `forms.cool` ordered it: the
        latest 16. `unchanged` has why `decide` last left what it did not build, train or remove.
        `mode` is exact, unless `compose_states` or the policy has several KV caches put together. Raises InvalidInput.
        """
        plan = self._planned(self._task(query, tokens, ms, size_bytes, priorities))
        return self._told(plan)

    def decide(
        self,
        query: str,
        *,
        tokens: int | None = None,
        ms: float | None = None,
        size_bytes: int | None = None,
        priorities: Mapping[str, int] | None = None,
    ) -> PlacementPlan:
        """Decide as `explain` does, count the use of each chosen memory, and log the decisions.

        If the chat model runs in this process, the KV cache named `scheduler` follows: it is built in the background
        when reading its memories has cost as much as building it, and removed when it is cold. With the setting
        `placement_adapters`, an adapter of that name is trained of them when they are stable for long; `adapters.load`
        uses it. With the setting `placement=off`, nothing is counted, logged or built. Raises InvalidInput.
        """
        self._engine.admit(Action.WRITE, self._scope)
        plan = self._planned(self._task(query, tokens, ms, size_bytes, priorities))
        self._told(plan)  # before anything is written: it raises StoreCorrupt if the log is damaged
        if plan.policy != OFF:
            now = self._engine.clock()
            with self._engine.vault.write(self._scope.owner) as writer:
                history = history_of(writer).after(_owed(plan), micros(now))
                log_plan(writer, plan, history, now)
            if self._engine.settings.is_local:
                self._follow(history.asked)
        return self._told(plan)

    def log(self, *, limit: int = 20) -> Listing[LoggedPlacement]:
        """List the latest decisions, newest first, at most 100: ids, forms, reasons and numbers.

        Each plan has the KV caches and adapters that were ordered or removed behind it (`forms`). What this caller may
        not read, or is gone, is left out.
        """
        wanted = arguments.natural("limit", limit, least=1, most=arguments.MOST)
        with self._engine.vault.view(self._scope.owner) as reader:
            found = logged(reader, wanted)
            seen = reader.kinds([one.id for plan in found for one in plan.decisions])
        forms = self._forms()
        return Listing(
            replace(
                plan,
                decisions=tuple(one for one in plan.decisions if one.id in seen),
                forms=tuple(one for one in forms if one.plan == plan.number),
            )
            for plan in found
        )

    def moves(self) -> Listing[FormMove]:
        """List the changes of form that are due by the uses so far: text to KV, KV to an adapter, and back to text."""
        weighed, _ = self._weighed()
        return Listing(weighed.due())

    def _weighed(self) -> tuple[WeighedForms, list[ActivationView]]:
        """The memories with their forms and uses, and the KV caches."""
        views = self._engine.activator.views(self._scope.owner)
        with self._engine.settled(self._scope) as reader:
            history = history_of(reader)
            sources = reader.get([source for view in views for source in view.sources])
            states = reader.get([view.id for view in views if view.id is not None])
            texts = reader.get(list(history.blocks)).values()
        has_kv = {source for view in views if view.is_usable for source in view.sources}
        forms = [as_text(cube) for cube in texts if cube.kind is not Kind.ACTIVATION and cube.id not in has_kv]
        forms += [one for view in views if (one := _as_kv(view, sources, states)) is not None]
        return WeighedForms((*forms, *self._unloaded()), history, SMOLLM2, self._engine.clock()), views

    def _unloaded(self) -> Iterator[FormOfMemory]:
        """The adapters that no answer uses by itself; one that is loaded never gets cold."""
        for place in self._engine.adapters.places(self._scope):
            with self._engine.vault.view(place) as reader:
                loaded = {one.name for one in wanted_adapters(reader).values() if one.weight is not None}
                for cube in reader.cubes(Kind.PARAMETER):
                    if (known := adapter_in(cube)).name not in loaded and known.stage is AdapterStage.READY:
                        yield _as_adapter(cube)

    def _follow(self, plan: int) -> None:
        """Bring the KV cache to where the uses so far lead, in a process in which the chat model runs."""
        weighed, caches = self._weighed()
        own = next((one for one in caches if one.name == KV_NAME), None)
        OwnCache.of(self._engine, self._scope, self._caller, plan, weighed, own).follow()

    def _told(self, plan: PlacementPlan) -> PlacementPlan:
        """The plan with what was decided of the forms of memories."""
        with self._engine.vault.view(self._scope.owner) as reader:
            left = tuple(unchanged(reader))
        return replace(plan, forms=tuple(self._forms()[:MOST_TOLD]), unchanged=left)

    def _forms(self) -> list[FormDecision]:
        """What was decided of the forms of memories that the caller may read, newest first."""
        found = list[FormDecision]()
        for place in self._engine.adapters.places(self._scope):
            with self._engine.vault.view(place) as reader:
                found += logged_forms(reader)
        return sorted(found, key=lambda one: one.at, reverse=True)

    def _task(
        self,
        query: str,
        tokens: int | None,
        ms: float | None,
        size_bytes: int | None,
        priorities: Mapping[str, int] | None,
    ) -> PlacementTask:
        asked = self._engine.question(query, self._scope)
        budget = PlacementBudget(
            arguments.natural("tokens", self._engine.settings.context_tokens if tokens is None else tokens),
            inf if ms is None else arguments.duration("ms", ms, most=MOST_MS),
            inf if size_bytes is None else arguments.natural("size_bytes", size_bytes),
        )
        wanted = {**self._engine.settings.placement_priorities, **_priorities({} if priorities is None else priorities)}
        return PlacementTask(asked, self._scope, budget, labels=frozenset(wanted), priorities=wanted)

    def _planned(self, task: PlacementTask) -> PlacementPlan:
        found = self._memory.search(task.query, mounts=())
        texts = {block.id: block for block in self._texts(found)}
        blocks = [*texts.values(), *self._carriers(), *self._loaded()]
        if self._engine.settings.placement == OFF:
            return planned(task, list(texts.values()), SMOLLM2, policy=OFF)
        policy = policy_named(self._engine.settings.placement)
        preload, mode = self._preload(task, texts, policy), self._mode(task, blocks, texts, policy)
        plan = planned(task, blocks, SMOLLM2, composes=mode.is_composed, preload=preload, policy=policy.name)
        return replace(plan, states=self._states(), mode=mode)

    def _mode(
        self,
        task: PlacementTask,
        blocks: Sequence[MemoryBlock],
        texts: Mapping[str, MemoryBlock],
        policy: PlacementPolicy,
    ) -> ModeDecision:
        """Whether the KV caches of texts that the task may need are put together."""
        kv = [one for one in blocks if one.form is MemoryForm.KV and one.fault is None]
        ids = [one.id for one in kv if not texts.keys().isdisjoint(one.covers)]
        composing = Composing(policy, self._engine.settings.compose_states)
        decided = composing.decided(len(ids), lambda: self._engine.activator.held(ids, task), task)
        is_possible = not decided.is_composed or self._engine.local.is_composing
        return decided if is_possible else ModeDecision(reason=ModeReason.NOT_POSSIBLE)

    def _states(self) -> tuple[StateDecision, ...]:
        """What was decided for the KV states that the caller may read."""
        with self._engine.vault.view(self._scope.owner) as reader:
            known = (STATE_LOG.of(reader) or StateLog()).decisions
            seen = reader.kinds([one.id for one in known])
            is_whole = reader.view is None
        told = [one for one in known if one.id in seen]
        return tuple(told if is_whole else map(StateDecision.without_question, told))

    def _preload(self, task: PlacementTask, texts: Mapping[str, MemoryBlock], policy: PlacementPolicy) -> Sequence[str]:
        """What is worth most to have ready for the owner's next question."""
        now = self._engine.clock()
        with self._engine.vault.view(self._scope.owner) as reader:
            history = history_of(reader)
            cubes = reader.get(list(history.blocks)).values()
        held = [_held(cube, history, task, texts.get(cube.id)) for cube in cubes if _is_usable(cube, now)]
        held.sort(key=lambda one: (-one.priority, -policy.worth(one, task), one.id))
        return [one.id for one in held[:PRELOADED]]

    def _carriers(self) -> Iterator[MemoryBlock]:
        """The KV caches that are built.

        Each takes as many tokens as the texts that it stands for: those of the instructions are in every prompt.
        """
        views = self._engine.activator.views(self._scope.owner)
        with self._engine.vault.view(self._scope.owner) as reader:
            sources = reader.get([source for view in views for source in view.sources])
        for view in views:
            if view.id is not None:
                yield MemoryBlock(
                    id=view.id,
                    scope=self._scope.owner,
                    form=MemoryForm.KV,
                    tokens=sum(count_tokens(sources[one].text) for one in view.sources if one in sources),
                    size_bytes=view.size,
                    covers=view.sources,
                    fault=None if view.is_usable else BlockFault.STALE,
                )

    def _loaded(self) -> Iterator[MemoryBlock]:
        """The adapters that are loaded. An answer compares their model, too, which a plan does not load."""
        now = self._engine.clock()
        for place in self._engine.adapters.places(self._scope):
            with self._engine.vault.view(place) as reader:
                for wanted in loaded_in(reader):
                    with suppress(NotFound):  # it waits for its training, or is hidden from the caller
                        yield _adapter(used_version(reader, wanted), reader, now)

    def _texts(self, found: Recall) -> Iterator[MemoryBlock]:
        """The persona, and what the search found, which has its similarity."""
        profile = self._memory.profile.get()
        for one in (profile.user, profile.agent):
            for cube in (*one.profile, *one.traits, *one.facts):
                yield _text(cube, 0.0)
        for place, hit in enumerate(found.ranked):
            yield _text(hit.cube, 1 / (place + 1) if hit.relevance is None else hit.relevance)


def _text(cube: MemCube, similarity: float) -> MemoryBlock:
    return MemoryBlock(
        id=cube.id,
        scope=cube.scope,
        tokens=count_tokens(cube.text),
        similarity=similarity,
        labels=frozenset(cube.tags),
    )


def _adapter(cube: MemCube, reader: Reader, now: datetime) -> MemoryBlock:
    known = adapter_in(cube)
    is_stale = cube.has_expired(now) or stale_source(reader, known, now) is not None
    return MemoryBlock(
        id=cube.id,
        scope=cube.scope,
        form=MemoryForm.ADAPTER,
        tokens=0,
        size_bytes=known.blob.size_bytes if known.blob else 0,
        covers=tuple(one.id for one in known.sources),
        fault=BlockFault.STALE if is_stale else None,
    )


def _as_kv(view: ActivationView, sources: Mapping[str, MemCube], states: Mapping[str, MemCube]) -> FormOfMemory | None:
    if view.id is None or view.built_at is None:
        return None
    changes = [sources[one].descriptive.updated_at for one in view.sources if one in sources]
    return FormOfMemory(
        id=view.id,
        form=MemoryForm.KV,
        tokens=view.tokens,
        changed_at=max(changes, default=view.built_at),
        built_at=view.built_at,
        uses=view.uses,
        used_at=view.used_at,
        heat=sum(sources[one].behaviour.visits for one in view.sources if one in sources),
        is_frozen=view.id in states and states[view.id].is_frozen,
    )


def _as_adapter(cube: MemCube) -> FormOfMemory:
    built = cube.descriptive.recorded_at
    return FormOfMemory(
        id=cube.id, form=MemoryForm.ADAPTER, tokens=0, changed_at=built, built_at=built, is_frozen=cube.is_frozen
    )


def _owed(plan: PlacementPlan) -> dict[str, float]:
    """What KV would have saved for each memory that the plan uses; nothing for what has KV already."""
    read = {one.id: SMOLLM2.saved_ms(one.tokens) for one in plan.chosen if one.form is MemoryForm.TEXT}
    carriers = {one.id: 0.0 for one in plan.chosen if one.form is not MemoryForm.TEXT}
    covered = {one.id: 0.0 for one in plan.left_out if one.reason is PlacementReason.COVERED}
    return {**carriers, **covered, **read}


def _is_usable(cube: MemCube, now: datetime) -> bool:
    is_out = cube.has_expired(now) or cube.is_over(now) or cube.state is State.MERGED
    return not (is_out or cube.is_proposal or cube.is_withdrawn or cube.version.superseded_by)


def _held(cube: MemCube, history: UseHistory, task: PlacementTask, found: MemoryBlock | None) -> HeldBlock:
    """What a policy is told about a memory."""
    tokens, use, labels = count_tokens(cube.text), history.blocks[cube.id], frozenset(cube.tags)
    return HeldBlock(
        id=cube.id,
        scope=cube.scope,
        size_bytes=SMOLLM2.kv_bytes(tokens),
        saved_ms=SMOLLM2.saved_ms(tokens),
        chance=history.chance(cube.id),
        uses=use.total,
        last_used=use.asked,
        heat=cube.behaviour.visits,
        similarity=found.similarity if found else 0.0,
        labels=labels,
        priority=task.priority(labels),
    )


def _priorities(given: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise InvalidInput("priorities", "is not a dict", 'Pass e.g. {"urgent": 5}')
    tags = arguments.tags(list(given))
    return {tag: arguments.natural("priorities", given[tag], most=MOST_PRIORITY) for tag in tags}
