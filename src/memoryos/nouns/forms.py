"""MemoryForms: memories as text, as KV states and as adapters, and the ways between these forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from memoryos import arguments
from memoryos.built_memory import AdapterStage
from memoryos.caller import Action, Caller
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.records import Job, JobKind, JobState
from memoryos.kinds import Kind, Origin
from memoryos.listing import Listing
from memoryos.nouns.activations import Activations, built_again
from memoryos.nouns.lora_adapters import LoraAdapters, trained_again
from memoryos.nouns.memory_verbs import MemoryVerbs
from memoryos.nouns.noun import Noun
from memoryos.nouns.schedule import OFF, MemScheduler
from memoryos.operation.activation.activator import building_of
from memoryos.operation.activation.recipe import KNOWN
from memoryos.operation.activation.transformation import FormOutcome, FormState, MadeForm, Transformation, stands
from memoryos.operation.activation.transformer import turning_of
from memoryos.operation.calls.door import door
from memoryos.operation.calls.permission import check_new, check_stored
from memoryos.operation.placement.form_log import FormDecision
from memoryos.operation.placement.form_moves import FormMove
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.training.adapter_cubes import adapter_in, used_version, versions_of
from memoryos.operation.training.training_job import is_missing, training_of
from memoryos.operation.training.training_sources import as_trained, chosen_sources
from memoryos.operation.training.wanted_adapter import WantedAdapter
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text

_NO_JOB = "no job did it: nobody asked for it, or nothing was to be done, or that was long ago"
_TO_TRAIN = "its training has not begun"
_WAYS = {
    (MemoryForm.TEXT, MemoryForm.KV),
    (MemoryForm.TEXT, MemoryForm.ADAPTER),
    (MemoryForm.KV, MemoryForm.TEXT),
    (MemoryForm.ADAPTER, MemoryForm.TEXT),
}


@door
class MemoryForms(Noun):
    """The forms of one owner's memories."""

    __slots__ = ("_memory",)

    def __init__(self, engine: Engine, scope: Scope, caller: Caller, memory: MemoryVerbs) -> None:
        super().__init__(engine, scope, caller)
        self._memory = memory

    def transform(
        self,
        name: str,
        source: MemoryForm | str = MemoryForm.TEXT,
        target: MemoryForm | str = MemoryForm.KV,
        *,
        kinds: Iterable[Kind | str] = (),
        ids: Iterable[str] = (),
        keeps: bool = True,
    ) -> Transformation:
        """Have memories change their form in the background: text to kv or adapter, and kv or adapter to text.

        The KV state or adapter has the `name`. From text, `kinds` and `ids` choose the memories as in
        `activations.build` and `adapters.train`; without both, those of before, or the usual ones. To text, KV gives
        its sources, exactly as they are, and an adapter is asked for what it knows, which becomes facts of low trust
        (`adapters.recollect`). With `keeps=False`, the KV state or adapter is removed instead, and `transform` from
        text makes it again. A job that was done already changes nothing. `outcome` says later what came of it. Raises
        InvalidInput, NotFound, ModelNotConfigured.
        """
        before, after = _way(source, target)
        checked_text("name", name, limit=ID_LIMIT)
        stays = arguments.flag("keeps", keeps)
        if before is MemoryForm.TEXT:
            chosen = [*arguments.ids("kinds", kinds)], [*arguments.ids("ids", ids)]
            return self._made(name, after, *chosen)
        return self._turned(name, before, keeps=stays)

    def cool(self) -> Listing[Transformation]:
        """Turn each cold KV state and adapter back to text, as `schedule.moves` lists them: their sources stay.

        `schedule.explain(...).forms` tells why, unless the scheduler is off.
        """
        schedule = MemScheduler(self._engine, self._scope, self._caller, self._memory)
        due = {move.id: move for move in schedule.moves() if move.after is MemoryForm.TEXT}
        cold = {(one.name, one.form): due[one.id] for one in self.list() if one.id in due}
        return Listing(self._cooled(cold))

    def outcome(
        self, name: str, source: MemoryForm | str = MemoryForm.TEXT, target: MemoryForm | str = MemoryForm.KV
    ) -> FormOutcome:
        """Tell what came of the latest change of this name from `source` to `target`: call it after `wait`.

        It is done, or waits, or failed, or the gate refused the adapter, or nobody asked for it; `reason` says why.
        Raises InvalidInput, NotFound.
        """
        before, after = _way(source, target)
        if after is MemoryForm.KV:
            told = self._of_state(name)
        elif after is MemoryForm.ADAPTER:
            told = self._of_adapter(name)
        else:
            job = self._turning(name, before)
            told = stands(job) if job is not None else (FormState.UNKNOWN, _NO_JOB)
        return FormOutcome(name, before, after, *told)

    def list(self, *, memory_id: str | None = None) -> Listing[MadeForm]:
        """List the KV states and adapters with the texts that they were made of, and the facts that they told.

        With `memory_id`, only those that were made of this memory, or told it.
        """
        wanted = None if memory_id is None else arguments.cube_id(memory_id)
        found = [*self._states(), *self._adapters()]
        return Listing(one for one in found if wanted is None or wanted in (*one.sources, *one.told))

    # Parts of the above

    def _of_state(self, name: str) -> tuple[FormState, str]:
        view = self._activations.get(name)
        state, reason = stands(self._latest(self._scope.owner, JobKind.ACTIVATE, building_of(view.name)))
        if state is FormState.DONE and not view.is_usable:
            return FormState.FAILED, view.reason
        return state, reason

    def _of_adapter(self, name: str) -> tuple[FormState, str]:
        """By its latest version: a long training is a row of jobs."""
        status = self._lora.get(name)
        if status.is_withdrawn:
            return FormState.FAILED, "the adapter was withdrawn"
        place, wanted = self._engine.adapters.known(self._scope, name)
        now = self._engine.clock()
        with self._engine.vault.read(place) as reader:
            if not is_missing(reader, wanted, now):
                refused = status.versions[-1].refused if status.versions else ""
                return (FormState.REFUSED, refused) if refused else (FormState.DONE, "")
            if not chosen_sources(reader, wanted, now):
                return FormState.FAILED, "there is no memory that can be trained"
        job = self._latest(place, JobKind.TRAIN, training_of(wanted.name))
        return stands(job) if job is not None and job.state is not JobState.DONE else (FormState.WAITING, _TO_TRAIN)

    def _turning(self, name: str, source: MemoryForm) -> Job | None:
        """The latest job that turned it to text. Raises NotFound."""
        if source is MemoryForm.KV:
            place, known = self._scope.owner, self._activations.get(name).name
        else:
            place, wanted = self._engine.adapters.known(self._scope, name)
            known = wanted.name
        both = (turning_of(known, source, keeps=keeps) for keeps in (True, False))
        return self._latest(place, JobKind.TRANSFORM, *both)

    def _latest(self, place: Scope, kind: JobKind, *payloads: Mapping[str, object]) -> Job | None:
        """The latest job of that kind with one of these payloads."""
        with self._engine.vault.read(place) as reader:
            return reader.latest_job(kind, payloads)

    def _made(self, name: str, target: MemoryForm, kinds: Sequence[str], ids: Sequence[str]) -> Transformation:
        """Have the KV state or adapter made in the job of its own kind."""
        job = self._built(name, kinds, ids) if target is MemoryForm.KV else self._trained(name, kinds, ids)
        return Transformation(name, MemoryForm.TEXT, target, job, tuple(ids))

    def _built(self, name: str, kinds: Sequence[str], ids: Sequence[str]) -> str:
        known = None if kinds or ids else self._engine.activator.recipe(self._scope.owner, name)
        if known is not None:
            return built_again(self._engine, self._scope, known)
        return self._activations.build(name, ids=ids, kinds=kinds or (() if ids else KNOWN))

    def _trained(self, name: str, kinds: Sequence[str], ids: Sequence[str]) -> str | None:
        owned = self._engine.adapters
        known = None
        with suppress(NotFound):
            place, known = owned.known(self._scope, name)
            if (kinds or ids) and not _is_of(known, kinds, ids):
                known = None
        if known is not None:
            if self._is_trained(place, known):
                return None
            trained_again(self._engine, self._scope, known)
        else:
            self._lora.train(name, kinds=kinds or (Kind.FACT,), ids=ids)
        place, wanted = owned.known(self._scope, name)
        job = self._latest(place, JobKind.TRAIN, training_of(wanted.name))
        return job.id if job is not None and job.state in (JobState.QUEUED, JobState.LEASED) else None

    def _is_trained(self, place: Scope, wanted: WantedAdapter) -> bool:
        """Whether the latest version can be used, and was trained on the memories of now."""
        now = self._engine.clock()
        with self._engine.vault.view(place) as reader:
            versions = versions_of(reader, wanted.name)
            latest = adapter_in(versions[-1]) if versions else None
            chosen = as_trained(chosen_sources(reader, wanted, now))
            is_ready = latest is not None and latest.stage is AdapterStage.READY and latest.sources == chosen
            return is_ready and not wanted.is_withdrawn and not is_missing(reader, wanted, now)

    def _cooled(self, cold: Mapping[tuple[str, MemoryForm], FormMove]) -> Iterator[Transformation]:
        for (name, form), move in sorted(cold.items(), key=lambda one: one[0]):
            with suppress(NotFound):  # it was removed meanwhile
                yield self._turned(name, form, keeps=False, move=move)

    def _turned(self, name: str, source: MemoryForm, *, keeps: bool, move: FormMove | None = None) -> Transformation:
        """From another form to text; what `move` tells is logged."""
        if source is MemoryForm.KV:
            place, ids = self._scope.owner, self._activations.get(name).sources
            self._engine.admit(Action.READ if keeps else Action.DELETE, place)
            if not keeps:
                with self._engine.vault.view(place) as reader:
                    self._engine.activator.check_change(place, reader, name, Action.DELETE)
        else:
            place, ids = self._checked(name, keeps=keeps)
        job = None
        if source is MemoryForm.ADAPTER or not keeps:
            why = None
            if move is not None and self._engine.settings.placement != OFF:
                why = FormDecision.of(move, name, ids, self._engine.clock())
            job = self._engine.transformer.order(place, name, source, keeps=keeps, why=why)
            self._engine.housekeeping.queued(place)
        return Transformation(name, source, MemoryForm.TEXT, job, ids)

    def _checked(self, name: str, *, keeps: bool) -> tuple[Scope, tuple[str, ...]]:
        """Where an adapter lies, and its sources, if the caller may ask or remove it. Raises NotFound."""
        vault = self._engine.vault
        place, wanted = self._engine.adapters.known(self._scope, name)
        self._engine.admit(Action.WRITE if keeps else Action.DELETE, place)
        with vault.view(place) as reader:
            versions = versions_of(reader, wanted.name)
            if keeps:
                used = used_version(reader, wanted)
                check_new(vault, place, Kind.FACT, labels_of(used))
                return place, used.descriptive.provenance
            check_stored(vault, place, reader, [one.id for one in versions], Action.DELETE)
        return place, versions[-1].descriptive.provenance if versions else ()

    def _states(self) -> Iterator[MadeForm]:
        for view in self._activations.list():
            if view.id is not None:
                yield MadeForm(view.id, MemoryForm.KV, view.name, view.sources)

    def _adapters(self) -> Iterator[MadeForm]:
        for place in self._engine.adapters.places(self._scope):
            with self._engine.vault.view(place) as reader:
                told = [cube for cube in reader.cubes(Kind.FACT) if cube.descriptive.origin is Origin.FINETUNING]
                for cube in reader.cubes(Kind.PARAMETER):
                    known = adapter_in(cube)
                    facts = tuple(one.id for one in told if cube.id in one.descriptive.provenance)
                    sources = tuple(one.id for one in known.sources)
                    yield MadeForm(cube.id, MemoryForm.ADAPTER, known.name, sources, facts)

    @property
    def _activations(self) -> Activations:
        return Activations(self._engine, self._scope, self._caller)

    @property
    def _lora(self) -> LoraAdapters:
        return LoraAdapters(self._engine, self._scope, self._caller)


def _is_of(wanted: WantedAdapter, kinds: Sequence[str], ids: Sequence[str]) -> bool:
    """Whether an adapter is wanted of just these memories."""
    return (list(kinds) or [Kind.FACT], list(ids), []) == (wanted.kinds, wanted.ids, wanted.tags)


def _way(source: MemoryForm | str, target: MemoryForm | str) -> tuple[MemoryForm, MemoryForm]:
    """The forms of both ends. Raises InvalidInput if the one does not become the other."""
    before, after = (arguments.one_of(*one, MemoryForm) for one in (("source", source), ("target", target)))
    if (before, after) not in _WAYS:
        raise InvalidInput("target", f"{before.value} does not become {after.value}", "One of both must be text")
    return before, after
