"""Transformer: turns what is no text back to text, as a job. Text becomes KV or an adapter in jobs of their own.

- `keeps`: an adapter is asked for what it knows, which is stored as facts of low trust.
- otherwise the KV state or the versions of an adapter are removed. Their sources were never away, and what they were
  made of is still known, so that a job can make them again.

Each job can be done again: a second one finds nothing new.
"""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.clock import Clock
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.operation.activation.activator import Activator
from memoryos.operation.activation.recipe import recipes
from memoryos.operation.placement.form_log import FormDecision, log_form
from memoryos.operation.placement.memory_block import MemoryForm
from memoryos.operation.scheduler.job_kinds import JobType, OneByOne, internal
from memoryos.operation.training.recollections import Recollections
from memoryos.operation.training.wanted_adapter import wanted_adapters
from memoryos.scope import Scope


@dataclass(frozen=True)
class Transformer:
    """The ways back to text in one store."""

    vault: Vault
    clock: Clock
    activator: Activator
    recollections: Recollections

    def order(
        self, place: Scope, name: str, source: MemoryForm, *, keeps: bool, why: FormDecision | None = None
    ) -> str:
        """Add the job, log why, and return its id. Raises NotFound if the KV state or adapter is gone meanwhile."""
        with self.vault.write(place) as writer:
            if name not in (recipes(writer) if source is MemoryForm.KV else wanted_adapters(writer)):
                raise NotFound(f"{name!r} was removed meanwhile")
            (job_id,) = writer.enqueue(JobKind.TRANSFORM, payload=turning_of(name, source, keeps=keeps), anew=True)
            if why is not None:
                log_form(writer, why)
        return job_id

    def do(self, scope: Scope, job: Job) -> None:
        """Do one job. Raises NotFound, ModelError, CubeProtected."""
        told = job.payload or {}
        name, is_kv = str(told["name"]), told["source"] == MemoryForm.KV
        if told["keeps"]:
            self._recollect(scope.owner, name)
        elif is_kv:
            self.activator.cool(scope.owner, name)
        else:
            self.recollections.adapters.cool(scope.owner, name)

    def _recollect(self, place: Scope, name: str) -> None:
        with self.vault.read(place) as reader:
            wanted = wanted_adapters(reader).get(name)
        if wanted is not None:  # otherwise it was deleted meanwhile
            self.recollections.stored(place, wanted)

    def jobs(self, *, needs_model: bool) -> list[JobType]:
        """The kinds of jobs that change the form of memories."""
        built, turned = OneByOne(self.vault, self.activator.build), OneByOne(self.vault, self.do)
        return [
            internal(JobKind.ACTIVATE, built, needs_model=needs_model),
            internal(JobKind.TRANSFORM, turned, needs_model=needs_model),
        ]


def turning_of(name: str, source: MemoryForm, *, keeps: bool) -> dict[str, str | bool]:
    """The payload of the job that turns a KV state or an adapter back to text."""
    return {"name": name, "source": source.value, "keeps": keeps}
