"""PlacementPlan: what was decided for each memory of a task, and why."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.operation.placement.answer_mode import EXACTLY, ModeDecision
from memoryos.operation.placement.form_log import FormDecision
from memoryos.operation.placement.memory_block import MemoryBlock, MemoryForm
from memoryos.operation.placement.state_log import StateDecision
from memoryos.operation.placement.unchanged_forms import UnchangedForm
from memoryos.plain import Plain


class PlacementReason(Choice):
    """Why a memory takes part in a form, or does not."""

    READ = "read"  # as text: no KV or adapter saves time
    SAVES_TIME = "saves_time"  # as KV or adapter: loading it is faster than reading its texts
    COVERED = "covered"  # another form stands for it
    NOT_PERMITTED = "not_permitted"  # the caller may not read it, or one of its sources
    EXPIRED = "expired"  # its time is over
    STALE = "stale"  # a source has changed since it was built
    OTHER_MODEL = "other_model"  # it was built for another model
    NOT_NEEDED = "not_needed"  # it stands for texts that the task does not need
    SAVES_NOTHING = "saves_nothing"  # reading its texts is faster than loading it
    OVERLAPS = "overlaps"  # it stands for a text that another one has already
    ONE_PREFIX = "one_prefix"  # the exact mode takes one KV cache, the one that saves most
    OVER_TOKENS = "over_tokens"  # the budget of tokens is used up
    OVER_MS = "over_ms"  # the budget of milliseconds is used up
    OVER_BYTES = "over_bytes"  # the budget of bytes is used up


@dataclass(frozen=True, slots=True)
class PlacementDecision(Plain):
    """What was decided for one memory."""

    id: str  #: id of the memory
    form: MemoryForm  #: the form in question
    is_chosen: bool  #: whether it takes part
    reason: PlacementReason  #: why it takes part, or why not
    tokens: int = 0  #: tokens of the model's context that it takes
    ms: float = 0.0  #: milliseconds until the first token that it takes
    size_bytes: int = 0  #: bytes that it takes in memory
    instead: str | None = None  #: id of the memory that stands for it


@dataclass(frozen=True, slots=True)
class PlacementPlan(Plain):
    """The decisions of one task."""

    chosen: tuple[
        PlacementDecision, ...
    ]  #: the memories that take part, in the order of the prompt: adapters, KV, texts
    left_out: tuple[PlacementDecision, ...]  #: the memories that do not, with the reason of each
    preload: tuple[str, ...] = ()  #: ids of what the owner's next question probably needs
    policy: str = ""  #: name of the policy; "off" if the scheduler is off
    states: tuple[StateDecision, ...] = ()  #: why KV states are in memory or not, newest first (`placement_states`)
    forms: tuple[FormDecision, ...] = ()  #: the latest decisions to make or remove KV and adapters, newest first
    mode: ModeDecision = EXACTLY  #: exact, or composed: several KV caches are put together; and why
    unchanged: tuple[UnchangedForm, ...] = ()  #: why `decide` left the form of memories as it is, the latest of each

    @property
    def tokens(self) -> int:
        """Tokens that the chosen memories take."""
        return sum(one.tokens for one in self.chosen)

    @property
    def ms(self) -> float:
        """Expected time until the first token, without the question."""
        return sum(one.ms for one in self.chosen)

    @property
    def size_bytes(self) -> int:
        """Bytes of KV and adapters."""
        return sum(one.size_bytes for one in self.chosen)

    def decision(self, memory_id: str) -> PlacementDecision | None:
        """Return what was decided for that memory."""
        return next((one for one in (*self.chosen, *self.left_out) if one.id == memory_id), None)


def left(block: MemoryBlock, reason: PlacementReason, instead: str | None = None) -> PlacementDecision:
    """The decision that a memory takes no part."""
    return PlacementDecision(block.id, block.form, False, reason, instead=instead)
