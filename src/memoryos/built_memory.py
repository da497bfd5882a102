"""Built memory: the payloads of KV caches and adapters, which models use and people do not read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.explained import VALUE, explained
from memoryos.kinds import Kind
from memoryos.plain import Plain

STATE_BYTES = "application/x-safetensors"  # media type of the bytes of a KV state
ADAPTER_BYTES = "application/x-memoryos-adapter"  # and of an adapter: attachments of people have other types


class AdapterStage(Choice):
    """How far an adapter is."""

    TRAINING = "training"  # its bytes are a checkpoint
    READY = "ready"  # it passed the gate and can be loaded
    REFUSED = "refused"  # it did not; it has no bytes


class QuestionOrigin(Choice):
    """Who words the questions that an adapter is trained on. The answers are always the sentences of memories."""

    TEMPLATES = "templates"  # forms of ours
    MODEL = "model"  # these, and the chat model


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Blob:
    """Binary content kept outside the cube's JSON."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]  #: of the bytes
    size_bytes: Annotated[int, Field(ge=0)]  #: number of bytes
    format: str  #: e.g. "safetensors"


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Activation:
    """A KV cache for `model`, valid for exactly the text it was computed from."""

    type: Literal[Kind.ACTIVATION] = Kind.ACTIVATION  #: the kind
    model: str  #: the model that it fits
    text: str  #: what it was computed from
    tokens: Annotated[int, Field(ge=0)]  #: tokens of the text
    fingerprint: str = ""  #: sha256 of what the model must be like
    versions: tuple[tuple[str, int], ...] = ()  #: id and version of each memory in the text
    blob: Blob  #: where the bytes are


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class GateResult(Plain):
    """What the gate measured before an adapter may be used."""

    asked: Annotated[int, Field(ge=0)]  #: questions that were not trained
    recalled: Annotated[int, Field(ge=0)]  #: questions that were answered rightly with the adapter
    recalled_before: Annotated[int, Field(ge=0)]  #: questions that were answered rightly without it
    perplexity: Annotated[float, Field(ge=0)]  #: perplexity of general texts with the adapter
    perplexity_before: Annotated[float, Field(ge=0)]  #: perplexity of general texts without it


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class TrainedSource(Plain):
    """A memory that an adapter was trained on."""

    id: str  #: of the memory
    words: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]  #: sha256 of its words then


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Parameter:
    """A parameter patch for `model`, such as a LoRA adapter."""

    type: Literal[Kind.PARAMETER] = Kind.PARAMETER  #: the kind
    model: str  #: the model that it fits
    method: str  #: e.g. "lora"
    modules: tuple[str, ...]  #: the layers that it changes
    rank: Annotated[int, Field(ge=1)]  #: rank of the matrices
    blob: Blob | None = None  #: where the bytes are; None: it was refused
    text: str = ""  #: what the patch teaches, in words
    name: str = ""  #: the adapter that it is a version of
    number: Annotated[int, Field(ge=1)] = 1  #: of this version
    fingerprint: str = ""  #: digest of the fingerprint of the model
    stage: AdapterStage = AdapterStage.READY  #: training, ready or refused
    refused: str = ""  #: why, if it was
    gate: GateResult | None = None  #: what the gate measured
    sources: tuple[TrainedSource, ...] = ()  #: what it was trained on
    step: Annotated[int, Field(ge=0)] = 0  #: steps that were taken
    steps: Annotated[int, Field(ge=0)] = 0  #: steps in all
    seconds: Annotated[float, Field(ge=0)] = 0.0  #: that they took
