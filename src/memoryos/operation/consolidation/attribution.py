"""Attribution: words behind a statement that say that it is somebody else's: "... is what they wrote", 这是他们写的."""

from __future__ import annotations

import re

from memoryos.operation.consolidation.chinese import KIN
from memoryos.operation.consolidation.english_words import RELATIONS, alternatives
from memoryos.regex import regex

_NEAR = 200  # characters in front of an attribution in which the subject of what it hands on is looked for

_SAYS = (
    r"(?:sa(?:y|ys|id)|wr(?:ite|ites|ote)|claim(?:s|ed)?|t(?:ell|ells|old)|believ(?:e|es|ed)"
    r"|report(?:s|ed)?|state[sd]?|print(?:s|ed)?|post(?:s|ed)?|insist(?:s|ed)?|alleg(?:e|es|ed)"
    r"|assum(?:e|es|ed)|answer(?:s|ed)?|repl(?:y|ies|ied)|shout(?:s|ed)?|suspect(?:s|ed)?)"
)
_HOLDS = rf"(?:{_SAYS}|think|thinks|thought|suggest(?:s|ed)?)"  # without an "or", "so my friends suggested" is a reason
_DOCTOR = (  # whose words are a diagnosis
    r"(?:doctors?|dentist|gp|physician|surgeon|nurse|therapist|psychiatrist|\w{1,20}ologist|midwife|pa?ediatrician)"
)
_WHO = (
    rf"(?!(?:I|we|you)\b|(?:(?:my|our|his|her|their|the|an?)\ )?(?:\w{{1,30}}\ )?{_DOCTOR}\b)"
    r"(?:(?:my|our|his|her|their|the|a|an|some|one)\ )?(?:\w{1,30}\ ){0,2}?\w{1,30}"
)
_TO_WHOM = r"(?:\ (?:me|us|you|him|her|them|it))?"
# Behind the words: whose they are.
_ENGLISH = regex(
    rf"""(?P<is_what>\b(?:is|was)\ (?:exactly\ |just\ |only\ )?(?:what|how)\ {_WHO}\ (?:{_SAYS}|suggest(?:s|ed)?)
      {_TO_WHOM}(?:\ (?:in|on|at|about)(?:\ \w{{1,30}}){{1,4}})?\W*$)
    | [,–—-]\s*or\ so\ (?:at\ least\ )?{_WHO}\ {_HOLDS}\W*$
    | [,–—-]\s*(?:or\ |and\ )?so\ (?:at\ least\ )?
      (?:(?!wh|how\b){_WHO}\ {_SAYS}\W*$|(?:says?|said|claims?|claimed|goes)\ (?!I\b|we\b))
    | [,–—-]\s*(?:(?:or\ )?at\ least\ )?(?:that|this)(?:'s|\ is|\ was)\ (?:exactly\ |just\ )?
      (?:what|how)\ {_WHO}\ {_SAYS}{_TO_WHOM}\W*$
    | ,\s*(?:(?P<pronoun>he|she|they)\ {_SAYS}|(?:my|our|his|her|their|the)\ \w{{1,30}}\ (?:claim|alleg)(?:s|es|ed))\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SUBJECT = regex(
    rf"""(?:^|[,;:.!?…()–—]\s*|\s-\s
      |\b(?:and|but|so|because|since|while|though|although|if|when|where|whether|that)\s)
    (?:(?P<speaker>I|we)|(?P<mine>my|our)\b(?P<kin>\ (?:\w{{1,30}}\ ){{0,2}}?(?:{alternatives(RELATIONS)})s?)?
      |you|he|she|it|they|this|that|there|which|who|what|how|why|all|everything|nothing|people|everyone
      |the|his|her|their|your)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_VERB = regex(r"\b(?:is|are|was|were|has|have|had|do|does|did|can|will|lives?|works?|likes?|loves?|hates?|owns?) \w")

_ZH_SAYS = r"(?:写|说|讲|宣称|声称|报道|传|编|认为|以为|猜|填)"
_ZH_WHO = r"(?!谁|哪|我(?!们?的|妈|爸|哥|弟|姐|妹|老|朋|同|邻)|咱|本人|\w{0,3}(?:医生|大夫|医师|牙医))\w{1,8}?"
_ZH_END = r"(?![^\W吧呢啊呀嘛哦])"  # what they wrote is no thing: 公司写的地址
_CHINESE = regex(
    rf"""(?<![，,—])[，,—]++\s*+(?:(?:这|那|以上)?(?:只|都|就|全)?是(?:(?P<he>[他她]们?)|{_ZH_WHO})(?:里|上|中)?(?:自己)?
        {_ZH_SAYS}(?:出来|过|到)?的{_ZH_END}
      | (?:这|那)(?:话|句话|些话)?(?:只|都|就)?是{_ZH_WHO}的(?:原话|说法|话){_ZH_END}
      | (?:(?P<so_he>[他她]们?)|{_ZH_WHO})(?:是)?这么{_ZH_SAYS}的{_ZH_END})""",
    re.VERBOSE,
)
_ZH_SUBJECT = regex(rf"(?:^|[，,。；;：:])\s*(?:但是?|而且|因为|所以)?(?:我们?的?(?P<kin>{KIN})|我|[他她]们?)")


def told_by_others(sentence: str, upto: int = 0) -> str:
    """The words behind a place of an English sentence that hand on what stands before them; empty if there are none."""
    found = (one for one in _ENGLISH.finditer(sentence, upto) if _hands_on(one))
    return next((one.group() for one in found), "")


def told_by_others_in_chinese(sentence: str, upto: int = 0) -> str:
    """The words behind a place of a Chinese sentence that hand on what stands before them; empty if there are none."""
    found = (one for one in _CHINESE.finditer(sentence, upto) if not _is_of_kin(one))
    return next((one.group() for one in found), "")


def is_attributed(sentence: str) -> bool:
    """Whether a sentence ends with words that say that somebody else said it."""
    told = told_by_others_in_chinese if "我" in sentence else told_by_others
    return bool(told(sentence.replace("’", "'")))


def _hands_on(told: re.Match[str]) -> bool:
    """Whether the words are of a statement: a thing may be what they wrote, and "he says" may be of what he does."""
    if not (told["is_what"] or told["pronoun"]):
        return True
    subject = _last_subject(_SUBJECT, told)
    if subject is None:
        return False
    if told["pronoun"]:
        return bool(subject["speaker"] or (subject["mine"] and not subject["kin"]))
    return bool(subject["speaker"] or (subject["mine"] and _VERB.search(told.string, subject.end(), told.start())))


def _is_of_kin(told: re.Match[str]) -> bool:
    """Whether it is he or she, of whom the sentence speaks, who said it."""
    subject = _last_subject(_ZH_SUBJECT, told) if told["he"] or told["so_he"] else None
    return subject is not None and subject["kin"] is not None


def _last_subject(subjects: re.Pattern[str], told: re.Match[str]) -> re.Match[str] | None:
    """The subject in front of the words that is nearest to them."""
    found = list(subjects.finditer(told.string, max(0, told.start() - _NEAR), told.start()))
    return found[-1] if found else None
