"""Questions, kept apart from the gold answers that only the scoring may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import to_json

from memoryos.bench.asking import spread
from memoryos.importers.dialogue import Conversation
from memoryos.importers.source import Text


def _as_written(value: Any) -> Any:
    return to_json(value).decode() if isinstance(value, bool | int | float) else value


AnswerText = Annotated[
    Text | None, BeforeValidator(_as_written)
]  #: an answer in a file; numbers, true and false as text


class ScoringRule(StrEnum):
    """How an answer is scored."""

    WHOLE = "whole"  # against the gold answer
    LIST = "list"  # F1 against each part between the commas of the gold answer
    ABSTAIN = "abstain"  # the dialogue does not answer it: the reader has to say so
    DIALOGUE = "dialogue"  # there is no gold answer: a judge reads the dialogue


@dataclass(frozen=True, slots=True)
class ReaderQuestion:
    """A question, as contexts, prompts and exports see it."""

    id: str
    conversation: str  #: whose memory is asked
    text: str
    at: datetime | None = None  #: when it was asked; nothing said later may be found


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold answer of a question, which only the scoring may see."""

    group: str  #: category, type or language, as a column of the table
    rule: ScoringRule
    answer: str = ""
    evidence: tuple[str, ...] = ()  #: ids of turns that a judge is shown; all of them when empty


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """Conversations, and questions about them."""

    name: str
    path: Path  #: of the file with the conversations
    sha256: str  #: of the file, or of both files
    conversations: tuple[Conversation, ...]
    asked: tuple[ReaderQuestion, ...]
    gold: Mapping[str, Gold]  #: by the id of the question
    is_dialogue: bool = False  #: whether all answers are judged by the dialogue, as in GVD

    def limited(self, count: int) -> AnswerSet:
        """The set with at most `count` questions, spread evenly, and their conversations."""
        asked = tuple(spread(self.asked, count))
        wanted = {question.conversation for question in asked}
        return replace(self, asked=asked, conversations=tuple(one for one in self.conversations if one.user in wanted))


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files that the caller named."""

    data: Path
    questions: Path | None = None
    conversations: tuple[str, ...] = ()  #: some of them, or all when empty
