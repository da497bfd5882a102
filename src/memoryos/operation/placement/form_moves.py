"""Moves between the forms: which memory has earned KV or an adapter, and which has lost it.

- text -> KV, when the prefill that KV would have saved so far has paid for building it. That is the break-even rule of
  the ski-rental problem (Karlin et al. 1988): whatever comes, it costs at most twice what the best choice in hindsight
  would have cost.
- KV -> adapter, when the texts have not changed for `stable_days`, and were used `often` times.
- KV -> text and adapter -> text, when nothing used it for `cold_days`: it is removed, and its texts stay.

A frozen memory keeps the form it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryos.choice import Choice
from memoryos.clock import from_micros
from memoryos.operation.placement.cost_model import CostModel
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.placement.use_history import BlockUse
from memoryos.plain import Plain


class MoveReason(Choice):
    """Why a memory changes its form."""

    PAID = "paid"  # reading it so often has cost as much as building its KV
    STABLE = "stable"  # it has not changed for long, and was used often
    COLD = "cold"  # nothing used it for long


@dataclass(frozen=True, slots=True)
class MoveRules(Plain):
    """The bounds of the moves."""

    stable_days: float = 30.0  #: without a new version, before an adapter is trained
    often: int = 20  #: uses, before an adapter is trained
    cold_days: float = 14.0  #: without a use, before KV or an adapter is removed


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOfMemory:
    """A memory with the form that it has now."""

    id: str
    form: MemoryForm
    tokens: int  #: of its text
    changed_at: datetime  #: when it, or one of its sources, changed last
    built_at: datetime  #: when it got its form
    uses: int = 0  #: by answers, beside those that the scheduler planned
    used_at: datetime | None = None  #: when an answer used it last
    is_frozen: bool = False


@dataclass(frozen=True, slots=True)
class FormMove(Plain):
    """A change that is due."""

    id: str  #: of the memory
    before: MemoryForm  #: the form that it has
    after: MemoryForm  #: the form that it should get
    reason: MoveReason  #: why


def due_moves(
    memories: Iterable[FormOfMemory],
    uses: Mapping[str, BlockUse],
    costs: CostModel,
    now: datetime,
    rules: MoveRules = MoveRules(),
) -> Iterator[FormMove]:
    """The changes that are due, in the order of the memories."""
    for memory in memories:
        if not memory.is_frozen:
            move = _due(memory, uses.get(memory.id, BlockUse()), costs, now, rules)
            if move is not None:
                yield move


def _due(memory: FormOfMemory, use: BlockUse, costs: CostModel, now: datetime, rules: MoveRules) -> FormMove | None:
    if memory.form is MemoryForm.TEXT:
        is_paid = 0 < costs.prefill_ms(memory.tokens) <= use.owed_ms
        return FormMove(memory.id, memory.form, MemoryForm.KV, MoveReason.PAID) if is_paid else None
    planned_at = from_micros(use.micros) if use.micros else memory.built_at
    if now - max(planned_at, memory.built_at, memory.used_at or memory.built_at) > timedelta(days=rules.cold_days):
        return FormMove(memory.id, memory.form, MemoryForm.TEXT, MoveReason.COLD)
    is_stable = now - memory.changed_at > timedelta(days=rules.stable_days) and use.total + memory.uses >= rules.often
    if memory.form is MemoryForm.KV and is_stable:
        return FormMove(memory.id, memory.form, MemoryForm.ADAPTER, MoveReason.STABLE)
    return None
