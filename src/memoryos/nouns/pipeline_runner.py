"""Pipeline runner: does the steps of a pipeline for one owner, and writes all that they change in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from uuid_utils.compat import uuid7

from memoryos.caller import current, running_call
from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.infrastructure.vault.records import Operation
from memoryos.nouns.pipeline_reading import SKIPPED, PipelineReading
from memoryos.nouns.pipeline_writing import PipelineWriting
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.copies import Copies
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_run import MadeChange, PipelineRun, RunOutcome, StepTrace
from memoryos.operation.pipelines.pipeline_steps import GenerateStep, PipelineStep, fields_of
from memoryos.operation.pipelines.step_field import whole_placeholder
from memoryos.operation.scheduler.joint_step import JointDone, take_jointly
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class PipelineRunner:
    """One run."""

    reading: PipelineReading
    writing: PipelineWriting

    def run(self) -> PipelineRun:
        """Do the steps. Raises the error of the step that failed, which names it; then nothing is changed."""
        reading, pipeline, run_id = self.reading, self.reading.pipeline, str(uuid7())
        self._tell_call(run_id)
        steps = list(enumerate(pipeline.steps, 1))
        for number, step in steps:
            with _naming(pipeline, number, step):
                self._check(step)
        traces = [self._done(number, step) for number, step in steps]
        outcome = RunOutcome.REHEARSED if reading.is_rehearsal else RunOutcome.COMMITTED
        if reading.has_stopped:
            outcome = RunOutcome.STOPPED
        elif self.writing.plans:
            traces = self._written(traces)
        reading.count_visits()
        return PipelineRun(
            run_id,
            pipeline.name,
            pipeline.version,
            current().identity,
            reading.engine.clock(),
            outcome,
            traces,
            reading.context,
            reading.answer,
        )

    def _tell_call(self, run_id: str) -> None:
        """Have the entries of the audit log tell which run they are of."""
        if call := running_call():
            pipeline = self.reading.pipeline
            call.context |= {"run": run_id, "pipeline": pipeline.name, "pipeline_version": str(pipeline.version)}
            call.context |= {"dry_run": "true"} if self.reading.is_rehearsal else {}

    def _check(self, step: PipelineStep) -> None:
        """Raise PermissionDenied or ModelNotConfigured before anything is done."""
        if step.is_change:
            self.writing.admit(step)
        if isinstance(step, GenerateStep) and not self.reading.is_rehearsal:
            self.reading.engine.responder.model()

    def _done(self, number: int, step: PipelineStep) -> StepTrace:
        """Do a step that reads, or plan one that changes something."""
        reading, begun = self.reading, time.perf_counter()
        if reading.has_stopped:
            return StepTrace(number, step.verb, decision=SKIPPED)
        named = partial(_naming, reading.pipeline, number, step)
        with named():
            if step.is_change:
                self.writing.plan(number, step, named)
                trace = StepTrace(number, step.verb, tuple(one.id for one in reading.memories) if step.needs else ())
            else:
                trace = reading.do(number, step)
        return replace(trace, ms=1000 * (time.perf_counter() - begun))

    def _written(self, traces: list[StepTrace]) -> list[StepTrace]:
        """Write what was planned, and add what changed to the traces."""
        reading, writing = self.reading, self.writing
        [home], plans = writing.homes, [plan for _, plan in writing.plans]
        with reading.engine.housekeeping.call():
            done = take_jointly(reading.engine.vault, home, plans, keeps=not reading.is_rehearsal)
        if not reading.is_rehearsal:
            self._follow(home)
        told = {trace.number: trace for trace in traces}
        for (number, _), one in zip(writing.plans, done, strict=True):
            told[number] = _with_changes(told[number], one)
        return list(told.values())

    def _follow(self, home: Scope) -> None:
        """What follows the transaction, as it follows the operations of the same names."""
        engine, scope = self.reading.engine, self.reading.scope
        Copies(Brancher.of(engine.promoter, engine.forgetter, scope)).delete(self.writing.expired)
        engine.housekeeping.queued(home)
        if self.writing.has_added:
            engine.housekeeping.written(scope)
        engine.sources.follow_erasure(scope.owner)


def _with_changes(trace: StepTrace, done: JointDone) -> StepTrace:
    """The trace with what the step changed; that a memory was stored with another state is told by its transition.

    What changes labels is told by the operation with which they changed.
    """
    moved = {one.cube_id for one in done.events if one.operation is Operation.TRANSITION}
    events = [one for one in done.events if one.operation is not Operation.LABEL]
    told = [one for one in events if one.operation is not Operation.REFRESH or one.cube_id not in moved]
    changes = [MadeChange(one.cube_id, one.kind, one.operation, one.version) for one in told]
    return replace(trace, changes=(*trace.changes, *changes), ms=trace.ms + 1000 * done.seconds)


@contextmanager
def _naming(pipeline: Pipeline, number: int, step: PipelineStep) -> Iterator[None]:
    """Let the errors of a step name it. They keep their class, by which callers tell them apart."""
    try:
        yield
    except MemoryOSError as error:
        error.step = f"step {number} ({step.verb})"
        error.args = (f"{pipeline.name}, {error.step}: {_filled(error, pipeline, step)}", *error.args[1:])
        raise


def _filled(error: MemoryOSError, pipeline: Pipeline, step: PipelineStep) -> str:
    """What an error says; of a field that a parameter fills, with the parameter, which becomes the field to change."""
    if isinstance(error, InvalidInput):
        filled = {field: whole_placeholder(value) for field, _, value in fields_of(step)}
        if (name := filled.get(error.field)) in pipeline.declared:
            told = f"{error}; the parameter {name} fills it"
            error.field = f"parameters.{name}"
            return told
    return str(error)
