"""PlacementLog: what the scheduler remembers of an owner: the uses of memories, and its latest decisions.

Both are notes of the owner, and go with it. They hold ids and numbers: no question and no content.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import AwareDatetime, TypeAdapter

from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.operation.placement.answer_mode import EXACTLY, ModeDecision
from memoryos.operation.placement.form_log import FormDecision
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.placement.placement_plan import PlacementDecision, PlacementPlan, PlacementReason
from memoryos.operation.placement.use_history import UseHistory
from memoryos.plain import EVERY_FIELD, Plain

MOST_LOGGED = 100  # plans of an owner
MOST_DECISIONS = 64  # of a plan


@dataclass(frozen=True, slots=True)
class LoggedDecision(Plain):
    """What was decided for one memory."""

    id: str  #: id of the memory
    form: MemoryForm  #: the form in question
    is_chosen: bool  #: whether it takes part
    reason: PlacementReason  #: why it takes part, or why not


@dataclass(frozen=True, slots=True)
class LoggedPlacement(Plain):
    """One plan that was carried out."""

    number: int  #: number of the plan, from 1
    at: AwareDatetime  #: when it was decided
    policy: str  #: name of the policy
    decisions: tuple[LoggedDecision, ...]  #: the decisions, those of chosen memories first, in their order
    forms: tuple[FormDecision, ...] = ()  #: what was decided behind it: KV and adapters that are made or removed
    mode: ModeDecision = EXACTLY  #: exact, or composed: several KV caches are put together; and why


HISTORY = Note("placement", as_json(UseHistory))
LOGGED = Note("placement.", as_json(LoggedPlacement), has_many=True)

_HISTORY, _LOGGED = TypeAdapter(UseHistory), TypeAdapter(LoggedPlacement)


def history_of(reader: Reader) -> UseHistory:
    """The uses of the owner's memories."""
    return HISTORY.of(reader) or UseHistory()


def log_plan(writer: Writer, plan: PlacementPlan, history: UseHistory, at: datetime) -> None:
    """Write the history after a plan, and the plan in the place of the oldest one."""
    decisions = tuple(map(_logged, (*plan.chosen, *plan.left_out)))[:MOST_DECISIONS]
    entry = LoggedPlacement(history.asked, at, plan.policy, decisions, mode=plan.mode)
    write_history(writer, history)
    writer.write_note(_key(history.asked), _LOGGED.dump_json(entry, context=EVERY_FIELD).decode())


def write_history(writer: Writer, history: UseHistory) -> None:
    """Write the uses of the owner's memories."""
    writer.write_note(HISTORY.key, _HISTORY.dump_json(history, context=EVERY_FIELD).decode())


def logged(reader: Reader, limit: int) -> list[LoggedPlacement]:
    """The latest plans, newest first."""
    latest = history_of(reader).asked
    numbers = range(latest, max(0, latest - min(limit, MOST_LOGGED)), -1)
    return [one for number in numbers if (one := LOGGED.of(reader, _rest(number))) is not None]


def _logged(one: PlacementDecision) -> LoggedDecision:
    return LoggedDecision(one.id, one.form, one.is_chosen, one.reason)


def _key(number: int) -> str:
    return LOGGED.key + _rest(number)


def _rest(number: int) -> str:
    return str(number % MOST_LOGGED)
