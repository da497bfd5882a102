"""LPM: the personas of the user and of the agent (MemoryOS paper, section 3.1).

Each has a profile (static fields), a knowledge base (facts, first in first out) and traits. What is
learned is added, never replaced whole: an exact repeat adds its pages to the support, a new value of
a field becomes a new version, and a fact that no longer fits goes to the archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from uuid_utils.compat import uuid7

from memoryos.config import Settings
from memoryos.cube import (
    Behaviour,
    Descriptive,
    Fact,
    Kind,
    MemCube,
    Origin,
    ProfileField,
    SemanticType,
    Subject,
    Tier,
    Trait,
)
from memoryos.infrastructure.vault.contract import Entry, LinkKind, Operation, Vector, Writer
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.trait import graded
from memoryos.scope import Scope

Learned = Fact | Trait | ProfileField


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something learned from pages, with its vector when it is a fact."""

    payload: Learned
    pages: tuple[str, ...]
    event_at: datetime
    semantic_type: SemanticType
    origin: Origin
    derived_by: str | None = None
    vector: Vector | None = None


class LongTerm:
    """The personas of one owner, within one write transaction."""

    def __init__(self, writer: Writer, scope: Scope, settings: Settings, now: datetime) -> None:
        self._scope = scope.owner
        self._settings = settings
        self._now = now
        self._changes = Changes(writer)
        self._known = {
            identity(cube.payload): cube
            for kind in (Kind.FACT, Kind.TRAIT, Kind.PROFILE)
            for cube in writer.cubes(kind, tiers=[Tier.LPM])
            if isinstance(cube.payload, Learned)
        }
        self._heard = {cube.id: frozenset(cube.descriptive.provenance) for cube in self._known.values()}
        self._corrected = {  # what a user replaced by other words, and the pages that had said it
            identity(old.payload): self._heard[cube.id]
            for cube in self._known.values()
            if cube.version.number > 1 and cube.descriptive.origin is not Origin.INFERENCE
            for old in writer.history(cube.id)
        }

    def learn(self, lessons: Iterable[Lesson]) -> None:
        """Take in what was learned."""
        for lesson in lessons:
            known = self._known.get(identity(lesson.payload))
            if known is None:
                self._add_unless_corrected(lesson)
            else:
                self._support(known, lesson)
        for subject in Subject:
            self._archive_overflow(subject)

    def flush(self) -> None:
        """Write it."""
        self._changes.flush()

    def _add_unless_corrected(self, lesson: Lesson) -> None:
        """Pages that are read again do not bring back what the user corrected."""
        pages = self._corrected.get(identity(lesson.payload), frozenset())
        if not lesson.pages or not pages.issuperset(lesson.pages):
            self._add(lesson)

    def _add(self, lesson: Lesson) -> None:
        cube = MemCube(
            id=str(uuid7()),
            scope=self._scope,
            tier=Tier.LPM,
            payload=lesson.payload,
            descriptive=Descriptive(
                event_at=lesson.event_at,
                recorded_at=self._now,
                updated_at=self._now,
                origin=lesson.origin,
                semantic_type=lesson.semantic_type,
                provenance=lesson.pages,
                derived_by=lesson.derived_by,
                valid_from=lesson.event_at,
            ),
            behaviour=Behaviour(last_access=lesson.event_at, fingerprint=keywords(lesson.payload.text)),
        )
        self._known[identity(lesson.payload)] = cube
        self._changes.add(Entry(cube, lesson.vector))
        self._link(cube, lesson.pages)

    def _support(self, known: MemCube, lesson: Lesson) -> None:
        """Add the lesson's pages to what supports a known memory; a later, different value revises it."""
        if lesson.pages and self._heard.get(known.id, frozenset()).issuperset(lesson.pages):
            return  # these pages were read before: the job runs again after a crash
        fresh = [page for page in lesson.pages if page not in known.descriptive.provenance]
        provenance = (*known.descriptive.provenance, *fresh)
        payload = _later(known, lesson, len(provenance))
        revised = payload.text != known.text
        # What is stated outright stays when the pages go that say it too.
        origin = lesson.origin if revised or not lesson.pages else known.descriptive.origin
        if not fresh and payload == known.payload and origin is known.descriptive.origin:
            return
        cube = replace(
            known,
            payload=payload,
            descriptive=replace(
                known.descriptive,
                provenance=provenance,
                origin=origin,
                updated_at=self._now,
                event_at=max(known.descriptive.event_at, lesson.event_at),
            ),
            version=replace(known.version, number=known.version.number + revised),
        )
        self._known[identity(payload)] = cube
        operation = Operation.REVISE if revised else Operation.REFRESH
        self._changes.change(Entry(cube, lesson.vector), operation)
        self._link(cube, fresh)

    def _archive_overflow(self, subject: Subject) -> None:
        facts = [cube for cube in self._known.values() if cube.kind is Kind.FACT and cube.subject is subject]
        overflow = facts[: max(0, len(facts) - self._settings.knowledge_capacity)]
        for cube in overflow:
            del self._known[identity(cube.payload)]
        self._changes.move(overflow, Tier.ARCHIVE)

    def _link(self, cube: MemCube, pages: Sequence[str]) -> None:
        for page in pages:
            self._changes.link(cube.id, LinkKind.DERIVED_FROM, page)


def identity(payload: object) -> tuple[str, ...]:
    """What makes two learned things the same memory: equal facts, the same dimension, the same field."""
    if isinstance(payload, Fact):
        return (payload.type, payload.subject, " ".join(payload.text.casefold().split()))
    if isinstance(payload, Trait):
        return (payload.type, payload.subject, payload.dimension)
    if isinstance(payload, ProfileField):
        return (payload.type, payload.subject, payload.field)
    raise TypeError(f"{type(payload).__name__} is no part of a persona")


def _later(known: MemCube, lesson: Lesson, support: int) -> Learned:
    """The payload after the lesson: facts stay, traits grow with their support, the later field value wins."""
    new = lesson.payload
    if isinstance(new, Trait):
        level, confidence = graded(support)
        return replace(new, level=level, confidence=confidence)
    is_earlier = lesson.event_at < known.descriptive.event_at
    old = known.payload
    return old if isinstance(old, Fact) or (isinstance(old, ProfileField) and is_earlier) else new
