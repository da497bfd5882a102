"""Foregone: what was offered, asked for or given back, and is not what somebody has, does or is now.

"I was offered a job at Google but turned it down" does not bear out "works at Google", and "I bought a puppy but gave
it back" not "has a puppy"; that the job was offered, and the puppy bought, is right.
"""

from __future__ import annotations

import re

from memoryos.operation.consolidation.assertion import Assertion, Stems
from memoryos.regex import regex

_HOLDS = regex(
    r"\b(?:has|have|owns?|possess\w*|works?|is|are|lives?|stud(?:y|ies)|attends?|goes to|drives?|keeps?|employed)\b"
)
_ASKED = regex(
    r"""\bI(?:'ve|'d)?\ (?:(?:was|am|got|have|had|been|just|also|recently)\ ){1,3}
      (?:offered|invited|nominated|shortlisted|headhunted)\b
    | \boffer(?:ed|s)\ (?:me|us)\b | \boffer\ from\b
    | \b(?:got|have|had|received|did)\ (?:\w+\ ){0,3}(?:offers?|invitations?|interviews?)\b
    | \binterview(?:ed|s|ing)\ me\b | \bhear(?:ing)?\ back\ from\b | \btr(?:y|ied|ying)\ out\ for\b
    | \b(?:sen[dt]|submitt?(?:ed|ing)?|handed\ in|wrote|my)\ (?:\w+\ ){0,2}(?:CV|r[eé]sum[eé]|application)\b
    | \bI(?:'m|'ve)?\ (?:(?:am|have|was|been|just|also|recently)\ ){0,3}(?:appl(?:y|ied|ying)
      |interview(?:ed|ing)|audition(?:ed|ing))\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TAKEN = regex(
    r"\b(?:accept\w*|took|taken|taking|said yes|start\w*|beg[au]n|join\w*|signed|hired|got (?:it|in|the job)|now)\b",
    re.IGNORECASE,
)
_IT = r"(?:\s(?:it|them|him|her|that|this|the (?:job|offer|place|position))\b|(?=\W*(?:[.!?,;]|$)))"
_BACK = regex(
    rf"""\b(?:but|then|though|although)\b[^.!?;]{{0,30}}?\b
    (?:turned\ (?:it|them|him|her|that|this|the\ \w+)\ down
      | (?:g[ai]ve|sen[td]|take|took|br(?:ought|ing))\ (?:it|them|him|her)\ (?:back|up|away)
      | (?:(?:turn(?:ed)?\ down|pass(?:ed)?(?:\ on)?|declined?|reject(?:ed)?|refused?|sa(?:id|y)\ no|sold|sell
        |return(?:ed)?|lost|cancel(?:l?ed)?|back(?:ed)?\ out)
        |(?:didn't|did\ not|never)\ (?:take|took|accept(?:ed)?|start(?:ed)?|go|went)){_IT}
      | (?:it|that|this)\ fell\ through)""",
    re.VERBOSE | re.IGNORECASE,
)

_ZH_HOLDS = regex(r"在\w{1,12}?(?:工作|上班|就职|任职|上学|读书|学习)|^\W*(?:用户)?(?:有|是|拥有|住|养|就读)")
_ZH_ASKED = regex(
    r"给了?我[^，,。]{0,8}(?:工作|职位|机会|offer)|(?:收到|拿到|接到)[^，,。]{0,10}(?:录用|offer|邀请|通知)"
    r"|申请|面试|面过试|应聘|报考|考了?研|投[了过递]?\w{0,8}简历|简历\w{0,2}投"
)
_ZH_OWN_VERB = regex(r"[是住养做当]|工作|上[班学]|现在|目前|[就读]读|学习|任职|就职|开了|有[^没]")
_ZH_TAKEN = regex(r"接受|入职|去了|上班|答应了|开始|录取|通过了|(?<!没)(?<!没有)签")
_ZH_BACK = regex(
    r"(?:但|可|不过|然而|后来|结果|[，,]又)(?:[，,是我又都就把被它]|还是|最后|最终|后来|已经|马上|很快)*"
    r"(?:拒绝|推(?:掉|辞)?|婉拒|谢绝|回绝|没有?(?:去|接受|答应|接)|放弃|退(?:掉|回|货)?|卖掉?|还(?:回去|给\w{1,3})|送(?:人|走)"
    r"|取消|丢|弄丢|黄|泡汤)了?(?:它|[他她]们?|这\w{1,4})?\W*(?:[。！？!?，,；]|$)"
)


def is_foregone(one: Assertion, stems: Stems) -> bool:
    """Whether the claim is that somebody holds what they, by an English sentence, only could have or had."""
    if not (one.is_own and _HOLDS.search(one.part)):
        return False
    asked = None if _TAKEN.search(one.whole) else _ASKED.search(one.before)
    return any(sign and not _repeats(one.part, sign.group(), stems) for sign in (asked, _BACK.search(one.behind)))


def is_foregone_in_chinese(one: Assertion) -> bool:
    """Whether the claim is that somebody holds what they, by a Chinese sentence, only could have or had."""
    if not (one.is_own and _ZH_HOLDS.search(one.part)):
        return False
    goes_on = not _ZH_OWN_VERB.search(one.words)  # "I had two interviews, Tencent and Baidu"
    is_asked = _ZH_ASKED.search(one.earlier + one.words if goes_on else one.words) and not _ZH_TAKEN.search(one.whole)
    says_so = _ZH_ASKED.search(one.claim) or _ZH_BACK.search(f"但{one.claim}")
    return bool(is_asked or _ZH_BACK.search(one.behind)) and not says_so


def _repeats(part: str, sign: str, stems: Stems) -> bool:
    """Whether the claim has a verb of the sign."""
    said = {stem for stem, _ in stems(part)}
    return any(stem in said for stem, _ in stems(sign))
