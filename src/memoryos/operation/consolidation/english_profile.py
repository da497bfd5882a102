"""Profile fields said outright in English: name, gender, birth year, birthday, occupation, location."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from memoryos.language.calendar import MONTHS
from memoryos.language.plain import plain_text
from memoryos.operation.consolidation import english_moves
from memoryos.operation.consolidation.english_clauses import without_question
from memoryos.operation.consolidation.english_moves import PLACE
from memoryos.operation.consolidation.english_words import NOT_NAMES, NOT_PLACES, OCCUPATIONS, alternatives
from memoryos.operation.consolidation.statement import AGES, SENTENCE_LIMIT, Claim
from memoryos.operation.hierarchy.estimate import about

_BIRTH_YEARS = range(1900, 2100)

_NAME = r"(?P<value>[A-Z][a-z]+(?:['-][A-Z]?[a-z]+)*(?: [A-Z](?:[a-z]+|\.))*)"
_NAME_IS = re.compile(rf"\b[Mm]y (?:full |first |real )?name(?:'s| is) {_NAME}(?! and (?:I'll|then)\b)")
_CALLED = re.compile(
    rf"\b(?:(?:[Yy]ou can |[Pp]lease |[Jj]ust |[Ff]riends "
    rf"|[Pp]eople )?\b[Cc]all me"
    rf"|(?:everyone|everybody) calls me|I go by) {_NAME}(?! and (?:I'll|then)\b)"
)
# "I'm X" is a name only as an introduction: alone, in apposition or before where one comes from.
_INTRODUCED = re.compile(
    rf"^(?:(?:[Hh]i|[Hh]ello|[Hh]ey|[Gg]ood \w+)(?: there| everyone| all)?[,!. ]+)?(?:I'm|I am|[Tt]his is) {_NAME}"
    r"(?=\s*(?:[.!]|$|, (?:an? |and I\b|nice |I'm |from )| (?:and I\b|from [A-Z]|by the way|here)\b))"
)
_NOT_NAME_ENDING = re.compile(r"(?:ing|ful|less|ous|ble|ish|ese|[a-z]{3}ed|ally)$")

_QUALIFIER = (
    r"(?:trans(?:gender)? |cis(?:gender)? |young |old(?:er)? |single |married |gay |straight "
    r"|black |Black |Asian |white |\d+[- ]year[- ]old )*"
)
_SEX = (
    r"(?P<value>woman|man|girl|boy|guy|male|female|lady|(?:trans(?:gender)? )(?:woman|man|girl|boy|guy)"
    r"|non-?binary(?: person)?)"
)
_GENDER = [
    re.compile(
        rf"\b(?:I'm|I am) (?:an? )?{_QUALIFIER}?(?<!not a ){_SEX}(?=[.,!;]|$| (?:and|in|from|who|of \d+"
        rf"|with|myself)\b)"
    ),
    re.compile(rf"\b[Aa]s an? {_QUALIFIER}?{_SEX}(?: \w+ \w+)?, (?:I\b|I'|my\b)"),
    re.compile(r"\b[Aa]s an? (?P<value>trans(?:gender)? (?:woman|man|girl|boy|guy))\b(?!.*\byou\b)"),
    re.compile(r"\b(?:I identify as|[Mm]y gender is)(?: an?)? (?P<value>woman|man|female|male|non-?binary)\b"),
]
_SEX_VALUES = {"girl": "woman", "lady": "woman", "female": "woman", "boy": "man", "guy": "man", "male": "man"}

_MONTH = rf"(?:{alternatives(MONTHS)})"
_DAY = (
    rf"(?:(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?|(?:the )?(?P<d2>\d{{1,2}})(?:st|nd|rd"
    rf"|th)?(?: of)? (?P<m2>{_MONTH}))"
)
_BIRTHDAY = re.compile(rf"\b(?:[Mm]y birthday(?:'s| is)(?: on)?|I was born on) {_DAY}\b")
_BIRTH = rf"born (?:(?:in|on) (?:[\w ]{{2,25}}?,? )?(?:in )?|{_MONTH} )?(?P<year>\d{{4}})\b"
_BORN = [
    re.compile(rf"\bI was {_BIRTH}"),
    re.compile(
        rf"\b(?:I'm|I am)(?: \w+)? \d{{1,3}}(?: years old| years of age)?(?:, | | \()(?:and )?(?:was )?{_BIRTH}"
    ),
]
_AGE = [
    re.compile(
        r"\b(?:I'm|I am)(?: only| already| now| currently)? (?P<age>\d{1,3})(?= years old| years of age"
        r"| y/?o\b|[.,!]|$| and I)"
    ),
    re.compile(r"\b(?:I'm|I am) an? (?P<age>\d{1,3})[- ]year[- ]old\b"),
    re.compile(
        r"\bI (?:just |recently )?turned (?P<age>\d{1,3})(?= years| last| this| today| yesterday"
        r"| in |[.,!]|$)"
    ),
]

_JOBS = alternatives(OCCUPATIONS)
_NOT_A_JOB = (
    r"(?!(?:big|huge|good|great|bad|terrible|natural|fast|slow|better|real|better|excellent|decent|night|morning)\b)"
)
_WORK_AS = re.compile(
    r"\b(?:I(?:'m| am)? (?:currently |now |still )?(?:work|working) as|[Mm]y (?:job|occupation"
    r"|profession) is(?: being)?) (?:an? )"
    r"(?P<value>[\w-]+(?: [\w-]+){0,3}?)"
    r"(?=[.,!;]|$| (?:at|in|for|with|and|on|from|to|who|but|here|where|because|now|these days|nowadays|instead)\b)"
)
_BEING = re.compile(
    rf"\b(?:I'm|I am)(?: currently| now"
    rf"| still)? an? {_NOT_A_JOB}(?P<value>(?:[\w-]+ ){{0,2}}(?:{_JOBS}))(?=[.,!;]|$| (?:at|in|for|with|and|there|now"
    rf"|from|who|but|based|here|by)\b)"
)
_APPOSED = re.compile(
    rf"\b(?:I'm|I am|[Tt]his is|[Mm]y name is) [A-Z]\w+(?: [A-Z]\w+)?, an? {_NOT_A_JOB}"
    rf"(?P<value>(?:[\w-]+ ){{0,2}}(?:{_JOBS}))(?=[.,!;]|$| (?:at|in|for|with|and|from|who|but|based|here|by)\b)"
)
_LOCATION = re.compile(
    rf"\b(?:I (?:currently |now |still |just |actually )?live in|I(?:'m| am)(?: currently| now)? (?:living"
    rf"|based) in) (?:the )?{PLACE}"
)


# One of these is in every pattern of this module.
_SPEAKS = re.compile(r"(?:I|My|my|me|This is|this is|As an?|as an?)\b")


def claims(sentence: str, said_at: datetime) -> list[Claim]:
    """List every profile field that the sentence states."""
    plain = plain_text(without_question(sentence.replace("’", "'")))
    if len(plain) > SENTENCE_LIMIT or not _SPEAKS.search(plain) or plain.endswith("?") or _is_supposed(plain):
        return []
    return [
        Claim(field, value, sentence[start:end])
        for field, read in _READERS.items()
        for value, start, end in list(read(plain, said_at))[:1]  # a sentence states a field once
    ]


_Found = Iterator[tuple[str, int, int]]
_SUPPOSED = re.compile(
    r"\b(?:[Ii]f|[Ww]hether|pretend|imagine|like|as if|wish) (?:that )?(?:I|my|you)\b|^[\"“']|(?<!, )\bnot\b"
)


def _is_supposed(plain: str) -> bool:
    return _SUPPOSED.search(plain) is not None


def _names(plain: str, _said_at: datetime) -> _Found:
    for pattern in (_NAME_IS, _CALLED, _INTRODUCED):
        for match in pattern.finditer(plain):
            if not any(_is_no_name(word) for word in match["value"].split()):
                yield match["value"].rstrip("."), *match.span()


def _is_no_name(word: str) -> bool:
    return word.lower() in NOT_NAMES or _NOT_NAME_ENDING.search(word) is not None


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
    for pattern in _AGE:
        for match in pattern.finditer(plain):
            if int(match["age"]) in AGES and said_at.year > int(match["age"]):
                yield about(said_at.year - int(match["age"])), *match.span()


def _birthdays(plain: str, _said_at: datetime) -> _Found:
    for match in _BIRTHDAY.finditer(plain):
        yield f"{match['d1'] or match['d2']} {match['m1'] or match['m2']}", *match.span()


def _occupations(plain: str, _said_at: datetime) -> _Found:
    for pattern in (_WORK_AS, _BEING, _APPOSED):
        for match in pattern.finditer(plain):
            yield match["value"], *match.span()


def _locations(plain: str, said_at: datetime) -> _Found:
    for match in (*_LOCATION.finditer(plain), *english_moves.moves(plain, said_at)):
        if match["value"].split()[0].rstrip(".,") not in NOT_PLACES:
            yield match["value"].rstrip("."), match.start(), match.end() - match["value"].endswith(".")


_READERS: dict[str, Callable[[str, datetime], _Found]] = {
    "name": _names,
    "gender": _genders,
    "birth_year": _birth_years,
    "birthday": _birthdays,
    "occupation": _occupations,
    "location": _locations,
}
