"""What English sentences say of their speaker in passing: "I'm Anna from Berlin", "As a vegetarian, I ..."."""

from __future__ import annotations

from collections.abc import Iterator

from memoryos.kinds import SemanticType
from memoryos.language.no_places import NOT_PLACES
from memoryos.operation.consolidation.english_moves import PLACE
from memoryos.operation.consolidation.english_names import names
from memoryos.operation.consolidation.english_places import LOWER_PLACE, place
from memoryos.operation.consolidation.statement import PLAIN, Statement
from memoryos.regex import regex

_FROM = regex(rf"\b(?:I'm|I am|Im) \w+(?: [A-Z]\w+)?,? from (?:{PLACE}|{LOWER_PLACE})(?=\s*(?:[.,;!)(]|$| and\b))")
_DIET = regex(
    r"^[Aa]s an? (?P<state>vegan|vegetarian|pescatarian|diabetic|coeliac|celiac),? I"
    r"(?='m\b|'ve\b| (?:have|am|eat|find|don't|do|can|can't|cannot|avoid|know|love|hate|need|often|always|usually)\b)"
)


def asides(sentence: str, plain: str) -> Iterator[Statement]:
    """What the sentence says besides: where its speaker comes from, what they do not eat; `plain` is as long."""
    introduced = next((end for _, _, end in names(plain)), 0) if " from " in plain else 0
    for match in _FROM.finditer(plain) if introduced else ():
        where = place(match, is_known=True)
        if where and where.split()[0] not in NOT_PLACES and match.start() < introduced:
            yield Statement(sentence[slice(*match.span())], SemanticType.FACT, PLAIN, f"I'm from {where}")
    for match in _DIET.finditer(plain):
        yield Statement(sentence[slice(*match.span())], SemanticType.FACT, PLAIN, f"I'm {match['state']}")
