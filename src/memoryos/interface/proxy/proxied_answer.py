"""ProxiedAnswer: what the model said, read from the bytes of the answer while they pass by.

A stream is complete when it says so: by its mark, by an event of its end, or, if it closed well, by a reason to finish.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memoryos.interface.proxy.message_items import Item, is_call, items_of, texts_of
from memoryos.json_size import has_more_values
from memoryos.models.chat import without_reasoning
from memoryos.models.event_data import EventData
from memoryos.models.shapes import storable

_MOST_BYTES = 16 * 2**20  # of an answer that is read: a longer one passes by, and is not stored
_MOST_VALUES = 1_000_000  # in its JSON; all other requests wait while it is parsed
_DONE = b"[DONE]"
_ENDS = ("response.completed", "response.incomplete")


class ProxiedAnswer:
    """One answer; of several choices, the first."""

    def __init__(self, *, is_stream: bool) -> None:
        self._events = EventData() if is_stream else None
        self._size = 0
        self._parts: list[bytes] = []  # of an answer that is no stream
        self._said: list[str] = []
        self._calls = False
        self._is_finished = False
        self._is_broken = False  # it says that it failed
        self._items: Sequence[Item] = ()  # of a response
        self.is_whole = False  #: whether the answer is complete, however its connection ends

    def take(self, part: bytes) -> None:
        """Read the next bytes."""
        self._size += len(part)
        if self._size > _MOST_BYTES:
            self._parts.clear()
            self._said.clear()
        elif self._events is None:
            self._parts.append(part)
        else:
            for event in self._events.ended(part):
                self._is_broken = self._is_broken or self._events.is_error
                self._take_event(event)

    def end(self) -> None:
        """The connection has ended well."""
        if self._events is None:
            self._take_document(_read(b"".join(self._parts)))
        self.is_whole = self.is_whole or self._is_finished

    @property
    def messages(self) -> Sequence[Item]:
        """The answer as messages; empty if there is none to store: it is not complete, says nothing, or calls tools."""
        if (
            not self.is_whole
            or self._is_broken
            or self._calls
            or self._size > _MOST_BYTES
            or any(map(is_call, self._items))
        ):
            return ()
        if self._items:
            return self._items
        text = without_reasoning(storable("".join(self._said)))
        return [{"role": "assistant", "content": text}] if text else ()

    def _take_event(self, event: bytes) -> None:
        if event.startswith(_DONE):
            self.is_whole = True
            return
        document = _read(event)
        self._is_broken = self._is_broken or _has_failed(document)
        if document.get("type") in _ENDS:
            self._take_document(_dict(document.get("response")))
            self.is_whole = True
        for choice in _first(document):
            self._take_message(_dict(choice.get("delta")), between="")
            self._is_finished = self._is_finished or bool(choice.get("finish_reason"))
            self._is_broken = self._is_broken or _has_failed(choice)

    def _take_document(self, document: Mapping[str, Any]) -> None:
        for choice in _first(document):
            self._take_message(_dict(choice.get("message")), between="\n")
            self._is_finished = True
            self._is_broken = self._is_broken or _has_failed(choice)
        output = items_of(document.get("output") if document.get("object") == "response" else [])
        if output and document.get("status") in ("completed", "incomplete"):
            self._items, self._is_finished = output, True

    def _take_message(self, message: Mapping[str, Any], between: str) -> None:
        self._calls = self._calls or is_call(message)
        for name in ("content", "refusal"):
            self._said.append(between.join(texts_of(message.get(name))))


def _first(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The first choice; choices of a stream come in any order."""
    choices = document.get("choices")
    several = [one for one in choices if isinstance(one, Mapping)] if isinstance(choices, list) else []
    return [one for one in several if one.get("index", 0) == 0][:1]


def _has_failed(told: Mapping[str, Any]) -> bool:
    """Whether an event or a choice says that the answer failed."""
    return (
        bool(told.get("error"))
        or told.get("type") in ("error", "response.failed")
        or told.get("finish_reason") == "error"
    )


def _read(part: bytes) -> Mapping[str, Any]:
    if has_more_values(part, _MOST_VALUES):
        return {}
    try:
        return _dict(json.loads(part))
    except (ValueError, RecursionError):
        return {}


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
