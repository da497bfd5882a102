"""LlamaIndex: a `BaseMemory` of one session of one owner. Needs the extra `llamaindex`.

`get` returns the latest messages of the session, and before them what the memory knows that bears on the question:
notes, marked as quotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoryos import arguments
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.frameworks.session_items import SessionItem, SessionItems
from memoryos.language.memory_notes import notes_of
from memoryos.memory import Memory
from memoryos.models.tokenizer import count_tokens

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemory
except ImportError:
    raise MissingExtra("A memory for LlamaIndex", "llamaindex") from None

TAG = "llama-index"  #: of the pages of such sessions
_KEPT = "llama_index"  # the type of an item that has a message as a whole
_SPOKEN = ("user", "assistant")

_Placed = tuple[str, ChatMessage]  # a message, and the id of its page


class LlamaIndexMemory(BaseMemory):
    """The memory of a chat engine or an agent: `LlamaIndexMemory.from_defaults(memory=memory, session_id="chat-1")`."""

    session_id: str
    tokens: int
    token_limit: int
    _items: SessionItems = PrivateAttr()

    def __init__(self, memory: Memory, session_id: str, *, tokens: int = 1_024, token_limit: int = 8_192) -> None:
        """Keep the messages in this owner's memory. `get` returns `token_limit` at most, `tokens` of them for notes.

        Raises InvalidInput.
        """
        for name, value in (("tokens", tokens), ("token_limit", token_limit)):
            arguments.natural(name, value, least=1)
        super().__init__(session_id=session_id, tokens=tokens, token_limit=token_limit)
        self._items = SessionItems(memory, session_id, TAG)

    @classmethod
    def class_name(cls) -> str:
        """Its name in LlamaIndex."""
        return "LlamaIndexMemory"

    @classmethod
    def from_defaults(  # type: ignore[override, unused-ignore]
        cls, *, memory: Memory, session_id: str, **more: Any
    ) -> LlamaIndexMemory:
        """Make one; the arguments are those of the class."""
        return cls(memory, session_id, **more)

    def get(self, input: str | None = None, initial_token_count: int = 0, **more: Any) -> list[ChatMessage]:  # noqa: A002
        """Notes for the question, and the latest messages that fit. The question is `input`, or the last one asked."""
        if more:
            raise InvalidInput(next(iter(more)), "is unknown", "Pass input or initial_token_count")
        placed = [(page, _message(item)) for page, item in self._items.placed()]
        room = self.token_limit - initial_token_count
        latest = _latest(placed, room - self.tokens)
        asked = (one.content for _, one in reversed(placed) if one.role == MessageRole.USER and one.content)
        question = input or next(asked, None)
        notes = self._notes(question, latest) if question and room >= self.tokens else []
        return [*notes, *(message for _, message in latest)]

    def get_all(self) -> list[ChatMessage]:
        """All messages of the session."""
        return [_message(item) for item in self._items.all()]

    def put(self, message: ChatMessage) -> None:
        """Store a message."""
        self._items.add([_item(message)])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages, all of them or none."""
        self._items.add([_item(message) for message in messages])

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Store these messages in the place of those of the session."""
        items = [_item(message) for message in messages]
        self._items.clear()
        self._items.add(items)

    def reset(self) -> None:
        """Remove all that was said in the session, and what was learned from it alone."""
        self._items.clear()

    def _notes(self, question: str, latest: Sequence[_Placed]) -> list[ChatMessage]:
        """What is known beside the latest messages."""
        found = self._items.memory.context(question, tokens=self.tokens, exclude=[page for page, _ in latest])
        return [ChatMessage(role=MessageRole.USER, content=notes_of(found.text))] if found.ids else []


def _item(message: ChatMessage) -> SessionItem:
    """A message as an item; one that is more than a text is kept as a whole."""
    if message.role.value in _SPOKEN and [type(block) for block in message.blocks] == [TextBlock]:
        told = {"role": message.role.value, "content": message.content or ""}
        return told | ({"additional_kwargs": message.additional_kwargs} if message.additional_kwargs else {})
    try:
        return {"type": _KEPT, "message": message.model_dump(mode="json")}
    except ValueError as error:
        raise InvalidInput("message", f"cannot be written as JSON: {error}", "Pass plain values") from None


def _message(item: SessionItem) -> ChatMessage:
    return ChatMessage.model_validate(item["message"]) if item.get("type") == _KEPT else ChatMessage(**item)


def _latest(placed: Sequence[_Placed], room: int) -> Sequence[_Placed]:
    start = len(placed)
    while start > 0 and (room := room - _tokens(placed[start - 1][1])) >= 0:
        start -= 1
    return placed[start:]


def _tokens(message: ChatMessage) -> int:
    return count_tokens(message.content or str(message.blocks))
