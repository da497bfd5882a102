"""Tenure: since when the value of a profile field holds, and whether it is over.

A later value takes the place of the one before from the moment it was said, and what is said to be over ("I'm not a
waiter anymore", "I lost my job") ends with that moment. A field that is over keeps its value, so that what was said
before the end does not bring it back, in whatever order pages are read.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from memoryos.cube import Descriptive, MemCube, ProfileField
from memoryos.language.occupations import is_one
from memoryos.operation.hierarchy.estimate import is_estimate
from memoryos.operation.knowledge.lesson import Lesson

_MOMENT = timedelta(microseconds=1)


def first_told(lesson: Lesson) -> Descriptive:
    """The times of a field that was not known before; one that is over ended when that was said."""
    said = lesson.event_at - _MOMENT if lesson.is_over else lesson.event_at
    return Descriptive(
        event_at=said,
        recorded_at=said,
        updated_at=said,
        origin=lesson.origin,
        semantic_type=lesson.semantic_type,
        valid_from=said,
        valid_to=lesson.event_at if lesson.is_over else None,
    )


def told(known: MemCube, old: ProfileField, lesson: Lesson, new: ProfileField) -> MemCube:
    """The field as it is after the lesson."""
    if lesson.is_over:
        return _ended(known, old, lesson, new)
    if known.descriptive.valid_to is not None:
        return _taken_up(known, old, lesson, new)
    wins = _wins(known, old, lesson, new)
    return _holding(known, old, lesson, new) if wins or old.value == new.value else _heard(known, lesson)


def _wins(known: MemCube, old: ProfileField, lesson: Lesson, new: ProfileField) -> bool:
    """Whether the new value takes the place of the old one: the later does, but what was said beats an estimate."""
    if is_estimate(old) != is_estimate(new):
        return is_estimate(old)
    return lesson.event_at >= known.descriptive.event_at


def _ended(known: MemCube, old: ProfileField, lesson: Lesson, new: ProfileField) -> MemCube:
    if not _is_meant(old, new) or lesson.event_at < known.descriptive.event_at:
        return known
    end = max(lesson.event_at, known.descriptive.event_at + _MOMENT)
    earliest = min(end, known.descriptive.valid_to or end)
    return replace(known, descriptive=replace(known.descriptive, valid_to=earliest))


def _is_meant(old: ProfileField, new: ProfileField) -> bool:
    """Whether the end of the new value is one of the old, too; an empty value stands for whichever there was."""
    is_alike = new.field == "occupation" and is_one(old.value, new.value)
    return not new.value or is_alike or new.value.casefold() == old.value.casefold()


def _taken_up(known: MemCube, old: ProfileField, lesson: Lesson, new: ProfileField) -> MemCube:
    """A field that is over: a later value opens it again, and so does one that the end did not mean."""
    end, is_other = known.descriptive.valid_to, old.value.casefold() != new.value.casefold()
    was_never_held = known.version.number == 1 and bool(old.value)  # all that is known is that it is not this one
    if end is None or lesson.event_at > end or (is_other and (was_never_held or _in_one_breath(lesson, end))):
        return _holding(known, old, lesson, new)
    return replace(known, payload=new) if not old.value else known


def _in_one_breath(lesson: Lesson, end: datetime) -> bool:
    """Whether it was said together with the end: "I quit my job, I work as a cook now"."""
    return end - _MOMENT <= lesson.event_at <= end


def _holding(known: MemCube, old: ProfileField, lesson: Lesson, new: ProfileField) -> MemCube:
    """The field with this value, open."""
    before, said = known.descriptive, lesson.event_at
    goes_on = old.value == new.value and before.valid_to is None
    since = min(before.valid_from or said, said) if goes_on else said
    now = replace(before, event_at=max(before.event_at, said), valid_from=since, valid_to=None)
    return replace(known, payload=new if lesson.event_at >= before.event_at or not goes_on else old, descriptive=now)


def _heard(known: MemCube, lesson: Lesson) -> MemCube:
    """The field with its value, after another value was stated for another time."""
    last = max(known.descriptive.event_at, lesson.event_at)
    return replace(known, descriptive=replace(known.descriptive, event_at=last))
