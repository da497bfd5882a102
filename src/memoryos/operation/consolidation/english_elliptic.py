"""English statements that leave out who speaks ("not vegetarian anymore"), and ways to reach them ("reach me at ...").

What is left out is taken for "I" only where nothing else can be meant: at the beginning of a sentence, and for a few
phrases that people say of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.kinds import SemanticType
from memoryos.operation.consolidation import english_clauses as clauses
from memoryos.operation.consolidation.english_jobs import GOT_FIRED
from memoryos.operation.consolidation.statement import PLAIN, Statement
from memoryos.regex import regex

_STATE = (
    r"(?:an? )?(?:vegan|vegetarian|pescatarian|single|married|engaged|pregnant|retired|unemployed|self-employed"
    r"|smok(?:er|ing)|drinking|student|religious|catholic|muslim|together|living (?:together|alone))"
)
_NO_MORE = r" (?:any ?more|any longer)\b"
# What stands in for "I ...", by the words that complete it.
_SHAPES = (
    ("is", regex(rf"(?:not {_STATE}{_NO_MORE}|no longer {_STATE}\b)", re.IGNORECASE)),
    ("is", regex(rf"{_STATE} (?:again|at last|finally)\b", re.IGNORECASE)),
    (
        "is a",
        regex(r"(?:big|huge|massive|lifelong) fan of (?!this|that|it\b|these|those|how|when)[^,.!]+", re.IGNORECASE),
    ),
    ("has", regex(r"been (?:vegan|vegetarian|sober|single|married|clean) (?:for|since) [\w' ]+", re.IGNORECASE)),
    ("is", regex(r"having (?:\w+ )?surgery (?:on|next|this|tomorrow|in) ?[\w ]*", re.IGNORECASE)),
    ("", regex(rf"(?i:just )?{GOT_FIRED}")),
    ("", regex(r"(?:just |finally )?[Mm]oved (?:back )?to [A-Z]\w+(?: (?:last|this|in|on|yesterday)\b[\w ]*)?")),
)
_ADDRESS = r"[^\s@,;:()<>]+@[^\s@,;:()<>]+\.\w{2,}"
_NUMBER = r"\+?\(?\d[\d\s()./-]{5,}\d"
_HINT = regex(
    r"\b(?:any ?more|any longer|no longer|again|at last|finally|fan of|been|having|moved|me (?:at|on|under|via)"
    r"|got (?:fired|laid off)|use \S+@\S+ (?:for|to))\b",
    re.IGNORECASE,
)
_REACHABLE = regex(r"@|\d[\d\s()./-]{5}")
_REACH = regex(
    rf"(?:(?:reach|call|text|ring|phone|e-?mail|mail|write(?: to)?|contact|message) me (?:at|on|under|via) "
    rf"(?P<reached>{_ADDRESS}|{_NUMBER}))",
    re.IGNORECASE,
)
_FROM_NOW = r"(?:from now on|going forward)"
_USE = regex(  # "for me", and no more: "use it from now on" may be said of any address
    rf"^(?:please |so |just )*(?:{_FROM_NOW},? (?:please )?)?use (?P<used>{_ADDRESS})"
    rf" (?:for me|to (?:reach|contact|e-?mail|mail|write to) me)(?: {_FROM_NOW})?(?=[.!]*$)",
    re.IGNORECASE,
)
_MINE = regex(
    rf"\b(?:[Mm]y (?:\w+ ){{0,2}}?(?:e-?mail|mail|phone|mobile|cell|telephone|number|handy|cellphone)"
    rf"(?: (?:address|number|no\.?))?(?: now| currently)? ?(?:is|'s|:|(?:has )?(?:just )?changed to)(?: now)? ?"
    rf"(?:{_ADDRESS}|{_NUMBER})"
    rf"|I(?:'ve| have)? (?:just |recently )?(?:changed|switched) my (?:\w+ )?(?:e-?mail|mail|phone|mobile|number)"
    rf"(?: (?:address|number))? to (?:{_ADDRESS}|{_NUMBER}))"
)


def may_be_elliptic(plain: str) -> bool:
    """Whether a word is in the text that is in each such statement, or a way to reach somebody: most have none."""
    return _HINT.search(plain) is not None


def elliptic(sentence: str, plain: str) -> Iterator[Statement]:
    """What the sentence says of its speaker without naming them; `plain` is as long as the sentence."""
    if not may_be_elliptic(plain):
        return
    begins = (0, clauses.starts(plain)[0])  # "no" of "no longer" is no interjection
    found = next((match for start in begins for _, shape in _SHAPES if (match := shape.match(plain, start))), None)
    if found:
        yield Statement(sentence[slice(*found.span())].rstrip(), SemanticType.FACT, PLAIN)


def contacts(sentence: str, plain: str) -> Iterator[Statement]:
    """How the speaker can be reached."""
    if not _REACHABLE.search(plain):
        return
    for match in (*_MINE.finditer(plain), *_REACH.finditer(plain), *_USE.finditer(plain)):
        yield Statement(sentence[slice(*match.span())], SemanticType.FACT, PLAIN)


def completed(quote: str, name: str) -> str | None:
    """The statement as a sentence about `name`; None for other statements."""
    if match := _REACH.fullmatch(quote):
        return f"{name} can be reached at {match['reached']}"
    if match := _USE.fullmatch(quote):
        return f"{name} can be reached at {match['used']}"
    for verb, shape in _SHAPES:
        if shape.fullmatch(quote):
            return " ".join(filter(None, (name, verb, quote[:1].lower() + quote[1:]))).replace(" my ", " their ")
    return None
