"""Attribution: words behind a statement that say that it is somebody else's: "... is what they wrote", 这是他们写的."""

from __future__ import annotations

import re

from memoryos.regex import regex

_SAYS = (
    r"(?:sa(?:y|ys|id)|wr(?:ite|ites|ote)|claim(?:s|ed)?|t(?:ell|ells|old)|put|think|thinks|thought|believ(?:e|es|ed)"
    r"|report(?:s|ed)?|state[sd]?|print(?:s|ed)?|post(?:s|ed)?|insist(?:s|ed)?|suggest(?:s|ed)?|alleg(?:e|es|ed)"
    r"|assum(?:e|es|ed)|answer(?:s|ed)?|repl(?:y|ies|ied)|shout(?:s|ed)?|suspect(?:s|ed)?)"
)
_WHO = r"(?!(?:I|we|you)\b)(?:(?:my|our|his|her|their|the|a|an|some|one)\ )?(?:\w+\ ){0,2}?\w+"
# Behind the words: whose they are.
_ENGLISH = regex(
    rf"""(?<!\bwhich\ )(?<!\bthat\ )\b(?:is|was)\ (?:exactly\ |just\ |only\ )?(?:what|how)\ {_WHO}\ {_SAYS}\b
    | [,–—-]\s*(?:or\ |and\ )?so\ (?:at\ least\ )?
      (?:(?!wh|how\b){_WHO}\ {_SAYS}(?=\W*$)|(?:says?|said|claims?|claimed|goes)\ (?!I\b|we\b))
    | [,–—-]\s*(?:(?:or\ )?at\ least\ )?(?:that|this)(?:'s|\ is|\ was)\ (?:exactly\ |just\ )?
      (?:what|how)\ {_WHO}\ {_SAYS}\b
    | ,\s*(?:(?:he|she|they)\ {_SAYS}|(?:my|our|his|her|their|the)\ \w+\ (?:claim|alleg)(?:s|es|ed))\W*$""",
    re.VERBOSE | re.IGNORECASE,
)
_ZH_SAYS = r"(?:写|说|讲|宣称|声称|报道|传|编|认为|以为|猜|填)"
_ZH_WHO = r"(?!谁|哪|我(?!们?的|妈|爸|哥|弟|姐|妹|老|朋|同|邻)|咱|本人)\w{1,8}?"
_CHINESE = regex(
    rf"(?:[，,——]+|——)\s*(?:这|那|以上)?(?:只|都|就|全)?是{_ZH_WHO}(?:里|上|中)?(?:自己)?{_ZH_SAYS}(?:出来|过|到)?的"
    rf"|[，,]\s*(?:这|那)(?:话|句话|些话)?(?:只|都|就)?是{_ZH_WHO}的(?:原话|说法|话)|[，,]\s*{_ZH_WHO}(?:是)?这么{_ZH_SAYS}的"
)


def told_by_others(behind: str) -> str:
    """The words behind an English statement that hand it on; empty if there are none."""
    found = _ENGLISH.search(behind)
    return found.group() if found else ""


def told_by_others_in_chinese(behind: str) -> str:
    """The words behind a Chinese statement that hand it on; empty if there are none."""
    found = _CHINESE.search(behind)
    return found.group() if found else ""


def is_attributed(sentence: str) -> bool:
    """Whether a sentence ends with words that say that somebody else said it."""
    told = told_by_others_in_chinese if "我" in sentence else told_by_others
    return bool(told(sentence.replace("’", "'")))
