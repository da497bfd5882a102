"""Activations: memories as KV states of a model in this process."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.caller import Action
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.activation.activated import ActivatedAnswer, ActivationView
from memoryos.operation.activation.recipe import KNOWN, Recipe
from memoryos.operation.answer.respond import DEFAULT_ROLE
from memoryos.operation.calls.door import door
from memoryos.operation.correction.kept_versions import check_there
from memoryos.operation.placement.answer_mode import Composing
from memoryos.operation.placement.placement_policy import POLICIES
from memoryos.scope import Scope
from memoryos.text import checked_text

NAME_CHARS = 100
ROLE_CHARS = 2_000
MOST_BESIDE = 32  # prefixes of one prompt
MOST_MEMORIES = 1_000  # that a prefix names


@door
class Activations(Noun):
    """The prefixes of one owner: text that is the same in many prompts, computed once."""

    def build(
        self,
        name: str,
        *,
        kinds: Sequence[Kind | str] = KNOWN,
        ids: Sequence[str] = (),
        role: str = DEFAULT_ROLE,
        bits: int | None = None,
    ) -> str:
        """Have the KV state of a prefix computed in the background, and return the id of the job.

        The prefix has the instructions for the model, all memories of the `kinds` (default: profile, traits and facts
        of this user and agent) and those with the `ids`, such as segments and pages of documents. An earlier one of
        that name is replaced when the new one is there. With `bits=8`, a state of transformers takes a quarter of the
        bytes, and answers are not exactly those of the text. A chat model that does not run in this process
        (`MEMORYOS_LLM_MODEL=local:`) gets the text, which is the same to the byte each time, so that the cache of its
        server finds it. Raises NotFound for an id, and InvalidInput, also for `bits` with llama.cpp, for a persona that
        all agents of the user share, as it lies elsewhere, and for a store that has no file and no `object_store`.
        """
        self._engine.admit(Action.WRITE, self._scope)
        wanted = tuple(arguments.one_of("kinds", kind, Kind) for kind in arguments.ids("kinds", kinds))
        if unknown := set(wanted).difference(KNOWN):
            fix = f"Pass some of: {', '.join(KNOWN)}; other memories by their ids"
            raise InvalidInput("kinds", f"{min(unknown)} cannot be in a prefix as a whole", fix)
        chosen = tuple(arguments.cube_id(one, field="ids") for one in arguments.ids("ids", ids))
        if len(chosen) > MOST_MEMORIES:
            raise InvalidInput("ids", f"names {len(chosen):,} memories", f"Pass at most {MOST_MEMORIES:,}")
        _check_place(self._engine, self._scope, wanted, chosen)
        with self._engine.vault.view(self._scope.owner) as reader:
            check_there(reader, chosen, self._engine.clock())
        if bits is not None and not (isinstance(bits, int) and bits == 8):
            raise InvalidInput(
                "bits", "is neither 8 nor None", "Pass 8 for a smaller state, or nothing for an exact one"
            )
        if bits is not None:
            self._engine.activator.check_rounding()
        told = self._engine.said("role", role, self._scope, limit=ROLE_CHARS)
        recipe = Recipe(name=_name(name), role=told, kinds=wanted, ids=chosen, bits=bits)
        return _ordered(self._engine, self._scope, recipe)

    def list(self) -> Listing[ActivationView]:
        """List the prefixes, by name, and whether their states can be used."""
        return Listing(self._engine.activator.views(self._scope.owner))

    def get(self, name: str) -> ActivationView:
        """Return one prefix. Raises NotFound."""
        return self._engine.activator.view(self._scope.owner, _name(name))

    def delete(self, name: str) -> None:
        """Remove a prefix with its state. The memories stay. Raises NotFound."""
        self._engine.admit(Action.DELETE, self._scope)
        self._engine.activator.delete(self._scope.owner, _name(name))

    def answer(
        self, name: str, query: str, *, beside: Sequence[str] = (), composed: bool | None = None
    ) -> ActivatedAnswer:
        """Answer a question with the memories of a prefix; nothing is searched, and nothing is stored.

        The prefixes `beside` it stand behind it, in this order. With `composed` (default: as the setting
        `compose_states` or the policy of `placement` says), the states of all of them are put together: not exact.
        Without it, the state of the first one is used, and the text of the others is read. `mode` tells who decided.
        The question is embedded if the policy reads how similar it is to the states (`uses_similarity`).

        The KV state is used if its memories are as they were when it was computed and if this caller may read them
        all. Otherwise the model reads the text of those that there are, and `reason` says why. The answer has a mark,
        as that of `respond`. Raises NotFound, ModelError.
        """
        asked = self._engine.question(query, self._scope)
        names = [_name(name), *map(_name, arguments.ids("beside", beside))]
        if len(set(names)) < len(names) or len(names) > MOST_BESIDE:
            fix = f"Name up to {MOST_BESIDE} different prefixes"
            raise InvalidInput("beside", "names a prefix twice, or too many", fix)
        known = self._engine.settings
        wanted = None if composed is None else arguments.flag("composed", composed)
        composing = Composing(POLICIES.get(known.placement), known.compose_states, wanted, known.placement_priorities)
        marker = self._engine.responder.marker
        return self._engine.activator.answer(
            self._scope.owner, names, asked, marker, composing, recompute=known.compose_recompute
        )


def built_again(engine: Engine, scope: Scope, recipe: Recipe) -> str:
    """Have a prefix computed again, from those of its memories that there are, and return the id of the job."""
    engine.admit(Action.WRITE, scope)
    _check_place(engine, scope, recipe.kinds, recipe.ids)
    return _ordered(engine, scope, recipe)


def _ordered(engine: Engine, scope: Scope, recipe: Recipe) -> str:
    engine.activator.check_place()
    engine.caught_up(scope)
    job_id = engine.activator.order(scope.owner, recipe)
    engine.housekeeping.queued(scope)
    return job_id


def _check_place(engine: Engine, scope: Scope, kinds: Sequence[Kind], ids: Sequence[str]) -> None:
    """Raise InvalidInput if these memories do not lie with this owner, but with a persona that agents share."""
    home = engine.home(scope).owner
    if home == scope.owner:
        return
    with engine.vault.view(home) as reader:
        if kinds or reader.kinds(ids):
            fix = "Pass kinds=[] and ids of pages and segments of this agent"
            raise InvalidInput("kinds" if kinds else "ids", "names the persona that all agents share", fix)


def _name(name: str) -> str:
    return checked_text("name", name, limit=NAME_CHARS)
