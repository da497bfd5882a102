"""Deaths of pets by their names alone: "Rex died last week".

The sentence has no first person, so it says of its speaker only what else is known of a Rex: its fact is one where the
memory has a fact of a pet with that name.
"""

from __future__ import annotations

from collections.abc import Iterator

from memoryos.kinds import SemanticType
from memoryos.language.pets import DIED, PET, PET_NAME
from memoryos.operation.consolidation.statement import PLAIN, Statement
from memoryos.regex import regex

_WHEN = (
    r"(?P<when>(?: (?:yesterday|today|recently|peacefully|(?:last|this) \w+|in (?:\d{4}|[A-Z]\w+)|on [A-Z]\w+(?: \d+)?"
    r"|of \w+(?: \w+)?|(?:an?|a few|a couple of|two|three|four|five|six|\d+) (?:days?|weeks?|months?|years?) ago"
    r"|at (?:the )?age (?:of )?\d+)){0,3})[.! ]*"
)
_LEAD = r"(?:(?i:sadly|unfortunately|yesterday|today|last \w+|this \w+|so|and),? ){0,2}"
_BY_NAME = rf"{PET_NAME},? (?P<how>{DIED}){_WHEN}"
_DIED = regex(rf"{_LEAD}(?:[Mm]y (?:\w+ )?{PET},? )?{_BY_NAME}")
_BARE = regex(_BY_NAME)
_PUT_DOWN = regex(rf"{_LEAD}(?:I|[Ww]e) had to put {PET_NAME} (?P<down>down|to sleep){_WHEN}")


def deaths(sentence: str, plain: str) -> Iterator[Statement]:
    """That a pet died, if that is all the sentence says; `plain` is as long as the sentence."""
    if found := _DIED.fullmatch(plain):
        told = f"{found['name']} {found['how']}{found['when']}"
    elif found := _PUT_DOWN.fullmatch(plain):
        told = f"{found['name']} was put {found['down']}{found['when']}"
    else:
        return
    yield Statement(sentence, SemanticType.FACT, PLAIN, told)


def is_death(plain: str) -> bool:
    """Whether it tells of a death by a name alone, and so stands in the third person."""
    return _BARE.fullmatch(plain) is not None
