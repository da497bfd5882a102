"""Pipeline steps: what a chain may do, each with its fields and with what it takes from the steps before it.

A field holds a value, or a placeholder such as `{query}` that a parameter or an earlier step fills.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar

from memoryos.choice import Choice
from memoryos.errors import InvalidInput
from memoryos.kinds import Kind, Role, UpdateMode
from memoryos.operation.pipelines.step_field import FieldType, placeholders
from memoryos.plain import Plain
from memoryos.text import shown

MOST_MEMORIES = 64  # that a step passes on, and that one run changes
MOST_REWORDED = 4  # memories that one run gives other words or tags: what was derived of each is derived again
DEFAULT_MOST = 8

_KINDS = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE)


class StepPart(Choice):
    """What a step makes, for those after it."""

    MEMORIES = "memories"  # what was found or added
    CONTEXT = "context"  # a text
    PROMPT = "prompt"  # the messages for a chat model
    ANSWER = "answer"  # a text


class PromptForm(Choice):
    """In which form `augment` tells the memories."""

    TEXT = "text"  # as `memory.context` does
    PROMPT = "prompt"  # as messages for the chat model, as `memory.respond` does


def _typed(kind: FieldType, choices: type[Choice] | None = None) -> Mapping[str, Any]:
    return {"type": kind, "choices": choices}


def _chosen(name: str, value: Any, choices: type[Choice]) -> Choice:
    try:
        return choices(value)
    except InvalidInput as error:
        raise InvalidInput(name, error.problem, error.fix) from None


_TEXT, _COUNT, _NAMES = _typed(FieldType.TEXT), _typed(FieldType.COUNT), _typed(FieldType.NAMES)
_MOMENT, _SHARE = _typed(FieldType.MOMENT), _typed(FieldType.SHARE)
_FORM, _MODE, _ROLE = (_typed(FieldType.TEXT, choices) for choices in (PromptForm, UpdateMode, Role))


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStep(Plain):
    """One step of a pipeline."""

    verb: ClassVar[str]  #: its name in a file
    needs: ClassVar[tuple[StepPart, ...]] = ()  #: what it needs from the steps before it
    makes: ClassVar[StepPart | None] = None
    is_change: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for one in fields(self):
            self._check(one.name, getattr(self, one.name), one.metadata)
        self.check_bounds({one.name: getattr(self, one.name) for one in fields(self)})

    def check_bounds(self, told: Mapping[str, Any]) -> None:
        """Raise InvalidInput if values of fields are out of bounds; a placeholder is checked once it is filled."""

    @property
    def made(self) -> StepPart | None:
        """What it makes."""
        return self.makes

    def to_dict(self) -> dict[str, Any]:
        """Return the step as a file has it: its verb, with the fields that differ from their defaults."""
        told = Plain.to_dict(self)
        return {self.verb: {one.name: told[one.name] for one in fields(self) if getattr(self, one.name) != one.default}}

    def _check(self, name: str, value: Any, about: Mapping[str, Any]) -> None:
        if about["choices"] is not None:
            object.__setattr__(self, name, _chosen(name, value, about["choices"]))
        elif value is not None and not placeholders(name, value):
            object.__setattr__(self, name, about["type"].check(name, value))


def fields_of(step: PipelineStep) -> Iterator[tuple[str, FieldType, Any]]:
    """The name, the type and the value of each field."""
    for one in fields(step):
        yield one.name, one.metadata["type"], getattr(step, one.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding(PipelineStep):
    """A step that finds memories."""

    makes: ClassVar[StepPart | None] = StepPart.MEMORIES

    most: int | str = field(default=DEFAULT_MOST, metadata=_COUNT)  #: memories that it passes on
    at_least: int | str = field(
        default=0, metadata=_COUNT
    )  #: if it finds fewer, the run ends there and changes nothing
    tags: Sequence[str] | str = field(default=(), metadata=_NAMES)  #: only what has all of these tags
    since: datetime | str | None = field(default=None, metadata=_MOMENT)  #: only what was said since then
    until: datetime | str | None = field(default=None, metadata=_MOMENT)  #: only what was said until then

    @property
    def found_kinds(self) -> tuple[Kind, ...]:
        """The kinds of the memories that it may find."""
        return (Kind.PAGE,)

    def check_bounds(self, told: Mapping[str, Any]) -> None:
        """Raise InvalidInput if it would pass on none, too many, or fewer than it must."""
        most, least = told["most"], told["at_least"]
        if isinstance(most, int) and not 0 < most <= MOST_MEMORIES:
            raise InvalidInput("most", f"is {most}", f"Pass 1 to {MOST_MEMORIES}")
        if isinstance(most, int) and isinstance(least, int) and least > most:
            raise InvalidInput("at_least", f"is {least}, and most is {most}", "Raise most, or lower it")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveStep(_Finding):
    """Search: a question becomes memories, best first."""

    verb: ClassVar[str] = "retrieve"

    query: str = field(default="{query}", metadata=_TEXT)  #: the question
    kinds: Sequence[str] | str = field(default=(), metadata=_NAMES)  #: page, fact, trait, profile; empty: all of them
    session: str | None = field(default=None, metadata=_TEXT)  #: only this session
    min_score: float | str = field(default=0.0, metadata=_SHARE)  #: leave out what is less relevant
    tokens: int | str | None = field(default=None, metadata=_COUNT)  #: search until this many tokens are filled

    @property
    def found_kinds(self) -> tuple[Kind, ...]:
        """The kinds of the memories that it may find."""
        return tuple(Kind(one) for one in self.kinds) if self.kinds and not isinstance(self.kinds, str) else _KINDS

    def __post_init__(self) -> None:
        _Finding.__post_init__(self)
        if isinstance(self.kinds, str) or self.kinds is None:
            raise InvalidInput("kinds", "is no list", "Write the kinds: what the next step takes depends on them")
        wrong = [one for one in self.kinds if one not in _KINDS]
        if wrong:
            raise InvalidInput("kinds", f"{shown(wrong[0])} is unknown", f"Use {', '.join(_KINDS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStep(_Finding):
    """List pages, oldest first, without those that are archived or frozen."""

    verb: ClassVar[str] = "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentStep(PipelineStep):
    """Tell the memories that were retrieved: as a text, or as the messages for a chat model."""

    verb: ClassVar[str] = "augment"
    needs: ClassVar[tuple[StepPart, ...]] = (StepPart.MEMORIES,)

    form: PromptForm | str = field(default=PromptForm.TEXT, metadata=_FORM)  #: text, or prompt for `generate`
    tokens: int | str | None = field(
        default=None, metadata=_COUNT
    )  #: of a text (default: the setting `context_tokens`)
    role: str | None = field(default=None, metadata=_TEXT)  #: of the model, in a prompt

    @property
    def made(self) -> StepPart | None:
        """What it makes."""
        return StepPart.PROMPT if self.form == PromptForm.PROMPT else StepPart.CONTEXT

    def __post_init__(self) -> None:
        PipelineStep.__post_init__(self)
        if self.tokens is not None and self.form == PromptForm.PROMPT:
            raise InvalidInput("tokens", "is passed with `form: prompt`", "Leave it out: the settings bound prompts")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateStep(PipelineStep):
    """Ask the chat model. A dry run does not ask it."""

    verb: ClassVar[str] = "generate"
    needs: ClassVar[tuple[StepPart, ...]] = (StepPart.PROMPT,)
    makes: ClassVar[StepPart | None] = StepPart.ANSWER


@dataclass(frozen=True, slots=True, kw_only=True)
class AddStep(PipelineStep):
    """Store an exchange, or one side of it."""

    verb: ClassVar[str] = "add"
    is_change: ClassVar[bool] = True

    query: str | None = field(default=None, metadata=_TEXT)  #: what the user said
    response: str | None = field(default=None, metadata=_TEXT)  #: what the assistant said
    tags: Sequence[str] | str = field(default=(), metadata=_NAMES)  #: of the page

    def __post_init__(self) -> None:
        PipelineStep.__post_init__(self)
        if self.query is None and self.response is None:
            raise InvalidInput("query", "is missing, and so is response", "Pass one of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStep(PipelineStep):
    """Give the memories other words, or more of them, and more tags."""

    verb: ClassVar[str] = "update"
    needs: ClassVar[tuple[StepPart, ...]] = (StepPart.MEMORIES,)
    is_change: ClassVar[bool] = True

    text: str = field(metadata=_TEXT)  #: the words
    mode: UpdateMode | str = field(default=UpdateMode.APPEND, metadata=_MODE)  #: append, merge or overwrite
    role: Role | str = field(default=Role.USER, metadata=_ROLE)  #: of a page: whose last turn gets the words
    tags: Sequence[str] | str = field(default=(), metadata=_NAMES)  #: that join those of each memory
    reason: str = field(default="", metadata=_TEXT)  #: kept with the event


@dataclass(frozen=True, slots=True, kw_only=True)
class TagStep(PipelineStep):
    """Give the memories more tags, and leave their words as they are."""

    verb: ClassVar[str] = "tag"
    needs: ClassVar[tuple[StepPart, ...]] = (StepPart.MEMORIES,)
    is_change: ClassVar[bool] = True

    tags: Sequence[str] | str = field(metadata=_NAMES)  #: that join those of each memory
    reason: str = field(default="", metadata=_TEXT)  #: kept with the event

    def check_bounds(self, told: Mapping[str, Any]) -> None:
        """Raise InvalidInput if there is no tag."""
        if not told["tags"]:
            raise InvalidInput("tags", "is empty", "Name at least one tag")


@dataclass(frozen=True, slots=True, kw_only=True)
class _StateStep(PipelineStep):
    """A step that gives the memories another state."""

    needs: ClassVar[tuple[StepPart, ...]] = (StepPart.MEMORIES,)
    is_change: ClassVar[bool] = True

    reason: str = field(default="pipeline", metadata=_TEXT)  #: kept with the transition


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStep(_StateStep):
    """Archive pages: a search finds them unless it has `archive=False`, and its use makes them active again."""

    verb: ClassVar[str] = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeStep(_StateStep):
    """Freeze memories: nothing changes or removes them until they are thawed."""

    verb: ClassVar[str] = "freeze"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireStep(_StateStep):
    """Let memories expire: nothing shows them any more, and a background job removes them as `delete` does."""

    verb: ClassVar[str] = "expire"


STEPS: Mapping[str, type[PipelineStep]] = {
    one.verb: one
    for one in (
        RetrieveStep,
        ListStep,
        AugmentStep,
        GenerateStep,
        AddStep,
        UpdateStep,
        TagStep,
        ArchiveStep,
        FreezeStep,
        ExpireStep,
    )
}
