"""Adapters: parameter memory, which a local model learned from memories of one owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from uuid_utils.compat import uuid7

from memoryos import arguments, expected
from memoryos.built_memory import AdapterStage, QuestionOrigin
from memoryos.caller import Action, doing
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.filter import MOST_LABELS
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.items import items
from memoryos.kinds import Kind
from memoryos.listing import Listing
from memoryos.models.chat import Answer, Usage
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.nouns.noun import Noun
from memoryos.operation.attachments.parcels import check_place
from memoryos.operation.calls.door import door
from memoryos.operation.calls.permission import check_new, check_stored
from memoryos.operation.correction.kept_versions import check_there
from memoryos.operation.training.adapted_answers import reasons
from memoryos.operation.training.adapter_cubes import (
    adapter_in,
    seen_adapters,
    used_version,
    versions_of,
)
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.operation.training.adapter_lessons import answer
from memoryos.operation.training.adapter_pack import write_folder
from memoryos.operation.training.adapter_status import AdapterAnswer, AdapterStatus, AdapterVersion, Recollection
from memoryos.operation.training.imported_adapter import imported
from memoryos.operation.training.loaded_adapters import adapters_of
from memoryos.operation.training.pinning import begun, check_change, pin, stop_training
from memoryos.operation.training.training_job import want_training
from memoryos.operation.training.training_sources import TRAINABLE
from memoryos.operation.training.wanted_adapter import WantedAdapter, change_wanted, unwant, want, wanted_adapters
from memoryos.scope import ID_LIMIT, Scope
from memoryos.text import checked_text

_Value = TypeVar("_Value")

MOST_ADAPTERS = 32  # of one owner
HEAVIEST = 10.0  # weight of an adapter


@door
class LoraAdapters(Noun):
    """The adapters of one owner."""

    def train(
        self,
        name: str,
        *,
        kinds: Iterable[Kind | str] = (Kind.FACT,),
        ids: Iterable[str] = (),
        tags: Iterable[str] = (),
        recipe: TrainingRecipe | None = None,
        bounds: GateBounds | None = None,
        questions: QuestionOrigin | str = QuestionOrigin.TEMPLATES,
    ) -> AdapterStatus:
        """Have a version of an adapter trained in the background, from memories of these `kinds`.

        The kinds are fact, profile, page, and segment, which stands for its pages. `ids` and `tags` choose among them.
        A version can be used when it passed the gate: it must answer the share `bounds.least_recall` of questions that
        were not trained, and the perplexity of general texts may grow by the share `bounds.most_loss`. When a memory
        that it was trained on is changed, expires or is deleted, the version goes at once, and another one is trained.
        Torch trains, whatever computes answers. With `questions="model"`, the chat model words further questions; it
        sees the sentences that are trained. Raises InvalidInput, also for a store that has no file and no
        `object_store`, NotFound for an id, ModelNotConfigured without a local model, and MissingExtra without torch.
        """
        self._engine.admit(Action.WRITE, self._scope)
        wanted = WantedAdapter(
            _name(name),
            [arguments.one_of("kinds", one, Kind).value for one in _list("kinds", kinds)],
            [arguments.cube_id(one, field="ids") for one in arguments.ids("ids", ids)],
            [self._engine.said("tags", one, self._scope, limit=ID_LIMIT) for one in _list("tags", tags)],
            _given("recipe", recipe, TrainingRecipe),
            _given("bounds", bounds, GateBounds),
            is_due=True,
            questions=arguments.one_of("questions", questions, QuestionOrigin),
            demand=str(uuid7()),
        )
        if not wanted.kinds or not {Kind(one) for one in wanted.kinds} <= set(TRAINABLE):
            raise InvalidInput("kinds", "has a kind that is not trained", f"Pass some of {', '.join(TRAINABLE)}")
        have_trained(self._engine, self._scope, wanted)
        return self.get(wanted.name)

    def list(self) -> Listing[AdapterStatus]:
        """List the adapters that the caller may use, by name."""
        found = []
        for place in self._places:
            with self._engine.vault.view(place) as reader:
                found += [self._status(reader, one) for one in seen_adapters(reader).values()]
        return Listing(sorted(found, key=lambda one: one.name))

    def get(self, name: str) -> AdapterStatus:
        """Return an adapter with its versions. Raises NotFound."""
        place, wanted = self._known(name)
        with self._engine.vault.view(place) as reader:
            return self._status(reader, wanted)

    def load(self, name: str, *, weight: float = 1.0) -> AdapterStatus:
        """Use an adapter in answers from now on, in every process. Several are added up, each with its weight.

        Raises NotFound if no version passed the gate.
        """
        counts = _weight(weight)
        place, wanted = self._known(name)
        with self._engine.vault.view(place) as reader:
            used_version(reader, wanted)
        return self._changed(place, wanted.name, weight=counts, is_withdrawn=False)

    def unload(self, name: str) -> AdapterStatus:
        """Use an adapter no longer; its versions stay. Raises NotFound."""
        place, wanted = self._known(name)
        return self._changed(place, wanted.name, weight=None)

    def rollback(self, name: str, number: int) -> AdapterStatus:
        """Use an earlier version of an adapter, until another one is trained on demand. Raises NotFound."""
        place, wanted = self._known(name)
        self._engine.admit(Action.WRITE, place)
        pin(self._engine.vault, place, wanted.name, arguments.natural("number", number, least=1))
        return self.get(wanted.name)

    def withdraw(self, name: str) -> AdapterStatus:
        """Use an adapter no longer, and do not train it again until `train` or `load`. Raises NotFound."""
        place, wanted = self._known(name)
        return self._stopped(place, wanted.name, weight=None, is_withdrawn=True)

    def delete(self, name: str) -> None:
        """Remove an adapter with all versions and their bytes. Raises NotFound, CubeProtected if one is frozen."""
        place, wanted = self._known(name)
        doing(Action.DELETE, lambda: self._delete(place, wanted.name))

    def export(self, name: str, folder: str | Path) -> Path:
        """Write the version in use into a new folder, in the form of peft. Raises NotFound, InvalidInput.

        The files are no longer part of the store: erasing a memory does not reach them.
        """
        place, wanted = self._known(name)
        with self._engine.vault.view(place) as reader:
            use = self._engine.adapters.loaded(place).use(reader, wanted)
        if use.adapter is None:
            raise NotFound(f"the adapter {wanted.name!r} cannot be exported: {use.left_out}")
        target = _folder(folder)
        write_folder(use.adapter.files, target)
        return target

    def add(self, folder: str | Path, *, name: str | None = None) -> AdapterStatus:
        """Store an adapter that `export` wrote. Raises InvalidInput unless it fits the model of this store.

        It has no sources here, so nothing withdraws it but `withdraw` and `delete`.
        """
        self._engine.admit(Action.WRITE, self._scope)
        adapter, data = imported(_folder(folder), self._engine.local.engine(), name and _name(name))
        wanted, place = WantedAdapter(_name(adapter.name)), self._scope.owner
        check_new(self._engine.vault, place, Kind.PARAMETER, ())
        self._engine.adapters.shelf(place).add(adapter, data, lambda writer: _wanted_anew(writer, wanted))
        return self.get(adapter.name)

    def ask(self, question: str, *, names: Iterable[str] | None = None, limit: int = 48) -> AdapterAnswer:
        """Ask the local model with the loaded adapters, or with those of these `names`, and with no text.

        An adapter is left out, with the reason, if a memory that it was trained on changed, is gone or is hidden from
        the caller, if it fits another model, or if its bytes are damaged. The answer has a mark, as that of `respond`.
        Raises NotFound, ModelError.
        """
        self._engine.admit(Action.READ, self._scope)
        text = self._engine.question(question, self._scope)
        most = arguments.natural("limit", limit, least=1)
        chosen = None if names is None else [self._known(one) for one in _names(names)]
        uses = self._engine.adapters.uses(self._scope, chosen)
        engine = self._engine.local.engine()
        said = answer(engine, text, adapters_of(uses), most)
        used = [(one.wanted.name, one.cube) for one in uses if one.cube is not None]
        told = self._hand.shown(AdapterAnswer(said, tuple(name for name, _ in used), reasons(uses)))
        marker = self._engine.responder.marker([cube for _, cube in used], self._scope.owner)
        return replace(told, mark=marker(Answer(told.text, Usage(), engine.name)).mark)

    def recollect(self, name: str) -> Recollection:
        """Ask the model with an adapter for what it knows, and store what is new as facts of low confidence.

        An answer that contradicts a fact is not stored, so nothing that was said changes. The facts name the adapter
        and a source in their provenance; they go when any source of the adapter is deleted or changed, unless somebody
        said them since. Raises NotFound, also if the adapter changes meanwhile, and ModelError.
        """
        place, wanted = self._known(name)
        self._engine.admit(Action.WRITE, place)
        return self._engine.transformer.recollections.stored(place, wanted)

    def retire(self, name: str) -> Listing[MemCube]:
        """Remove an adapter, and return the memories that its latest version was trained on, exactly as they are.

        They were never removed: an adapter is a copy of what it knows. Raises NotFound.
        """
        place, wanted = self._known(name)
        with self._engine.vault.view(place) as reader:
            ids = [one.id for cube in versions_of(reader, wanted.name)[-1:] for one in adapter_in(cube).sources]
            sources = [*reader.get(ids).values()]
        doing(Action.DELETE, lambda: self._delete(place, wanted.name))
        return Listing(sources)

    # Parts of the above

    @property
    def _places(self) -> Sequence[Scope]:
        return self._engine.adapters.places(self._scope)

    def _known(self, name: str) -> tuple[Scope, WantedAdapter]:
        """Where an adapter lies, and what is wanted of it. Raises NotFound."""
        return self._engine.adapters.known(self._scope, _name(name))

    def _status(self, reader: Reader, wanted: WantedAdapter) -> AdapterStatus:
        versions = versions_of(reader, wanted.name)
        ready = [adapter_in(one).number for one in versions if adapter_in(one).stage is AdapterStage.READY]
        used = wanted.pinned if wanted.pinned in ready else (ready[-1] if ready else None)
        return AdapterStatus(
            wanted.name,
            tuple(wanted.kinds),
            tuple(map(AdapterVersion.of, versions)),
            wanted.weight,
            None if wanted.is_withdrawn else used,
            wanted.is_due,
            wanted.is_withdrawn,
        )

    def _changed(self, place: Scope, name: str, **fields: object) -> AdapterStatus:
        self._engine.admit(Action.WRITE, place)
        with self._engine.vault.write(place) as writer:
            check_change(self._engine.vault, place, writer, name)
            change_wanted(writer, name, **fields)
        return self.get(name)

    def _stopped(self, place: Scope, name: str, **fields: object) -> AdapterStatus:
        self._engine.admit(Action.WRITE, place)
        stop_training(self._engine.vault, place, name, fields)
        return self.get(name)

    def _delete(self, place: Scope, name: str) -> None:
        with self._engine.vault.write(place) as writer:
            ids = [one.id for one in versions_of(writer, name)]
            check_stored(self._engine.vault, place, writer, ids, Action.DELETE)
            writer.delete(ids)
            unwant(writer, name)


def have_trained(engine: Engine, scope: Scope, wanted: WantedAdapter, also: Callable[[Writer], object] = bool) -> None:
    """Have an adapter trained, as `train` does; `also` writes in the same transaction."""
    place = _place_for(engine.adapters.places(scope), wanted)
    with engine.vault.view(place) as reader:
        check_there(reader, wanted.ids, engine.clock())
    engine.local.check_training()
    check_place(engine.vault, "adapters")
    _want(engine, place, wanted, also)


def trained_again(engine: Engine, scope: Scope, wanted: WantedAdapter) -> None:
    """Have an adapter trained again, on those of its memories that there are, as `train` does."""
    engine.admit(Action.WRITE, scope)
    engine.local.check_training()
    check_place(engine.vault, "adapters")
    again = replace(wanted, is_due=True, is_withdrawn=False, pinned=None, demand=str(uuid7()))
    _want(engine, _place_for(engine.adapters.places(scope), again), again)


def _place_for(places: Sequence[Scope], wanted: WantedAdapter) -> Scope:
    owner, *others = places
    learned = {Kind.FACT.value, Kind.PROFILE.value}
    if not others or not learned.intersection(wanted.kinds):
        return owner
    if not learned.issuperset(wanted.kinds):
        fix = "Train two adapters: facts and the profile lie with the persona that all agents share"
        raise InvalidInput("kinds", "mixes the persona with what one agent keeps", fix)
    return others[0]


def _want(engine: Engine, place: Scope, wanted: WantedAdapter, also: Callable[[Writer], object] = bool) -> None:
    """Note what is wanted, in the place of what was wanted under that name, and have it trained."""
    check_new(engine.vault, place, Kind.PARAMETER, ())
    with engine.vault.view(place) as reader:
        if wanted.name in wanted_adapters(reader) and wanted.name not in seen_adapters(reader):
            raise InvalidInput("name", f"{wanted.name!r} is taken", "Pass another name")
    with engine.vault.write(place) as writer:
        if (old := wanted_adapters(writer).get(wanted.name)) is None:
            _wanted_anew(writer, wanted)
        else:
            check_change(engine.vault, place, writer, wanted.name)
            want(writer, replace(wanted, weight=old.weight, last=old.last))
        writer.delete([one.id for one in begun(writer, wanted.name)])
        want_training(writer, wanted.name, anew=True)
        also(writer)
    engine.housekeeping.queued(place)


def _given(field: str, value: _Value | None, kind: type[_Value]) -> _Value:
    """The value, or the usual one."""
    return kind() if value is None else expected.instance(field, value, kind, f"Pass {kind.__name__}(...)")


def _name(name: str) -> str:
    return checked_text("name", name, limit=ID_LIMIT)


def _wanted_anew(writer: Writer, wanted: WantedAdapter) -> bool:
    """Note an adapter that was not wanted before. Raises InvalidInput."""
    known = wanted_adapters(writer)
    if wanted.name in known:
        raise InvalidInput("name", f"{wanted.name!r} is taken", "Pass another name")
    if len(known) >= MOST_ADAPTERS:
        raise InvalidInput("name", f"would be one more than {MOST_ADAPTERS} adapters", "Delete an adapter")
    want(writer, wanted)
    return True


def _weight(weight: float) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= HEAVIEST:
        raise InvalidInput("weight", "is no number above 0", f"Pass one up to {HEAVIEST:g}, such as 0.5")
    return float(weight)


def _folder(folder: str | Path) -> Path:
    return folder if isinstance(folder, Path) else Path(checked_text("folder", folder, limit=4_096))


def _list(field: str, value: Iterable[str]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(field, f"expected a list, got {type(value).__name__}", "Pass e.g. ['fact']")
    return list(items(field, value, MOST_LABELS))


def _names(value: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(map(_name, _list("names", value)))]
