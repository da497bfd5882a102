"""Bygone: what was so once, beside a claim that it is so now.

"I used to smoke" does not bear out "smokes", nor "I was a chef" "is a chef", nor "I sold my car" "has a car"; that
somebody smoked, was a chef, or sold a car is right. An event that leads to what is now ("I moved to Rome") is none.
"""

from __future__ import annotations

from memoryos.operation.consolidation.assertion import Assertion
from memoryos.regex import regex

_ONCE = regex(
    r"(?<!\bam )(?<!'m )(?<!\bget )(?<!\bgot )(?<!\bgetting )(?<!\bis )\bused to (?!(?:be )?(?:it|this|that)\b)"
    r"|\bI (?:once|formerly|previously) (?=\w+ed\b|was\b|had\b)"
)
_WAS_A = regex(r"\b(?:I|we) (?:was|were) (?:\w+ ){0,2}?an? ")
_IS_A = regex(r"\b(?:is|are|works as) an? ")
_HAD = regex(r"\b(?:I|we) (?:was|were|had)\b")
_HAS = regex(r"\b(?:is|are|has|have|owns?)\b")
_THEN = regex(
    r"\b(?:until|till) (?!(?:now|today|late|midnight|noon|\d{1,2}(?:[.:]\d\d)? ?(?:[ap]m|o'clock)))"
    r"|\bas an? (?:child|kid|boy|girl|teen\w*|student)\b|\b[Ww]hen I was \w{1,10}\b"
    r"|\bback (?:then|when)\b"
    r"|\b(?:years|months|decades) ago\b|\bin (?:those days|my (?:youth|childhood|\w{4,8}ties|school days))\b"
)
_STATE = r"(?:live|work|smoke|own|play|attend|serve|practi[cs]e|train|coach|manage|reside|rent|volunteer)"
_DID = regex(rf"(?<!\bhave )(?<!\bhas )(?<!\bhad )(?<!'ve )(?<!\balways )\b(?P<verb>{_STATE})e?d\b")
_DOES = regex(rf"\b(?P<verb>{_STATE})s\b")
_PARTED = regex(
    r"\bI (?:\w+ly |just |have |'ve |had )?"
    r"(?:sold|gave away|given away|lost|crashed|scrapped|donated|rehomed|returned) my\b"
)
_OWNS = regex(r"\b(?:has|have|owns?|drives|rides|keeps) (?:an?|the|their|his|her|two|three)\b")
_STILL = regex(r"\b(?:still|again|even now|to this day|nowadays)\b")
_TOLD_AS_PAST = regex(
    r"\b(?:used|was|were|had|did|former\w*|once|previous\w*|past|no longer|until|before|ex|stopped|quit|\w{2,20}ed)\b"
    r"|\b(?:not|never)\b|n't\b|\b(?:wrote|went|taught|drove|sang|ran|ate|drank|kept|bought|left|grew|swam|spoke|gave|sold)\b"
)

_ZH_ONCE = regex(
    r"(?:^|[我，,年月天久])(?:以前|从前|之前|曾(?:经|(?!经))|小时候|当年|年轻时候?|早年)(?!我?[说提讲告问])|年前(?=[我，,是在住])"
)
_ZH_STATE = regex(
    r"^\W*(?:用户)?(?:很|最|特别|一直|经常|常)?"
    r"(?:住|是(?!\w{0,14}(?:长大|出生|毕业|来))|抽|吸|喝|吃|养|喜欢|爱|讨厌|有|在\w{1,8}(?:工作|上班|教书)|当|做)"
)
_ZH_STILL = regex(r"还是|仍|依然|至今|一直|到现在|现在[还也]")
_ZH_TOLD_AS_PAST = regex(r"以前|从前|之前|曾|过|小时|前|当年|年轻|早年|不再|[不没]|戒")


def is_bygone(one: Assertion) -> bool:
    """Whether the claim is that something is so that, by an English clause, was so once."""
    if not one.is_own or _TOLD_AS_PAST.search(one.part) or _STILL.search(one.whole):
        return False
    if _ONCE.search(one.before) or (_WAS_A.search(one.before) and _IS_A.search(one.part)):
        return True
    if _PARTED.search(one.words) and _OWNS.search(one.part):
        return True
    is_then = _THEN.search(one.whole) and _HAD.search(one.before) and _HAS.search(one.part)
    return bool(is_then) or _did_what_it_says(one)


def _did_what_it_says(one: Assertion) -> bool:
    """Whether the claim has a verb of a state in the present, and the clause has it in the past."""
    done = {found["verb"] for found in _DID.finditer(one.before)}
    return any(found["verb"] in done for found in _DOES.finditer(one.part))


def is_bygone_in_chinese(one: Assertion) -> bool:
    """Whether the claim is that something is so that, by a Chinese clause, was so once."""
    if not (one.is_own and _ZH_STATE.match(one.part)) or _ZH_TOLD_AS_PAST.search(one.claim):
        return False
    return _ZH_ONCE.search(one.before) is not None and _ZH_STILL.search(one.whole) is None
