"""Moves between the forms: which memory has earned KV or an adapter, and which has lost it.

- text -> KV, when the prefill that KV would have saved so far has paid for building it. That is the break-even rule of
  the ski-rental problem (Karlin et al. 1988): whatever comes, it costs at most twice what the best choice in hindsight
  would have cost.
- KV -> adapter, when the texts have not changed for `stable_days`, and were used `often` times.
- KV -> text and adapter -> text, when nothing used it for `cold_days`: it is removed, and its texts stay.

A frozen memory keeps the form it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryos.choice import Choice
from memoryos.clock import from_micros
from memoryos.operation.placement.cost_model import CostModel
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.placement.use_history import BlockUse, UseHistory
from memoryos.plain import Plain

_DAY = timedelta(days=1)


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
    heat: int = 0  #: visits of its texts by searches
    is_frozen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveGrounds(Plain):
    """The numbers on which a change of form rests. Milliseconds are those of the cost model, not measured."""

    tokens: int  #: tokens of the texts
    uses: int  #: uses so far, by plans and by answers
    cost_ms: float  #: milliseconds to read the texts once, which is what building KV costs
    saved_ms: float  #: milliseconds that KV would have saved so far; 0 from when it is built
    heat: int  #: visits of the texts by searches
    unused_days: float  #: days since the last use, or since it got its form
    unchanged_days: float  #: days since a text changed last

    @classmethod
    def of_all(cls, parts: Sequence[MoveGrounds]) -> MoveGrounds:
        """Those of memories that change together: their sums, and the days of the latest. Raises ValueError if none."""
        return cls(
            tokens=sum(one.tokens for one in parts),
            uses=sum(one.uses for one in parts),
            cost_ms=sum(one.cost_ms for one in parts),
            saved_ms=sum(one.saved_ms for one in parts),
            heat=sum(one.heat for one in parts),
            unused_days=min(one.unused_days for one in parts),
            unchanged_days=min(one.unchanged_days for one in parts),
        )


@dataclass(frozen=True, slots=True)
class FormMove(Plain):
    """A change that is due."""

    id: str  #: id of the memory
    before: MemoryForm  #: the form that it has
    after: MemoryForm  #: the form that it should get
    reason: MoveReason  #: why the form should change
    grounds: MoveGrounds  #: the numbers behind it


@dataclass(frozen=True, slots=True)
class WeighedForms:
    """Memories with the forms that they have, and what speaks for another one."""

    forms: tuple[FormOfMemory, ...]
    history: UseHistory
    costs: CostModel
    now: datetime

    def due(self) -> Iterator[FormMove]:
        """The changes that are due, in the order of the memories."""
        return due_moves(self.forms, self.history.blocks, self.costs, self.now)

    def grounds(self, forms: Iterable[FormOfMemory]) -> MoveGrounds:
        """The numbers of some of them together. Raises ValueError if there are none."""
        blocks = self.history.blocks
        parts = [grounds_of(one, blocks.get(one.id, BlockUse()), self.costs, self.now) for one in forms]
        return MoveGrounds.of_all(parts)


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


def grounds_of(memory: FormOfMemory, use: BlockUse, costs: CostModel, now: datetime) -> MoveGrounds:
    """What speaks for a change of form, and against it."""
    planned_at = from_micros(use.micros) if use.micros else memory.built_at
    used_at = max(planned_at, memory.built_at, memory.used_at or memory.built_at)
    return MoveGrounds(
        tokens=memory.tokens,
        uses=use.total + memory.uses,
        cost_ms=costs.prefill_ms(memory.tokens),
        saved_ms=use.owed_ms,
        heat=memory.heat,
        unused_days=(now - used_at) / _DAY,
        unchanged_days=(now - memory.changed_at) / _DAY,
    )


def _due(memory: FormOfMemory, use: BlockUse, costs: CostModel, now: datetime, rules: MoveRules) -> FormMove | None:
    known = grounds_of(memory, use, costs, now)
    if memory.form is MemoryForm.TEXT:
        is_paid = 0 < known.cost_ms <= known.saved_ms
        return FormMove(memory.id, memory.form, MemoryForm.KV, MoveReason.PAID, known) if is_paid else None
    if known.unused_days > rules.cold_days:
        return FormMove(memory.id, memory.form, MemoryForm.TEXT, MoveReason.COLD, known)
    is_stable = known.unchanged_days > rules.stable_days and known.uses >= rules.often
    if memory.form is MemoryForm.KV and is_stable:
        return FormMove(memory.id, memory.form, MemoryForm.ADAPTER, MoveReason.STABLE, known)
    return None
