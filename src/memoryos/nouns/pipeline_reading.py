"""Pipeline reading: the steps that find memories, tell them and ask the chat model. None of them changes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memoryos import arguments
from memoryos.about import NOTHING, About
from memoryos.caller import running_call
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.filter import Filter
from memoryos.kinds import Kind, State
from memoryos.models.chat import Answer
from memoryos.models.tokenizer import count_tokens
from memoryos.nouns.selecting import listed, selection
from memoryos.operation.answer.respond import DEFAULT_ROLE, Prompt
from memoryos.operation.answer.responder import Augmented
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_run import StepTrace
from memoryos.operation.pipelines.pipeline_steps import (
    AugmentStep,
    GenerateStep,
    ListStep,
    PipelineStep,
    PromptForm,
    RetrieveStep,
    StepPart,
    fields_of,
)
from memoryos.operation.pipelines.step_field import put_in
from memoryos.operation.recall.context import pack
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.hit import Recall, Strategy
from memoryos.operation.recall.replaced import Replaced
from memoryos.operation.recall.search import Search
from memoryos.scope import Scope

AT_A_TIME = 200  # pages that are looked at
REHEARSED = "(what the chat model would answer)"  # stands for the answer in a dry run
SKIPPED = "skipped"

_LISTED = (State.GENERATED, State.ACTIVATED)


@dataclass
class PipelineReading:
    """What the steps of one run found and made so far."""

    engine: Engine
    scope: Scope
    pipeline: Pipeline
    known: dict[str, Any]  #: what fills placeholders: the parameters, and the texts that steps made
    is_rehearsal: bool
    memories: list[MemCube] = field(default_factory=list)
    about: About = NOTHING  #: what a text that tells memories has of them
    context: str | None = None
    answer: Answer | None = None
    has_stopped: bool = False  #: whether a step found too little
    _visits: list[tuple[Recall, Search, datetime]] = field(default_factory=list)  #: what searches found, and when
    _recalled: Recall | None = None
    _filters: Filters | None = None
    _asked: Augmented | None = None

    def do(self, number: int, step: PipelineStep) -> StepTrace:
        """Do a step, and tell what it made."""
        does: Mapping[type[PipelineStep], Callable[[StepTrace, Mapping[str, Any]], StepTrace]] = {
            RetrieveStep: self._retrieve,
            ListStep: self._list,
            AugmentStep: self._augment,
            GenerateStep: self._generate,
        }
        taken = tuple(cube.id for cube in self.memories) if step.needs == (StepPart.MEMORIES,) else ()
        return does[type(step)](StepTrace(number, step.verb, taken), self.filled(step))

    def filled(self, step: PipelineStep) -> dict[str, Any]:
        """The fields of a step, with what is known in the place of placeholders. Raises InvalidInput."""
        told = {name: put_in(value, self.known) for name, _, value in fields_of(step)}
        step.check_bounds(told)
        return told

    def _retrieve(self, trace: StepTrace, told: Mapping[str, Any]) -> StepTrace:
        engine = self.engine
        text = engine.question(told["query"], self.scope)
        start, end = arguments.period(told["since"], told["until"])
        filters = self._filters = Filters(
            engine.clock(),
            kinds=arguments.kinds(told["kinds"]),
            labels=Filter.of(None, tags=arguments.tags(told["tags"])),
            session=arguments.session(told["session"]),
            since=start,
            until=end,
        )
        budget = arguments.optional("tokens", told["tokens"], least=1) or self._budget
        search = Search(
            Strategy.HYBRID,
            engine.recaller.pages(budget) if budget else told["most"],
            filters,
            reranker=engine.recaller.reranker,
            min_score=told["min_score"],
            tokens=budget,
            least_trust=engine.settings.min_trust,
        )
        engine.responder.wait()  # what was answered a moment ago is part of the memory
        found = engine.recaller.recall(self.scope, text, search, counts=False)
        self._visits.append((found, search, engine.clock()))
        self._recalled = engine.hand.shown(found)
        if call := running_call():
            call.shown.append(self._recalled)
        return self._found(trace, _own(self._recalled)[: told["most"]], told)

    def count_visits(self) -> None:
        """Count what was found as visited then. A run that fails counts nothing, and neither does a dry run."""
        for found, search, at in () if self.is_rehearsal else self._visits:
            self.engine.recaller.count(self.scope, found, search, at)

    @property
    def _budget(self) -> int | None:
        """The tokens that are filled if nothing else is said: those of what `augment` makes."""
        augments = [step for step in self.pipeline.steps if isinstance(step, AugmentStep)]
        told = [put_in(step.tokens, self.known) or self.engine.settings.context_tokens for step in augments]
        return max(told, default=None)

    def _list(self, trace: StepTrace, told: Mapping[str, Any]) -> StepTrace:
        engine, found = self.engine, list[MemCube]()
        only = {name: told[name] for name in ("since", "until", "tags")}
        wanted, cursor = selection(Kind.PAGE, engine.clock(), **only), None
        engine.responder.wait()
        engine.housekeeping.met(self.scope)
        with engine.housekeeping.call(), engine.vault.view(self.scope.owner) as reader:
            while len(found) < told["most"]:
                some = listed(reader, wanted, AT_A_TIME, cursor)
                found += [cube for cube in some if cube.state in _LISTED]
                if (cursor := some.cursor) is None:
                    break
        return self._found(trace, found[: told["most"]], told)

    def _found(self, trace: StepTrace, cubes: list[MemCube], told: Mapping[str, Any]) -> StepTrace:
        self.memories, self.has_stopped = cubes, len(cubes) < told["at_least"]
        return replace(trace, made=tuple(cube.id for cube in cubes))

    def _augment(self, trace: StepTrace, told: Mapping[str, Any]) -> StepTrace:
        assert self._recalled is not None and self._filters is not None  # noqa: S101 - the pipeline was checked
        if told["form"] == PromptForm.PROMPT:
            role = self.engine.privacy(self.scope).question(told["role"] or DEFAULT_ROLE)
            self._asked = self.engine.responder.augment(self._recalled, role, self.scope)
            self.about, messages = self._asked.about, self._asked.prompt.messages
            made = tuple(dict.fromkeys(cube.id for cube in self._asked.prompt.shown))
            return replace(trace, made=made, characters=sum(len(one["content"]) for one in messages))
        known = self.engine.settings
        packed = pack(
            self._recalled,
            arguments.positive("tokens", told["tokens"], known.context_tokens),
            count_tokens,
            today=self._filters.now,
            covers=self._filters.covers,
            pages=known.most_pages,
            abstain_below=known.abstain_below,
            replaced=self._replaced(self._recalled, self._filters),
        )
        shown = tuple(line.cube for line in packed.lines)
        self.about = self.engine.responder.inherit(Prompt((), shown), self.scope)
        self.context = self.known[StepPart.CONTEXT.value] = packed.text
        return replace(trace, made=packed.ids, characters=len(packed.text))

    def _replaced(self, recalled: Recall, filters: Filters) -> Mapping[str, tuple[Replaced, ...]]:
        """What the found pages tell that no longer holds, if facts were searched for."""
        if Kind.FACT not in filters.kinds:
            return {}
        is_narrow = bool(filters.since or filters.until or filters.session or filters.labels.all_of)
        return self.engine.replacements.of(self.scope, recalled, is_narrow=is_narrow)

    @property
    def asked(self) -> Augmented:
        """The messages for the chat model, once they are made."""
        assert self._asked is not None  # noqa: S101 - the pipeline was checked
        return self._asked

    def answered(self, answer: Answer) -> None:
        """Take what the chat model said for the steps after it."""
        self.answer, self.known[StepPart.ANSWER.value] = answer, answer.text

    def _generate(self, trace: StepTrace, _: Mapping[str, Any]) -> StepTrace:
        if self.is_rehearsal:  # it costs tokens, and its usage would be stored
            self.known[StepPart.ANSWER.value] = REHEARSED
            return replace(trace, decision=SKIPPED)
        answer = self.engine.responder.generate(self.asked, self.scope)
        self.answered(answer)
        return replace(trace, characters=len(answer.text))


def _own(recalled: Recall) -> list[MemCube]:
    """The memories of the owner, best first; pages come first if the search was to fill tokens: it ranks no others."""
    ranked = recalled.ranked or (*recalled.hits, *recalled.user_facts, *recalled.agent_facts)
    return list({hit.id: hit.cube for hit in ranked if hit.mount is None}.values())
