"""Estimates: values of profile fields that were not said but computed, such as a birth year from an age."""

from __future__ import annotations

from memoryos.cube import ProfileField

_ABOUT = "about "


def about(year: int) -> str:
    """Write a birth year computed from an age, which is right to within a year."""
    return f"{_ABOUT}{year}"


def is_estimate(field: ProfileField) -> bool:
    """Whether the value was computed, so that one which was said is better, whenever that was."""
    return field.field == "birth_year" and field.value.startswith(_ABOUT)
