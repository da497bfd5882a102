"""Denials: whether of two facts one says that the other is not so, or no longer so.

"Is allergic to nuts" and "is not allergic to nuts after all" have the same words but for what denies them. Only what is
told of the present counts: who never baked bread on Monday may have baked some on Friday.
"""

from __future__ import annotations

import re

from memoryos.language.words import HAN, stem
from memoryos.regex import regex
from memoryos.text_cache import text_cache

_NOT = regex(r"\b(?:not|never|no longer|cannot)\b|n't\b|\bany ?more\b|\bany longer\b")
_ADDS_NOTHING = regex(
    r"\b(?:an?|the|any|do|does|did|now|still|really|very|so|actually|just|currently|at all|after all|these days|today"
    r"|any ?more|any longer)\b|\([^)]*\)"
)
_FORMS = {"am": "be", "is": "be", "are": "be", "has": "have"}
_PAST = regex(
    r"\b(?:did(?:n't)?|was|were|had|went|came|made|met|got|took|bought|saw|ate"
    r"|(?<!is )(?<!are )(?<!not )(?!need)\w{2,}ed)\b|过(?!敏)"
)
_NOT_HAN = regex("(?:再也)?不再?")
_ADDS_NOTHING_HAN = regex(r"[了也还都已经现在目前再]|（[^）]*）|[\W_]")


def denies(one: str, other: str) -> bool:
    """Whether the two are the same statement, and just one of them is denied."""
    if _PAST.search(one) or _PAST.search(other):
        return False
    (mine, denied), (yours, is_too) = _bare(one), _bare(other)
    return denied is not is_too and len(mine) > 1 and mine == yours


@text_cache(16_384)
def _bare(text: str) -> tuple[tuple[str, ...], bool]:
    """The words without what denies them, and whether something does."""
    if HAN.search(text):
        return tuple(_ADDS_NOTHING_HAN.sub("", _NOT_HAN.sub("", text))), _NOT_HAN.search(text) is not None
    plain = text.casefold().replace("’", "'").replace("can't", "can not")
    left = _ADDS_NOTHING.sub(" ", _NOT.sub(" ", plain))
    said = re.findall(r"[\w@.+-]*\w", left)
    return tuple(_FORMS.get(word) or stem(word) for word in said), _NOT.search(plain) is not None
