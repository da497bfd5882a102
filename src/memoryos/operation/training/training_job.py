"""Training job: trains the adapters of a scope that are wanted and not there.

A job of one adapter trains it, and a job without a name adds one for each adapter that is due. Both look at what is
wanted and what stands, and do what is missing. So they can be run again after a crash, and do nothing when another
process was faster. A long training is a row of jobs, each of which goes on from the checkpoint of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.built_memory import AdapterStage
from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.opened_model import OpenedModel
from memoryos.operation.scheduler.job_kinds import JobType, internal
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.training.adapter_cubes import SETTLED, AdapterShelf, adapter_in, versions_of
from memoryos.operation.training.adapter_trainer import SLICE_SECONDS, AdapterTrainer, fits
from memoryos.operation.training.question_writer import Asks, no_model
from memoryos.operation.training.training_sources import chosen_sources, stale_source
from memoryos.operation.training.wanted_adapter import WantedAdapter, wanted_adapters
from memoryos.scope import Scope


@dataclass(frozen=True)
class TrainingJob:
    """Runs jobs of the kind `TRAIN`."""

    vault: Vault
    clock: Clock
    engine: Callable[[], LocalEngine]  #: of torch, which trains
    asked: Callable[[], LocalEngine]  #: which answers with adapters
    shown: Callable[[Sequence[MemCube]], Sequence[MemCube]] = list  #: memories as an answer may show them
    asks: Asks = no_model  #: the chat model that words questions
    slice_seconds: float = SLICE_SECONDS
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Train an adapter for a while, or have those that are due trained. Raises ModelError."""
        names = [name for job in jobs if (name := named_in(job)) is not None]
        is_complete = all(self._trained(scope, name, goes_on) for name in names)
        if not is_complete and not goes_on():
            return jobs
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            for name in self._due(writer):
                if not names or name in names:  # not complete; or somebody asked, or changed a source, meanwhile
                    want_training(writer, name)
        return ()

    def _due(self, reader: Reader) -> list[str]:
        """The names of the adapters that are to be trained, and can be."""
        return [one.name for one in wanted_adapters(reader).values() if self._is_due(reader, one)]

    def _is_due(self, reader: Reader, wanted: WantedAdapter) -> bool:
        now = self.clock()
        return is_missing(reader, wanted, now) and bool(chosen_sources(reader, wanted, now))

    def _trained(self, scope: Scope, name: str, goes_on: GoesOn) -> bool:
        """Train a version of an adapter for one slice; return whether there is nothing more to do."""
        with self.vault.read(scope) as reader:
            asked = wanted_adapters(reader).get(name)
            if asked is None or not self._is_due(reader, asked):
                return True
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
        trainer = AdapterTrainer(engine, self.asked(), shelf, self.shown, self.slice_seconds, self.asks)
        return trainer.train(wanted, sources, usable[0] if usable else None, goes_on)

    def _goes_on_from(self, reader: Reader, begun: MemCube, engine: LocalEngine) -> bool:
        """Whether a checkpoint is of this model, and its sources say what they said. New memories wait."""
        adapter = adapter_in(begun)
        return adapter.fingerprint == fits(engine) and stale_source(reader, adapter, self.clock()) is None


def training_jobs(
    vault: Vault,
    clock: Clock,
    model: OpenedModel,
    shown: Callable[[Sequence[MemCube]], Sequence[MemCube]],
    asks: Asks = no_model,
) -> list[JobType]:
    """The kinds of jobs that train; none without a model and torch, so that such a job waits for one that has both."""
    job = TrainingJob(vault, clock, model.torch_engine, model.engine, shown, asks)
    return [internal(JobKind.TRAIN, job, needs_model=True)] if model.is_trainable else []


def want_training(writer: Writer, name: str, *, anew: bool = False) -> None:
    """Add the job that trains an adapter; with `anew`, one that failed is tried at once."""
    writer.enqueue(JobKind.TRAIN, payload=training_of(name), anew=anew)


def training_of(name: str) -> dict[str, str]:
    """The payload of the job that trains an adapter."""
    return {"name": name}


def named_in(job: Job) -> str | None:
    """The adapter that a job trains; None if it adds the jobs of those that are due."""
    return (job.payload or {}).get("name")


def is_missing(reader: Reader, wanted: WantedAdapter, now: datetime) -> bool:
    """Whether a version is to be trained: it was asked for, or the latest one is outdated or was withdrawn.

    An outdated version stands beside the new one if it is frozen or on hold.
    """
    if wanted.is_withdrawn:
        return False
    latest = (one for cube in versions_of(reader, wanted.name) if (one := adapter_in(cube)).number >= wanted.last)
    settled = (one for one in latest if one.stage in SETTLED)
    return wanted.is_due or all(stale_source(reader, one, now) is not None for one in settled)
