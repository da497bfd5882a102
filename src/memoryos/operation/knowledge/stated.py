"""Stated memories: facts and profile fields that the caller stated instead of pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memoryos.about import about_of
from memoryos.cube import Fact, MemCube, ProfileField, Trait
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Vector
from memoryos.kinds import Kind, Origin, SemanticType, Subject, Tier
from memoryos.models.embedder import Embedder
from memoryos.operation.knowledge.lesson import Learned, Lesson, identities, identity
from memoryos.text import checked_text

FIELD_CHARS = 256
VALUE_CHARS = 100_000


def stated_fact(text: str, vector: Vector, *, subject: Subject, at: datetime, origin: Origin) -> Lesson:
    """A fact that the caller states."""
    return Lesson(Fact(subject=subject, text=text), (), at, SemanticType.FACT, origin, vector=vector, is_told=True)


def stated_field(field: str, value: str, *, subject: Subject, at: datetime, origin: Origin) -> Lesson:
    """A profile field that the caller states. Raises InvalidInput for a blank or overlong one."""
    payload = ProfileField(
        subject=subject,
        field=checked_text("field", field, limit=FIELD_CHARS),
        value=checked_text("value", value, limit=VALUE_CHARS),
    )
    return Lesson(payload, (), at, SemanticType.PROFILE, origin, is_told=True)


def told_in(reader: Reader, lesson: Lesson, new: Collection[str], now: datetime) -> str | None:
    """The id of the memory that says it, in these words or as another wording.

    It is one of the `new` ones, which count also if the caller may not read them, or else the one that was known.
    """
    kind, subject, name = Kind(lesson.payload.type), lesson.payload.subject, identity(lesson.payload)
    made = sorted(reader.whole.get(new).values(), key=lambda cube: cube.id, reverse=True)
    for tier in (Tier.LPM, Tier.ARCHIVE):  # where it is, unless it gave way at once
        stored = [cube for cube in reader.cubes(kind, tiers=[tier], subject=subject) if not cube.is_withdrawn]
        known = [cube for cube in stored if not cube.has_expired(now)] if tier is Tier.LPM else []
        for cube in (*(cube for cube in made if cube.tier is tier), *known, *reversed(stored)):
            if name in identities(cube.payload):
                return cube.id
    return None


def restated(versions: Sequence[MemCube], embedder: Embedder) -> Lesson | None:
    """The caller's last statement of a memory with its labels, which no page can revoke; oldest versions come first.

    It quotes no page: the one that it rested on may be gone.
    """
    for version in reversed(versions):
        if version.descriptive.origin is not Origin.INFERENCE and isinstance(version.payload, Learned):
            is_fact = version.kind is Kind.FACT
            return Lesson(
                payload=unquoted(version.payload),
                pages=(),
                event_at=_last_stated(version),
                semantic_type=version.descriptive.semantic_type,
                origin=version.descriptive.origin,
                vector=embedder.embed([version.text])[0] if is_fact else None,
                mode=version.governance.access.mode,
                about=about_of(versions[-1]),
            )
    return None


def unquoted(payload: Learned) -> Learned:
    """What was learned, without the words of a page that support it."""
    return payload if isinstance(payload, Trait) else replace(payload, quote="")


def _last_stated(cube: MemCube) -> datetime:
    """When it was last said outright, and not in a page."""
    pages = set(cube.descriptive.provenance)
    stated = [mention.said for mention in cube.descriptive.mentions if mention.source not in pages]
    return max(stated, default=cube.descriptive.event_at)
