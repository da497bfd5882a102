"""What is told outright, rather than found in pages: facts and profile fields."""

from __future__ import annotations

from datetime import datetime

from memoryos.cube import Fact, Origin, ProfileField, SemanticType, Subject
from memoryos.infrastructure.vault.contract import Vector
from memoryos.operation.hierarchy.lesson import Lesson
from memoryos.text import checked_text

FIELD_CHARS = 256
VALUE_CHARS = 100_000


def stated_fact(text: str, vector: Vector, *, subject: Subject, at: datetime, origin: Origin) -> Lesson:
    """A fact that the caller states."""
    return Lesson(Fact(subject=subject, text=text), (), at, SemanticType.FACT, origin, vector=vector)


def stated_field(field: str, value: str, *, subject: Subject, at: datetime, origin: Origin) -> Lesson:
    """A profile field that the caller states. Raises InvalidInput for a blank or overlong one."""
    payload = ProfileField(
        subject=subject,
        field=checked_text("field", field, limit=FIELD_CHARS),
        value=checked_text("value", value, limit=VALUE_CHARS),
    )
    return Lesson(payload, (), at, SemanticType.PROFILE, origin)
