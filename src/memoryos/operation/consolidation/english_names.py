"""Names that an English sentence gives its speaker.

A name needs a frame in the first person: "my name is", "call me", "I'm ..." as an introduction. "This is Susie" is one
only where somebody speaks: "This is Susie speaking", "Hi, this is Susie from Leeds".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.language.occupations import OCCUPATIONS
from memoryos.operation.consolidation.english_places import is_known_place
from memoryos.operation.consolidation.english_words import NOT_NAMES
from memoryos.regex import regex

_TITLE = r"(?:(?:Dr|Prof|Mr|Mrs|Ms)\.? )?"
_NAME = rf"{_TITLE}(?P<value>[A-Z][a-z]+(?:['-][A-Z]?[a-z]+)*(?: [A-Z](?:[a-z]+|\.))*)"
_LOWER = (  # a name in small letters, after words that only a name can follow
    r"(?P<value>[a-z]{2,15})(?=\s*(?:[.,;!)(]|$|[^\w\s!-~])|\ (?:and I\b|and Im\b|but|btw|from|by the way|I|Im|Ive)\b)"
)
_GREETING = r"(?:(?:[Hh]i+|[Hh]ello|[Hh]ey+|[Yy]o|[Gg]ood \w+)(?: there| everyone| all)?[,!. ]+)"
_NO_PART = r"(?! and (?:I'll|then)\b)"
_EXPLICIT = regex(rf"\b[Mm]y (?:full |first |real )?name(?:'s|s| is)(?: actually| really)? (?:{_NAME}{_NO_PART})")
_EXPLICIT_LOWER = regex(rf"\b[Mm]y (?:full |first |real )?name(?:'s|s| is) {_LOWER}")
_CALL = (
    r"\b(?:(?:[Yy]ou can |[Pp]lease |[Jj]ust |[Ff]riends |[Pp]eople )?[Cc]all me"
    r"|(?:everyone|everybody|my friends) calls? me|I go by|[Cc]hanged my (?:first )?name to)"
)
_CALLED = regex(rf"{_CALL} {_NAME}{_NO_PART}")
_CALLED_LOWER = regex(rf"{_CALL} {_LOWER}")
# "I'm X" is a name only as an introduction: alone, in apposition or before where one comes from.
_INTRODUCED = regex(
    rf"^{_GREETING}?(?:I'm|I am|Im) {_NAME}"
    r"(?=\s*(?:[.!]|$|, (?:an? |and |nice |I'm |Im |I |from |\d\d\b)"
    r"| (?:and Im?\b|by the way|here)\b))"
)
_INTRODUCED_LOWER = regex(
    rf"^{_GREETING}(?:I'm|I am|Im) (?P<value>[a-z]{{3,15}})(?=(?:,| from \w+,)? \d\d\b|,? from \w)"
)
# "I'm Anna from Berlin", with nothing else behind it: not "I'm Anna from Frozen", nor "from Berlin in the play".
_FROM_HOME = (
    r",? from (?P<home>[^\W\d_]+(?: [^\W\d_]+){0,2}?(?:, [A-Z]\w+)?)"
    r"(?=\s*(?:[.!;)]|$|[^\w\s!-~]|, (?:nice|pleased|\d\d)\b|,? btw\b"
    r"|,? (?:(?:and|but|so) )?(?:I|I'm|Im|I've|Ive|[Mm]y|we)\b))"
)
_INTRODUCED_FROM = regex(rf"^{_GREETING}?(?P<told>(?:I'm|I am|Im) {_NAME}{_FROM_HOME})")
# "I'm Dave from accounting.": who works there is named, as by a home, and a play has no departments.
_FROM_DEPARTMENT = regex(
    rf"^{_GREETING}?(?:I'm|I am|Im) {_NAME},? from (?:the )?(?:(?i:accounting|accounts|finance|sales|marketing|design"
    r"|engineering|legal|logistics|operations|payroll|procurement|purchasing|quality assurance)|HR|IT|QA|PR|R&D"
    r"|(?:[a-z]+ ){1,2}(?=team|department))(?: ?(?:team|department))?(?=\s*(?:[.!]|$))"
)
_LOWER_FROM = regex(rf"^{_GREETING}?(?P<told>(?:I'm|I am|Im) (?P<value>[a-z]{{3,15}}){_FROM_HOME})")
_CORRECTED = regex(
    r"\b[Mm]y (?:full |first |real )?name(?:'s not| is not| isn't| isnt) [A-Za-z]\w+(?: [A-Z]\w+)? ?[,;–—-]+ ?"
    rf"(?P<told>(?:it's|it is|its) (?:actually |really )?{_NAME})"
    r"(?=\s*(?:[.;!)]|$|, (?:and|but|so|not)\b))"
)
_SPEAKING = regex(rf"^{_GREETING}?[Tt]his is {_NAME}(?= speaking\b| here\b|, (?:I\b|I'm\b|Im\b)| and I\b)")
_GREETED = regex(rf"^{_GREETING}[Tt]his is {_NAME}(?= from [A-Za-z])")
_SIGNED = regex(rf"^{_GREETING}?{_NAME} here(?=[,.!;]|$)")

_NOT_NAME_ENDING = regex(r"(?:ing|ful|less|ous|ble|ish|ese|[a-z]{3}ed|ally)$")
_NOT_SIGNED = frozenset(
    "right new same over up down out not still everyone anyone someone nothing first looky look newbie student".split()
)
_NOT_FROM = (
    frozenset(
        """
        home far away fresh straight just still not also both half part drunk sore jetlagged hungover dead only guy girl
        man woman boy dude kid teen person student dev someone somebody people family friends hours minutes miles ill
        native local immigrant refugee expat tourist coming broke wiped burnt sunburnt tan hoarse high hot cold fat poor
        rich beat spent
        """.split()
    )
    | OCCUPATIONS
)
_NO_WORDS = frozenset(
    """
    back again please soon sometime now then anytime old naive biased picky weird stupid basic boring lazy paranoid
    skeptical impressed what whatever if when but because bus train car bike foot feel ear memory instinct vibes gut no
    dumb nuts cheesy pretentious irrelevant unimportant secret private nobody anything something them names to of he
    she him they his her their very too looking new dizzy curious lost
    """.split()
)

Found = tuple[str, int, int]


def names(plain: str) -> Iterator[Found]:
    """The names, each with where the words begin and end that tell it."""
    for pattern in (_EXPLICIT, _CALLED, _INTRODUCED, _SPEAKING, _GREETED, _SIGNED, _FROM_DEPARTMENT):
        for match in pattern.finditer(plain):
            if not any(map(_is_no_name, match["value"].split())) and not _is_left_out(pattern, match):
                yield match["value"].rstrip("."), *match.span()
    for match in _CORRECTED.finditer(plain):
        if not any(map(_is_no_name, match["value"].split())):
            yield match["value"].rstrip("."), *match.span("told")
    for match in introductions(plain):
        yield match["value"].capitalize() if match["value"].islower() else match["value"].rstrip("."), *match.span()
    for pattern in (_EXPLICIT_LOWER, _CALLED_LOWER, _INTRODUCED_LOWER):
        for match in pattern.finditer(plain):
            if not _is_no_name(match["value"]) and match["value"] not in _NO_WORDS:
                yield match["value"].capitalize(), *match.span()


def introductions(plain: str) -> Iterator[re.Match[str]]:
    """Where a name (`value`) stands with a place that is known (`home`), from which its bearer comes (`told`)."""
    found = _INTRODUCED_FROM.match(plain) or _LOWER_FROM.match(plain) if " from " in plain else None
    if found and is_known_place(found["home"]) and not any(map(_is_not_from, found["value"].split())):
        yield found


def _is_not_from(word: str) -> bool:
    return _is_no_name(word) or word.lower() in _NOT_FROM | _NO_WORDS


def _is_left_out(pattern: re.Pattern[str], match: re.Match[str]) -> bool:
    if pattern is _FROM_DEPARTMENT:
        return any(map(_is_not_from, match["value"].split()))
    return pattern is _SIGNED and match["value"].lower() in _NOT_SIGNED | _NO_WORDS


def _is_no_name(word: str) -> bool:
    return word.lower() in NOT_NAMES or _NOT_NAME_ENDING.search(word) is not None
