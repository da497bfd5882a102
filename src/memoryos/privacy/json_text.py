"""JSON text: puts masks into a text that is JSON, so that it stays JSON.

Only what stands in its texts and numbers is replaced. A number that is replaced becomes a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from memoryos.privacy.sensitive import SensitiveKind, SensitiveSpan
from memoryos.regex import regex

Instead = Callable[[SensitiveKind, str], str]  #: what stands in the place of a text of a kind
Replaced = tuple[SensitiveSpan, str]  #: a part of a text, and the words that stand there then

_VALUE = regex(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


def is_json(text: str) -> bool:
    """Whether a text is an object or a list of JSON."""
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def replaced_in_json(text: str, found: Sequence[SensitiveSpan], instead: Instead) -> list[Replaced]:
    """What is replaced of JSON, with the words that stand there then; `found` is in the order of the text."""
    replaced, first = list[Replaced](), 0
    for value in _VALUE.finditer(text):
        while first < len(found) and found[first].end <= value.start():
            first += 1
        touching = [span for span in found[first : first + len(value[0])] if span.start < value.end()]
        if touching:
            replaced += _replaced_in(value, touching, instead)
    return replaced


def _replaced_in(value: re.Match[str], touching: Sequence[SensitiveSpan], instead: Instead) -> list[Replaced]:
    whole = replace(touching[0], start=value.start(), end=value.end())
    if not value[0].startswith('"'):
        return [(whole, f'"{instead(whole.kind, value[0])}"')]
    begin, end = value.start() + 1, value.end() - 1
    inner = [replace(one, start=max(begin, one.start), end=min(end, one.end)) for one in touching]
    told = [(one, instead(one.kind, value.string[one.start : one.end])) for one in inner if one.start < one.end]
    if _is_text(with_replaced(value.string, told, value.start(), value.end())):
        return told
    return [(whole, f'"{instead(whole.kind, value.string[begin:end])}"')]


def with_replaced(text: str, replaced: Sequence[Replaced], start: int = 0, end: int | None = None) -> str:
    """The text from `start` to `end`, with other words where they are told."""
    pieces, at = list[str](), start
    for span, words in replaced:
        pieces += [text[at : span.start], words]
        at = span.end
    return "".join([*pieces, text[at:end]])


def _is_text(told: str) -> bool:
    """Whether it is a text of JSON: a span may end within an escape."""
    try:
        json.loads(told, strict=False)
    except ValueError:
        return False
    return True
