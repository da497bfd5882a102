"""Session items: messages and other items of a framework as the dialogue of one session, which come back as they were.

What user and assistant say is stored as a dialogue, and read for facts like any other. All other items (tool calls and
results, reasoning, images) are stored as JSON in turns of tools, on the page of their exchange.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any
from uuid import uuid4

from memoryos import expected
from memoryos.cube import MemCube, Page, Turn
from memoryos.errors import InvalidInput
from memoryos.kinds import Role
from memoryos.memory import Memory
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text

_FORM_CHARS = 400  # of what an item has beside its words; more of it goes into a turn of a tool
_FORMS_CHARS = 10_000  # of all items of a call
_FIX = "Pass input items of the SDK"
_SPOKEN = {"user": Role.USER, "assistant": Role.ASSISTANT}
_TEXTS = ("input_text", "output_text")

SessionItem = Mapping[str, Any]  #: a message or another item, as the Responses API has them


class SessionItems:
    """The items of one session of one owner, in their order."""

    def __init__(self, memory: Memory, session_id: str, tag: str) -> None:
        """`tag` is that of the pages, which tells them from what else was said in the session."""
        self.session_id = checked_text("session_id", session_id, limit=ID_LIMIT)
        owner = expected.instance("memory", memory, Memory, "Pass memoryos.open(...)")
        self.memory = owner.of(replace(owner.scope, session=self.session_id))
        self._tag = tag

    def all(self) -> list[Any]:
        """Every item."""
        return [item for _, item in self.placed()]

    def placed(self) -> list[tuple[str, Any]]:
        """Every item with the id of its page."""
        return [(page.id, item) for page in self._pages() for item in _items_of(page)]

    def add(self, items: Sequence[Any]) -> None:
        """Store items, all of them or none. Raises InvalidInput, which names the item."""
        if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
            raise InvalidInput("items", f"expected a list, got {type(items).__name__}", _FIX)
        told = [_turn(item, f"items[{number}]") for number, item in enumerate(items)]
        if told:
            self._add(told)

    def pop(self) -> Any | None:
        """Remove the latest item and return it; None if there is none."""
        pages = self._pages()
        if not pages:
            return None
        *others, last = _turns(pages[-1])
        item = _item_of(last, pages[-1].metadata["forms"])
        if others:  # stored before the page goes: a crash in between repeats them, and loses nothing
            self.memory.add_many(others, tags=[self._tag], metadata=pages[-1].metadata)
        self.memory.delete(pages[-1].id)
        return item

    def clear(self) -> None:
        """Remove all that was said in the session, and what was learned from it alone."""
        self.memory.forget()

    def _pages(self) -> Sequence[MemCube]:
        return self.memory.pages.list(session=self.session_id, tags=[self._tag])

    def _add(self, told: Sequence[tuple[Turn, SessionItem | None]]) -> None:
        call, size, forms, turns = uuid4().hex, 0, [], []
        for number, (turn, form) in enumerate(told):
            size += len(json.dumps(form))
            fits = form is None or size <= _FORMS_CHARS
            forms.append(form if fits else None)
            turns.append(replace(turn if fits else _as_json(_filled(form, turn.text)), source_id=f"{call}:{number}"))
        self.memory.add_many(turns, tags=[self._tag], metadata={"call": call, "forms": forms})


def _turn(item: Any, field: str) -> tuple[Turn, SessionItem | None]:
    """An item as a turn, and its form without its words; None if the turn has all of it as JSON."""
    if not isinstance(item, Mapping):
        raise InvalidInput(field, f"expected a dict, got {type(item).__name__}", _FIX)
    if not any(isinstance(item.get(name), str) for name in ("role", "type")):
        raise InvalidInput(field, "has neither a role nor a type", _FIX)
    try:
        json.dumps(item, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON: {error}", _FIX) from None
    words = _words(item)
    form = _filled(item, "") if words.strip() else None
    if form is None or len(json.dumps(form)) > _FORM_CHARS:
        return _as_json(item), None
    return Turn(role=_SPOKEN[item["role"]], text=words), form


def _as_json(item: SessionItem | None) -> Turn:
    return Turn(role=Role.TOOL, text=json.dumps(item, ensure_ascii=False))


def _words(item: SessionItem) -> str:
    """What a message of the user or the assistant says; empty if it is another item, or has more than one text."""
    if item.get("role") not in _SPOKEN or item.get("type", "message") != "message":
        return ""
    content = item.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        content = content[0].get("text") if content[0].get("type") in _TEXTS else None
    return content if isinstance(content, str) else ""


def _filled(form: SessionItem | None, words: str) -> SessionItem:
    """The item of a form with these words."""
    item: dict[str, Any] = deepcopy(dict(form or {}))
    if isinstance(item["content"], str):
        item["content"] = words
    else:
        item["content"][0]["text"] = words
    return item


def _items_of(page: MemCube) -> list[Any]:
    forms = page.metadata["forms"]
    return [_item_of(turn, forms) for turn in _turns(page)]


def _item_of(turn: Turn, forms: Sequence[SessionItem | None]) -> Any:
    form = forms[int((turn.source_id or "").rpartition(":")[2])]
    return json.loads(turn.text) if form is None else _filled(form, turn.text)


def _turns(page: MemCube) -> tuple[Turn, ...]:
    assert isinstance(page.payload, Page)  # noqa: S101 - nothing else is asked for
    return page.payload.turns
