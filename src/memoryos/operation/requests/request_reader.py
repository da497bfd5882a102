"""RequestReader: plain words into a MemoryCall, by rules, or by a model whose answer is checked (MemReader)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.errors import ModelError
from memoryos.kinds import Kind, MemoryType
from memoryos.language.entities import entities_in
from memoryos.operation.requests.anchors import Anchored, anchored
from memoryos.operation.requests.memory_call import CallReach, MemoryCall, MemoryOperation, ReadBy, Wish
from memoryos.operation.requests.request_limits import request_limit
from memoryos.operation.requests.request_text import HEAD_CHARS, ORDER_CHARS
from memoryos.operation.requests.request_times import TimeRange, is_only_time, names_part_of_day, time_range
from memoryos.operation.requests.request_words import (
    bare_topic,
    is_about_telling,
    order_in_question,
    read_words,
    second_order,
)
from memoryos.scope import Scope

AskModel = Callable[[str, Sequence[MemCube]], Wish]  # raises ModelError

_BY_TOPIC = frozenset((MemoryOperation.FORGET, MemoryOperation.FREEZE, MemoryOperation.THAW, MemoryOperation.RECALL))
_MYSELF = frozenset(("me", "us", "myself", "我", "我们"))  # what was said at a time, whatever it is about
_ANSWERED = (MemoryOperation.RECALL, MemoryOperation.PROFILE)
_CHOOSES = _BY_TOPIC - {MemoryOperation.RECALL}
CHOSEN_KINDS = (Kind.PAGE, Kind.FACT, Kind.PROFILE, Kind.TRAIT)


@dataclass(frozen=True, slots=True)
class RequestReader:
    """Reads the requests of one caller."""

    caller: str
    scope: Scope
    now: datetime  #: in the time zone of times without one
    recent: Sequence[MemCube]  #: the latest pages, oldest first
    model: AskModel | None = None

    def read(self, text: str) -> MemoryCall:
        """What the text asks for."""
        wish, read_by, reason = self._wish(text)
        by_topic = wish.operation in _BY_TOPIC and wish.reach is CallReach.TOPIC
        whole = anchored(wish.topic, self.recent, self.now) if by_topic and wish.topic else Anchored(wish.topic)
        named = self._told_when(wish, whole.text) if by_topic else TimeRange(None, None, whole.text)
        if named is None:
            wish, whole, named = Wish(), Anchored(""), TimeRange(None, None, "")
        operation = wish.operation
        query = whole.text if operation is MemoryOperation.RECALL else bare_topic(named.rest, is_thing=wish.is_thing)
        return MemoryCall(
            text,
            operation,
            operation.intent,
            self.caller,
            self.scope,
            query,
            wish.content,
            wish.reach,
            types=tuple(MemoryType) if wish.reach is CallReach.ALL else (MemoryType.PLAINTEXT,),
            kinds=wish.kinds or (CHOSEN_KINDS if operation in _CHOOSES else ()),
            entities=self._entities(whole.text or wish.content, wish.to),
            since=named.since,
            until=named.until,
            is_about_telling=(operation in _CHOOSES or is_about_telling(whole.text)) and named.is_bounded,
            anchor=whole.page or self._latest(wish),
            to=wish.to,
            read_by=read_by,
            reason=reason,
            limit=_limit(text, operation),
        )

    def _told_when(self, wish: Wish, topic: str) -> TimeRange | None:
        """The time range of a request, and its topic without it; None where the words that tell a time are unclear.

        A wrong time would choose the wrong memories, and so would a topic made of the words for it.
        """
        if wish.operation is MemoryOperation.RECALL:
            return time_range(topic, self.now, is_latest=is_about_telling(topic))
        if wish.when:
            told = time_range(wish.when, self.now, is_latest=True)
            is_clear = (
                not names_part_of_day(wish.when)
                and told.is_bounded
                and not told.is_split
                and not told.rest
                and not is_only_time(topic)
            )
            return replace(told, rest="" if topic in _MYSELF else topic) if is_clear else None
        told = time_range(topic, self.now, is_latest=True)
        if names_part_of_day(topic) > names_part_of_day(told.rest):
            return None
        if topic and (not told.rest or is_only_time(told.rest)):
            return None
        if wish.is_thing:
            return TimeRange(None, None, topic)
        rest = "" if told.is_bounded and told.rest in _MYSELF else told.rest
        return None if told.is_split else replace(told, rest=rest)

    def _wish(self, text: str) -> tuple[Wish, ReadBy, str]:
        if self.model is None:
            return read_words(text), ReadBy.RULES, ""
        if len(text) > ORDER_CHARS:
            return read_words(text), ReadBy.RULES, f"the text has more than {ORDER_CHARS:,} characters"
        try:
            return self.model(text, self.recent), ReadBy.MODEL, ""
        except ModelError as error:
            return read_words(text), ReadBy.RULES, str(error)

    def _entities(self, text: str, to: str | None) -> tuple[str, ...]:
        named = sorted(entities_in(text[:HEAD_CHARS]), key=lambda one: one.start)
        return tuple(dict.fromkeys([*(one.name for one in named), *([to] if to else [])]))

    def _latest(self, wish: Wish) -> str | None:
        is_last = wish.operation is MemoryOperation.FORGET and wish.reach is CallReach.LAST
        return self.recent[-1].id if is_last and self.recent else None


def _limit(text: str, operation: MemoryOperation) -> str:
    """The words for which a request is refused; empty if there are none."""
    if operation is MemoryOperation.NONE:
        return ""
    if operation in _ANSWERED:
        return order_in_question(text)
    return (request_limit(text, operation) if operation.needs_confirmation else "") or second_order(text)
