"""Entities: the people, places and things that a text names, and what a pronoun may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.language.foreign import FOREIGN, language_of
from memoryos.language.stopwords import ENGLISH
from memoryos.language.words import HAN, words
from memoryos.regex import regex


class Referent(Choice):
    """What a pronoun can stand for."""

    SHE = "she"
    HE = "he"
    IT = "it"
    SOMEBODY = "somebody"  # a person, of whom no more is known
    PLACE = "place"
    NAME = "name"  # of a person or a thing


_FEMALE = (
    r"sister|mother|mom|mum|wife|girlfriend|daughter|aunt|niece|grandma|grandmother|granny|fiancée|fiancee|stepmother"
    r"|stepsister|sister-in-law|mother-in-law"
)
_MALE = (
    r"brother|father|dad|husband|boyfriend|son|uncle|nephew|grandpa|grandfather|fiancé|fiance|stepfather|stepbrother"
    r"|brother-in-law|father-in-law"
)
_PEOPLE = (
    r"friend|best friend|boss|manager|colleague|coworker|neighbou?r|doctor|dentist|teacher|cousin|partner|roommate"
    r"|flatmate|landlord|kid|child"
)
_LOOKS = r"(?:new|old|first|last|next|other|own|favou?rite|little|small|big|red|blue|green|black|white|phone|e-mail)"
_HEADS = (  # of a thing with a name of two words: "my blood pressure", "my credit card PIN"
    r"(?:pressure|sugar|type|numbers?|card|code|PIN|password|address|account|history|tests?|exams?|results?|appointment"
    r"|party|insurance|licen[cs]e|lessons?|class|team|club|contract|colou?r|size)"
)
_BEGINS = (
    r"(?!(?:I|The|Hi|Hey|Hello|And|But|So|In|At|From|With|Yes|No)(?![\w-]))"  # "I'm" of "I'm Anna" is no part of it
)
_NAME = rf"{_BEGINS}[A-Z][\w'-]*\w(?: [A-Z][\w'-]*\w)*"
_ENGLISH = regex(
    rf"\b(?P<kin>[Mm]y (?:\w+ )?(?:(?P<she>{_FEMALE})|(?P<he>{_MALE})|(?P<person>{_PEOPLE}))\b)"
    rf"(?: (?P<called>{_NAME}))?"
    rf"|\b(?P<met>{_NAME}), (?:who is )?my (?:\w+ )?(?:(?P<her>{_FEMALE})|(?P<him>{_MALE})|(?P<other>{_PEOPLE}))\b"
    rf"|\b(?P<thing>[Mm]y (?:{_LOOKS} )?[a-z]{{3,}}"
    rf"(?:(?: {_HEADS}\b)+| [a-z]{{3,}}(?= (?:is|was|has|had|are|were)\b))?)\b"
    rf"|\b(?P<name>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_NAME})"
)
_CHINESE = regex(
    r"(?P<kin>我的?(?:(?P<she>妹妹|姐姐|妈妈|母亲|老婆|妻子|女儿|女朋友|女友|奶奶|外婆|姥姥|阿姨|姑姑|婆婆|岳母)"
    r"|(?P<he>弟弟|哥哥|爸爸|父亲|老公|丈夫|儿子|男朋友|男友|爷爷|外公|姥爷|叔叔|舅舅|岳父|公公)"
    r"|(?P<person>朋友|老板|同事|邻居|医生|牙医|老师|室友|房东|孩子|经理)))"
    r"|(?:叫|名叫)(?P<name>(?!什么|什麼|啥|谁|誰|哪|怎|[我你您他她它这那])[\u4e00-\u9fff]{2,3})(?=[\s，,。！？；]|\Z)"
    r"|(?P<thing>我的?(?:狗|猫|车|房子|工作|公司|手机|电脑|学校|城市|家乡))"
)
_GERMAN_WORDS = FOREIGN["de"] - ENGLISH
_GERMAN_NOUN = r"[A-ZÄÖÜ][\w-]*\w"
_GERMAN_KIN = (
    r"Schwester|Bruder|Tochter|Sohn|Mutter|Vater|Mama|Papa|Oma|Opa|Tante|Onkel|Cousine?|Nichte|Neffe|Freundin|Freund"
    r"|Frau|Mann|Herrn?|Kolleg(?:e|in)|Nachbar(?:in)?|Chef(?:in)?"
)
_GERMAN = regex(  # behind "von" and "in", behind who it is, and behind words that say what somebody is called
    r"\b(?:von|in) (?!(?:Beruf|Hause?|Urlaub|Rente|Ordnung|Form|Eile|Ruhe|Zukunft|Anfang|Natur|Herzen"
    rf"|{_GERMAN_KIN})\b)"
    rf"(?P<of>{_GERMAN_NOUN})"
    rf"|\b(?:{_GERMAN_KIN}) (?:(?:Dr\.|Prof\.|Doktor|Professor(?:in)?|Direktor(?:in)?) ?)*"
    rf"(?!(?:{_GERMAN_KIN}|Dr|Prof|Doktor|Direktor|Professor|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch)\b)"
    rf"(?P<kin>{_GERMAN_NOUN}(?: {_GERMAN_NOUN})?)"
    rf"|(?<![Dd]as )\b(?:[Hh]ei(?:ß|ss)(?:e|t|en)|namens) (?P<called>{_GERMAN_NOUN})(?: und (?P<other>{_GERMAN_NOUN}))?"
)
_PLACED = regex(  # before the name of a place
    r"\b(?:(?:in|at|near|around|inside|outside)|(?:mov|go|went|fl[ey]|flew|driv|drove|travel|trip|relocat|return|back"
    r"|flight|way)\w* (?:back )?(?:to|from))\s+\Z",
    re.IGNORECASE,
)
_A = regex(r"\b(?:an?|the|this|that|my|our|his|her|new)\s+\Z", re.IGNORECASE)  # before the name of a thing: "a Tesla"
_MET = regex(r"\b(?:met|told|asked|married|dating|invited|thanked|hugged|kissed)\s+\Z", re.IGNORECASE)
_DOES = regex(
    r"\s+(?:lives|lived|moved|thinks|feels|(?:told|asked|called|rang|texted|visited) me|got married|was born|is my"
    r"|was my)\b"
)
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
_NEAR = 20  # characters before a name
_NO_NAME = frozenset(
    "i january february march april may june july august september october november december"
    " user assistant today tonight tomorrow yesterday".split()
)
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays"
    " sundays weekends".split()
)
_ORDER_WORDS = frozenset(  # that begin requests, and name nothing
    "forget delete remember remind please update share freeze lock unlock erase remove stop let give revoke note save"
    " correction change tell show describe search hello hi thanks".split()
)


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a text names."""

    name: str  #: as the text has it
    start: int  #: where it stands in the text
    referent: Referent

    def fits(self, wanted: Referent) -> bool:
        """Whether a pronoun of that kind can stand for it."""
        if wanted is Referent.SOMEBODY:
            return self.referent in _PERSONS
        return self.referent is wanted or (self.referent is Referent.SOMEBODY and wanted is not Referent.IT)

    def may_be(self, wanted: Referent) -> bool:
        """Whether it fits, or is a name that may."""
        return self.fits(wanted) or (self.referent is Referent.NAME and wanted is not Referent.IT)


