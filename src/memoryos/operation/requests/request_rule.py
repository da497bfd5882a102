"""Request rules: how one language words an operation of the memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryos.kinds import Kind
from memoryos.operation.knowledge.person import is_person
from memoryos.operation.requests.memory_call import CallReach, MemoryOperation, Wish
from memoryos.operation.requests.request_text import RequestSentence
from memoryos.regex import regex

HasValue = Callable[[str, str], str]

_KINDS = (
    (regex(r"facts?\b|事实", re.IGNORECASE), (Kind.FACT,)),
    (regex(r"(?:my )?profile\b|我的(?:个人)?档案|我的画像", re.IGNORECASE), (Kind.PROFILE, Kind.TRAIT)),
    (regex(r"notes?\b|messages?\b|笔记|消息|聊天|对话", re.IGNORECASE), (Kind.PAGE,)),
)


_ADVICE = regex(  # to people: "you should forget Daniel", "let's forget the trip"
    r"\b(?:you (?:should|must|need to|have to)|let's|let us|we|always|maybe)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RequestRule:
    """A pattern of a whole sentence, and what it asks for.

    Its groups: `topic` (`thing` is one that keeps the times that it names, `more` the rest of it), `when` it was said,
    `who` is the name of a person, the `sort` of memories, `content`, `to`; `field` and `value` of "set my job to ...".
    "Forget the trip" may also be a way to speak, so such a rule counts only where the text says nothing else.
    """

    operation: MemoryOperation
    pattern: re.Pattern[str]
    reach: CallReach = CallReach.TOPIC
    is_alone: bool = False  #: whether the sentence must be all that is said, and no advice

    def read(self, sentence: RequestSentence, start: int, has_value: HasValue) -> Wish | None:
        """What the sentence asks for from this place on; None if the rule does not fit it."""
        found = self.pattern.match(sentence.masked, start)
        if found is None or (self.is_alone and not _is_plain_order(sentence, start)):
            return None
        part = {name: sentence.words[slice(*found.span(name))].strip() for name in found.groupdict() if found[name]}
        if "who" in part and not is_person(part["who"]):
            return None
        content = part.get("content", "")
        if "field" in part:
            content = has_value(part["field"], part["value"])
        elif content or "content" in self.pattern.groupindex:
            content = f"{content}{sentence.rest}".strip()
        topic = " ".join(part[name] for name in ("topic", "thing", "who", "more") if name in part)
        return Wish(
            self.operation,
            topic,
            content,
            self.reach,
            part.get("to"),
            when=" ".join(part[name] for name in ("when", "then") if name in part),
            is_thing="thing" in part,
            kinds=named_kinds(part.get("sort", "")),
        )


def _is_plain_order(sentence: RequestSentence, start: int) -> bool:
    return sentence.is_alone and _ADVICE.search(sentence.masked[:start]) is None


def named_kinds(sort: str) -> tuple[Kind, ...]:
    """The kinds of memories that a word names, such as "facts" or 消息; none for a word for all of them."""
    found = next((kinds for words, kinds in _KINDS if words.match(sort)), None)
    return found or ()


def request_rules(
    operation: MemoryOperation,
    expressions: Sequence[str],
    end: str,
    reach: CallReach = CallReach.TOPIC,
    *,
    is_alone: bool = False,
) -> tuple[RequestRule, ...]:
    """Rules for the ways to word an operation, each up to this end of a sentence."""
    flags = re.IGNORECASE | re.DOTALL
    return tuple(RequestRule(operation, regex(f"(?:{one}){end}", flags), reach, is_alone) for one in expressions)


@dataclass(frozen=True, slots=True)
class RequestLanguage:
    """How one language words requests."""

    opening: re.Pattern[str]  #: what may stand before a request, such as a greeting
    asking: re.Pattern[str]  #: then, what makes it polite; its group `asks` is there if it has the form of a question
    asks: re.Pattern[str]  #: what is in a question
    is_asked: re.Pattern[str]  #: what is in a question that is no order
    tells: re.Pattern[str]  #: the begin of what has the form of a question, and asks nothing of a memory
    telling: re.Pattern[str]  #: what is in a question about what was said
    orders: tuple[RequestRule, ...]
    questions: tuple[RequestRule, ...]
    has_value: HasValue  #: the statement that a field has a value

    def order(self, sentence: RequestSentence) -> Wish | None:
        """The order that a sentence gives; None if it gives none."""
        start, polite, is_polite_question = self._places(sentence.masked)
        if self.is_asked.search(sentence.masked) and not is_polite_question:
            return None
        return self._first(self.orders, sentence, start, polite)

    def question(self, sentence: RequestSentence) -> Wish | None:
        """What a sentence asks of the memory; None if it is no question."""
        start, polite, _ = self._places(sentence.masked)
        if found := self._first(self.questions, sentence, start, polite):
            return found
        masked = sentence.masked[start:]
        if not self.asks.search(masked) or self.tells.match(masked):
            return None
        return Wish(MemoryOperation.RECALL, sentence.words[start:].strip())

    def _places(self, masked: str) -> tuple[int, int, bool]:
        """Where a request begins without and with what makes it polite, and whether that makes a question of it."""
        opened = self.opening.match(masked)
        start = opened.end() if opened else 0
        asking = self.asking.match(masked, start)
        return start, asking.end() if asking else start, bool(asking and asking["asks"])

    def _first(self, rules: Sequence[RequestRule], sentence: RequestSentence, start: int, polite: int) -> Wish | None:
        """What the first rule reads that fits the sentence from one of these places on."""
        for place in sorted({start, polite}):
            for rule in rules:
                if wish := rule.read(sentence, place, self.has_value):
                    return wish
        return None
