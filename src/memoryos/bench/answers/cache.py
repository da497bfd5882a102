"""Answers of models, kept in a file by what was asked, so that a run that was cut off goes on where it was.

The file has one JSON object a line. Every line is whole when the next one begins: a last line that was cut off is
removed when the file is opened again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock

from pydantic import BaseModel, ValidationError

from memoryos.bench.timing import milliseconds
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.importers.source import readable
from memoryos.models.chat import Answer, ChatModel, Message, Usage
from memoryos.models.limits import Limits

_BEGIN = b'{"key":"'  # of every line


class _Line(BaseModel):
    key: str
    model: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer, and the time that the model took for it."""

    answer: Answer
    ms: float


@dataclass
class Cache:
    """Answers of models, in memory and, with a path, in a growing file."""

    path: Path | None = None
    _held: dict[str, _Line] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, path: Path | None) -> Cache:
        """Open the cache in a file, which may not exist yet. Raises InvalidInput for a file in another format."""
        cache = cls(path)
        if path and path.exists():
            cache._held = {line.key: line for line in _read(path)}
        return cache

    def get(self, key: str) -> CachedAnswer | None:
        """The cached answer to a prompt."""
        line = self._held.get(key)
        if line is None:
            return None
        return CachedAnswer(Answer(line.text, Usage(line.prompt_tokens, line.completion_tokens), line.model), line.ms)

    def put(self, key: str, said: CachedAnswer) -> None:
        """Store an answer durably."""
        usage = said.answer.usage
        line = _Line(
            key=key,
            model=said.answer.model,
            text=said.answer.text,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            ms=round(said.ms, 1),
        )
        with self._lock:
            self._held[key] = line
            if self.path:
                _append(self.path, line)


@dataclass
class CachedChat:
    """A chat model that sends each prompt once and counts its calls. Threads may share it."""

    chat: ChatModel
    cache: Cache
    settings: Settings
    limits: Limits
    calls: int = 0
    _lock: Lock = field(default_factory=Lock)

    def said(self, messages: Sequence[Message]) -> CachedAnswer:
        """The answer with its time, from the cache if possible. Raises ModelError."""
        key = self._key(messages)
        if found := self.cache.get(key):
            return found
        answers: list[Answer] = []
        with self.limits.call():
            ms = milliseconds(lambda: answers.append(self.chat.answer(messages)))
        with self._lock:
            self.calls += 1
        said = CachedAnswer(answers[0], ms)
        self.cache.put(key, said)
        return said

    def answer(self, messages: Sequence[Message]) -> Answer:
        """The answer alone."""
        return self.said(messages).answer

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the whole answer as one piece."""
        yield self.answer(messages).text

    def _key(self, messages: Sequence[Message]) -> str:
        asked = {
            "url": self.settings.llm_base_url,
            "model": self.settings.llm_model,
            "temperature": self.settings.llm_temperature,
            "max_tokens": self.settings.llm_max_tokens,
            "messages": list(messages),
        }
        return sha256(json.dumps(asked, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _read(path: Path) -> list[_Line]:
    with readable(path):
        data = path.read_bytes()
    whole, _, torn = data.rpartition(b"\n")
    lines = [_line(path, number, line) for number, line in enumerate(whole.splitlines(), 1)]
    if torn:
        if not torn.startswith(_BEGIN[: len(torn)]):
            raise _foreign(path, len(lines) + 1)
        with readable(path), path.open("r+b") as file:
            file.truncate(len(data) - len(torn))
    return lines


def _line(path: Path, number: int, line: bytes) -> _Line:
    try:
        return _Line.model_validate_json(line)
    except ValidationError:
        raise _foreign(path, number) from None


def _foreign(path: Path, number: int) -> InvalidInput:
    fix = "Name a file that --cache wrote, or a new one"
    return InvalidInput("--cache", f"line {number} of {path} is not an answer of a model", fix)


def _append(path: Path, line: _Line) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json() + "\n")
    except OSError as error:
        raise InvalidInput("--cache", f"{path} cannot be written ({error.strerror})", "Name another file") from None
