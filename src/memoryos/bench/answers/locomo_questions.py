"""The questions of a LoCoMo file with their answers, by the rules of LoCoMo's own scoring.

Category 1 has several answers between commas; of category 3 what stands before the first semicolon counts; category 5
cannot be answered from the conversation. The wrong answer that the file gives for category 5 is never read.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter

from memoryos.bench.answers.question import AnswerSet, AnswerText, Gold, InputFiles, ReaderQuestion, ScoringRule
from memoryos.bench.locomo_recall import chosen
from memoryos.errors import InvalidInput
from memoryos.importers.locomo import read_locomo
from memoryos.importers.source import QuestionText, Text, read_json

CATEGORY_NAMES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}

_MULTI_HOP, _OPEN_DOMAIN, _ADVERSARIAL = 1, 3, 5
_FIX = "Pass a LoCoMo file: samples with sample_id, conversation and a qa list of {question, category, answer}"


class _LocomoQuestion(BaseModel):
    question: QuestionText
    category: Annotated[int, Field(ge=1, le=5)]
    answer: AnswerText = None


class _QuestionSample(BaseModel):
    sample_id: Text
    qa: list[_LocomoQuestion]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


_SHAPE = TypeAdapter(Annotated[list[_QuestionSample], BeforeValidator(_as_list)])


def read_locomo_questions(files: InputFiles) -> AnswerSet:
    """The data set. Raises InvalidInput for another shape, or a question of category 1 to 4 without an answer."""
    conversations = chosen(read_locomo(files.data), files.conversations)
    names = {conversation.user for conversation in conversations}
    asked: list[ReaderQuestion] = []
    gold: dict[str, Gold] = {}
    for sample in read_json(files.data, _SHAPE, fix=_FIX):
        for number, raw in enumerate(sample.qa if sample.sample_id in names else []):
            question = ReaderQuestion(f"{sample.sample_id}/{number}", sample.sample_id, raw.question)
            asked.append(question)
            gold[question.id] = _gold(f"{files.data} at {question.id}", raw)
    digest = sha256(files.data.read_bytes()).hexdigest()
    return AnswerSet("locomo", files.data, digest, conversations, tuple(asked), gold)


def _gold(place: str, raw: _LocomoQuestion) -> Gold:
    if raw.category == _ADVERSARIAL:
        return Gold(str(raw.category), ScoringRule.ABSTAIN)
    answer = raw.answer or ""
    if raw.category == _OPEN_DOMAIN:
        answer = answer.partition(";")[0]
    if not answer.strip():
        raise InvalidInput(place, "has no answer", "Add it, or remove the question")
    return Gold(
        str(raw.category), ScoringRule.LIST if raw.category == _MULTI_HOP else ScoringRule.WHOLE, answer.strip()
    )
