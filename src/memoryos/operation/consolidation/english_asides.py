"""What English sentences say of their speaker in passing: "I'm Anna from Berlin", "As a vegetarian, I ..."."""

from __future__ import annotations

from collections.abc import Iterator

from memoryos.kinds import SemanticType
from memoryos.operation.consolidation.english_names import introductions
from memoryos.operation.consolidation.english_words import IN_EARNEST
from memoryos.operation.consolidation.statement import PLAIN, Statement
from memoryos.regex import regex

_DIET = regex(
    r"^[Aa]s an? (?P<state>vegan|vegetarian|pescatarian|diabetic|coeliac|celiac)"
    r"(?=,? I(?:'m\b|'ve\b| (?:have|am|eat|don't|do|can't|cannot|avoid|need|often|always|usually)\b)"
    rf"|, I (?:find|love|hate|can|know)\b){IN_EARNEST}"
)


def asides(sentence: str, plain: str) -> Iterator[Statement]:
    """What the sentence says besides: where its speaker comes from, what they do not eat; `plain` is as long."""
    for match in introductions(plain):
        home = match["home"].title() if match["home"].islower() else match["home"]
        yield Statement(sentence[slice(*match.span("told"))], SemanticType.FACT, PLAIN, f"I'm from {home}")
    for match in _DIET.finditer(plain):
        yield Statement(sentence[slice(*match.span())], SemanticType.FACT, PLAIN, f"I'm {match['state']}")
