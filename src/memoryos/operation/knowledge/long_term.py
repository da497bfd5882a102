"""LPM: the personas of the user and of the agent (MemoryOS paper, section 3.1).

Each has a profile (static fields), a knowledge base (facts, first in first out) and traits. What is
learned is added, never replaced whole: an exact repeat adds its pages to the support, a new value of
a field becomes a new version, and a fact that no longer fits goes to the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from uuid_utils.compat import uuid7

from memoryos.about import about_of
from memoryos.config import Settings
from memoryos.cube import Behaviour, Fact, MemCube, ProfileField, Trait, ends_earlier, is_opened
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import Kind, Origin, Subject, Tier
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.knowledge.carried import CarriedChains
from memoryos.operation.knowledge.fact_base import Knowledge
from memoryos.operation.knowledge.frozen import refuse_statement
from memoryos.operation.knowledge.lesson import Identity, Lesson, identity, lesson_of
from memoryos.operation.knowledge.likeness import Verdicts
from memoryos.operation.knowledge.rivals import is_beside_hidden
from memoryos.operation.knowledge.tally import Tally, count
from memoryos.operation.knowledge.tenure import first_told, told
from memoryos.operation.knowledge.trait import graded
from memoryos.operation.scheduler.step import Step
from memoryos.scope import Scope


def nothing(_: Writer) -> None:
    """Nothing to check, and nothing to write."""


class LongTerm:
    """The personas of one owner, as a plan leaves them.

    The plan is made with a reader, so that others can write meanwhile; `changes` are those it begins with, and
    `carried` are the facts that exclude each other as an earlier part of the same operation left them.
    """

    def __init__(
        self,
        reader: Reader,
        scope: Scope,
        settings: Settings,
        now: datetime,
        verdicts: Verdicts | None = None,
        changes: Changes | None = None,
        carried: CarriedChains | None = None,
    ) -> None:
        self._scope = scope.owner
        self._settings = settings
        self._now = now
        self._changes = changes or Changes(reader)
        known = self._changes.left(reader.cubes(Kind.FACT, tiers=[Tier.LPM]))
        facts = [cube for cube in known if not is_beside_hidden(reader, cube)]
        self._carried = carried or CarriedChains()
        chains = self._carried.take(reader, self._scope)
        self._knowledge = Knowledge(reader, self._changes, self._scope, now, facts, verdicts, chains)
        self._known: dict[Identity, MemCube] = {}
        self._doubles: dict[Identity, list[MemCube]] = {}  # stated by callers who could not read what is known
        for kind in (Kind.TRAIT, Kind.PROFILE):
            for cube in self._changes.left(reader.cubes(kind, tiers=[Tier.LPM])):
                if self._known.setdefault(identity(cube.payload), cube) is not cube:
                    self._doubles.setdefault(identity(cube.payload), []).append(cube)
        self._heard = {cube.id: frozenset(cube.descriptive.provenance) for cube in self._known.values()}
        self._corrected = {  # what a user replaced by other words, and the pages that had said it
            identity(old.payload): frozenset(cube.descriptive.provenance)
            for cube in (*facts, *self._known.values())
            if cube.version.number > 1 and cube.descriptive.origin is not Origin.INFERENCE
            for old in reader.history(cube.id)
            if identity(old.payload) != identity(cube.payload)  # else only its labels changed
        }

    def learn(self, lessons: Iterable[Lesson]) -> None:
        """Take in what was learned. An empty answer teaches nothing."""
        for lesson in lessons:
            if lesson.is_blank or self._was_corrected(lesson):
                continue
            if isinstance(lesson.payload, Fact):
                self._knowledge.learn(lesson)
            elif (known := self._known.get(identity(lesson.payload))) is None:
                if not lesson.only_contradicts:
                    self._add(lesson)
            else:
                self._support(self._folded(known), lesson)
        for subject in Subject:
            self._knowledge.overflow(subject, self._settings.knowledge_capacity)

    def resettle(self, groups: Iterable[Sequence[MemCube]]) -> None:
        """Put facts that exclude each other into order again, after some of them were removed."""
        self._knowledge.close()
        for group in groups:
            self._knowledge.resettle(group)

    def accept(self, proposal: MemCube) -> None:
        """Make a change that was proposed."""
        self._knowledge.accept(proposal)
        for subject in Subject:
            self._knowledge.overflow(subject, self._settings.knowledge_capacity)

    @property
    def added(self) -> set[str]:
        """The new cubes of the plan, until it is written."""
        return self._changes.added

    @property
    def touched(self) -> set[str]:
        """The stored cubes that the plan changes or removes."""
        return self._changes.touched

    def ended(self) -> list[str]:
        """The stored memories that the plan lets end earlier."""
        return [new.id for old, new in self._changes.altered() if ends_earlier(old, new)]

    def opened(self) -> list[str]:
        """The stored memories of which the plan permits more."""
        return [new.id for old, new in self._changes.altered() if is_opened(old, new)]

    def settle(self) -> None:
        """End the plan: nothing is read after it."""
        self._knowledge.settle()

    def ahead(self) -> list[Callable[[Writer], None]]:
        """What of a very large plan may be written before the rest, each a transaction; to be called after `settle`."""
        return self._changes.ahead()

    def flush(self, writer: Writer) -> Tally:
        """Write it, with the counts; returns them."""
        self._changes.flush(writer)
        count(writer, self._knowledge.tally)
        return self._knowledge.tally

    def pass_on(self, writer: Writer) -> None:
        """Write it, and carry the facts that exclude each other to the next part of the operation."""
        self.flush(writer)
        self._carried.leave(writer, self._scope, self._knowledge.chains)

    def step(self, check: Callable[[Writer], None] = nothing, end: Callable[[Writer], None] = nothing) -> Step:
        """The step that writes it; to be called after `settle`.

        `check` comes first in each transaction, and may raise; `end` comes last in the last one.
        """

        def write(writer: Writer) -> None:
            check(writer)
            self.pass_on(writer)
            end(writer)

        return Step(write, self.touched, ahead=[partial(_checked, check, part) for part in self.ahead()])

    def _was_corrected(self, lesson: Lesson) -> bool:
        """Whether the user corrected what these pages say: read again, they do not bring it back."""
        pages = self._corrected.get(identity(lesson.payload), frozenset())
        return bool(lesson.pages) and pages.issuperset(lesson.pages)

    def _add(self, lesson: Lesson) -> None:
        cube = MemCube(
            id=str(uuid7()),
            scope=self._scope,
            tier=Tier.LPM,
            payload=lesson.payload,
            descriptive=replace(
                first_told(lesson),
                recorded_at=self._now,
                updated_at=self._now,
                provenance=lesson.pages,
                derived_by=lesson.derived_by,
            ),
            behaviour=Behaviour(last_access=lesson.event_at, fingerprint=keywords(lesson.payload.text)),
        )
        cube = lesson.about.describe(cube)
        self._known[identity(lesson.payload)] = cube
        self._changes.add(Entry(cube))
        self._link(cube, lesson.pages)

    def _folded(self, known: MemCube) -> MemCube:
        """The memory with what was stated of the same thing beside it: the later value holds, and the labels of all."""
        name = identity(known.payload)
        doubles = self._doubles.pop(name, [])
        held = self._changes.reader.whole.retention.held(one.id for one in doubles)
        for double in doubles:
            if not (known.is_frozen or double.is_frozen or double.id in held):
                self._support(known, lesson_of(double))
                known = self._known[name] = about_of(double).add_to(self._known[name])
                self._changes.change(Entry(known), Operation.REFRESH)
                self._changes.remove(double.id)
        return known

    def _support(self, known: MemCube, lesson: Lesson) -> None:
        """Add the lesson's pages to what supports a known memory; a later, different value revises it.

        A frozen memory stays as it is. Raises CubeProtected if a caller states another value.
        """
        if known.is_frozen:
            refuse_statement(known, lesson)
            return
        if lesson.pages and self._heard.get(known.id, frozenset()).issuperset(lesson.pages):
            return  # these pages were read before: the job runs again after a crash
        heard = set(known.descriptive.provenance)
        fresh = [page for page in lesson.pages if page not in heard]
        provenance = (*known.descriptive.provenance, *fresh)
        later = lesson.about.extend(_later(known, lesson, provenance), is_stated=lesson.is_told or lesson.is_published)
        later = lesson.about.add_to(later, is_told=lesson.is_told)
        if lesson.is_over and later is known:
            return  # it ends another value than this one
        revised = _said(later) != _said(known)
        # What is stated outright stays when the pages go that say it too.
        origin = lesson.origin if revised or not lesson.pages else known.descriptive.origin
        is_same = later.payload == known.payload and later.descriptive.tags == known.descriptive.tags
        if not fresh and is_same and not revised and origin is known.descriptive.origin:
            return
        cube = replace(
            later,
            descriptive=replace(later.descriptive, provenance=provenance, origin=origin, updated_at=self._now),
            version=replace(known.version, number=known.version.number + revised),
        )
        self._known[identity(cube.payload)] = cube
        if revised:
            self._changes.revise(Entry(cube))
            self._link(cube, fresh)
        else:
            self._changes.rest(cube, fresh)

    def _link(self, cube: MemCube, pages: Sequence[str]) -> None:
        for page in pages:
            self._changes.link(cube.id, LinkKind.DERIVED_FROM, page)


def _checked(check: Callable[[Writer], None], part: Callable[[Writer], None], writer: Writer) -> None:
    check(writer)
    part(writer)


def _said(cube: MemCube) -> tuple[str, datetime | None]:
    """The text and the end of its validity: a change of either is a new version."""
    return cube.text, cube.descriptive.valid_to


def _later(known: MemCube, lesson: Lesson, support: Sequence[str]) -> MemCube:
    """The memory after the lesson: traits change with their support, and the later field value wins."""
    old, new = known.payload, lesson.payload
    if isinstance(old, ProfileField) and isinstance(new, ProfileField):
        return told(known, old, lesson, new)
    payload = _grown(old, lesson, new, support) if isinstance(old, Trait) and isinstance(new, Trait) else new
    last = max(known.descriptive.event_at, lesson.event_at)
    return replace(known, payload=payload, descriptive=replace(known.descriptive, event_at=last))


def _grown(old: Trait, lesson: Lesson, new: Trait, support: Sequence[str]) -> Trait:
    counter = (*old.counter, *(page for page in new.counter if page not in old.counter))
    level, confidence = graded(len(support) - len(counter), len(counter))
    changed_at = lesson.event_at if level is not old.level else old.changed_at
    reason = old.reason if lesson.only_contradicts else new.reason
    return replace(old, level=level, confidence=confidence, reason=reason, counter=counter, changed_at=changed_at)
