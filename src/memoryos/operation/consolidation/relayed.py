"""Relayed: the sentence that somebody is to be told, and the one that somebody else's text had.

"Tell her: I play the violin." is an order, and behind "My sister's text read:" the sister speaks. In Chinese, and
behind "says", the words are found as quoted ones. Only one sentence is found: what follows is the speaker's own again.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator

from memoryos.language.sentences import sentence_bounds
from memoryos.operation.consolidation.english_words import RELATIONS, alternatives
from memoryos.regex import regex

_KIN = (  # "my friends" and "my family" are told news of the speaker's own
    rf"(?!(?:friends|family)\b)(?:{alternatives(RELATIONS)}|teacher|landlord|landlady|manager|supervisor|co-worker)"
)
_NO_NAME = (  # written with a capital, too; who keeps notes, and where they are written to
    r"(?:Me|My|Us|You|It|Your|Myself|Yourself|Self|The|This|That|These|All|Everyone|Everybody|People|Anyone|Someone|Memory"
    r"|Memories|Notes?|Profile|Files?|Disk|Log|Records?|Journal|Diary|Do|List|Calendar|Database|Story|Stories|About|Claude"
    r"|Alexa|Siri|Gemini|Copilot|Assistant|User)"
)
_NAME = rf"(?-i:(?!{_NO_NAME}\b)[A-Z][a-z]{{1,20}})"
_THEM = rf"(?:him|her|them|my\ {_KIN})"
_THEIRS = (
    rf"(?:his|her|their|(?:my|our|his|her|their)\ {_KIN}'s"
    r"|(?-i:(?!(?:Today|Yesterday|Tonight|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)'s)[A-Z][a-z]{1,20}'s))"
)
_LEAD = regex(
    rf"""(?:^|(?<=\n)|(?<=[.!?]\ ))[ \t]{{0,4}}
      (?:(?:please|now|then|and|so|ok|okay|just|(?:can|could|would|will)\ you)[, ]\ ?){{0,3}}
      (?:tell\ (?:{_THEM}|{_NAME})|(?:text|message|e-?mail|write)\ {_THEM}|(?:write|say)\ to\ (?:{_THEM}|{_NAME}))
      \s?[:：]\s{{0,4}}
    | \b{_THEIRS}\ (?:last\ |latest\ )?
      (?:text|sms|message|text\ message|dm|e-?mail|letter|note|card|postcard)\ read\s?[:：]\s{{0,4}}""",
    re.VERBOSE | re.IGNORECASE,
)


def relayed(plain: str) -> Iterator[tuple[int, int]]:
    """Where each such sentence of a text, with straight apostrophes, begins and ends."""
    leads = [lead.end() for lead in _LEAD.finditer(plain)]
    ends = [end for _, end in sentence_bounds(plain)] if leads else []
    upto = 0
    for start in leads:
        if upto <= start < len(plain):
            upto = ends[bisect(ends, start)]
            yield start, upto
