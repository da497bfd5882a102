"""Request limits: what stands in or around an order, and makes it one that cannot be followed to the word.

"Forget everything about my job except my salary" would find the salary, which is to stay. So an order with an exception
or a condition, one that the next sentence takes back, and one behind words that tell of a text, asks for nothing.
"""

from __future__ import annotations

import re

from memoryos.operation.requests.memory_call import Wish
from memoryos.operation.requests.request_text import RequestSentence
from memoryos.regex import regex

_EXCEPTION = regex(
    r"\b(?:except|excepting|excluding|unless|without|besides|apart from|aside from|other than|save for"
    r"|but (?:not|keep|leave|don't|do not|never|only)|all but|just not|if|in case|provided|as long as|until|till)\b"
    r"|除了|除去|除非|之外|以外|但不|但别|但保留|但留|不包括|如果|要是|假如|只要|直到",
    re.IGNORECASE,
)
_NO_TOPIC = regex(  # behind a comma: what somebody said, a task, a joke; then what a title is
    r"[,，]\s*(?:[^,，]*\b(?:told|said|says|kidding|joking?|translate|summari[sz]e|rewrite|not really)\b"
    r"|no\b|wait\b|not!?\Z)"
    r"|[,，]\s*(?:开玩笑|不是真的|等等|算了)"
    r"|\b(?:is|was) (?:the|a|an|my) (?:\w+ )?(?:title|name|song|book|film|movie|poem|line|lyrics?|album)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = regex(
    r"\s*(?:(?:I'm |I am |was |I was )?(?:just |only )?(?:kidding|joking)|just a joke|(?:j/?k|not)\s*[!.]"
    r"|no[,.! ]|wait\b|actually\b|never ?mind\b|don't\b|do not\b|on second thou?ghts?\b|scratch that\b|stop\b"
    r"|I take (?:it|that) back|I didn't mean|oops\b|sorry[, ]+no\b|keep (?:it|them|that)\b|haha|lol\b|hmm+\b"
    r"|(?:但|可|不过)?(?:开玩笑|开个玩笑|逗你|骗你)|不[，,。！!]|等等|等一下|算了|别忘|还是(?:别|不)|不要忘|哈哈|我不是认真)",
    re.IGNORECASE,
)
_TEXT = regex(  # a sentence before the order that tells of a text, or asks for one
    r"\b(?:lyrics?|poems?|songs?|books?|story|stories|novels?|letters?|e-?mails?|scripts?|documents?|chapters?|quotes?"
    r"|titles?|verses?|films?|movies?|plays?|articles?|headlines?|essays?|slogans?|transcripts?|prompts?"
    r"|translat\w*|begins|goes|following|below|here's|here is|write me|imagine|pretend|suppose|example)\b"
    r"|歌词|诗|歌|书|故事|小说|信|邮件|剧本|文章|台词|标题|例如|比如|例子|假装|假设|以下|下面",
    re.IGNORECASE,
)


def is_meant(wish: Wish, sentence: RequestSentence, before: str) -> bool:
    """Whether an order can be followed as it is worded; `before` is what its author said before it."""
    return not (
        _has_limit(wish.topic) or _TAKEN_BACK.match(sentence.rest.lstrip("\"'”’ \t\n.!?。！？")) or _TEXT.search(before)
    )


def _has_limit(topic: str) -> bool:
    return bool(_EXCEPTION.search(topic) or _NO_TOPIC.search(topic))
