"""Adapter status: what callers see of adapters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.built_memory import AdapterStage, GateResult
from memoryos.cube import MemCube
from memoryos.operation.training.adapter_cubes import adapter_in
from memoryos.plain import Plain, PlainContent
from memoryos.signing import ContentMark


@dataclass(frozen=True, slots=True)
class AdapterVersion(Plain):
    """One version of an adapter."""

    id: str  #: id of its memory
    number: int  #: counted from 1
    stage: AdapterStage  #: training, ready or refused
    model: str  #: the model that it fits
    refused: str  #: why it may not be used; empty if it may
    gate: GateResult | None  #: what the gate measured
    sources: tuple[str, ...]  #: ids of the memories that it was trained on
    step: int  #: training steps that were taken
    steps: int  #: training steps in all
    seconds: float  #: seconds that the training took
    size: int  #: size in bytes
    at: datetime  #: when it was stored

    @classmethod
    def of(cls, cube: MemCube) -> AdapterVersion:
        """What a caller sees of a version."""
        known = adapter_in(cube)
        return cls(
            cube.id,
            known.number,
            known.stage,
            known.model,
            known.refused,
            known.gate,
            tuple(one.id for one in known.sources),
            known.step,
            known.steps,
            round(known.seconds, 1),
            known.blob.size_bytes if known.blob else 0,
            cube.at,
        )


@dataclass(frozen=True, slots=True)
class AdapterStatus(Plain):
    """An adapter with its versions."""

    name: str  #: name of the adapter
    kinds: tuple[str, ...]  #: kinds of the memories that it is trained on
    versions: tuple[AdapterVersion, ...]  #: the versions that stand, oldest first
    weight: float | None  #: how much it counts in answers; None: it is not loaded
    used: int | None  #: number of the version that answers use; None: none can be used
    is_due: bool  #: whether it waits to be trained
    is_withdrawn: bool  #: whether it is neither used nor trained


@dataclass(frozen=True, slots=True)
class AdapterAnswer(PlainContent):
    """An answer of the local model with adapters, from no text."""

    text: str  #: the answer
    used: tuple[str, ...]  #: names of the adapters that took part
    left_out: tuple[str, ...]  #: adapters that did not, each with the reason
    mark: ContentMark | None = None  #: signed provenance of the text: it rests on the adapters


@dataclass(frozen=True, slots=True)
class Recollection(Plain):
    """What an adapter told, as it was stored."""

    asked: int  #: questions
    stored: tuple[str, ...]  #: ids of the new facts
    known: int  #: answers that are facts already
    doubted: int  #: answers that were not stored: they contradict a fact, or give orders
