"""Pipeline run: what one run did, step by step: ids, counts and times, and no contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.choice import Choice
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.models.chat import Answer
from memoryos.plain import Plain


class RunOutcome(Choice):
    """How a run ended, if it did not fail."""

    COMMITTED = "committed"  # all of its changes are stored
    REHEARSED = "rehearsed"  # it was a dry run: nothing is stored
    STOPPED = "stopped"  # a step found fewer memories than `at_least`: nothing is stored


@dataclass(frozen=True, slots=True)
class MadeChange(Plain):
    """What a step changed, or would change."""

    memory_id: str  #: the id of the memory
    kind: Kind  #: page, fact, ...
    operation: Operation  #: what was done to the memory, as in `log.events`
    version: int  #: the version of the memory after it


@dataclass(frozen=True, slots=True)
class StepTrace(Plain):
    """What one step took and made."""

    number: int  #: number of the step, from 1
    verb: str  #: what the step does, such as retrieve
    taken: tuple[str, ...] = ()  #: ids of the memories that it was given
    made: tuple[str, ...] = ()  #: ids of the memories that it found or told
    characters: int = 0  #: characters of the text that it made
    changes: tuple[MadeChange, ...] = ()  #: what it changed, or would change
    ms: float = 0.0  #: milliseconds that it took
    decision: str = "allowed"  #: decision of the gate; skipped: the step was not done


@dataclass(frozen=True, slots=True)
class PipelineRun(Plain):
    """The result of a run, and its trace."""

    id: str  #: id of the run, in the context of its entries in the audit log
    pipeline: str  #: name of the pipeline
    version: int  #: version of the pipeline
    caller: str  #: who ran it
    at: datetime  #: when it ended
    outcome: RunOutcome  #: committed, rehearsed or stopped
    steps: Sequence[StepTrace]  #: the trace
    context: str | None = None  #: the text that `augment` made
    answer: Answer | None = None  #: what the chat model said

    @property
    def changes(self) -> tuple[MadeChange, ...]:
        """What all steps changed, or would change."""
        return tuple(change for step in self.steps for change in step.changes)
