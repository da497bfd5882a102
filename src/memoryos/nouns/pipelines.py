"""Pipelines: chains of operations on one owner's memory, run as one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoryos import arguments
from memoryos.caller import Action
from memoryos.errors import InvalidInput, MissingExtra, NotFound
from memoryos.nouns.noun import Noun
from memoryos.nouns.pipeline_reading import PipelineReading
from memoryos.nouns.pipeline_runner import PipelineRunner
from memoryos.nouns.pipeline_writing import PipelineWriting
from memoryos.operation.calls.door import door
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_file import named_files, named_pipeline, read_pipeline
from memoryos.operation.pipelines.pipeline_listing import PipelineListing
from memoryos.operation.pipelines.pipeline_run import PipelineRun


@door
class Pipelines(Noun):
    """Chains of operations on one owner's memory: retrieve, augment, generate, and changes in one transaction."""

    def run(
        self,
        pipeline: Pipeline | Path | str,
        parameters: Mapping[str, Any] | None = None,
        *,
        query: str | None = None,
        dry_run: bool = False,
    ) -> PipelineRun:
        """Run a pipeline, the one in a file (a Path), or the one of that name, and return its result and its trace.

        The steps that read come first: they see the memory as it is then. All changes are one transaction: if a step
        fails, nothing is changed, and the error names the step. `query` is the parameter of that name. A `dry_run`
        undoes the transaction: its trace tells what would change. It does not ask the chat model. Raises InvalidInput,
        PermissionDenied, NotFound if there is no such pipeline, and what the operations of the steps raise.
        """
        self._engine.admit(Action.READ, self._scope)
        wanted = self._named(pipeline)
        if not isinstance(parameters, Mapping | None):
            raise InvalidInput("parameters", f"expected a dict, got {type(parameters).__name__}", "Pass a dict")
        given = {**(parameters or {}), **({} if query is None else {"query": query})}
        known = wanted.arguments(given)
        is_dry = arguments.flag("dry_run", dry_run)
        reading = PipelineReading(self._engine, self._scope, wanted, known, is_dry)
        return PipelineRunner(reading, PipelineWriting(reading)).run()

    def check(self, pipeline: Pipeline | Path | str) -> Pipeline:
        """Check a pipeline, the one in a file (a Path), or the one of that name, without running it, and return it.

        Raises InvalidInput, which names the file, the step, the field and the fix, and NotFound.
        """
        self._engine.admit(Action.READ, self._scope)
        return self._named(pipeline)

    def list(self) -> PipelineListing:
        """List the pipelines that have a name here, by name: ours, and those in the folder of the setting `pipelines`.

        One of the folder takes the place of ours with the same name. The `broken` of the list has what is wrong with
        each file that is none, by its name. Raises NotFound if there is no such folder.
        """
        self._engine.admit(Action.READ, self._scope)
        files, found, broken = named_files(self._engine.settings.pipelines), [], {}
        for name in sorted(files):
            try:
                found.append(read_pipeline(files[name]))
            except (InvalidInput, NotFound, MissingExtra) as error:
                broken[files[name].name] = str(error)
        return PipelineListing(found, broken)

    def _named(self, pipeline: Any) -> Pipeline:
        if isinstance(pipeline, Pipeline):
            return pipeline
        if isinstance(pipeline, Path):
            return read_pipeline(pipeline)
        if not isinstance(pipeline, str):
            problem = f"expected a Pipeline or a name, got {type(pipeline).__name__}"
            raise InvalidInput("pipeline", problem, "Pass Pipeline(...), a Path of a file, or e.g. 'respond'")
        return named_pipeline(pipeline, self._engine.settings.pipelines)
