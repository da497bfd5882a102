"""The questions of a recall set (docs/explanation/recall.md) that have an `answer`; the others are not asked.

Each is scored against its answer as a whole, in the group of its type. `at`, where a question has it, is when it was
asked: nothing said later is found then.
"""

from __future__ import annotations

from hashlib import sha256

from pydantic import BaseModel, TypeAdapter

from memoryos.bench.answers.question import AnswerSet, AnswerText, Gold, InputFiles, ReaderQuestion, ScoringRule
from memoryos.bench.locomo_recall import chosen
from memoryos.importers.recall_set import read_recall_set
from memoryos.importers.source import read_json

UNTYPED = "untyped"

_FIX = "Pass a recall set: {conversations: [...], questions: [{user, text, answer}]}"


class _RecallAnswer(BaseModel):
    answer: AnswerText = None


class _AnswerFile(BaseModel):
    questions: list[_RecallAnswer]


_SHAPE = TypeAdapter(_AnswerFile)


def read_recall_questions(files: InputFiles) -> AnswerSet:
    """The data set. Raises InvalidInput for another shape."""
    found = read_recall_set(files.data)
    conversations = chosen(found.conversations, files.conversations)
    users = {conversation.user for conversation in conversations}
    asked: list[ReaderQuestion] = []
    gold: dict[str, Gold] = {}
    with_answers = read_json(files.data, _SHAPE, fix=_FIX).questions
    for number, (query, raw) in enumerate(zip(found.questions, with_answers, strict=True)):
        answer = (raw.answer or "").strip()
        if query.user in users and answer:
            question = ReaderQuestion(f"{query.user}/{number}", query.user, query.text, query.at)
            asked.append(question)
            gold[question.id] = Gold(query.type or UNTYPED, ScoringRule.WHOLE, answer)
    digest = sha256(files.data.read_bytes()).hexdigest()
    return AnswerSet(found.name, files.data, digest, conversations, tuple(asked), gold)
