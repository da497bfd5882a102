"""Message items: what a request or an answer of the OpenAI API says, as `Memory.add` takes it.

Both forms are known: the messages of chat completions, and the items of responses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Item = Mapping[str, Any]

_ROLES = ("user", "assistant", "tool", "function", "system", "developer")
_ALONE = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")  # without a role
_CALLS = ("function_call", "custom_tool_call")
_TEXTS = ("text", "input_text", "output_text")


def items_of(value: Any) -> Sequence[Item]:
    """The messages or items of a request; what is none of them, such as a reference, is left out."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    several = value if isinstance(value, list) else []
    return [one for one in several if isinstance(one, Mapping) and _is_known(one)]


def text_of(item: Item) -> str:
    """The words of a message."""
    return "\n".join(texts_of(item.get("content")))


def texts_of(content: Any) -> Sequence[str]:
    """The texts of the content of a message: it is a text, or has parts."""
    if isinstance(content, str):
        return [content]
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if part.get("type") in _TEXTS)
    return [text for text in texts if isinstance(text, str)]


def is_user(item: Any) -> bool:
    """Whether the user said it."""
    return isinstance(item, Mapping) and item.get("role") == "user"


def is_call(item: Item) -> bool:
    """Whether it asks for tools, so that the answer is still to come."""
    return bool(item.get("tool_calls") or item.get("function_call") or item.get("type") in _CALLS)


def last_user(value: Sequence[Any]) -> int | None:
    """The place of the last message of the user; None if there is none."""
    return next((number for number in range(len(value) - 1, -1, -1) if is_user(value[number])), None)


def latest(items: Sequence[Item]) -> Sequence[Item]:
    """What was said since the last answer to the user: the exchange that the next answer completes.

    Tool calls and their results belong to it, and so does what was asked before and never answered.
    """
    start = last_user(items)
    if start is None:
        return ()
    while start > 0 and not _is_answer(items[start - 1]):
        start -= 1
    return items[start:]


def _is_answer(item: Item) -> bool:
    return item.get("role") == "assistant" and not is_call(item)


def _is_known(item: Item) -> bool:
    return item.get("role") in _ROLES or item.get("type") in _ALONE
