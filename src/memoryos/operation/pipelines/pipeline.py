"""Pipeline: a named chain of steps with typed parameters, checked when it is made.

Steps that find, tell and ask come first. Those that change something come behind them: they are one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.frozen_dict import FrozenDict
from memoryos.kinds import Kind
from memoryos.operation.pipelines.pipeline_steps import (
    STEPS,
    ArchiveStep,
    AugmentStep,
    PipelineStep,
    PromptForm,
    RetrieveStep,
    StepPart,
    TagStep,
    UpdateStep,
    fields_of,
)
from memoryos.operation.pipelines.step_field import FieldType, names_told, placeholders, whole_placeholder
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.text import nearest, shown

MOST_STEPS = 16
MOST_PARAMETERS = 32

_NAME = regex(r"[a-z0-9][a-z0-9-]{0,63}")
_PARAMETER = regex(r"[a-z][a-z0-9_]{0,63}")
_MADE_TEXTS = {
    StepPart.CONTEXT.value: StepPart.CONTEXT,
    StepPart.ANSWER.value: StepPart.ANSWER,
}  # names that no parameter may have
_IN_TEXT = (FieldType.TEXT, FieldType.COUNT, FieldType.MOMENT)  # what may stand within a longer text
_REWORDING = (UpdateStep, TagStep)  # of each, what was derived of pages is derived again: once in a run
_MAKERS = {
    StepPart.MEMORIES: "a retrieve or list step",
    StepPart.CONTEXT: "an augment step",
    StepPart.PROMPT: "an augment step with `form: prompt`",
    StepPart.ANSWER: "a generate step",
}


@dataclass(frozen=True, slots=True)
class PipelineParameter(Plain):
    """What a run of a pipeline is given."""

    type: FieldType | str  #: what its value is: text, count, share, moment or names
    default: Any = None  #: the value without an argument; None: it must be given
    description: str = ""  #: what it means, for those who run the pipeline

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "type", FieldType(self.type))
        except InvalidInput as error:
            raise InvalidInput("type", error.problem, error.fix) from None
        FieldType.TEXT.check("description", self.description)
        if self.default is not None:
            object.__setattr__(self, "default", FieldType(self.type).check("default", self.default))


@dataclass(frozen=True, slots=True)
class Pipeline(Plain):
    """A chain of steps. Raises InvalidInput, which names the step and the field."""

    name: str  #: name, in lower-case letters, digits and hyphens
    steps: Sequence[PipelineStep]  #: its steps, in their order
    version: int = 1  #: number of the version, noted with each run
    parameters: Mapping[str, PipelineParameter | FieldType | str] = field(
        default_factory=dict, hash=False
    )  #: its parameters, by name
    description: str = ""  #: what it does, for those who run it

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            fix = "Use 1 to 64 lower-case letters, digits and hyphens"
            raise InvalidInput("name", f"{shown(self.name)} is no name of a pipeline", fix)
        if not isinstance(self.version, int) or isinstance(self.version, bool) or self.version < 1:
            raise InvalidInput("version", f"{shown(self.version)} is no version", "Write 1, 2, 3 ...")
        object.__setattr__(self, "description", FieldType.TEXT.check("description", self.description))
        object.__setattr__(self, "parameters", _declared(self.parameters))
        object.__setattr__(self, "steps", _chain(self.steps))
        made: dict[StepPart, PipelineStep] = {}
        for number, step in enumerate(self.steps, 1):
            with_number = f"step {number} ({step.verb})"
            _check_place(with_number, step, self.steps[: number - 1], made)
            for problem in self._wrong_fields(step, made):
                raise InvalidInput(f"{with_number}.{problem.field}", problem.problem, problem.fix)
            if step.made:
                made[step.made] = step

    def to_dict(self) -> dict[str, Any]:
        """Return the pipeline as a file has it."""
        steps = [step.to_dict() for step in self.steps]
        told = {name: one.to_dict() for name, one in self.declared.items()}
        parts = {"name": self.name, "version": self.version, "description": self.description}
        return {**parts, "parameters": told, "steps": steps}

    @property
    def declared(self) -> Mapping[str, PipelineParameter]:
        """The parameters, by name."""
        return {name: one for name, one in self.parameters.items() if isinstance(one, PipelineParameter)}

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the parameters, with their defaults. Raises InvalidInput."""
        for name in given:
            if name not in self.declared:
                hint = " or ".join(nearest(str(name), tuple(self.declared)))
                fix = f"Did you mean {hint}?" if hint else f"The parameters are: {names_told(tuple(self.declared))}"
                raise InvalidInput(f"parameters.{name}", f"{self.name} has no such parameter", fix)
        found = {}
        for name, one in self.declared.items():
            value = given.get(name)
            if value is None and one.default is None:
                raise InvalidInput(f"parameters.{name}", f"is missing: {self.name} needs it", f"Pass a {one.type}")
            found[name] = one.default if value is None else FieldType(one.type).check(f"parameters.{name}", value)
        return found

    def _wrong_fields(self, step: PipelineStep, made: Mapping[StepPart, PipelineStep]) -> Iterator[InvalidInput]:
        for name, kind, value in fields_of(step):
            for used in placeholders(name, value):
                if wrong := self._wrong_use(name, kind, used, made, is_whole=whole_placeholder(value) == used):
                    yield wrong

    def _wrong_use(
        self, name: str, kind: FieldType, used: str, made: Mapping[StepPart, PipelineStep], *, is_whole: bool
    ) -> InvalidInput | None:
        """What is wrong with a placeholder in a field."""
        if part := _MADE_TEXTS.get(used):
            if part not in made:
                return InvalidInput(name, f"{{{used}}} is not made before it", f"Put {_MAKERS[part]} before it")
            given = FieldType.TEXT
        elif used in self.declared:
            given = FieldType(self.declared[used].type)
        else:
            known = names_told(tuple(self.declared))
            return InvalidInput(name, f"{{{used}}} is no parameter", f"Declare it; declared are: {known}")
        if given is kind or (kind is FieldType.TEXT and not is_whole and given in _IN_TEXT):
            return None
        return InvalidInput(name, f"is a {kind}, and {{{used}}} is a {given}", f"Use a parameter of the type {kind}")


