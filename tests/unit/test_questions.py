"""Questions are embedded once while they are remembered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoryos.models.hashing import Hashing
from memoryos.models.questions import QUESTIONS, Questions


class Counting(Hashing):
    """Counts the texts that it is asked for."""

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


@pytest.fixture
def embedder():
    return Counting()


def test_the_same_question_costs_one_call(embedder):
    questions = Questions(embedder)
    for _ in range(3):
        np.testing.assert_array_equal(questions.vector("Where?"), Hashing().embed(["Where?"])[0])
    assert embedder.texts == ["Where?"]


def test_the_one_asked_longest_ago_is_forgotten(embedder):
    questions = Questions(embedder)
    for number in range(QUESTIONS + 1):
        questions.vector(str(number))
    questions.vector(str(QUESTIONS))
    assert len(embedder.texts) == QUESTIONS + 1
    questions.vector("0")
    assert len(embedder.texts) == QUESTIONS + 2


def test_nobody_can_change_what_is_remembered(embedder):
    with pytest.raises(ValueError, match="read-only"):
        Questions(embedder).vector("Where?")[0] = 5


def test_memories_do_not_share_their_questions(embedder):
    for _ in range(2):
        Questions(embedder).vector("Where?")
    assert embedder.texts == ["Where?"] * 2


def test_threads_get_the_vectors_of_their_questions(embedder):
    questions, texts = Questions(embedder), [f"Question {number % 20}" for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(questions.vector, texts))
    np.testing.assert_array_equal(vectors, Hashing().embed(texts))
