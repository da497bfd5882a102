"""Request words: what a text asks of the memory by the rules of its language, with its topic freed of small words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memoryos.language.words import HAN
from memoryos.operation.requests.chinese_requests import CHINESE_REQUESTS
from memoryos.operation.requests.english_requests import ENGLISH_REQUESTS
from memoryos.operation.requests.memory_call import MemoryOperation, Wish
from memoryos.operation.requests.request_limits import is_withdrawn
from memoryos.operation.requests.request_rule import RequestLanguage
from memoryos.operation.requests.request_text import RequestSentence, own_sentences
from memoryos.regex import regex

_SMALL = (MemoryOperation.REMEMBER, MemoryOperation.SKIP)  # what a text of any length may ask for
_HEAD = regex(r"(?:(?:all|everything|anything)\s+)?(?:(?:about|of|regarding|concerning|on)\s+)+", re.IGNORECASE)
_ASIDE = regex(  # at the end alone: what is cut elsewhere would make the topic wider
    r",\s?(?:he|she|it|they)(?:'s|'re| is| was| are| were)\s[^,，.!?]{1,40}\Z|[，,][他她它]们?是[^，,。！？!?]{1,20}\Z",
    re.IGNORECASE,
)
_AND = regex(
    r"[,;]?\s+(?:and then|and also|and|then|but|also)\s+|[，,；;]?(?:然后|并且|而且|同时|并|再)|[;；]\s*", re.IGNORECASE
)
_PLEASE = regex(  # "remember that I panic and then forget my keys" is one order
    r",?\s+and please\s+|[，,](?=请|帮我|麻烦)|[;；]\s*", re.IGNORECASE
)
_MARKS = " \t\n.,;:!?。，；：！？…"
_WHO = regex(
    r"(?:(?:the|my|our)\s+)?(?:(?:agent|assistant|colleague|friend|user|caller)\s+)?(?=\S)|(?:我的)?(?:同事|朋友|助手|智能体)?(?=\S)",
    re.IGNORECASE,
)


def read_words(text: str) -> Wish:
    """What the text asks for."""
    sentences = list(own_sentences(text))
    for number, sentence in enumerate(sentences):
        wish = _order(sentence)
        if wish and (wish.operation in _SMALL or (sentence.is_all and not is_withdrawn(sentence, sentences[:number]))):
            return _tidied(wish)
    asked = (one.question(sentence) for sentence in sentences for one in _languages(sentence)[-1:])
    found = next((wish for wish in asked if wish), None)
    return _tidied(found) if found else Wish()


def second_order(text: str) -> str:
    """The words of another order behind the first one of a text: "and remember that I work at a bakery".

    What is to be remembered may go on in sentences like "Remember that I swim, too.": those are stored with it.
    """
    told = [(one, _order(one)) for one in own_sentences(text)]
    first = next((place for place, (_, wish) in enumerate(told) if wish), None)
    if first is None:
        return ""
    sentence, wish = told[first]
    is_kept = wish is not None and wish.operation is MemoryOperation.REMEMBER
    behind = [*_second_half(sentence, is_text=is_kept), *told[first + 1 :]]
    others = (one.words for one, other in behind if other and not (is_kept and _goes_on(one, other)))
    return next(others, "").strip(_MARKS)


def order_in_question(text: str) -> str:
    """The words of an order behind a question, in its sentence: "and please forget my old job"."""
    asked = (one for one in own_sentences(text) if one.is_all and not _order(one))
    return next((half.words for one in asked for half, _ in _second_half(one, is_text=True)), "").strip(_MARKS)


def _goes_on(sentence: RequestSentence, wish: Wish) -> bool:
    """Whether a sentence belongs to what is to be remembered: in a long text, all do."""
    return wish.operation is MemoryOperation.REMEMBER or not sentence.is_all


def _second_half(sentence: RequestSentence, *, is_text: bool) -> list[tuple[RequestSentence, Wish]]:
    """What stands behind an "and" of a sentence, with that word, if both halves ask for something; else nothing.

    In a text of its own, as a note and a question have it, "and forget my keys" goes on with it.
    """
    if is_text and sentence.is_report:
        return []
    for found in (_PLEASE if is_text else _AND).finditer(sentence.masked):
        end = len(sentence.words)
        half = _order(sentence.part(found.end(), end))
        if half and _asks(sentence.part(0, found.start())):
            return [(sentence.part(found.start(), end), half)]
    return []


def _asks(sentence: RequestSentence) -> bool:
    return bool(_order(sentence)) or any(one.question(sentence) for one in _languages(sentence)[-1:])


def _order(sentence: RequestSentence) -> Wish | None:
    return next((wish for one in _languages(sentence) if (wish := one.order(sentence))), None)


def is_about_telling(question: str) -> bool:
    """Whether a question asks what was said, so that its times are those at which it was."""
    language = CHINESE_REQUESTS if HAN.search(question) else ENGLISH_REQUESTS
    return language.telling.search(question) is not None


def bare_topic(topic: str, *, is_thing: bool = False) -> str:
    """A topic without the small words before it, the marks around it, and what is only said of it: ", he is a cat".

    A topic that is a statement ("that ...") is kept whole.
    """
    bare = topic.strip(_MARKS)
    bare = bare if is_thing else _ASIDE.sub("", bare).strip(_MARKS)
    head = _HEAD.match(bare)
    return bare[head.end() :] if head else bare


def _languages(sentence: RequestSentence) -> Sequence[RequestLanguage]:
    """Those that a sentence may be worded in; an order in English may be about Chinese words."""
    if not HAN.search(sentence.words):
        return (ENGLISH_REQUESTS,)
    is_mixed = sentence.words.lstrip()[:1].isascii()
    return (ENGLISH_REQUESTS, CHINESE_REQUESTS) if is_mixed else (CHINESE_REQUESTS,)


def _tidied(wish: Wish) -> Wish:
    topic = (
        wish.topic.strip()
        if wish.operation is MemoryOperation.RECALL
        else bare_topic(wish.topic, is_thing=wish.is_thing)
    )
    to = wish.to and _WHO.sub("", wish.to.strip(_MARKS), count=1).strip(_MARKS)
    return replace(wish, topic=topic, content=wish.content.strip(), to=to or None, when=wish.when.strip(_MARKS))
