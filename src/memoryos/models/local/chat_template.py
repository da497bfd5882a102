"""Chat template: messages as tokens, so that no content can pretend to be a control token.

The template is filled with marks instead of contents. What stands between the marks is the template's own text, in
which control tokens count; the contents are read as plain characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memoryos.models.chat import Message
from memoryos.regex import regex

_MARK = "memoryos-content-{}-memoryos"
_MARKS = regex("memoryos-content-([0-9]+)-memoryos")

Fill = Callable[[list[Message]], str]  # the template with these messages
Tokenise = Callable[[str, bool], list[int]]  # a text, and whether control tokens count in it


def chat_tokens(messages: Sequence[Message], fill: Fill, tokenise: Tokenise) -> list[int]:
    """Return the tokens of the messages in the form of the template."""
    marked: list[Message] = [
        {"role": message["role"], "content": _MARK.format(number)} for number, message in enumerate(messages)
    ]
    parts = _MARKS.split(fill(marked))  # own text, number, own text, number, ... own text
    tokens: list[int] = []
    for place, part in enumerate(parts):
        if place % 2:
            tokens += tokenise(messages[int(part)]["content"], False)
        elif part:
            tokens += tokenise(part, True)
    return tokens
