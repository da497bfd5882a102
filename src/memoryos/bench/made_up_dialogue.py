"""Made-up dialogue of any length, the same for the same seed.

The words are those of the bundled tokenizer, which has them in the order of their frequency in English, drawn by
Zipf's law: so texts cost the embedder and the text index what English does. A few words of each exchange come from
its topic, so that pages form topics, and some sentences name one of very many people, as real ones do. No text of
anybody is in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from memoryos.cube import Turn
from memoryos.kinds import Role

TURN_WORDS = (15, 25)  # least and most
QUESTION_WORDS = (6, 10)
TOPICS = 300
TOPIC_WORDS = 12
TOPIC_EXCHANGES = 8  # then they talk about something else
TOPIC_SHARE = 0.4  # of the words: 5 pages a segment with MiniLM, as in LoCoMo
NAMES = 20_000
NAME_SHARE = 0.15  # of the sentences
STEP = timedelta(seconds=30)  # between two turns
START = datetime(2020, 1, 1, tzinfo=UTC)  # 100,000 pages later it is still the past

_COMMON = 100  # the most frequent words are nobody's topic
_OFFSET = 2.7  # Mandelbrot's: without it "the" would be every tenth word
_SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]


class Dialogue:
    """An endless dialogue of Ann and Ben, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._said = 0

    def session(self, pages: int) -> list[Turn]:
        """The next `pages` exchanges, two turns each."""
        return [turn for exchange in self._exchanges(pages) for turn in self._turns(*exchange)]

    def exchanges(self, count: int) -> list[tuple[str, str]]:
        """The next exchanges as two texts each."""
        return list(self._exchanges(count))

    def questions(self, count: int) -> list[str]:
        """Different questions about the topics and the people."""
        asked: dict[str, None] = {}
        while len(asked) < count:
            asked[self._text(self._topic(), QUESTION_WORDS) + "?"] = None
        return list(asked)

    def _exchanges(self, count: int) -> Iterator[tuple[str, str]]:
        topic = self._topic()
        for number in range(count):
            if number and number % TOPIC_EXCHANGES == 0:
                topic = self._topic()
            yield self._text(topic, TURN_WORDS) + ".", self._text(topic, TURN_WORDS) + "."

    def _turns(self, query: str, response: str) -> Iterator[Turn]:
        for role, speaker, text in ((Role.USER, "Ann", query), (Role.ASSISTANT, "Ben", response)):
            yield Turn(role=role, speaker=speaker, text=text, at=START + self._said * STEP)
            self._said += 1

    def _topic(self) -> NDArray[np.int64]:
        """The words of one of the topics, which are the same in every dialogue."""
        topic = np.random.default_rng(int(self._random.integers(TOPICS)))
        return topic.integers(_COMMON, len(_words()), TOPIC_WORDS)

    def _text(self, topic: NDArray[np.int64], length: tuple[int, int]) -> str:
        count = int(self._random.integers(length[0], length[1], endpoint=True))
        drawn = np.searchsorted(_chances(), self._random.random(count))
        from_topic = self._random.random(count) < TOPIC_SHARE
        drawn[from_topic] = self._random.choice(topic, int(from_topic.sum()))
        words = [_words()[index] for index in drawn]
        if self._random.random() < NAME_SHARE:
            words[int(self._random.integers(count))] = _name(int(self._random.integers(NAMES)))
        return " ".join([words[0][0].upper() + words[0][1:], *words[1:]])


@cache
def _words() -> tuple[str, ...]:
    """The English words of the tokenizer, the most frequent first."""
    file = resources.files("memoryos.models") / "minilm" / "tokenizer.json"
    ids: dict[str, int] = json.loads(file.read_text("utf-8"))["model"]["vocab"]
    return tuple(word for word in sorted(ids, key=ids.__getitem__) if word.isascii() and word.isalpha() and word[1:])


@cache
def _chances() -> NDArray[np.float64]:
    """The cumulative probability of the words by frequency."""
    weights = np.cumsum(1 / (np.arange(len(_words())) + _OFFSET))
    chances: NDArray[np.float64] = weights / weights[-1]
    return chances


def _name(number: int) -> str:
    syllables = []
    for _ in range(3):
        number, rest = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[rest])
    return "".join(syllables).capitalize()
