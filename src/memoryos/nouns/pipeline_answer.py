"""Pipeline answer: what `memory.respond` does, which is the pipeline `respond`; it stores once the answer was given."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.models.chat import Answer
from memoryos.nouns.pipeline_reading import PipelineReading
from memoryos.nouns.pipeline_writing import PipelineWriting
from memoryos.operation.answer.answer_stream import AnswerStream
from memoryos.operation.answer.responder import Augmented
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_file import named_pipeline
from memoryos.operation.pipelines.pipeline_steps import AddStep, AugmentStep, GenerateStep, RetrieveStep
from memoryos.operation.pipelines.step_field import FieldType
from memoryos.scope import Scope

RESPOND = "respond"

_STEPS = (RetrieveStep, AugmentStep, GenerateStep, AddStep)  # of which the last may be missing: then nothing is stored


@dataclass(frozen=True, slots=True)
class PipelineAnswer:
    """One run. The answer goes out in one piece or in several, and nobody waits for what is stored after it."""

    reading: PipelineReading

    @classmethod
    def to(cls, query: str, role: str, engine: Engine, scope: Scope) -> PipelineAnswer:
        """Return the run for a question. Raises InvalidInput and PrivacyRefused."""
        query, role = engine.asked(query, FieldType.TEXT.check("role", role), scope)
        folder = engine.settings.pipelines  # a folder that is missing has no `respond`: ours answers
        pipeline = _answering(named_pipeline(RESPOND, folder if folder and folder.is_dir() else None))
        given = {name: text for name, text in (("query", query), ("role", role)) if name in pipeline.declared}
        return cls(PipelineReading(engine, scope, pipeline, pipeline.arguments(given), is_rehearsal=False))

    def whole(self) -> Answer:
        """Return the answer. Raises ModelNotConfigured, and ModelError if the model fails; then nothing is stored."""
        return self.reading.engine.responder.answer(self._asked(), self.reading.scope, self._store)

    def streamed(self) -> AnswerStream:
        """Return the answer in pieces; it is stored after the last one. Raises ModelNotConfigured."""
        return self.reading.engine.responder.stream(self._asked(), self.reading.scope, self._store)

    def _asked(self) -> Augmented:
        """Do the steps before the model is asked. Who may only read gets an answer, and storing it is refused."""
        self.reading.engine.responder.model()
        for number, step in enumerate(self.reading.pipeline.steps[: _STEPS.index(GenerateStep)], 1):
            self.reading.do(number, step)
            if self.reading.has_stopped:
                raise NotFound(f"{RESPOND}, step {number} ({step.verb}): fewer memories were found than at_least")
        return self.reading.asked

    def _store(self, answer: Answer) -> None:
        """Count what was found as visited, and store what the last step says."""
        reading = self.reading
        reading.count_visits()
        reading.answered(answer)
        for step in reading.pipeline.steps[_STEPS.index(AddStep) :]:
            reading.engine.intake.store(reading.scope, PipelineWriting(reading).arriving(reading.filled(step)))


def _answering(pipeline: Pipeline) -> Pipeline:
    """The pipeline, if it answers and then only adds. Raises InvalidInput."""
    if tuple(map(type, pipeline.steps)) not in (_STEPS, _STEPS[:-1]):
        verbs = ", ".join(step.verb for step in _STEPS)
        problem = f"has a pipeline {RESPOND} with other steps than {verbs}"
        raise InvalidInput("pipelines", problem, "Write these, in this order; add may be left out")
    return pipeline
