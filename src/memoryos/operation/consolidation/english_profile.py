"""Profile fields said outright in English: name, gender, birth year, birthday, occupation, location."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from memoryos.language.calendar import MONTHS
from memoryos.language.plain_letters import plain_text
from memoryos.operation.consolidation import english_clauses as clauses
from memoryos.operation.consolidation.english_homes import homes, left_homes
from memoryos.operation.consolidation.english_jobs import jobs, lost_jobs
from memoryos.operation.consolidation.english_names import names
from memoryos.operation.consolidation.english_words import SUPPOSITIONS, alternatives
from memoryos.operation.consolidation.statement import AGES, SENTENCE_LIMIT, Claim
from memoryos.operation.hierarchy.estimate import about
from memoryos.regex import regex

_BIRTH_YEARS = range(1900, 2100)

_QUALIFIER = (
    r"(?:trans(?:gender)? |cis(?:gender)? |young |old(?:er)? |single |married |gay |straight "
    r"|black |Black |Asian |white |\d+[- ]year[- ]old )*"
)
_SEX = (
    r"(?P<value>woman|man|girl|boy|guy|male|female|lady|(?:trans(?:gender)? )(?:woman|man|girl|boy|guy)"
    r"|non-?binary(?: person)?)"
)
_GENDER = [
    regex(
        rf"\b(?:I'm|I am|Im) (?:an? )?{_QUALIFIER}?(?<!not a ){_SEX}(?=[.,!;]|$| (?:and|in|from|who|of \d+"
        rf"|with|myself)\b)"
    ),
    regex(rf"\b[Aa]s an? {_QUALIFIER}?{_SEX}(?: \w+ \w+)?, (?:I\b|I'|my\b)"),
    regex(r"\b[Aa]s an? (?P<value>trans(?:gender)? (?:woman|man|girl|boy|guy))\b(?!.*\byou\b)"),
    regex(r"\b(?:I identify as|[Mm]y gender is)(?: an?)? (?P<value>woman|man|female|male|non-?binary)\b"),
]
_SEX_VALUES = {"girl": "woman", "lady": "woman", "female": "woman", "boy": "man", "guy": "man", "male": "man"}

_MONTH = rf"(?i:{alternatives(MONTHS)})"
_DAY = (
    rf"(?:(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?|(?:the )?(?P<d2>\d{{1,2}})(?:st|nd|rd"
    rf"|th)?(?: of)? (?P<m2>{_MONTH}))"
)
_BIRTHDAY = regex(rf"\b(?:[Mm]y (?:birthday|bday|b-day)(?:'s| is)(?: on)?|I was born on) {_DAY}\b")
_BIRTH = rf"born (?:(?:in|on) (?:[\w ]{{2,25}}?,? )?(?:in )?|{_MONTH} )?(?P<year>\d{{4}})\b"
_BORN = [
    regex(rf"\bI was {_BIRTH}"),
    regex(rf"\b(?:I'm|I am|Im)(?: \w+)? \d{{1,3}}(?: years old| years of age)?(?:, | | \()(?:and )?(?:was )?{_BIRTH}"),
]
_YEARS_OLD = r"(?=\s*[.!,;)]|$| ?(?:years?|yrs?) (?:old|of age)\b| ?y/?o\b|\s*[^\w\s!-~]"
_GOES_ON = r"| and (?:I\b|Im\b|live|work|have|single|married|still|retired|[a-z]+ing\b)| btw\b)"
_AGE = [
    regex(rf"\b(?:I'm|I am|Im)(?: only| already| now| currently| actually)? (?P<age>\d{{1,3}}){_YEARS_OLD}{_GOES_ON}"),
    regex(r"\b(?:I'm|I am|Im) an? (?P<age>\d{1,3})[- ]years?[- ]old\b"),
    regex(r"\b(?:I'm|I am|Im) an? [^.!?;]{2,40}?, (?P<age>\d{1,3})(?= ?(?:years?|yrs?) old\b| ?y/?o\b)"),
    regex(r"^[Aa]s an? (?P<age>\d{1,3})[- ]years?[- ]old\b(?=[^.!?]*\bI(?:'m|'ve| have| am| know| see| love| hate)\b)"),
    regex(
        r"\bI (?:just |recently )?turned (?P<age>\d{1,3})(?= years| last| this| today| yesterday"
        r"| in |[.,!]|$)"
    ),
]

_INTRODUCED_AGE = regex(r"(?<=, )(?P<age>\d{2})(?=,|\s*[.!]|$)")  # beside the name

# One of these is in every pattern of this module, but for what begins a sentence.
_SPEAKS = regex(
    r"(?:I|Im|Ive|My|my|me|[Ww]e|[Ww]e're|This is|this is|As an?|as an?)\b|^[Mm]oved\b|^(?:[Jj]ust )?[Gg]ot\b|\bhere\b"
)


def claims(sentence: str, said_at: datetime) -> list[Claim]:
    """List every profile field that the sentence states, or says to be over."""
    plain = plain_text(clauses.told(sentence))
    if len(plain) > SENTENCE_LIMIT or not _SPEAKS.search(plain) or plain.endswith("?") or _SUPPOSED.search(plain):
        return []
    stated = [
        Claim(field, value, sentence[start:end])
        for field, read in _READERS.items()
        for value, start, end in list(_asserted(plain, read(plain, said_at)))[:1]  # a sentence states a field once
    ]
    return [*_ended(sentence, plain), *stated]


_Found = Iterator[tuple[str, int, int]]
_SUPPOSED = regex(
    r"\b(?:[Ii]f|[Ww]hether|pretend|imagine|like|as if|wish) (?:that )?(?:I|my|you)\b|^[\"“']"
    rf"|\b(?i:{SUPPOSITIONS})\b"
)
_BREAK = regex(r"[.,;:!?–—]|[^\w\s!-~]|\s-+\s|\b(?:but|and)\b(?=\s+I\b)")
_DENIED = regex(r"\b(?:not|never|no longer|nor|neither)\b|n't\b|\b(?:dont|doesnt|isnt|wasnt)\b", re.IGNORECASE)
_DENIED_AFTER = regex(r"[\s,]*(?:not\b)?\s*(?:any ?more|any longer|no longer)\b|\s+not\b\W*$", re.IGNORECASE)
# Somebody says so, or thinks so, whom the sentence does not believe outright.
_REPORTED = regex(
    r"\b(?:thinks?|thought|says?|said|believes?|believed|assumes?|assumed|claims?|claimed|told \w+|pretend\w*|joke[sd]?"
    r"|feel like|feels like|act like|guess|suppose|swear|bet|hope|hoping|decided)(?: that)?\s*$",
    re.IGNORECASE,
)


def _asserted(plain: str, found: _Found) -> _Found:
    """The parts that are neither denied nor reported speech."""
    for value, start, end in found:
        begin = max((mark.end() for mark in _BREAK.finditer(plain, 0, start)), default=0)
        is_denied = _DENIED.search(plain, begin, end) or _DENIED_AFTER.match(plain, end)
        if not is_denied and not _REPORTED.search(plain[begin:start]):
            yield value, start, end


def _ended(sentence: str, plain: str) -> list[Claim]:
    """What the sentence says to be over: an occupation, or a home."""
    over = [("occupation", found) for found in lost_jobs(plain)]
    over += [("location", found) for found in left_homes(plain)]
    return [Claim(field, value, sentence[start:end], is_over=True) for field, (value, start, end) in over]


def _genders(plain: str, _said_at: datetime) -> _Found:
    for pattern in _GENDER:
        for match in pattern.finditer(plain):
            yield _gender_value(match), *match.span()


def _gender_value(match: re.Match[str]) -> str:
    """Give one word per gender, so that "girl" and "woman" do not conflict."""
    words = match["value"].replace("transgender", "trans").replace("nonbinary", "non-binary").split()
    if words[0] == "non-binary":
        return words[0]
    value = _SEX_VALUES.get(words[-1], words[-1])
    return f"trans {value}" if re.search(r"\btrans", match.group()) else value


def _birth_years(plain: str, said_at: datetime) -> _Found:
    for pattern in _BORN:
        for match in pattern.finditer(plain):
            if int(match["year"]) in _BIRTH_YEARS:
                yield match["year"], *match.span()
    introduced = _INTRODUCED_AGE.finditer(plain) if next(names(plain), None) else ()
    for found in (*(pattern.finditer(plain) for pattern in _AGE), introduced):
        for match in found:
            if int(match["age"]) in AGES and said_at.year > int(match["age"]):
                yield about(said_at.year - int(match["age"])), *match.span()


def _birthdays(plain: str, _said_at: datetime) -> _Found:
    for match in _BIRTHDAY.finditer(plain):
        yield f"{match['d1'] or match['d2']} {(match['m1'] or match['m2']).capitalize()}", *match.span()


_READERS: dict[str, Callable[[str, datetime], _Found]] = {
    "name": lambda plain, _: names(plain),
    "gender": _genders,
    "birth_year": _birth_years,
    "birthday": _birthdays,
    "occupation": lambda plain, _: jobs(plain),
    "location": homes,
}
