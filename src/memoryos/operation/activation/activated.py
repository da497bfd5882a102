"""What callers see of activation memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.models.chat import Answer
from memoryos.operation.placement.answer_mode import EXACTLY, ModeDecision
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class ActivationView(Plain):
    """A prefix, and its KV state if there is one."""

    name: str  #: name of the prefix
    id: str | None  #: id of the cube; None: it is not built, or was removed, as a source changed or it was cold
    is_usable: bool  #: whether an answer would use the state now, for this caller; models are compared once loaded
    reason: str  #: why it is not usable; empty if it is
    tokens: int = 0  #: tokens of the prefix
    size: int = 0  #: bytes of the state
    model: str = ""  #: the model that it fits
    built_at: datetime | None = None  #: when it was computed
    sources: tuple[str, ...] = ()  #: ids of the memories in it
    uses: int = 0  #: answers that used the state
    used_at: datetime | None = None  #: when an answer used it last, or it was computed
    is_rounded: bool = False  #: whether the state has 8-bit numbers: answers are then not exactly those of the text


@dataclass(frozen=True, slots=True)
class ActivatedAnswer(Plain):
    """An answer to a question behind a prefix."""

    answer: Answer  #: the answer; its `usage.cached_tokens` says how much was spared
    is_from_state: bool  #: whether the KV state was used
    reason: str  #: why the text was computed anew, or nothing was put together; empty if all was done as asked for
    is_composed: bool = False  #: whether states were put together: the answer is then not exactly that of the text
    is_rounded: bool = False  #: whether a state of 8-bit numbers was used: the answer is then not exact
    mode: ModeDecision = EXACTLY  #: what was decided, and why; `reason` says what prevented composition