def _declared(given: Any) -> FrozenDict[str, PipelineParameter]:
    if not isinstance(given, Mapping) or len(given) > MOST_PARAMETERS:
        raise InvalidInput("parameters", f"are no mapping of at most {MOST_PARAMETERS}", "Write e.g. {'query': 'text'}")
    found = {}
    for name, one in given.items():
        if not isinstance(name, str) or not _PARAMETER.fullmatch(name) or name in _MADE_TEXTS:
            fix = f"Use lower-case letters, digits and _, and another name than {names_told(tuple(_MADE_TEXTS))}"
            raise InvalidInput("parameters", f"{shown(name)} is no name of a parameter", fix)
        try:
            found[name] = one if isinstance(one, PipelineParameter) else PipelineParameter(one)
        except InvalidInput as error:
            raise InvalidInput(f"parameters.{name}", error.problem, error.fix) from None
    return FrozenDict(found)


def _chain(given: Any) -> tuple[PipelineStep, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not 0 < len(given) <= MOST_STEPS:
        raise InvalidInput("steps", f"are no list of 1 to {MOST_STEPS} steps", "List them")
    for number, step in enumerate(given, 1):
        if type(step) not in STEPS.values():
            raise InvalidInput(f"step {number}", f"is a {type(step).__name__}", "Pass e.g. RetrieveStep()")
    return tuple(given)


def _check_place(
    named: str, step: PipelineStep, before: Sequence[PipelineStep], made: Mapping[StepPart, PipelineStep]
) -> None:
    """Raise InvalidInput if the step does not fit those before it."""
    if not step.is_change and any(one.is_change for one in before):
        raise InvalidInput(named, "comes after a step that changes something", "Put it before: changes come last")
    if isinstance(step, _REWORDING) and any(isinstance(one, _REWORDING) for one in before):
        raise InvalidInput(named, "is the second step with other words or tags", "Write one update, with text and tags")
    for part in step.needs:
        if part not in made:
            last = f"; the step before it makes {before[-1].made}" if before and before[-1].made else ""
            raise InvalidInput(
                named, f"needs {part}, which no step before it makes{last}", f"Put {_MAKERS[part]} first"
            )
    finding = made.get(StepPart.MEMORIES)
    if isinstance(step, AugmentStep) and not isinstance(finding, RetrieveStep):
        raise InvalidInput(
            named, "needs what a search found, and the step before it lists", "Put a retrieve step first"
        )
    if isinstance(step, AugmentStep) and step.role is not None and step.form != PromptForm.PROMPT:
        raise InvalidInput(f"{named}.role", "is passed without `form: prompt`", "Add it, or leave the role out")
    if isinstance(step, ArchiveStep) and isinstance(finding, RetrieveStep) and set(finding.found_kinds) != {Kind.PAGE}:
        raise InvalidInput(named, "takes pages, and the retrieve step finds others, too", "Write there kinds: [page]")
