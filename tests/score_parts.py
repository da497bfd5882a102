"""The parts of a passage's score that have a weight, in their order."""

from __future__ import annotations

PARTS = [
    *("words", "meaning", "speaker", "when", "day", "identifier"),
    *("own", "asks", "answers", "opens", "first", "length"),
]
