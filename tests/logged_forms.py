"""What the scheduler logs when it has KV built: tests write it without a model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from memoryos import FormDecision, FormMove, Memory, MemoryForm, MoveGrounds, MoveReason
from memoryos.caller import SYSTEM, acting
from memoryos.operation.placement.form_log import log_form

GROUNDS = MoveGrounds(tokens=9, uses=2, cost_ms=34.5, saved_ms=40, heat=3, unused_days=0.5, unchanged_days=2.0)


def log_forms(memory: Memory, sources: Iterable[str], *plans: int) -> None:
    """Log that KV of these memories was ordered, behind each of the plans."""

    def logs(decision: FormDecision) -> None:
        with memory._engine.vault.write(memory.scope.owner) as writer:
            log_form(writer, decision)

    for plan in plans:
        move = FormMove("scheduler", MemoryForm.TEXT, MemoryForm.KV, MoveReason.PAID, GROUNDS)
        made = FormDecision.of(move, "scheduler", list(sources), memory._engine.clock(), plan)
        acting(SYSTEM, partial(logs, made))
