"""Pipeline answer: what `memory.respond` does, which is the pipeline `respond`; it writes once the answer was given."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.models.chat import Answer
from memoryos.nouns.pipeline_reading import PipelineReading
from memoryos.nouns.pipeline_runner import PipelineRunner
from memoryos.nouns.pipeline_writing import PipelineWriting
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.responder import Augmented
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_file import named_pipeline
from memoryos.operation.pipelines.pipeline_steps import GenerateStep
from memoryos.scope import Scope

RESPOND = "respond"


@dataclass(frozen=True, slots=True)
class PipelineAnswer:
    """One run. The answer goes out in one piece or in several, and nobody waits for what is written after it."""

    runner: PipelineRunner

    @classmethod
    def to(cls, query: str, role: str, engine: Engine, scope: Scope) -> PipelineAnswer:
        """Return the run for a question. Raises InvalidInput and PrivacyRefused."""
        query, role = engine.asked(query, role, scope)
        pipeline = _answering(named_pipeline(RESPOND, engine.settings.pipelines))
        given = {name: text for name, text in (("query", query), ("role", role)) if name in pipeline.declared}
        reading = PipelineReading(engine, scope, pipeline, pipeline.arguments(given), is_rehearsal=False)
        return cls(PipelineRunner(reading, PipelineWriting(reading)))

    def whole(self) -> Answer:
        """Return the answer. Raises ModelNotConfigured, and ModelError if the model fails; then nothing is stored."""
        reading = self.runner.reading
        return reading.engine.responder.answer(self._asked(), reading.scope, self._store)

    def streamed(self) -> AnswerStream:
        """Return the answer in pieces; what follows it is done after the last piece. Raises ModelNotConfigured."""
        reading = self.runner.reading
        return reading.engine.responder.stream(self._asked(), reading.scope, self._store)

    def _asked(self) -> Augmented:
        """Do the steps before the model is asked. Who may only read gets an answer, and what follows is refused."""
        reading = self.runner.reading
        reading.engine.responder.model()
        for number, step in enumerate(reading.pipeline.steps, 1):
            if isinstance(step, GenerateStep):
                break
            reading.do(number, step)
            if reading.has_stopped:
                raise NotFound(f"{RESPOND}, step {number} ({step.verb}): fewer memories were found than at_least")
        reading.count_visits()
        return reading.asked

    def _store(self, answer: Answer) -> None:
        """Do the steps after the answer, in one transaction."""
        reading, writing = self.runner.reading, self.runner.writing
        reading.answered(answer)
        for number, step in enumerate(reading.pipeline.steps, 1):
            if step.is_change:
                writing.plan(number, step, nullcontext)
        if writing.plans:
            self.runner.write()


def _answering(pipeline: Pipeline) -> Pipeline:
    """The pipeline, if it answers. Raises InvalidInput."""
    if not any(isinstance(step, GenerateStep) for step in pipeline.steps):
        raise InvalidInput("pipelines", f"has a pipeline {RESPOND} without a generate step", "Add one, or rename it")
    return pipeline
