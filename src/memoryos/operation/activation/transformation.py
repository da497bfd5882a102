"""What callers see of transformations: memories that change their form."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.infrastructure.vault.records import Job, JobState
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Transformation(Plain):
    """A change of form that was asked for."""

    name: str  #: name of the activation or adapter
    source: MemoryForm  #: the form that the memories have
    target: MemoryForm  #: the form that they get
    job: str | None  #: id of the job that does it; None: nothing is to be done
    ids: tuple[str, ...]  #: ids of the memories, as texts


class FormState(Choice):
    """Where a change of form stands."""

    DONE = "done"  # done
    WAITING = "waiting"  # its job waits or runs
    REFUSED = "refused"  # the gate refused the adapter
    FAILED = "failed"  # its job failed, or it cannot be used
    UNKNOWN = "unknown"  # no job did it: nobody asked for it, or nothing was to be done, or that was long ago


@dataclass(frozen=True, slots=True)
class FormOutcome(Plain):
    """What came of the latest change of form of that kind."""

    name: str  #: name of the activation or adapter
    source: MemoryForm  #: the form that the memories have
    target: MemoryForm  #: the form that they get
    state: FormState  #: done, waiting, refused, failed or unknown
    reason: str  #: why it is not done; empty if it is


def stands(job: Job | None) -> tuple[FormState, str]:
    """Where a change stands, as its job tells."""
    if job is None or job.state is JobState.DONE:
        return FormState.DONE, ""
    if job.error is None:
        return FormState.WAITING, f"its job {job.id} waits, or runs"
    later = (
        "it is given up: `memoryos jobs retry` tries it again" if job.state is JobState.DEAD else "it is tried again"
    )
    return FormState.FAILED, f"{job.error}; {later}"


@dataclass(frozen=True, slots=True)
class MadeForm(Plain):
    """A KV state or an adapter, with its links to texts, both ways."""

    id: str  #: id of its memory
    form: MemoryForm  #: kv or adapter
    name: str  #: name of the activation or adapter
    sources: tuple[str, ...]  #: ids of the texts that it was made of
    told: tuple[str, ...] = ()  #: ids of the facts that it told
