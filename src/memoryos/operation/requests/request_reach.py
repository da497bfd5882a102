"""Request reach: whether a text asks that everything goes, or all of a conversation.

A model may read "forget my job" as an order to forget all. So what it widens counts only where the text has words for
all of it and names no topic, and where the rules that know the order do not find a smaller one.
"""

from __future__ import annotations

import re

from memoryos.operation.requests.memory_call import CallReach, MemoryOperation
from memoryos.operation.requests.request_text import hidden
from memoryos.operation.requests.request_words import read_words
from memoryos.regex import regex

_OF_ME = r"(?:me|us|myself|ourselves|my(?:self)? (?:whole |entire )?(?:life|person)|who I am)\b"
_EVERYTHING = regex(
    r"\b(?:every ?thing|anything|every (?:single )?(?:bit|trace|scrap|last \w+)|it all|the lot"
    r"|all of (?:it|that|this|them)"
    r"|all (?:that )?(?:you|we|I)\b|all (?:about|on|of) me\b|all (?:of )?(?:(?:my|the|your|our) )?(?:personal )?"
    r"(?:memor(?:y|ies)|data|information|info|records?|notes?|facts|history|conversations?|chats)"
    r"|(?:whole|entire|full|complete) (?:\w+ )?(?:memor(?:y|ies)|data|profile|history|record|account|past)"
    r"|(?:my|your|the) memor(?:y|ies)\b|(?:my|the) (?:data|profile|records?|account|history)\b"
    r"|(?:slate|memory) clean|clean slate|blank slate|from scratch|start(?:ing)? over|factory reset|who I am)"
    r"|\b(?:forget|erase|delete|remove) me\b|\ball\b(?=\W*$)",
    re.IGNORECASE,
)
_TALK = regex(
    r"\b(?:conversation|chat|session|dialogue|discussion|talk|exchange|today|tonight)\b|对话|会话|聊天|谈话|这次|今天",
    re.IGNORECASE,
)
_TOPIC = regex(
    rf"\b(?:about|regarding|concerning|related to|to do with|on the subject of|that has to do with) (?!{_OF_ME})\w"
    r"|(?:关于|有关)(?!我的?(?:一切|所有|全部|任何|事|信息|资料|记忆|东西|内容|数据|\W|$))\w",
    re.IGNORECASE,
)
_ZH_EVERYTHING = regex(
    r"全部|所有|一切|(?:通通|统统|全都|都|全|彻底|完全)(?:给我)?(?:忘|删|清|抹|去掉|移除)|清空|清零|归零|重置|从头(?:开始|来)|一干二净"
    r"|我的?(?:记忆|资料|档案|数据|信息|记录)|(?:忘|删|抹)(?:了|掉|除)?我(?=\W*$)"
)
_BUT = regex(
    r"\b(?:but|except|excluding|apart from|aside from|other than|save for|unless)\b|除了|以外|之外|除.{1,12}?外",
    re.IGNORECASE,
)
# What may stand behind the words for all, up to the end of the clause.
_GENERAL = regex(
    r"(?:[^\w.!?;:,，。！？；：]|\b(?:you|we|I|me|us|my|your|know|knew|known|have|has|had|ever|told|said|shared|stored|saved|kept|noted"
    r"|learned|learnt|remember(?:ed)?|about|of|on|from|in|this|the|that|which|please|now|so|far|up|to|here|today|for|good"
    r"|again|all|is|was|are|were|be|there|it|them|at|once|right|forever|completely|entirely|and|over|start|memory|memories"
    r"|gone|deleted|removed|erased|wiped|forgotten|our|whole|entire|current|today's|tonight's)\b"
    r"|[我你您的都它们这些那过说知道记得住存关于有所一切全部东西内容事情资料信息吧了掉请今天里])*(?=[.!?;:,，。！？；：]|$)",
    re.IGNORECASE,
)
_OF_REACH = {CallReach.ALL: (_EVERYTHING, _ZH_EVERYTHING), CallReach.SESSION: (_TALK,)}


def bears_out(text: str, operation: MemoryOperation, reach: CallReach) -> bool:
    """Whether a text asks to do this to as much as a model says."""
    signs = _OF_REACH.get(reach)
    if signs is None or operation is not MemoryOperation.FORGET:
        return True
    words = hidden(text)
    if _TOPIC.search(words) or _BUT.search(words):
        return False
    by_rules = read_words(text)
    if by_rules.operation is not operation:
        return any(_GENERAL.match(words, found.end()) for sign in signs for found in sign.finditer(words))
    return by_rules.reach in (reach, CallReach.ALL) or any(_is_whole(sign, by_rules.topic) for sign in signs)


def _is_whole(sign: re.Pattern[str], topic: str) -> bool:
    """Whether a topic is nothing but words for all: "my chats", and not "my chat with Bob"."""
    return any(
        _GENERAL.fullmatch(topic, 0, found.start()) and _GENERAL.fullmatch(topic, found.end())
        for found in sign.finditer(topic)
    )
