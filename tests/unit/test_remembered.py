"""Questions are embedded once while they are remembered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoryos.models.hashing import Hashing
from memoryos.models.remembered import QUESTIONS, Remembered


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
    questions = Remembered(embedder)
    for _ in range(3):
        np.testing.assert_array_equal(questions.vector("Where?"), Hashing().embed(["Where?"])[0])
    assert embedder.texts == ["Where?"]


def test_the_one_asked_longest_ago_is_forgotten(embedder):
    questions = Remembered(embedder)
    for number in range(QUESTIONS + 1):
        questions.vector(str(number))
    questions.vector(str(QUESTIONS))
    assert len(embedder.texts) == QUESTIONS + 1
    questions.vector("0")
    assert len(embedder.texts) == QUESTIONS + 2


def test_nobody_can_change_what_is_remembered(embedder):
    with pytest.raises(ValueError, match="read-only"):
        Remembered(embedder).vector("Where?")[0] = 5


def test_memories_do_not_share_their_questions(embedder):
    for _ in range(2):
        Remembered(embedder).vector("Where?")
    assert embedder.texts == ["Where?"] * 2


def test_threads_get_the_vectors_of_their_questions(embedder):
    questions, texts = Remembered(embedder), [f"Question {number % 20}" for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(questions.vector, texts))
    np.testing.assert_array_equal(vectors, Hashing().embed(texts))


def test_it_is_an_embedder_that_asks_for_each_text_once(embedder):
    words = Remembered(embedder, kept=3)
    np.testing.assert_array_equal(words.embed(["bees", "honey", "bees"]), Hashing().embed(["bees", "honey", "bees"]))
    assert embedder.texts == ["bees", "honey"]
    assert words.embed([]).shape == (0, embedder.dim)
    assert (words.name, words.dim) == (embedder.name, embedder.dim)
