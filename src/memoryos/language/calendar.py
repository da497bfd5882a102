"""The English names of the calendar, independent of the process's language."""

from __future__ import annotations

from datetime import date

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def spoken(day: date) -> str:
    """A date as people write it: 8 May 2023."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
