"""Messages: messages of chat APIs become turns: dicts or SDK objects, with parts, images and tool calls.

The supported forms are OpenAI's chat completions and responses, Anthropic's messages and those of LangChain. Tool
calls and their results become tool turns on the page of their exchange, and everything stays in the order in which it
was said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeGuard

from memoryos.clock import parse_moment
from memoryos.cube import Attachment, Turn
from memoryos.errors import InvalidInput
from memoryos.items import items
from memoryos.kinds import Role
from memoryos.operation.intake.attachment_parts import HOLDERS, attachment_of
from memoryos.operation.intake.ingest import SPLIT, check_attachment
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text, shown

_LANGCHAIN = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "system": "system", "tool": "tool"}
ROLES = {"developer": Role.SYSTEM, "function": Role.TOOL, **{role.value: role for role in Role}}

# Of an object that is no dict: those of its attributes that a message, a part or a call may have.
_NAMES = (
    *("role", "content", "name", "tool_calls", "function_call", "at", "source_id"),
    *("type", "text", "function", "arguments", "input", "args", "output"),
    *HOLDERS,
)

# Types of parts, and of items of the Responses API, which need no message around them.
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "tool_call")
_RESULTS = ("tool_result", "mcp_tool_result", "function_call_output", "custom_tool_call_output")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")  # of the model: nobody said them


Messages = Mapping[str, Any] | Iterable[Any]  #: a dict with role and content, an SDK object that has them, or several


def is_messages(value: object) -> TypeGuard[Messages]:
    """Whether the value is a message or a list of messages, and not a text."""
    return _is_one(value) or (isinstance(value, Iterable) and not isinstance(value, str | bytes))


def _is_one(value: object) -> bool:
    """Whether it is one message: a dict, or an SDK object, also of pydantic, whose objects are iterable."""
    return isinstance(value, Mapping) or hasattr(value, "role") or callable(getattr(value, "model_dump", None))


def turns_of_messages(messages: Messages, *, now: datetime, limit: int) -> list[Turn]:
    """Return the turns of messages, in order; their times are in UTC, and a text has at most `limit` characters.

    Messages of the system or the developer are left out: they instruct the model, and nobody said them in the dialogue.
    A time without a zone is in the zone of `zoned`. Raises InvalidInput with the message and the field.
    """
    several = [messages] if _is_one(messages) else list(items("messages", messages))
    turns: list[Turn] = []
    instructs = False
    for number, message in enumerate(several):
        one = _said(message, f"messages[{number}]")
        _check(one, f"messages[{number}]", now, limit)
        instructs = instructs or one.role is Role.SYSTEM
        turns += [] if one.role is Role.SYSTEM else one.turns()
    if not turns and not instructs:
        raise InvalidInput("messages", "have no content", "Pass at least one message with content")
    return turns


@dataclass
class _SpokenPart:
    """The text of a message between two tool calls or results."""

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


@dataclass
class _Said:
    """The content of one message: its words, tool calls and results, in order."""

    role: Role
    parts: list[_SpokenPart | Turn] = field(default_factory=list)
    speaker: str | None = None
    at: Any = None
    source_id: str | None = None

    def words(self) -> _SpokenPart:
        """Where the next words go."""
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, _SpokenPart):
            self.parts.append(last := _SpokenPart())
        return last

    def turns(self) -> list[Turn]:
        """The message as turns; empty for a message without words."""
        return [replace(one, at=self.at) if isinstance(one, Turn) else self._turn(one) for one in self.parts]

    def _turn(self, words: _SpokenPart) -> Turn:
        return Turn(
            role=self.role,
            text="\n".join(words.texts),
            speaker=self.speaker,
            at=self.at,
            source_id=self.source_id,
            attachments=tuple(words.attachments),
        )


def _said(message: Any, place: str) -> _Said:
    known = _in_message(_fields(message, place))
    said = _Said(_role(known, place), speaker=known.get("name"), at=known.get("at"), source_id=known.get("source_id"))
    called = [_fields(one, f"{place}.tool_calls") for one in _listed(known.get("tool_calls"), f"{place}.tool_calls")]
    named = {one["id"]: one for one in called if one.get("id") and isinstance(one["id"], str)}
    placed = []
    for number, part in enumerate(_content(known, f"{place}.content")):
        if (name := _called_id(part)) in named:  # LangChain names the calls of the parts again, with all arguments
            placed.append(name)
            said.parts.append(_call(named[name], f"{place}.tool_calls"))
        else:
            _take(said, part, f"{place}.content[{number}]")
    said.parts += [_call(one, f"{place}.tool_calls") for one in called if one.get("id") not in placed]
    if (call := known.get("function_call")) is not None:  # the form before tool_calls
        said.parts.append(_call(call, f"{place}.function_call"))
    return said


def _called_id(part: Any) -> str:
    """The id of a part that is a call; empty for others."""
    kind, name = (part.get(each) if isinstance(part, Mapping) else getattr(part, each, None) for each in ("type", "id"))
    return name if kind in _CALLS and isinstance(name, str) else ""


def _in_message(known: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message; an item of the Responses API that stands alone becomes the part of one."""
    kind = known.get("type")
    if known.get("role") is None and isinstance(kind, str) and kind in _LANGCHAIN:
        return {**known, "role": _LANGCHAIN[kind]}
    if known.get("role") is not None or kind not in (*_CALLS, *_RESULTS, *_THOUGHTS):
        return known
    role = Role.TOOL if kind in _RESULTS else Role.ASSISTANT
    return {"role": role.value, "content": [known]}


