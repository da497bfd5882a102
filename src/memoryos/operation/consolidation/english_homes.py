"""Where an English sentence says that its speaker lives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memoryos.language.life_changes import MOVED_THERE
from memoryos.language.no_places import NOT_PLACES
from memoryos.operation.consolidation import english_moves
from memoryos.operation.consolidation.english_moves import PLACE
from memoryos.operation.consolidation.english_places import LOWER_PLACE, place
from memoryos.regex import regex

_ADVERBS = r"(?:(?:currently|now|still|just|actually|also|both|happily|presently) )*"
_WITH = r"(?:(?:alone|together|happily|with [^,;:.!?]{2,30}?) )?"
_SOMEWHERE = rf"in (?:(?:the )?{PLACE}|{LOWER_PLACE})"
_OTHERS = r"(?!\b(?:my|his|her|their|he|she|they|who|whose|friend|called|named)\b)"
_HOMES = (
    regex(rf"\b(?:I|[Ww]e) {_ADVERBS}(?:live|reside) {_WITH}{_SOMEWHERE}"),
    regex(rf"\b(?:I'm|I am|Im|[Ww]e're|[Ww]e are) {_ADVERBS}(?:living|based|residing|located) {_WITH}{_SOMEWHERE}"),
    regex(rf"\b(?:I'm|I am|Im) (?:{_OTHERS}[^.!?;]){{2,60}}?\b(?:living|based|residing) {_WITH}{_SOMEWHERE}"),
)
_MOVED_THERE = regex(rf"\b(?:I'm|I am|Im|[Ww]e're|[Ww]e are) {_ADVERBS}(?:living |based )?{_SOMEWHERE}{MOVED_THERE}")
_FOR_LONG = regex(
    rf"\b(?:I've|I have|Ive|[Ww]e've|[Ww]e have) {_ADVERBS}(?:been living|lived) {_WITH}{_SOMEWHERE}"
    r"(?= (?:for|since)\b)(?!.*\b(?:before|until|then|when|but)\b)"
)
# "We sold the house and now rent in Porto": what was done before shares its subject.
_NOW_AT = regex(
    rf"\b(?:I|[Ww]e)(?:'ve|'m|'re| have| am| are)? {_ADVERBS}(?:(?:left|sold|gave up|packed up|moved out of|let go of)"
    rf" [^,;:.!?]{{2,60}}?,? and )?(?:am |are )?(?<!\w)now (?:am |are )?(?:live|living|rent|renting)"
    rf"(?: an? (?:\w+ )?(?:flat|apartment|house|place|room|studio|condo))? {_WITH}{_SOMEWHERE}"
)
_LEFT = regex(rf"\b(?:I|[Ww]e) (?:don't|do not|dont|no longer) live {_SOMEWHERE}")
_WENT = regex(
    rf"\b(?:I|[Ww]e)(?:'ve| have)? {_ADVERBS}(?:moved (?:out of|away from) (?:{PLACE}|{LOWER_PLACE})(?! to\b)"
    rf"|left (?:{PLACE.replace('value', 'behind')}) (?:for good|forever|permanently)\b)"
)
_NO_MORE = regex(r"\s*(?:any ?more|any longer)\b")

Found = tuple[str, int, int]


def homes(plain: str, said_at: datetime) -> Iterator[Found]:
    """The places, each with where the words begin and end that tell it."""
    for pattern in (*_HOMES, _NOW_AT, _MOVED_THERE, _FOR_LONG):
        for match in pattern.finditer(plain):
            yield from _named(match, place(match))
    for match in english_moves.moves(plain, said_at):
        yield from _named(match, place(match, is_known=True))


def left_homes(plain: str) -> Iterator[Found]:
    """The places where the speaker no longer lives."""
    for match in _LEFT.finditer(plain):
        is_over = "no longer" in match.group() or _NO_MORE.match(plain, match.end())
        if is_over and (where := place(match)):
            yield where.rstrip("."), *match.span()
    for match in _WENT.finditer(plain):
        if where := match["behind"] or place(match, is_known=True):
            yield where.rstrip("."), *match.span()


def _named(match: re.Match[str], where: str) -> Iterator[Found]:
    if where and where.split()[0].rstrip(".,") not in NOT_PLACES:
        yield where.rstrip("."), match.start(), match.end() - where.endswith(".")
