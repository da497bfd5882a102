"""Pipeline writing: the steps that change memories, each as plans of what one transaction writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memoryos import arguments
from memoryos.about import about
from memoryos.caller import Action
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import Kind, Role, State
from memoryos.nouns.pipeline_reading import PipelineReading
from memoryos.operation.correction.correct import Corrector, Revision
from memoryos.operation.correction.revised import NewWords, SameWords
from memoryos.operation.correction.states import state_step
from memoryos.operation.intake import ingest
from memoryos.operation.intake.page_writer import Arriving
from memoryos.operation.pipelines.pipeline_steps import (
    MOST_MEMORIES,
    MOST_REWORDED,
    AddStep,
    ArchiveStep,
    ExpireStep,
    FreezeStep,
    PipelineStep,
    TagStep,
    UpdateStep,
)
from memoryos.operation.scheduler.joint_step import JointPlan
from memoryos.operation.scheduler.step import Step
from memoryos.scope import Scope

Named = Callable[[], AbstractContextManager[None]]  # makes errors name the step

_STATES: Mapping[type[PipelineStep], State] = {
    ArchiveStep: State.ARCHIVED,
    FreezeStep: State.FROZEN,
    ExpireStep: State.EXPIRED,
}


@dataclass
class PipelineWriting:
    """The plans of one run, in the order in which they are written."""

    reading: PipelineReading
    plans: list[tuple[int, JointPlan]] = field(default_factory=list)  #: each with the number of its step
    homes: set[Scope] = field(default_factory=set)  #: whose memories change
    expired: list[str] = field(default_factory=list)
    has_added: bool = False
    _reworded: int = 0
    _changed: int = 0

    def admit(self, step: PipelineStep) -> None:
        """Ask the gate about a step, before anything is read or a model is asked. Raises PermissionDenied."""
        for action in (Action.WRITE, Action.DELETE) if isinstance(step, ExpireStep) else (Action.WRITE,):
            self.reading.engine.admit(action, self._scope)

    def plan(self, number: int, step: PipelineStep, named: Named) -> None:
        """Check a step, and plan what it writes. Raises what the operation of the same name raises."""
        told = self.reading.filled(step)
        if isinstance(step, AddStep):
            plans = [self._adding(told)]
        elif isinstance(step, UpdateStep | TagStep):
            plans = self._rewording(step, told)
        else:
            plans = self._setting(_STATES[type(step)], told)
        if len(self.homes) > 1:
            problem = "changes memories of this agent and others that agents share, which are not one transaction"
            raise InvalidInput("memories", problem, "Change the pages in one pipeline, and the facts in another")
        self.plans += [(number, JointPlan(one, named)) for one in plans]

    @property
    def _scope(self) -> Scope:
        return self.reading.scope

    @property
    def _corrector(self) -> Corrector:
        return self.reading.engine.corrector(self._scope)

    def _own(self, *, rewords: bool = False) -> Sequence[MemCube]:
        """The memories that change, within the bounds of one run."""
        cubes = self.reading.memories
        self._changed += len(cubes)
        self._reworded += len(cubes) if rewords else 0
        for count, most in ((self._changed, MOST_MEMORIES), (self._reworded, MOST_REWORDED)):
            if count > most:
                problem = f"the run would change {count} memories in a way of which it may change {most}"
                raise InvalidInput("memories", problem, "Lower `most` of the step that finds them")
        return cubes

    def arriving(self, told: Mapping[str, Any]) -> Arriving:
        """What an add step stores."""
        engine, now = self.reading.engine, self.reading.engine.clock()
        privacy, response = engine.privacy(self._scope), told["response"]
        if response is not None and self.reading.answer and privacy.refuses:  # as `respond` stores what a model wrote
            response = privacy.masked(response)
        limit = engine.settings.max_text_chars
        turns = ingest.turns_of(told["query"], response, at=None, attachments=(), now=now, limit=limit)
        names = {Role.USER: "query", Role.ASSISTANT: "response"}
        labels = replace(about(now, tags=told["tags"]), sensitivity=self.reading.about.sensitivity)
        return Arriving(turns, now, labels, fields=[names[turn.role] for turn in turns])

    def _adding(self, told: Mapping[str, Any]) -> Callable[[Reader], Step]:
        entries = self.reading.engine.intake.entries(self._scope, self.arriving(told))
        self.homes.add(self._scope.owner)
        self.has_added = True
        return lambda _: Step(lambda writer: writer.insert(entries), ())

    def _rewording(self, step: UpdateStep | TagStep, told: Mapping[str, Any]) -> list[Callable[[Reader], Step]]:
        engine, corrector, revisions = self.reading.engine, self._corrector, list[Revision]()
        labels, words = about(engine.clock(), tags=told["tags"]), _words(step, told)
        if isinstance(words, NewWords):
            labels = replace(labels, sensitivity=self.reading.about.sensitivity)
        for cube in self._own(rewords=True):
            found, home = corrector.find(cube.id, Action.WRITE)
            if found.kind is Kind.PAGE and corrector.shares_persona:
                problem = "are pages, from which facts that agents share are derived in transactions of their own"
                raise InvalidInput("memories", problem, "Call memory.update for each")
            self.homes.add(home)
            changed = engine.reworded(self._scope, cube.id, words, labels, told["reason"])
            revisions.append(Revision(cube.id, *changed))
        return [corrector.revising(home, revisions)] if revisions else []

    def _setting(self, state: State, told: Mapping[str, Any]) -> list[Callable[[Reader], Step]]:
        engine, corrector, ids = self.reading.engine, self._corrector, [cube.id for cube in self._own()]
        if not ids:
            return []
        cause = engine.said("reason", told["reason"], self._scope, limit=arguments.REASON_CHARS)
        if state is State.EXPIRED:
            ids = list(dict.fromkeys([*ids, *corrector.absorbed(ids)]))
            self.expired += ids
        for one in ids:
            home = corrector.find(one, Action.WRITE)[1]
            self.homes.add(home)
            if state is State.EXPIRED:
                corrector.removable(one)
                corrector.refuse_ends(home, [one])
        return [partial(state_step, ids=ids, state=state, cause=cause)]


def _words(step: UpdateStep | TagStep, told: Mapping[str, Any]) -> NewWords | SameWords:
    return NewWords(told["text"], told["role"], told["mode"]) if isinstance(step, UpdateStep) else SameWords()
