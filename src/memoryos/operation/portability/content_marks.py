"""Marks: signed provenance in exported files, and the check of a file.

Each line of an export ends with a mark: an HMAC of its text and of the mark before it. So a line that was changed,
added, removed or moved is named, and so is an end that is missing. The text of an answer has one signed record.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.models.local.watermark_evidence import WatermarkEvidence
from memoryos.operation.portability.export_file import LONGEST_LINE
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.signing import MARK_FORMAT, chained_mark, hash_of, is_mark, is_signed, key_name

_MARKED = regex(r'^(\{.*),"mark":"([0-9a-f]+)"\}\n\Z', re.DOTALL)
MOST_LINES = 10_000  # of the JSON of an answer
Words = Callable[[str], WatermarkEvidence]
_FIX = "Pass a file that `export` of this store wrote, or the JSON of an answer"


@dataclass(frozen=True, slots=True)
class MarkReport(Plain):
    """What the mark of a file says, and whether the file is as it was written."""

    is_whole: bool  #: whether nothing was changed, added, removed or moved
    at: datetime | None  #: when it was written; None if that was changed
    by: str | None  #: identity of the caller who made it; None if that was changed
    user: str | None  #: whose memories it holds or rests on; None if that was changed
    tenant: str | None  #: the same
    lines: int  #: of the file
    altered: tuple[int, ...] = ()  #: numbers of the lines that are not as they were written, or follow a missing one
    is_cut: bool = False  #: whether the end is missing
    words: WatermarkEvidence | None = None  #: the watermark of an answer, with the setting `answer_watermark`

    @property
    def is_altered(self) -> bool:
        """Whether anything of it was changed."""
        return not self.is_whole


def marked_lines(lines: Iterable[str], key: bytes) -> Iterator[str]:
    """The lines of an export, each with its mark."""
    before = ""
    for line in lines:
        text = line.removesuffix("}\n")
        before = chained_mark(before, text, key)
        yield f'{text},"mark":"{before}"}}\n'


def mark_head(by: str, tenant: str, user: str, key: bytes) -> dict[str, str]:
    """What the first line of a marked export says of it."""
    return {"format": MARK_FORMAT, "by": by, "tenant": tenant, "user": user, "key": key_name(key)}


def checked_lines(lines: Iterable[str], key: bytes | None, words: Words | None = None) -> MarkReport:
    """Check a marked file, and the `words` of an answer. Raises InvalidInput if it has no mark of this store."""
    source = iter(lines)
    first = next(source, "")
    if not first.startswith('{"format":'):
        return _checked_answer(_joined(first, source), key, words)
    head = _read(first)
    told = _head_of(head, key)
    if key is None:
        raise _foreign()
    altered, count, before, last = list[int](), 0, "", ""
    for count, line in enumerate(_all(first, source), 1):
        text, mark = _split(line)
        if not hmac.compare_digest(chained_mark(before, text, key), mark or "-"):
            altered.append(count)
        before, last = mark or before, line
    is_cut = not last.startswith('{"end":')
    told = {} if 1 in altered else told
    at = _moment(head.get("exported_at")) if told else None
    by, user, tenant = (told.get(name) for name in ("by", "user", "tenant"))
    return MarkReport(not altered and not is_cut, at, by, user, tenant, count, tuple(altered), is_cut)


def _head_of(head: Mapping[str, Any], key: bytes | None) -> Mapping[str, Any]:
    told = head.get("marked")
    if not isinstance(told, dict) or told.get("format") != MARK_FORMAT:
        raise InvalidInput("file", "has no mark that this program reads", _FIX)
    if key is None or told.get("key") != key_name(key):
        raise _foreign()
    return told


def _checked_answer(text: str, key: bytes | None, words: Words | None) -> MarkReport:
    """Check the JSON of an answer: its text and its mark; the other fields are not signed."""
    head = _read(text)
    head = head["answer"] if isinstance(head.get("answer"), dict) else head  # of `activations.answer`
    told = head.get("mark")
    if not isinstance(told, dict) or not is_mark(told) or told["format"] != MARK_FORMAT:
        raise InvalidInput("file", "has no mark that this program reads", _FIX)
    if key is None or told["key"] != key_name(key):
        raise _foreign()
    said, is_ours = head.get("text", head.get("answer")), is_signed(told, key)
    is_whole = is_ours and isinstance(said, str) and hash_of(said) == told["sha256"]
    lines = 1 + text.rstrip("\n").count("\n")
    found = words(said) if words is not None and isinstance(said, str) else None
    if not is_ours:
        return MarkReport(is_whole=False, at=None, by=None, user=None, tenant=None, lines=lines, words=found)
    return MarkReport(is_whole, _moment(told["at"]), told["by"], told["user"], told["tenant"], lines, words=found)


def _split(line: str) -> tuple[str, str | None]:
    """The text of a line without its mark, and the mark."""
    found = _MARKED.match(line)
    return (found[1], found[2]) if found else (line, None)


def _read(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line) if len(line) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise InvalidInput("file", "begins with no JSON object", _FIX)
    return told


def _joined(first: str, others: Iterator[str]) -> str:
    """The lines of an answer as one text; no more of them than are read."""
    some, chars = [first], len(first)
    for line in islice(others, MOST_LINES):
        if chars > LONGEST_LINE:
            break
        some.append(line)
        chars += len(line)
    return "".join(some)


def _all(first: str, others: Iterator[str]) -> Iterator[str]:
    yield first
    yield from others


def _moment(told: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(told))
    except ValueError:
        return None


def _foreign() -> InvalidInput:
    return InvalidInput("file", "was marked by another store", _FIX)
