"""Moves that an English sentence tells as done: "I moved to Lisbon last week".

A move that was only planned, that another one follows or that was not for good says nothing of where somebody lives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memoryos.language.leading_time import without_leading_time
from memoryos.language.times import untimed
from memoryos.language.yearly import without_yearly
from memoryos.operation.consolidation.english_clauses import starts
from memoryos.operation.consolidation.english_places import LOWER_PLACE
from memoryos.regex import regex

PLACE = r"(?P<value>[A-Z][\w'.-]*(?:,? (?:of |de |la )?(?!(?:I|My|We|But|And|So|You|It)\b)[A-Z][\w'-]*)*)"

_MOVED = regex(
    r"\b(?:I|[Ww]e)(?:'ve| have)? (?:(?:just|recently|finally|actually|already|also|now|officially|permanently) )*"
    r"(?:(?:left|sold|packed|quit|finished|graduated|resigned|got|found|took|changed)\b[^,;:.]{0,60}? and )?"
    r"(?:moved|relocated)(?: (?:back|over|out|down|up|away|here|house))?"
    rf"(?: with [^,;:.]{{2,30}}?)?(?: (?:from|out of) [^,;:.]{{2,40}}?)?"
    rf"(?: to (?:the )?| into (?:an?|our|my|the) (?:\w+ )?(?:flat|apartment|house|place|home|condo|studio|room) in )"
    rf"(?:{PLACE}|{LOWER_PLACE})"
)
# "I don't live in Prague anymore, moved back to Brno": who moved is told by what stands before.
_MOVED_ON = regex(
    rf"(?:^|(?<=anymore, ))(?:(?:just|finally|recently) )?[Mm]oved (?:back )?to (?:the )?(?:{PLACE}|{LOWER_PLACE})"
)
_NO_HOME = regex(
    r" (?:team|department|office|branch|project|role|position|group|app|server|version|plan|channel|room|class|desk"
    r"|building|side|section|division|unit|shift|list|tab|folder|calendar|league|tier)\b"
)
# Around a move: it was long ago, did not last, or is not what the sentence tells.
_OF_THE_PAST = regex(
    r"\b(?:when|while|before|after|until|till|once"
    r"|as an? (?:\w+ )?(?:kid|child|teen\w*|boy|girl|baby|student|young \w+)"
    r"|at (?:the )?age|aged?|in my (?:\w+ )?(?:\w+ies|youth|childhood|teens|dreams?)|dream(?:s|t|ed)?|years? later"
    r"|back then|at first|originally|initially|temporarily|wish|if)\b",
    re.IGNORECASE,
)
_ENDED = regex(
    r"\bto (?:the )?[A-Z]"
    r"|\b(?:and|then|but|later|since)\b.*\b(?:back|returned|left|moved|lived?|living|stayed|gave up)\b"
    r"|\bfor (?:an?|the|one|two|three|four|five|six|a few|some|several|about|only|just|\d+)\b[^,;]*"
    r"\b(?:days?|weeks?|months?|years?|summer|winter|spring|autumn|fall|while|semester|term|season|time)\b"
    r"|\bin (?:the|a|my) (?:\w+ )?(?:game|novel|book|story|film|movie|simulation|dream)\b"
)
_JOINING = frozenset("in on at by of the early mid late end start beginning so and but well yes".split())


def moves(plain: str, said_at: datetime) -> Iterator[re.Match[str]]:
    """The moves of the speaker that the sentence tells; `english_places.place` reads where to."""
    for match in (*_MOVED.finditer(plain), *_MOVED_ON.finditer(plain)):
        tail = plain[match.end() :]
        is_undone = _OF_THE_PAST.search(plain) or _ENDED.search(tail)
        begins = match.re is _MOVED_ON or _begins(plain, match.start(), said_at)
        if begins and not (is_undone or _NO_HOME.match(tail)):
            yield match


def _begins(plain: str, at: int, said_at: datetime) -> bool:
    """Whether nothing but an expression of time stands between there and where a statement may begin."""
    heads = (plain[start:at] for start in starts(plain) if start <= at)
    return any(_is_time(head, said_at) for head in heads)


def _is_time(head: str, said_at: datetime) -> bool:
    if head and not without_leading_time(head):
        return True
    left = without_yearly(untimed(head, said_at))
    return _JOINING.issuperset(re.findall(r"\w+", left.lower()))