_KIN = {
    "she": Referent.SHE,
    "her": Referent.SHE,
    "he": Referent.HE,
    "him": Referent.HE,
    "person": Referent.SOMEBODY,
    "other": Referent.SOMEBODY,
}
_PERSONS = frozenset((Referent.SHE, Referent.HE, Referent.SOMEBODY))


def names_in(text: str) -> tuple[str, ...]:
    """The people and places of a text, and the things that have a name, in order; "my car" has none."""
    if _is_german(text):  # each noun is written like a name
        named = (name for found in _GERMAN.finditer(text) for name in found.groups() if name)
        return tuple(dict.fromkeys(named))
    found = (one.name for one in entities_in(text) if one.referent is not Referent.IT or one.name[0].isupper())
    return tuple(dict.fromkeys(found))


def _is_german(text: str) -> bool:
    """Whether a word says so, too: accents alone may stand in names, "Émile lives in Århus"."""
    return language_of(text) == "de" and not _GERMAN_WORDS.isdisjoint(words(text))


def entities_in(text: str) -> Iterator[Entity]:
    """What the text names, in order."""
    pattern = _CHINESE if HAN.search(text) else _ENGLISH
    for found in pattern.finditer(text):
        name = found["name"] or found["kin"] or found["thing"] or found.groupdict().get("met", "")
        if found["name"] is None or not _is_no_name(found, text):
            yield Entity(_named(found, name), found.start(), _referent(found))
    if pattern is _CHINESE:
        yield from (
            Entity(found.group(), found.start(), Referent.NAME)
            for found in _LATIN.finditer(text)
            if found.group().lower() not in ENGLISH
        )


_LATIN = regex(r"\b[A-Z][a-z]+\b")


def _named(found: re.Match[str], name: str) -> str:
    called = found.groupdict().get("called")
    whole = f"{name} {called}" if called else name
    whole = whole.removesuffix("'s")
    return whole[0].lower() + whole[1:] if whole.startswith("My ") else whole


def _referent(found: re.Match[str]) -> Referent:
    of_kin = next((kin for group, kin in _KIN.items() if found.groupdict().get(group)), None)
    if of_kin:
        return of_kin
    before = found.string[max(0, found.start() - _NEAR) : found.start()]
    if found["thing"] or _A.search(before):
        return Referent.IT
    if _PLACED.search(before):
        return Referent.PLACE
    behind = found.string[found.end() : found.end() + 2 * _NEAR]
    is_somebody = _MET.search(before) or _DOES.match(behind) or found["name"].startswith(_TITLES)
    return Referent.SOMEBODY if is_somebody else Referent.NAME


def _is_no_name(found: re.Match[str], text: str) -> bool:
    """Whether a word in a capital only begins a sentence, or names a day or a month."""
    first = found["name"].split()[0].lower().partition("'")[0]
    if first in ENGLISH or first in _NO_NAME or first in _DAYS or first in _ORDER_WORDS:
        return True
    before = text[max(0, found.start() - 2 * _NEAR) : found.start()]
    begins = not before.rstrip(" \"'“‘(") or before.rstrip()[-1:] in ".!?\n:"
    return begins and " " not in found["name"] and not _is_used_as_name(found["name"], text, found.end())


def _is_used_as_name(name: str, text: str, end: int) -> bool:
    """Whether a word at the beginning of a sentence is used as a name: a verb or a possessive follows."""
    follows = text[end : end + 12].split()[:1]
    return name.endswith("'s") or bool(follows and follows[0].lower() in _AFTER_NAMES)


_AFTER_NAMES = frozenset("is was and has had lives loves likes works moved said told came went called will can".split())
