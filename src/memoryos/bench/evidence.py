"""The questions of a LoCoMo file, and the turns that hold their answers.

Evidence was written by hand there, and some of it is malformed. An entry that is the id of a turn is that id.
Any other is taken apart at blanks, commas and semicolons; brackets, quotes and full stops around a part are taken
off, a small d becomes D, a colon after it and zeros before a number are dropped: "D8:6; D9:17" is D8:6 and D9:17,
"D:11:26" is D11:26, "D30:05" is D30:5. A part that names no turn of its conversation even then is Malformed.
The answers are never read: what is not here cannot leak into a search.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter

from memoryos.importers.source import QuestionText, Text, read_json
from memoryos.regex import regex

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
ADVERSARIAL = 5  # asked of the wrong person: the conversation has no answer

_FIX = "Pass a LoCoMo file: samples with sample_id, conversation and a qa list of {question, category, evidence}"
_BETWEEN = regex(r"[\s,;]+")
_AROUND = "()[]{}\"'."
_ID = regex(r"D:?0*(\d+):0*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, and the ids of the turns that answer it, each once."""

    conversation: str
    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Malformed:
    """Evidence that names no turn."""

    conversation: str
    question: str
    evidence: str
    is_asked: bool  #: whether the question has other evidence


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of categories 1 to 4, and what had to be left out of them."""

    asked: tuple[Question, ...]
    malformed: tuple[Malformed, ...]
    without_evidence: int  #: questions that are not asked because the data gives no evidence at all
    adversarial: tuple[Question, ...] = ()  #: those of category 5, without evidence

    @property
    def lost(self) -> int:
        """Questions that are not asked because all of their evidence is malformed."""
        return len({(part.conversation, part.question) for part in self.malformed if not part.is_asked})


class _Asked(BaseModel):
    question: QuestionText
    category: Annotated[int, Field(ge=1, le=5)]
    evidence: list[Text] = []


class _EvidenceSample(BaseModel):
    sample_id: Text
    qa: list[_Asked]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


_SHAPE = TypeAdapter(Annotated[list[_EvidenceSample], BeforeValidator(_as_list)])


def read_questions(path: Path, known: Mapping[str, Collection[str]]) -> QuestionSet:
    """The questions about the conversations in `known`, which gives the ids of their turns.

    Raises InvalidInput for a file of another shape.
    """
    samples = read_json(path, _SHAPE, fix=_FIX)
    pairs = [
        (sample.sample_id, raw)
        for sample in samples
        if sample.sample_id in known
        for raw in sample.qa
        if raw.category in CATEGORIES
    ]
    read = [_read(conversation, raw, known[conversation]) for conversation, raw in pairs if raw.evidence]
    return QuestionSet(
        asked=tuple(question for question, _ in read if question.evidence),
        malformed=tuple(part for _, malformed in read for part in malformed),
        without_evidence=len(pairs) - len(read),
        adversarial=tuple(
            Question(sample.sample_id, raw.question, ADVERSARIAL, ())
            for sample in samples
            if sample.sample_id in known
            for raw in sample.qa
            if raw.category == ADVERSARIAL
        ),
    )


def _read(conversation: str, raw: _Asked, known: Collection[str]) -> tuple[Question, list[Malformed]]:
    found, lost = turn_ids(raw.evidence, known)
    question = Question(conversation, raw.question, raw.category, tuple(found))
    return question, [Malformed(conversation, raw.question, part, bool(found)) for part in lost]


def turn_ids(entries: Sequence[str], known: Collection[str]) -> tuple[list[str], list[str]]:
    """The turns that the entries name, each once, and the parts of entries that name none."""
    found: dict[str, None] = {}
    lost: list[str] = []
    for entry in entries:
        parts = [entry] if entry in known else [part for part in _BETWEEN.split(entry) if part] or [entry]
        for part in parts:
            name = part if part in known else _normal(part)
            if name in known:
                found[name] = None
            else:
                lost.append(part)
    return list(found), lost


def _normal(part: str) -> str:
    named = _ID.fullmatch(part.strip(_AROUND))
    return f"D{named[1]}:{named[2]}" if named else part
