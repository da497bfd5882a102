"""Training job: trains the adapters of a scope that are wanted and not there.

The job looks at what is wanted and what stands, and does what is missing. So it can be run again after a crash, and
does nothing when another process was faster. A long training is a row of jobs, each of which goes on from the
checkpoint of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryos.built_memory import AdapterStage
from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.opened_model import OpenedModel
from memoryos.operation.scheduler.job_kinds import JobType, internal
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.training.adapter_cubes import AdapterShelf, adapter_in, versions_of
from memoryos.operation.training.adapter_trainer import SLICE_SECONDS, AdapterTrainer, fits
from memoryos.operation.training.training_sources import as_trained, chosen_sources
from memoryos.operation.training.wanted_adapter import WantedAdapter, wanted_adapters
from memoryos.scope import Scope


@dataclass(frozen=True)
class TrainingJob:
    """Runs jobs of the kind `TRAIN`."""

    vault: Vault
    clock: Clock
    engine: Callable[[], LocalEngine]
    slice_seconds: float = SLICE_SECONDS
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Train the next adapter for a while. Raises ModelError."""
        with self.vault.read(scope) as reader:
            wanted = [one for one in wanted_adapters(reader).values() if is_missing(reader, one)]
            names = [one.name for one in wanted if chosen_sources(reader, one, self.clock())]
        is_complete = not names or self._trained(scope, names[0], goes_on)
        if not is_complete and not goes_on():
            return jobs
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if not is_complete or len(names) > 1:
                writer.enqueue(JobKind.TRAIN)
        return ()

    def _trained(self, scope: Scope, name: str, goes_on: GoesOn) -> bool:
        """Train a version of an adapter for one slice; return whether it is complete."""
        engine, shelf = self.engine(), AdapterShelf(self.vault, scope, self.clock)
        with self.vault.read(scope) as reader:
            wanted = wanted_adapters(reader)[name]
            sources = chosen_sources(reader, wanted, self.clock())
            begun = [one for one in versions_of(reader, name) if adapter_in(one).stage is AdapterStage.TRAINING]
        usable = [one for one in begun if _goes_on_from(one, sources, engine)]
        shelf.remove([one for one in begun if one not in usable])
        if not sources:  # they went since
            return True
        trainer = AdapterTrainer(engine, shelf, self.slice_seconds)
        return trainer.train(wanted, sources, usable[-1] if usable else None, goes_on)


def training_jobs(vault: Vault, clock: Clock, model: OpenedModel) -> list[JobType]:
    """The kinds of jobs that train; none without a model, so that such a job waits for a process that has one."""
    job = TrainingJob(vault, clock, model.engine)
    return [internal(JobKind.TRAIN, job, needs_model=True)] if model.is_set else []


def is_missing(reader: Reader, wanted: WantedAdapter) -> bool:
    """Whether a version is to be trained: it was asked for, or one was withdrawn because of its sources."""
    if wanted.is_withdrawn:
        return False
    return wanted.is_due or not any(adapter_in(one).stage in _SETTLED for one in versions_of(reader, wanted.name))


_SETTLED = (AdapterStage.READY, AdapterStage.REFUSED)


def _goes_on_from(begun: MemCube, sources: Sequence[MemCube], engine: LocalEngine) -> bool:
    """Whether a checkpoint is of the same sources and the same model."""
    adapter = adapter_in(begun)
    return adapter.sources == as_trained(sources) and adapter.fingerprint == fits(engine)
