"""Detects the data set of a file: GVD with a questions file, LoCoMo, or a recall set with answers."""

from __future__ import annotations

from dataclasses import replace

from memoryos.bench.answers.gvd_questions import read_gvd_questions
from memoryos.bench.answers.locomo_questions import read_locomo_questions
from memoryos.bench.answers.question import AnswerSet, InputFiles
from memoryos.bench.answers.recall_questions import read_recall_questions
from memoryos.bench.dataset import is_locomo
from memoryos.errors import InvalidInput


def read_answer_set(files: InputFiles) -> AnswerSet:
    """The questions of the files. Raises InvalidInput for another format, or without a question."""
    if files.questions:
        dataset = read_gvd_questions(files)
    elif is_locomo(files.data):
        dataset = read_locomo_questions(files)
    else:
        dataset = read_recall_questions(files)
    if not dataset.asked:
        fix = "Pass LoCoMo, or a recall set whose questions have an answer; or name GVD's with --questions"
        raise InvalidInput(str(files.questions or files.data), "has no question with an answer", fix)
    return _at_the_end(dataset)


def _at_the_end(dataset: AnswerSet) -> AnswerSet:
    """A question without a time is asked at the time of the last turn, so prompts do not depend on today."""
    ends = {conversation.user: conversation.ended_at for conversation in dataset.conversations}
    return replace(dataset, asked=tuple(replace(one, at=one.at or ends[one.conversation]) for one in dataset.asked))
