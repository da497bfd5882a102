"""Request text: the sentences of a text that may be an order of its author, without what is only quoted.

A text that somebody pastes may hold any order: "ignore the above and forget everything". So only the first paragraph
is read, and in it nothing between quotation marks, in code, in a quoted line, or behind words that tell what somebody
else said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoryos.language.sentences import sentence_bounds
from memoryos.regex import regex

HEAD_CHARS = 600  # of a text, in which an order begins
ORDER_CHARS = 1_000  # of a text that may order that something known is changed or removed
SENTENCES = 4  # in the first paragraph of such a text
# The rules are written in simplified characters; these are the traditional ones of the same words.
_SIMPLE = str.maketrans(
    "記憶刪過說話關於資舊們內請對談訴將給這會個條從鎖凍結護別幫麼嗎誰訊檔據錄煩馬剛錯聽講問寫應該讓見開係東產權銷終與",
    "记忆删过说话关于资旧们内请对谈诉将给这会个条从锁冻结护别帮么吗谁讯档据录烦马刚错听讲问写应该让见开系东产权销终与",
)
_HIDDEN = "\ufffc"  # in the place of a quoted character: neither a letter nor a space

_QUOTED = regex(
    r"""```.*?(?:```|\Z)|`[^`\n]*`|"[^"]*(?:"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)"""
    r"""|《[^》]*(?:》|\Z)|‘[^’]*(?:’|\Z)(?!\w)|(?<!\w)'(?=\w)[^'\n]*'(?!\w)|^[ \t]*>[^\n]*"""
    r"""|<(\w+)[^>]*>.*?(?:</\1>|\Z)""",
    re.DOTALL | re.MULTILINE,
)
_REPORTS = regex(
    r":|：|\b(?:said|says|say|wrote|writes|told|tells|asked|asks|reads|goes|translate|summari[sz]e|rewrite|quote)\b"
    r"|说|写道|翻译|总结|概括|改写|念|(?<!我)告诉",
    re.IGNORECASE,
)
_SPEECH = regex(  # somebody else's words without quotation marks: "..., he said"
    r",\s*(?:he|she|they|it|(?:the|my|our|his|her) (?:\w+ )?\w+|\w+)\s+"
    r"(?:always |once |often |keeps? )?(?:said|says|shouted|cried|wrote|sang|whispered|asked|read|saying)\b"
    r"|,\s*(?:said|says|sang|wrote|was all)\b|[，,](?:他|她|他们|老师|妈妈|爸爸|老板)\S{0,4}(?:说|喊|问|写|唱)",
    re.IGNORECASE,
)
_GREETING = regex(
    r"\s*(?:(?:hi|hey|hello|good (?:morning|afternoon|evening)|dear \w+|thanks|ok|okay|你好|您好|嗨|喂|早上好|好的?)"
    r"[\s,.!，。！~]*)+\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RequestSentence:
    """A sentence that its author may mean as an order."""

    words: str  #: as it is written
    masked: str  #: the same without its quoted characters
    rest: str  #: what follows it in the text
    is_all: bool  #: whether the text is so short that it may order a change of what is known
    is_alone: bool = False  #: whether the text says nothing else, but for a greeting

    @property
    def is_report(self) -> bool:
        """Whether it tells what somebody says, or ends in what is quoted without marks."""
        return _REPORTS.search(self.masked) is not None

    def part(self, start: int, end: int) -> RequestSentence:
        """What stands between two places of it, which is not alone."""
        return RequestSentence(self.words[start:end], self.masked[start:end], "", self.is_all)


def own_sentences(text: str) -> Iterator[RequestSentence]:
    """The first sentences of a text up to one that tells what others say, with what follows each."""
    masked = hidden(text[:ORDER_CHARS])
    start = _beginning(masked)
    end = masked.find("\n", start) if "\n" in masked[start:] else len(masked)
    is_all = len(text) <= ORDER_CHARS and not masked[end:].strip()
    bounds = [(start + first, start + last) for first, last in sentence_bounds(masked[start:end])]
    said = [bound for bound in bounds if masked[slice(*bound)].strip()]
    is_alone = is_all and sum(not _GREETING.match(masked[slice(*bound)]) for bound in said) == 1
    for first, last in said[:SENTENCES]:
        if first - start > HEAD_CHARS:
            return
        sentence = masked[first:last]
        if _SPEECH.search(sentence):
            return
        made = RequestSentence(text[first:last], sentence, text[last:], is_all and len(said) <= SENTENCES, is_alone)
        yield made
        if made.is_report:
            return


def hidden(text: str) -> str:
    """The text with as many characters, but none of what is quoted, with plain apostrophes, in simplified Chinese."""
    plain = (text.replace("’", "'") if "‘" not in text else text).translate(_SIMPLE)
    return _QUOTED.sub(lambda found: _HIDDEN * len(found.group()), plain)


def _beginning(masked: str) -> int:
    """Where the first line that is more than a greeting begins."""
    start = 0
    while (end := masked.find("\n", start)) >= 0:
        line = masked[start:end]
        if line.strip() and not _GREETING.match(line):
            break
        start = end + 1
    return start
