"""Crafts: what English calls the work that an occupation does, and who does it: plumbing is what a plumber does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.language.occupations import CRAFT_WORKER, OCCUPATIONS
from memoryos.regex import regex
from memoryos.text_cache import text_cache

# Those that no ending tells.
_OTHERS = {
    "law": "lawyer",
    "medicine": "doctor",
    "cooking": "cook",
    "nursing": "nurse",
    "acting": "actor",
    "accounting": "accountant",
    "coaching": "coach",
    "retail": "salesperson",
    "consulting": "consultant",
}
# What a craft ends with, and who does it instead.
_ENDINGS = (
    ("ing", ("er", "or", "r", "ist", "")),
    ("ry", ("er", "r", "rist", "t", "")),
    ("y", ("er", "ist", "", "ian")),
    ("ism", ("ist",)),
    ("ics", ("ist", "icist", "ician")),
    ("cy", ("t", "r")),
)
_DOUBLED = regex(r"([b-df-hj-np-tv-z])\1$")
# What people also stop doing, and no work: "quit smoking", "gave up drinking".
_HABITS = frozenset(
    """smoking drinking eating vaping gambling swearing worrying trying waiting talking thinking caring dating snoring
    dieting complaining lying cheating running swimming playing watching reading going being having working
    living""".split()
)
_CRAFT = r"(?P<craft>(?!my |the |our )(?:[a-z]+ )??(?:[a-z]{2,}(?:ing|ry|phy|ism|ics|cy|gy)|law|medicine|retail))"
_GONE = (
    r"(?=\s*(?:[.,;:!()–—]|$)|\s(?:and|but|because|after|when|since|altogether|entirely|completely|forever|now|in|last"
    r"|this|yesterday|for (?:good|an?|my|the)|(?:an?|two|three|four|five|ten|\d+|some|many|a few) (?:\w+ )?ago)\b)"
)
_LEAVES = (
    r"(?:quit|left|gave up|given up|giving up|stopped|retired from|resigned from|turned (?:my|their) back on"
    r"|walked away from|(?:done|finished|through) with)(?: working in)?"
)
LEFT_CRAFT = rf"{_LEAVES} {_CRAFT}{_GONE}"  #: "gave up teaching": somebody leaves the work of an occupation


@text_cache(1_024)
def practitioner(craft: str) -> str:
    """The occupation whose work it is; empty when it is none."""
    *before, last = craft.split()
    if last in _HABITS:
        return ""
    who = _OTHERS.get(last) or _known(last) or (_doer(last) if before or last.endswith("ing") else "")
    return " ".join((*before, who)) if who else ""


def _known(craft: str) -> str:
    """The occupation that we know by its ending: carpentry, journalism, engineering."""
    found = list(_candidates(craft))
    workers = (word for word in found if re.fullmatch(CRAFT_WORKER, word))
    return next((word for word in found if word in OCCUPATIONS), next(workers, ""))


def _candidates(craft: str) -> Iterator[str]:
    for ending, others in _ENDINGS:
        root = craft.removesuffix(ending)
        if root != craft:
            yield from (base + other for other in others for base in (root, _DOUBLED.sub(r"\1", root)))


def _doer(craft: str) -> str:
    """Who does it, of a craft that we do not know: a blower of glass blowing."""
    return f"{craft.removesuffix('ing')}er" if craft.endswith("ing") else ""
