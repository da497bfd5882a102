"""Adapted answers: answers of a chat model with the loaded adapters of an owner, if the setting says so.

The adapters are checked when the prompt is made. One that may not or cannot be used is left out, and the answer says
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from uuid_utils.compat import uuid7

from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.errors import ModelNotConfigured, NotFound
from memoryos.infrastructure.vault.contract import Vault
from memoryos.models.chat import Answer, ChatModel, Message, visible
from memoryos.models.local.local_chat import LocalChat
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.opened_model import OpenedModel
from memoryos.operation.training.adapter_cubes import AdapterShelf, adapter_in, seen_adapters, versions_of
from memoryos.operation.training.loaded_adapters import AdapterUse, LoadedAdapters, adapters_of, loaded_in
from memoryos.operation.training.wanted_adapter import WantedAdapter, change_wanted, wanted_adapters
from memoryos.scope import Scope

_NOT_LOCAL = "answers with adapters need a model of this machine: set MEMORYOS_LLM_MODEL to local:PATH"


@dataclass(frozen=True)
class OwnAdapters:
    """The adapters of the owners of one store."""

    vault: Vault
    clock: Clock
    local: OpenedModel
    home: Callable[[Scope], Scope]  #: where the persona of an owner lies

    def places(self, owner: Scope) -> Sequence[Scope]:
        """Where adapters of this owner lie: those of a persona with the persona."""
        return list(dict.fromkeys((owner.owner, self.home(owner).owner)))

    def shelf(self, place: Scope) -> AdapterShelf:
        """The versions that lie there."""
        return AdapterShelf(self.vault, place, self.clock)

    def loaded(self, place: Scope, engine: LocalEngine | None = None) -> LoadedAdapters:
        """The loaded adapters that lie there, for that engine, or the one that trains them.

        Raises ModelNotConfigured, ModelError.
        """
        return LoadedAdapters(engine or self.local.engine(), self.shelf(place))

    def known(self, owner: Scope, name: str) -> tuple[Scope, WantedAdapter]:
        """Where an adapter of that name lies, and what is wanted of it. Raises NotFound, also if it is hidden."""
        for place in self.places(owner):
            with self.vault.view(place) as reader:
                if (found := seen_adapters(reader).get(name)) is not None:
                    return place, found
        raise NotFound(f"there is no adapter {name!r} of this user and agent")

    def cool(self, place: Scope, name: str) -> None:
        """Remove the versions of an adapter, and keep what is wanted, from which it can be trained again."""
        with self.vault.write(place) as writer:
            found = versions_of(writer, name)
            writer.delete([one.id for one in found])
            if (wanted := wanted_adapters(writer).get(name)) is not None:
                last = max((adapter_in(one).number for one in found), default=wanted.last)
                gone = {"weight": None, "pinned": None, "is_due": False, "is_withdrawn": True}
                change_wanted(writer, name, **gone, demand=str(uuid7()), last=last)

    def uses(
        self,
        owner: Scope,
        chosen: Sequence[tuple[Scope, WantedAdapter]] | None = None,
        engine: LocalEngine | None = None,
    ) -> Sequence[AdapterUse]:
        """The adapters that an answer of that engine uses: the loaded ones, or those that were chosen."""
        found: list[AdapterUse] = []
        for place in self.places(owner):
            loaded = self.loaded(place, engine)
            with self.vault.view(place) as reader:
                wanted = loaded_in(reader) if chosen is None else [one for where, one in chosen if where == place]
                found += [loaded.use(reader, one) for one in wanted]
        return found

    def adapted(self, owner: Scope, model: Callable[[], ChatModel]) -> AdaptedModel:
        """The model with the loaded adapters. Raises ModelError if it can have none."""
        chat = model()
        if not isinstance(chat, LocalChat):
            raise ModelNotConfigured(_NOT_LOCAL)
        return AdaptedModel(chat, self.uses(owner, engine=chat.engine))


@dataclass(frozen=True)
class AdaptedModel:
    """A local chat model that answers with adapters."""

    chat: LocalChat
    uses: Sequence[AdapterUse]

    @property
    def cubes(self) -> tuple[MemCube, ...]:
        """The adapters that take part."""
        return tuple(use.cube for use in self.uses if use.cube is not None)

    def told(self, answer: Answer) -> Answer:
        """The answer with what took part in it."""
        used = tuple(use.wanted.name for use in self.uses if use.cube is not None)
        return replace(answer, adapters=used, adapters_left_out=reasons(self.uses))

    def answer(self, messages: Sequence[Message]) -> Answer:
        """Return the whole answer. Raises ModelError, PromptTooLong."""
        return self.chat.answer(messages, adapters=adapters_of(self.uses))

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer in pieces. Raises ModelError, PromptTooLong."""
        told = self.chat.ask(messages, adapters=adapters_of(self.uses))
        return visible(told, told.stop, lambda: told.cached_tokens)


def reasons(uses: Sequence[AdapterUse]) -> tuple[str, ...]:
    """Which adapters were left out, each with the reason."""
    return tuple(f"{use.wanted.name}: {use.left_out}" for use in uses if use.cube is None)
