"""Planner: from the memories that bear on a task to a plan.

1. What may not be used is left out: forbidden, expired, stale, built for another model.
2. Texts are ranked by priority, then by similarity, and taken until the budget of tokens is used up.
3. KV and adapters that stand for taken texts replace them, those that save most time first, as long as they fit the
   bytes and the tokens. The exact mode takes at most one KV cache, because only the beginning of a prompt can be one.
4. What is still too slow for the budget of milliseconds is left out, the last text first, then what stands for
   texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryos.operation.placement.cost_model import CostModel
from memoryos.operation.placement.memory_block import MemoryBlock, MemoryForm
from memoryos.operation.placement.placement_plan import PlacementDecision, PlacementPlan, PlacementReason, left
from memoryos.operation.placement.placement_task import PlacementTask

_ORDER = {MemoryForm.ADAPTER: 0, MemoryForm.KV: 1, MemoryForm.TEXT: 2}


def planned(
    task: PlacementTask,
    blocks: Sequence[MemoryBlock],
    costs: CostModel,
    *,
    composes: bool = False,
    preload: Sequence[str] = (),
    policy: str = "",
) -> PlacementPlan:
    """Decide for each block. With `composes`, several KV caches may be put together; each block has its own id."""
    planning = _Planning(task, costs, composes)
    usable = [block for block in blocks if not planning.refused(block)]
    planning.take_texts([block for block in usable if block.form is MemoryForm.TEXT])
    planning.replace_texts([block for block in usable if block.form is not MemoryForm.TEXT])
    planning.drop_slow()
    chosen = sorted(planning.chosen.values(), key=lambda one: _ORDER[one.form])  # stable: each form in its own order
    return PlacementPlan(tuple(chosen), tuple(planning.left), tuple(preload), policy)


@dataclass
class _Planning:
    """A plan in the making: `chosen` is in the order of the ranks, by id."""

    task: PlacementTask
    costs: CostModel
    composes: bool
    chosen: dict[str, PlacementDecision] = field(default_factory=dict)
    left: list[PlacementDecision] = field(default_factory=list)

    def refused(self, block: MemoryBlock) -> bool:
        if block.fault is not None:
            self._leave(block, PlacementReason(block.fault.value))
        return block.fault is not None

    def take_texts(self, texts: Sequence[MemoryBlock]) -> None:
        for block in sorted(texts, key=self._rank):
            if self._tokens() + block.tokens > self.task.budget.tokens:
                self._leave(block, PlacementReason.OVER_TOKENS)
            else:
                ms = self.costs.prefill_ms(block.tokens)
                self.chosen[block.id] = PlacementDecision(
                    block.id, MemoryForm.TEXT, True, PlacementReason.READ, block.tokens, ms
                )

    def replace_texts(self, carriers: Sequence[MemoryBlock]) -> None:
        for block in sorted(carriers, key=lambda one: (-self._saved_ms(one), one.id)):
            reason = self._objection(block)
            if reason is not None:
                self._leave(block, reason)
                continue
            for covered in block.covers:
                if text := self.chosen.pop(covered, None):
                    self.left.append(
                        PlacementDecision(text.id, text.form, False, PlacementReason.COVERED, instead=block.id)
                    )
            self.chosen[block.id] = PlacementDecision(
                block.id,
                block.form,
                True,
                PlacementReason.SAVES_TIME,
                block.tokens,
                self._load_ms(block),
                block.size_bytes,
            )

    def drop_slow(self) -> None:
        last_first = reversed(list(self.chosen.values()))
        for one in sorted(last_first, key=lambda one: one.form is not MemoryForm.TEXT):
            if sum(decision.ms for decision in self.chosen.values()) <= self.task.budget.ms:
                return
            if one.form is MemoryForm.TEXT or one.ms:
                del self.chosen[one.id]
                self.left.append(PlacementDecision(one.id, one.form, False, PlacementReason.OVER_MS))

    def _objection(self, block: MemoryBlock) -> PlacementReason | None:
        budget, taken = self.task.budget, list(self.chosen.values())
        covered = self._covered(block)
        others = {one.instead for one in self.left if one.reason is PlacementReason.COVERED and one.id in block.covers}
        if others:
            return PlacementReason.OVERLAPS
        if not covered:
            return PlacementReason.NOT_NEEDED
        if block.form is MemoryForm.KV and not self.composes and any(one.form is MemoryForm.KV for one in taken):
            return PlacementReason.ONE_PREFIX
        if self._saved_ms(block) <= 0:
            return PlacementReason.SAVES_NOTHING
        if sum(one.size_bytes for one in taken) + block.size_bytes > budget.size_bytes:
            return PlacementReason.OVER_BYTES
        if self._tokens() - sum(one.tokens for one in covered) + block.tokens > budget.tokens:
            return PlacementReason.OVER_TOKENS
        return None

    def _saved_ms(self, block: MemoryBlock) -> float:
        return sum(one.ms for one in self._covered(block)) - self._load_ms(block)

    def _load_ms(self, block: MemoryBlock) -> float:
        return 0.0 if block.is_loaded else self.costs.load_ms(block.size_bytes)

    def _covered(self, block: MemoryBlock) -> list[PlacementDecision]:
        return [self.chosen[one] for one in block.covers if one in self.chosen]

    def _tokens(self) -> int:
        return sum(one.tokens for one in self.chosen.values())

    def _rank(self, block: MemoryBlock) -> tuple[int, float, str]:
        return -self.task.priority(block.labels), -block.similarity, block.id

    def _leave(self, block: MemoryBlock, reason: PlacementReason) -> None:
        self.left.append(left(block, reason))
