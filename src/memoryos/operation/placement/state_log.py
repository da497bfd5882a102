"""StateLog: what an owner's questions used of the KV states, and why states are in memory or are not.

It is a note of the owner, and goes with it: names of prefixes, ids and numbers, no question and no content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import AwareDatetime, TypeAdapter

from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.operation.placement.kv_keeper import KeepingGrounds, KeepingReason
from memoryos.operation.placement.use_history import UseHistory
from memoryos.plain import EVERY_FIELD, Plain

MOST_DECISIONS = 64  # that are known of an owner


@dataclass(frozen=True, slots=True)
class StateDecision(Plain):
    """What was decided for one KV state."""

    id: str  #: id of its memory
    at: AwareDatetime  #: when it was decided
    is_kept: bool  #: whether it is in memory since, in the process that decided
    reason: KeepingReason  #: why it is in memory, or why not
    grounds: KeepingGrounds | None = None  #: the numbers behind it; None: an earlier version noted none

    def without_question(self) -> StateDecision:
        """The same without what tells of a question, which another caller may have asked."""
        known = self.grounds
        return self if known is None else replace(self, grounds=replace(known, similarity=0.0))


@dataclass(frozen=True, slots=True)
class StateLog:
    """The uses of an owner's prefixes, by their names, and the latest decisions, newest first."""

    history: UseHistory = field(default_factory=UseHistory)
    decisions: tuple[StateDecision, ...] = ()

    def decided(self, decisions: Sequence[StateDecision]) -> StateLog:
        """The same after more decisions, in their order; one that repeats the last one of its state is left out."""
        known = list(self.decisions)
        for one in decisions:
            last = next((before for before in known if before.id == one.id), None)
            if last is None or (last.is_kept, last.reason) != (one.is_kept, one.reason):
                known.insert(0, one)
        return StateLog(self.history, tuple(known[:MOST_DECISIONS]))


STATE_LOG = Note("kv_states", as_json(StateLog))

_LOG = TypeAdapter(StateLog)


def write_state_log(writer: Writer, log: StateLog) -> None:
    """Write the log of the writer's owner."""
    writer.write_note(STATE_LOG.key, _LOG.dump_json(log, context=EVERY_FIELD).decode())
