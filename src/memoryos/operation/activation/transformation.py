"""What callers see of transformations: memories that change their form."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Transformation(Plain):
    """A change of form that was asked for."""

    name: str  #: of the activation or adapter
    source: MemoryForm  #: the form that the memories have
    target: MemoryForm  #: the form that they get
    job: str | None  #: id of the job that does it; None: nothing is to be done
    ids: tuple[str, ...]  #: of the memories, as texts


@dataclass(frozen=True, slots=True)
class MadeForm(Plain):
    """A KV state or an adapter, with its links to texts, both ways."""

    id: str  #: of its memory
    form: MemoryForm  #: kv or adapter
    name: str  #: of the activation or adapter
    sources: tuple[str, ...]  #: ids of the texts that it was made of
    told: tuple[str, ...] = ()  #: ids of the facts that it told
