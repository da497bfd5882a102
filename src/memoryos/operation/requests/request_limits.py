"""Request limits: words that bound an order or take it back, which an order to the memory cannot follow.

"Forget everything about my job except my salary" names what is to stay, "... if I leave it" a condition, "freeze ...
until 2030" an end. To drop such words would do more than was asked, and to search with them the opposite, so the order
is refused. One that its author takes back, or that belongs to a text that its author only tells, is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoryos.operation.requests.memory_call import MemoryOperation
from memoryos.operation.requests.request_text import RequestSentence, hidden
from memoryos.regex import regex

_EXCEPTION = regex(
    r"\b(?:except|excepting|excluding|unless|apart from|aside from|other than|besides|save for)\b"
    r"|\bbut (?:not|keep|leave|don't|do not|never|only|please)\b"
    r"|\bwithout (?:touching|removing|deleting|forgetting|losing|erasing|changing)\b"
    r"|\b(?:only )?if (?:I|you|we|he|she|it|they|that|the|my)\b"
    r"|除非|如果|要是|只要|一旦|不包括|不含|(?<![删清移擦解消去])除了|(?<![删清移擦解消去])除(?!夕)[^，,。]{1,20}(?:以外|之外|外)"
    r"|但(?:是)?(?:请)?(?:别|不要|不包括|保留|留)",
    re.IGNORECASE,
)
_END_TIME = regex(
    r"\b(?:until|till)\b"
    r"|\bfor (?:a|an|one|two|three|four|five|six|\d+|the (?:next|rest)|some|a few|a couple of)\s*(?:\w+ )?"
    r"(?:minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?)\b"
    r"|直到|为止|(?:\d+|[一二两三四五六七八九十几]+)个?(?:小时|天|周|星期|月|年)(?:内|之内|的时间)?(?:\W|\Z)",
    re.IGNORECASE,
)
_ENDLESS = (MemoryOperation.FREEZE, MemoryOperation.SHARE)  # what could have an end, and takes none
_JOKE = r"\b(?:kidding|joking|jk)\b|开玩笑|逗你"
_TAKEN_BACK = regex(
    rf"{_JOKE}|\A\s*not\s*[!.]|\bnever ?mind\b|\b(?:hold|hang) on\b|\bscratch that\b"
    r"|(?:\A|[.!?,;])\s*(?:oh,? )?(?:wait|no|stop)\s*[,.!]|\b(?:cancel|undo) (?:that|it|this)\b"
    r"|\bkeep (?:it|that|them|everything)\b|\bon second thoughts?\b|\bchanged my mind\b|\bdidn't mean (?:it|that)\b"
    r"|(?:\A|[.!?,;])\s*(?:please |actually,? |no,? )*(?:don't|do not)(?: (?:do|forget|delete|remove|erase) \w+)?\s*"
    r"(?:[.!?]|\Z)"
    r"|等等|等一下|别忘|不要忘|算了|别删|不要删|不用了|留着|才怪",
    re.IGNORECASE,
)
_TOLD_TEXT = regex(
    rf"{_JOKE}|,?\s(?:and )?(?:translate|summari[sz]e|rewrite|paraphrase) (?:it|this|that|them)\b"
    r"|\bis the (?:title|name) of\b"
    r"|\bis (?:a|an|my favou?rite) (?:song|book|film|movie|poem|album|novel)\b"
    r"|,\s*(?:my|our|the|his|her) \w+ (?:told|tells|asked) (?:me|us)\b",
    re.IGNORECASE,
)
_INTRODUCES = regex(
    r"\b(?:lyrics|poem|song|story|book|novel|movie|film|script|letter|e-?mail|quote|quotation|article|essay|chapter"
    r"|title|joke|prompt)\b|\b(?:here(?:'s| is| are)|the following|begins?|starts?|goes|write|compose|draft|imagine"
    r"|pretend|suppose)\b|诗|歌词|小说|故事|台词|剧本|[一这那]封信|邮件|文章|开头|写[一首篇个]|假如|想象|例如",
    re.IGNORECASE,
)
_ORDER_HEAD = regex(
    r"\s*(?:(?:please|could you|can you|would you|kindly|also|and)\b[,\s]*)*"
    r"(?:forget|unlearn|stop remembering|delete|remove|erase|wipe|purge|scrap|discard"
    r"|freeze|unfreeze|lock|unlock|share|unshare|stop sharing|revoke)\b"
    r"|\s*请?(?:你|您|帮我|把|将)*\S{0,20}?(?:忘掉|忘记|忘了|删除|删掉|删了|清空|清除|冻结|锁定)",
    re.IGNORECASE,
)


def request_limit(text: str, operation: MemoryOperation) -> str:
    """The words that name an exception, a condition or an end of an order; empty if there are none."""
    words = hidden(text)
    found = _EXCEPTION.search(words)
    if found is None and operation in _ENDLESS:
        found = _END_TIME.search(words)
    return text[found.start() :].strip(" .!。！，,") if found else ""


def is_withdrawn(sentence: RequestSentence, before: Sequence[RequestSentence]) -> bool:
    """Whether an order is taken back behind it, or belongs to a text that its author only tells."""
    if any(_INTRODUCES.search(one.masked) for one in before) or _TOLD_TEXT.search(sentence.masked):
        return True
    return _TAKEN_BACK.search(hidden(sentence.rest)) is not None


def begins_like_an_order(text: str) -> bool:
    """Whether a text that asks for nothing begins like an order to remove, freeze or share memories."""
    return _ORDER_HEAD.match(hidden(text[:200])) is not None
