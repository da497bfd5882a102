"""ProxiedRequest: a request for an answer, and the same request with notes.

The notes are inserted at one place of its JSON; all other bytes stay as the client wrote them. They stand directly
before the last message of the user: what comes before them is then the same text as in the request before, so that the
prompt cache of the model server hits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memoryos.cached_property import cached_property
from memoryos.config import NotesRole
from memoryos.interface.proxy.json_places import JsonPlace, element, member, with_text, within_quotes, written
from memoryos.interface.proxy.message_items import Item, items_of, last_user, latest, text_of
from memoryos.models.shapes import all_storable

_QUESTION_CHARS = 4_000  # of a longer message, its beginning and its end are searched for
_SERVER_SIDE = ("previous_response_id", "conversation")  # where the model server keeps the dialogue


@dataclass(frozen=True)
class ProxiedRequest:
    """The body of a request whose answer is to have memory."""

    text: str  #: its JSON
    document: Mapping[str, Any]
    name: str  #: of the member that holds the dialogue

    @classmethod
    def read(cls, body: bytes, name: str) -> ProxiedRequest | None:
        """Read a body; None if it is no JSON object: the model server says what is wrong with it."""
        try:
            text = body.decode()
            document = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return cls(text, document, name) if isinstance(document, dict) else None

    @property
    def kept_in(self) -> Sequence[Any]:
        """What names the dialogue that the model server keeps, and that this request goes on with."""
        return [self.document.get(one) for one in _SERVER_SIDE] if self.name == "input" else ()

    @cached_property
    def items(self) -> Sequence[Item]:
        """The dialogue, oldest message first."""
        value = all_storable(self.document.get(self.name))
        return items_of(value) if isinstance(value, list) or self.name == "input" else ()

    @property
    def is_read(self) -> bool:
        """Whether it has messages that memory can read; one may be nested too deep for that."""
        try:
            return bool(self.items)
        except RecursionError:
            return False

    @property
    def exchange(self) -> Sequence[Item]:
        """What the answer completes."""
        return latest(self.items)

    @property
    def question(self) -> str:
        """The words of the last message of the user; empty if there are none."""
        items = self.items
        last = last_user(items)
        text = "" if last is None else text_of(items[last]).strip()
        half = _QUESTION_CHARS // 2
        return text if len(text) <= _QUESTION_CHARS else f"{text[:half]}\n{text[-half:]}"

    @property
    def user(self) -> str | None:
        """The end user that the request names."""
        found = self.document.get("user")
        return found if isinstance(found, str) and found else None

    def with_notes(self, notes: str, role: NotesRole) -> bytes:
        """The body with the notes."""
        place = member(self.text, self.name)
        if place is None or (isinstance(place.value, list) and last_user(place.value) is None):
            return self.text.encode()
        if any(self.kept_in):
            return self._in_instructions(notes).encode()  # else they would stay in the dialogue for good
        if role is NotesRole.USER:
            return self._in_question(place, notes).encode()
        message = written({"role": role.value, "content": notes})
        return self._before_question(place, message).encode()

    def _before_question(self, place: JsonPlace, message: str) -> str:
        if isinstance(place.value, str):
            asked = f'{{"role":"user","content":{self.text[place.start : place.end]}}}'
            return f"{self.text[: place.start]}[{message},{asked}]{self.text[place.end :]}"
        return with_text(self.text, self._last(place).start, f"{message},")

    def _in_question(self, place: JsonPlace, notes: str) -> str:
        """The notes within the last message of the user, for models that take one system message, or none."""
        in_front = partial(with_text, self.text, added=f"{within_quotes(notes)}\\n\\n")
        if isinstance(place.value, str):
            return in_front(place.start + 1)
        content = member(self.text, "content", self._last(place).start)
        if content is None or not content.value:
            return self.text
        if isinstance(content.value, str):
            return in_front(content.start + 1)
        kind = "text" if self.name == "messages" else "input_text"
        part = written({"type": kind, "text": notes})
        return with_text(self.text, element(self.text, content.start, 0).start, f"{part},")

    def _in_instructions(self, notes: str) -> str:
        place = member(self.text, "instructions")
        if place is None:
            return with_text(self.text, self.text.index("{") + 1, f'"instructions":{written(notes)},')
        if isinstance(place.value, str):
            return with_text(self.text, place.end - 1, f"\\n\\n{within_quotes(notes)}")
        return f"{self.text[: place.start]}{written(notes)}{self.text[place.end :]}"

    def _last(self, place: JsonPlace) -> JsonPlace:
        index = last_user(place.value)
        assert index is not None  # noqa: S101 - a request without one has no question, and so no notes
        return element(self.text, place.start, index)
