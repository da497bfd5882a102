"""Outcome: words by which something did not come about: "failed to", "have yet to", "tried in vain", 差点, ...失败."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memoryos.operation.consolidation.assertion import Stems
from memoryos.operation.consolidation.english_words import PAST_VERBS, alternatives
from memoryos.regex import regex

_REACH = 200  # characters behind a verb that it may say something of

_TELLING = (
    r"(?:mention|say|tell|add|note|point\ out|let\ (?:you|them)\ know|introduce|explain|admit|talk|speak|share|write)\b"
)
_NOT_DONE = regex(
    rf"""\b(?:fail(?:s|ed|ing)?|forg[eo]t(?:s|ten|ting)?|neglect(?:s|ed|ing)?
      |omit(?:s|ted|ting)?|declin(?:e|es|ed|ing)|refus(?:e|es|ed|ing)|yet
      |disdain(?:s|ed)?|hesitat(?:e|es|ed|ing))\ to\ (?!{_TELLING})
    | \b(?:was|were|had\ been)\ (?:just\ |only\ )?
      (?:about\ to|on\ the\ (?:point|verge|brink|cusp)\ of|(?:this\ )?close\ to)\b
    | (?<!only\ )\btoo\ (?!late\ to\ (?:stop|quit))\w{{1,30}}\ (?:for\ me\ )?to\ (?!{_TELLING}|be\b|see\b)
    | \b(?:miss(?:es|ed|ing)?|los[et]|pass(?:ed|ing)?\ up|wast(?:ed|ing))\ (?:out\ on\ )?(?:the|my|an?|our|every|that)
      \ (?:\w{{1,30}}\ )?(?:chance|opportunity)\ (?:to|of)\b
    | \b(?:prevent|stop|discourag|dissuad|ban|barr|disqualif|restrain)\w{{0,5}}\ (?:me\ |us\ )?from\b
    | \bke(?:ep|eps|pt)\ (?:me|us)\ from\b | \b(?:talked|scared|priced)\ (?:me\ |us\ )?out\ of\b
    | \b(?:put(?:s|ting)?\ off|postpon(?:e|es|ed|ing)|shied\ away\ from|skip(?:s|ped|ping)?)(?=\ \w{{1,30}}ing\b)
    | \b(?:tried|attempted)\ (?:and\ failed|in\ vain|unsuccessfully|without\ success)\b
    | \b(?:unsuccessful(?:ly)?|failed|vain|futile|fruitless)\ (?:attempts?|efforts?|bid|try|tries|tried)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TRIES = regex(
    r"\b(?:tr(?:y|ied|ies|ying)|attempt(?:s|ed|ing)?|efforts?|bid|endeavou?r(?:s|ed|ing)?|set out)\b", re.IGNORECASE
)
_IN_VAIN = regex(
    r"\b(?:fail(?:s|ed)?|gave\ (?:it\ )?up|in\ vain|unsuccessful(?:ly)?|without\ (?:any\ )?success|to\ no\ avail"
    r"|fell\ through|came\ to\ (?:nothing|naught)|no\ luck"
    r"|(?:didn't|did\ not|never|couldn't)\ (?:quite\ )?(?:succeed|work|manage|make\ it|pan\ out|happen))\b",
    re.VERBOSE | re.IGNORECASE,
)
_MEANT = regex(r"\b(?:(?:was|were) (?:going|meaning)|meant|(?:had )?(?:planned|intended|hoped)) to\b", re.IGNORECASE)
_BUT = regex(r"\b(?:but|until|except)\b", re.IGNORECASE)
_QUITS = regex(
    r"\b(?:quit(?:s|ting)?|stop(?:s|ped|ping)?|giv(?:e|es|ing)\ up|gave\ up|avoid(?:s|ed|ing)?)\b", re.IGNORECASE
)

_AS_BEFORE = {"read", "hit", "quit", "hurt"}  # a past that is written like the verb
_PAST = (
    *(verb for verb in PAST_VERBS if not verb.endswith("ed") and verb not in _AS_BEFORE),
    *"became began came kept left drank ate chose told said thought felt got sent slept spoke wore woke sat".split(),
    *"stood rode fought fed lent hid threw held knew paid".split(),
    *"am is are was were has had did does can could will would".split(),
)
_FINITE = rf"(?:\w{{2,15}}(?<!e)ed|{alternatives(_PAST)})\b"
# Where another statement begins, of which a verb before says nothing: "... and became a waiter", "... after I moved".
_ENDS = regex(
    rf"""(?:,\ |\ (?:and|or|but|then)\ ){{1,2}}(?:(?:\w{{1,20}}ly|then|so|now|instead|soon|later)\ ){{0,2}}{_FINITE}
    | \ (?:and|but)\ (?:still|now|therefore)\ \w | \b(?:I|we|he|she|they)\b
    | \b(?:after|before|until|till|once|as)\ (?:my|our|the|his|her)\ \w{{1,30}}\ {_FINITE}""",
    re.VERBOSE | re.IGNORECASE,
)

