"""Contexts for every question and system, and the reader's answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memoryos.bench.answers.cache import CachedChat
from memoryos.bench.answers.item import Answered, Item
from memoryos.bench.answers.prompt import messages
from memoryos.bench.answers.question import AnswerSet, ReaderQuestion
from memoryos.bench.answers.system import Contexts, System
from memoryos.bench.progress_callback import Progress, each
from memoryos.bench.timing import milliseconds
from memoryos.models.tokenizer import count_tokens

T = TypeVar("T")
R = TypeVar("R")

WARM_UP = 5  # contexts before the clock runs


def items(dataset: AnswerSet, system: System, contexts: Contexts, progress: Progress) -> list[Item]:
    """The contexts of one system for all questions, each timed."""
    for asked in dataset.asked[:WARM_UP]:
        contexts.of(system, asked)
    questions = each(dataset.asked, f"{system.value}: contexts", progress)
    return [_item(dataset, system, contexts, asked) for asked in questions]


def answers(chat: CachedChat, asked: Sequence[Item], at_once: int, progress: Progress) -> list[Answered]:
    """The reader's answers, in the order of the items. Raises the first ModelError; earlier answers are cached."""

    def answered(item: Item) -> Answered:
        said = chat.said(item.prompt)
        tokens = said.answer.usage.completion_tokens or count_tokens(said.answer.text)
        return Answered(item, said.answer.text, tokens, said.ms)

    what = f"{asked[0].system}: answers" if asked else "answers"
    return side_by_side(answered, asked, at_once, lambda done: progress(what, done, len(asked)))


def side_by_side(call: Callable[[T], R], values: Sequence[T], at_once: int, tell: Callable[[int], None]) -> list[R]:
    """The results of the calls in order, so many at once; when one fails or is interrupted, no other one begins."""
    results: list[R] = []
    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(call, value) for value in values]
        try:
            for done, future in enumerate(waiting, 1):
                results.append(future.result())
                tell(done)
        finally:
            for future in waiting:
                future.cancel()
    return results


def _item(dataset: AnswerSet, system: System, contexts: Contexts, asked: ReaderQuestion) -> Item:
    texts: list[str] = []
    ms = milliseconds(lambda: texts.append(contexts.of(system, asked)))
    prompt = messages(asked, texts[0], is_dialogue=dataset.is_dialogue)
    return Item(system.value, asked, texts[0], tuple(prompt), ms)
