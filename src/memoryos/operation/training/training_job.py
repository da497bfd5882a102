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
from memoryos.errors import ModelError
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.opened_model import OpenedModel
from memoryos.operation.scheduler.job_kinds import JobType, internal
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.training.adapter_cubes import SETTLED, AdapterShelf, adapter_in, versions_of
from memoryos.operation.training.adapter_trainer import SLICE_SECONDS, AdapterTrainer, fits
from memoryos.operation.training.training_sources import chosen_sources, stale_source
from memoryos.operation.training.wanted_adapter import WantedAdapter, wanted_adapters
from memoryos.scope import Scope


@dataclass(frozen=True)
class TrainingJob:
    """Runs jobs of the kind `TRAIN`."""

    vault: Vault
    clock: Clock
    engine: Callable[[], LocalEngine]
    shown: Callable[[Sequence[MemCube]], Sequence[MemCube]] = list  #: memories as an answer may show them
    slice_seconds: float = SLICE_SECONDS
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Train the next adapter for a while. Raises ModelError."""
        with self.vault.read(scope) as reader:
            names = self._due(reader)
        is_complete = self._trained_one(scope, names, goes_on)
        if not is_complete and not goes_on():
            return jobs
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if not is_complete or self._due(writer):  # somebody may have asked, or changed a source, meanwhile
                writer.enqueue(JobKind.TRAIN)
        return ()

    def _due(self, reader: Reader) -> list[str]:
        """The names of the adapters that are to be trained, and can be."""
        wanted = [one for one in wanted_adapters(reader).values() if is_missing(reader, one)]
        return [one.name for one in wanted if chosen_sources(reader, one, self.clock())]

    def _trained_one(self, scope: Scope, names: Sequence[str], goes_on: GoesOn) -> bool:
        """Train the first of these adapters that the model can train. Raises the ModelError of the last one."""
        for name in names:
            try:
                return self._trained(scope, name, goes_on)
            except ModelError:
                if name == names[-1]:
                    raise
        return True

    def _trained(self, scope: Scope, name: str, goes_on: GoesOn) -> bool:
        """Train a version of an adapter for one slice; return whether it is complete."""
        engine, shelf = self.engine(), AdapterShelf(self.vault, scope, self.clock)
        with self.vault.read(scope) as reader:
            wanted = wanted_adapters(reader).get(name)
            begun = [one for one in versions_of(reader, name) if adapter_in(one).stage is AdapterStage.TRAINING]
            usable = [one for one in begun if self._goes_on_from(reader, one, engine)][-1:]
            known = reader.get(one.id for cube in usable for one in adapter_in(cube).sources).values()
            chosen = chosen_sources(reader, wanted, self.clock()) if wanted else []
        shelf.remove([one for one in begun if one not in usable])
        sources = sorted(known, key=lambda one: one.id) if usable else chosen
        if wanted is None or not sources:  # they went since
            return True
        trainer = AdapterTrainer(engine, shelf, self.shown, self.slice_seconds)
        return trainer.train(wanted, sources, usable[0] if usable else None, goes_on)

    def _goes_on_from(self, reader: Reader, begun: MemCube, engine: LocalEngine) -> bool:
        """Whether a checkpoint is of this model, and its sources say what they said. New memories wait."""
        adapter = adapter_in(begun)
        return adapter.fingerprint == fits(engine) and stale_source(reader, adapter, self.clock()) is None


def training_jobs(
    vault: Vault, clock: Clock, model: OpenedModel, shown: Callable[[Sequence[MemCube]], Sequence[MemCube]]
) -> list[JobType]:
    """The kinds of jobs that train; none without a model, so that such a job waits for a process that has one."""
    job = TrainingJob(vault, clock, model.engine, shown)
    return [internal(JobKind.TRAIN, job, needs_model=True)] if model.is_set else []


def is_missing(reader: Reader, wanted: WantedAdapter) -> bool:
    """Whether a version is to be trained: it was asked for, or the latest one was withdrawn because of its sources."""
    if wanted.is_withdrawn:
        return False
    settled = (adapter_in(one) for one in versions_of(reader, wanted.name))
    return wanted.is_due or not any(one.stage in SETTLED and one.number >= wanted.last for one in settled)