def _check(said: _Said, place: str, now: datetime, limit: int) -> None:
    """Check what is kept of a message, and convert its time."""
    for part in said.parts:
        label, texts = ("content", part.texts) if isinstance(part, _SpokenPart) else ("tool_calls", [part.text])
        for text in texts:
            checked_text(f"{place}.{label}", text, limit=limit, fix=SPLIT)
        for attachment in part.attachments:
            check_attachment(attachment, limit, f"{place}.content")
    for label, value in (("name", said.speaker), ("source_id", said.source_id)):
        if value is not None:
            checked_text(f"{place}.{label}", value, limit=ID_LIMIT)
    if said.at is not None:
        said.at = parse_moment(f"{place}.at", said.at, now=now)


def _fields(message: Any, place: str) -> Mapping[str, Any]:
    """The fields of a dict or an SDK object."""
    if isinstance(message, Mapping):
        return message
    if isinstance(message, Turn):
        raise InvalidInput(place, "is a Turn", "Pass turns to add_many")
    if callable(dump := getattr(message, "model_dump", None)):
        return dict(dump())
    known = {name: getattr(message, name) for name in _NAMES if hasattr(message, name)}
    if not known:
        raise InvalidInput(place, f"is a {type(message).__name__}", "Pass a dict as in chat APIs")
    return known


def _role(known: Mapping[str, Any], place: str) -> Role:
    role = known.get("role")
    if not isinstance(role, str) or role not in ROLES:
        problem = "is missing" if role is None else f"{shown(role)} is unknown"
        fix = f"Use one of: {', '.join(sorted(ROLES))}"
        if role is None and known.get("type"):
            fix = f"{fix}; of items without a role, {', '.join((*_CALLS, *_RESULTS, *_THOUGHTS))} are known"
        raise InvalidInput(f"{place}.role", problem, fix)
    return ROLES[role]


def _content(known: Mapping[str, Any], place: str) -> Iterable[Any]:
    """The parts; a text is one part."""
    content = known.get("content")
    if content is None and known.get("blocks") and not known.get("tool_calls"):
        fix = "Pass a dict with its role and its content, or use memoryos.frameworks.llamaindex"
        raise InvalidInput(place, "is missing, but there are blocks, as in messages of LlamaIndex", fix)
    if isinstance(content, str | Mapping):
        return [content]
    return _listed(content, place, "Pass a text or a list of parts, or leave it out")


def _listed(value: Any, place: str, fix: str = "Pass a list, or leave it out") -> Iterable[Any]:
    if value is None:
        return ()
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise InvalidInput(place, f"expected a list, got {type(value).__name__}", fix)
    return value


def _take(said: _Said, part: Any, place: str) -> None:
    """Add one part of a message."""
    if isinstance(part, str):
        if part.strip():
            said.words().texts.append(part)
        return
    known = _fields(part, place)
    if not isinstance(kind := known.get("type"), str):
        raise InvalidInput(f"{place}.type", "is missing", "Pass a text, or a dict with a type")
    if kind in _TEXTS:
        _take(said, _text(known.get(_TEXTS[kind]), place), place)
    elif kind in _CALLS:
        said.parts.append(_call(known, place))
    elif kind in _RESULTS:
        said.parts.append(_result(known, place))
    elif kind not in _THOUGHTS:
        said.words().attachments.append(attachment_of(kind, known, place))


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{place}.text", f"expected text, got {type(value).__name__}", "Pass a str")
    return value


def _call(call: Any, place: str) -> Turn:
    """A tool call as a turn."""
    known = _fields(call, place)
    named = _fields(known.get("function") or known, f"{place}.function")
    asked: Any = next((named[name] for name in ("arguments", "input", "args") if name in named), {})
    text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False, default=str)
    return Turn(role=Role.TOOL, text=f"called {named.get('name') or 'a tool'}({text})")


def _result(known: Mapping[str, Any], place: str) -> Turn:
    """A tool result that is a part of a message."""
    said = _Said(Role.TOOL)
    held = known if known.get("output") is None else {"content": known["output"]}
    for part in _content(held, place):
        _take(said, part, place)
    words = said.words()
    return Turn(role=Role.TOOL, text="\n".join(words.texts) or "(nothing)", attachments=tuple(words.attachments))
