"""Clauses and questions: what one text asks, English and Chinese.

"Where does Ann live? And what is her dog's name?" and 我上司的邮箱是多少？另外，我的手机是什么型号？ ask two things.
Each has an answer of its own, often in another passage.
"""

from __future__ import annotations

import re
from itertools import islice

from memoryos.language.sentences import split_sentences
from memoryos.language.words import index_words
from memoryos.regex import regex

_MORE = "另外|此外|还有|還有|以及|顺便|順便|并且|並且|而且|同时|同時"
_WH = "what|who|whom|whose|where|when|which|how|why"
_ASKS_TWICE = regex(rf"[?？].*[?？]|{_MORE}|\b(?:{_WH})\b.*\band (?:{_WH})\b", re.DOTALL | re.IGNORECASE)
_BETWEEN = regex(
    rf"""[?？。;；]\s*
       | [,，]\s*(?:and\s+also|and|but|also|plus)\s+(?=(?:{_WH}|did|do|does|is|are|was|were|have|has|had|can|could)\b)
       | \s+and\s+(?=(?:{_WH})\b)
       | (?:{_MORE})[，,]?
       | ，(?=.{{0,6}}(?:什么|什麼|谁|誰|哪|几|幾|多少|怎么|怎麼|如何|为什么|為什麼))""",
    re.VERBOSE | re.IGNORECASE,
)
_ASKS = regex(r"""[?？][."'”’」』）)\]]*\Z""")
_LEAST = 1  # content words of a clause
_MOST = 8  # questions of a text that are told apart
_MOST_CLAUSES = 16  # of one text: each is scored like a question of its own


def clauses(text: str) -> tuple[str, ...]:
    """The parts of a text that asks more than one thing, the first ones of many; none when it asks one."""
    if not _ASKS_TWICE.search(text):
        return ()
    parts = (part.strip(" ,，") for part in _BETWEEN.split(text))
    told = (part for part in parts if len(index_words(part)) >= _LEAST)
    found = tuple(islice(told, _MOST_CLAUSES))
    return found if len(found) > 1 else ()


def questions(text: str) -> tuple[str, ...]:
    """The questions among the sentences of a text, the last ones of many; its sentences, if none is a question.

    Each may be answered by itself. None when the text is one question.
    """
    sentences = split_sentences(text)
    asked = [sentence for sentence in sentences if _ASKS.search(sentence)] or sentences
    found = tuple(part for one in asked for part in clauses(one) or (one,))
    return found[-_MOST:] if len(sentences) > 1 or len(found) > 1 else ()
