"""Which data set a file is."""

from __future__ import annotations

from memoryos.bench.answers.gvd_questions import read_gvd_questions
from memoryos.bench.answers.locomo_questions import read_locomo_questions
from memoryos.bench.answers.question import Dataset, Files
from memoryos.errors import InvalidInput


def read_dataset(files: Files) -> Dataset:
    """GVD when there is a file of probing questions, or else LoCoMo. Raises InvalidInput when there is no question."""
    dataset = read_gvd_questions(files) if files.questions else read_locomo_questions(files)
    if not dataset.asked:
        raise InvalidInput(str(files.questions or files.data), "has no question", "Pass a file with questions")
    return dataset