_ZH_TELLING = r"(?:跟|和|向|对)?(?:你|您|大家)?(?:说|告诉|提|讲|补充|介绍|解释|写)"
_ZH_NOT_DONE = regex(
    rf"忘(?:了|记了?|掉了?)(?!\w{{0,3}}?{_ZH_TELLING}|我|自己|[他她]|[那这]|过去|曾|是|有)|差一?点|险些|几乎(?!每|都|所有|天天|全)"
    r"|(?:正要|刚要|本来要|原本要|本来想|原本想|本想|眼看就?要)|(?:太|过于)\w{1,3}?(?:不能|没法|无法)|[没未]能|没来得及|来不及"
    r"|阻止|拖着|一直拖|懒得|舍不得|不肯|拒绝|婉拒|谢绝"
)
_ZH_TRIES = regex(r"试[着图了过]?|尝试|努力|争取|企图|想方设法")
_ZH_IN_VAIN = regex(
    r"失败|(?:没有?|未能?|不)(?:能)?(?:成功|成(?!就|绩|本|员|都)|如愿|实现)|白费|泡汤|告吹|落空|半途而废|徒劳|无果|未遂"
)
_ZH_CHANCE = regex(r"(?:错过|失去|放弃|浪费)了?")
_ZH_OF_CHANCE = regex(r"^[^，,。；;！!？?]{0,4}?的?(?:机会|时机|良机)")
_ZH_FAILED = regex(r"^[^，,。；;！!？?不没未]{0,4}?(?:失败|未遂|告吹|泡汤|落空|无果|半途而废)")
_ZH_ENDS = regex(
    r"就(?!学(?![会习到])|[业职读诊医餐近任寝])|所以|于是|因此|后来|然后|只[好得]|才(?![能华艺])|(?<![之以然])后(?=[^\W来面天果悔年代]\w?了)"
    r"|(?<![给和跟对为向让叫替被把帮陪同带劝求请])我(?!们?的)"
)
_ZH_LATER = regex(rf"(?:后来|之后|虽然|尽管)(?!(?:还是|[又也却都就]|最终|最后)*(?:{_ZH_IN_VAIN.pattern}))")
_ZH_QUITS = regex(r"戒|停止|放弃")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A clause of a claim, and how words of its language are compared."""

    part: str
    stems: Stems

    def is_governed(self, signs: re.Pattern[str], ends: re.Pattern[str], before: str) -> bool:
        """Whether one of the signs in the words of a clause is about what the claim says."""
        return any(self._is_in(before[sign.end() : sign.end() + _REACH], ends) for sign in signs.finditer(before))

    def _is_in(self, words: str, ends: re.Pattern[str]) -> bool:
        """Whether the claim is about the words up to where another statement begins, which may not be at once."""
        until = next((end.start() for end in ends.finditer(words) if self._stems(words[: end.start()])), None)
        return until is None or not self._stems(self.part).isdisjoint(self._stems(words[:until]))

    def _stems(self, words: str) -> set[str]:
        return {stem for stem, _ in self.stems(words)}


def did_not_come_about(claimed: Claimed, before: str, behind: str) -> bool:
    """Whether what an English clause says was not done, by what stands before its words or behind them."""
    if claimed.is_governed(_NOT_DONE, _ENDS, before):
        return True
    if _BUT.search(behind) and claimed.is_governed(_MEANT, _ENDS, before):
        return True
    return _IN_VAIN.search(behind) is not None and claimed.is_governed(_TRIES, _ENDS, before)


def tells_outcome(part: str, before: str) -> bool:
    """Whether an English claim says so itself, or says what went on because nothing ended it."""
    if any(sign.search(part) for sign in (_NOT_DONE, _TRIES, _MEANT)):
        return True
    return _QUITS.search(before) is not None and _QUITS.search(part) is None


def did_not_come_about_in_chinese(claimed: Claimed, before: str, behind: str) -> bool:
    """Whether what a Chinese clause says was not done, by what stands before its words or behind them."""
    if claimed.is_governed(_ZH_NOT_DONE, _ZH_ENDS, before) or _ZH_FAILED.search(behind):
        return True
    if _ZH_CHANCE.search(before) and _ZH_OF_CHANCE.search(behind):
        return True
    later = _ZH_LATER.search(behind)
    is_in_vain = _ZH_IN_VAIN.search(behind, 0, later.start() if later else len(behind)) is not None
    return is_in_vain and claimed.is_governed(_ZH_TRIES, _ZH_ENDS, before)


def tells_outcome_in_chinese(part: str, before: str) -> bool:
    """Whether a Chinese claim says so itself, or says what went on because nothing ended it."""
    if any(sign.search(part) for sign in (_ZH_NOT_DONE, _ZH_CHANCE, _ZH_IN_VAIN, _ZH_TRIES)):
        return True
    return _ZH_QUITS.search(before) is not None and _ZH_QUITS.search(part) is None
