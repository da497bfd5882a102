"""Wanted adapters: which adapters an owner asked for, from which memories, and which of them are loaded.

The note outlives the adapters: one that is withdrawn, because a memory that it was trained on changed, is wanted still,
and a job trains it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memoryos.built_memory import QuestionOrigin
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class WantedAdapter(Plain):
    """An adapter that an owner asked for."""

    name: str
    kinds: list[str] = field(default_factory=list)  #: of the memories that it is trained on
    ids: list[str] = field(default_factory=list)  #: only these memories; empty: all of the kinds
    tags: list[str] = field(default_factory=list)  #: only memories with one of these tags; empty: all
    recipe: TrainingRecipe = field(default_factory=TrainingRecipe)  #: how it is trained
    bounds: GateBounds = field(default_factory=GateBounds)  #: what the gate demands
    is_due: bool = False  #: it is to be trained, even if a version stands
    is_withdrawn: bool = False  #: it is neither used nor trained
    weight: float | None = None  #: how much it counts; None: it is not loaded
    pinned: int | None = None  #: the version that is used; None: the latest one that passed the gate
    last: int = 0  #: the number of the latest version
    questions: QuestionOrigin = QuestionOrigin.TEMPLATES  #: who words what it is asked in training
    demand: str = ""  #: names the call that asked for it, or that stopped the training


WANTED = Note("adapters", as_json(list[WantedAdapter]))


def wanted_adapters(reader: Reader) -> dict[str, WantedAdapter]:
    """The wanted adapters of the owner, by name."""
    return {one.name: one for one in WANTED.of(reader) or []}


def want(writer: Writer, changed: WantedAdapter) -> None:
    """Add or change a wanted adapter."""
    _write(writer, {**wanted_adapters(writer), changed.name: changed}.values())


def unwant(writer: Writer, name: str) -> None:
    """Forget a wanted adapter."""
    _write(writer, (one for one in wanted_adapters(writer).values() if one.name != name))


def change_wanted(writer: Writer, name: str, **fields: object) -> None:
    """Change fields of a wanted adapter, if it is still wanted."""
    if (known := wanted_adapters(writer).get(name)) is not None:
        want(writer, replace(known, **fields))  # type: ignore[arg-type]


def _write(writer: Writer, wanted: Iterable[WantedAdapter]) -> None:
    told = [one.to_dict() for one in wanted]
    writer.write_note(WANTED.key, json.dumps(told, ensure_ascii=False) if told else None)
