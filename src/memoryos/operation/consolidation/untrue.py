"""Sentences that call what they say untrue: "it is false that ...", "I never said ...", 我没有说过..., ...是谣言."""

from __future__ import annotations

import re

from memoryos.regex import regex

_MANNER = r"(?: \w+ly| just| all| even| exactly| quite| in any way)?"
_FALSE = (
    r"(?:false|untrue|incorrect|inaccurate|an? (?:\w+ )?(?:lie|myth|hoax|fabrication|fiction|misconception|rumou?r)"
    r"|(?:\w+ )?nonsense|fake news|made up)"
)
_TRUE = r"(?:true|the case|correct|accurate|a fact)"
_NOT_TRUE = (
    rf"(?:\b(?:is|was|has|be)n't(?: been)?|\b(?:not|never)(?: been)?){_MANNER} {_TRUE}"
    rf"|(?:\b(?:is|was|been|are)|'s|'re)(?<!not ){_MANNER} {_FALSE}"
)
# Words before a clause that call it untrue.
CALLED_UNTRUE = (
    rf"(?:{_NOT_TRUE}) that\b"
    r"|\bno truth (?:in|to) (?:it|the|that|this|any)\b"
    r"|\bI(?:(?:'ve| have)? never|(?: didn't| did not|'ve not| haven't| have not))(?: ever)?"
    r" (?:say|said|claim|claimed|state|stated|wrote|written)(?: that)? (?=(?:I|my)\b)"
    r"|\bfar be it from (?:me|us) to\b(?![^.;:!?]{0,200}(?:,|\bbut\b))"
    r"|\bI (?:\w+ly |do |must |have to )?den(?:y|ied) (?:that|ever|having|I)\b"
)
_ENGLISH = regex(rf"{CALLED_UNTRUE}|(?:{_NOT_TRUE})\W*$", re.IGNORECASE)

_ZH_FALSE = (
    r"(?:谣言|谣传|谎[言话]|瞎[说编话]|胡说(?:八道)?|造谣|误传|假(?:的|话|消息)|假|错的|编的|不对的|虚构的|没有?的事)"
)
_CHINESE = regex(
    r"我(?:可|并|也|根本|从(?:来都?)?|绝对)*(?:没有?|未曾|不曾)(?:跟\w{1,3}|对\w{1,3})?(?:说|讲|声称|宣称)过?(?=我)"
    r"|(?:并|根本)?不是说(?=我)|并非(?:是|说)?(?=我)|(?:否认|不承认)(?:自己|我)"
    rf"|(?:是|纯属|属于)(?:彻头彻尾的|完全)?{_ZH_FALSE}\W*$"
    r"|(?:不是|不属|并非)(?:真的?|事实|实情|真话)\W*$|(?:其实|实际上|但|可)(?:并|根本|都)?不是(?:的|这样的?|这么回事)?\W*$"
    r"|(?:根本|完全|绝)?没有?这(?:么?回|件)?事\W*$"
)
_ZH_ASKS = regex(r"[吗嘛么]\W*$")


def is_called_untrue(sentence: str) -> bool:
    """Whether a sentence calls what it says untrue."""
    if "我" in sentence:
        return _CHINESE.search(sentence) is not None and _ZH_ASKS.search(sentence) is None
    return _ENGLISH.search(sentence.replace("’", "'")) is not None
