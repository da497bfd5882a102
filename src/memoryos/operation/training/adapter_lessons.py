"""Adapter lessons: questions and answers as the tokens that a model is trained on, and the asking of questions."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos.models.chat import Message
from memoryos.models.local.local_engine import LocalEngine, Sampling
from memoryos.models.local.lora_recipe import Example
from memoryos.models.local.weighted_adapter import Adapters
from memoryos.operation.training.question_pairs import QuestionPair, is_right

ROLE = "Answer from what you know about the user."  # stands before each question, in training and later
MOST_EXAMPLES = 4_000  # of one version
_ANSWER = Sampling(limit=48)


def examples_of(engine: LocalEngine, pairs: Sequence[QuestionPair]) -> list[Example]:
    """The pairs that are trained, as tokens, at most `MOST_EXAMPLES`; none that the model's window has no room for."""
    trained = dict.fromkeys((pair.question, pair.answer) for pair in pairs if not pair.is_held_out)
    step = max(1, -(-len(trained) // MOST_EXAMPLES))  # spread over the sources
    made = (_example(engine, question, told) for question, told in list(trained)[::step])
    return [one for one in made if len(one.tokens) <= engine.window]


def answer(engine: LocalEngine, question: str, adapters: Adapters, limit: int = _ANSWER.limit) -> str:
    """What the model says to a question with these adapters, and nothing else before it."""
    tokens = engine.chat_tokens(_asked(question))
    return "".join(engine.generate(tokens, adapters=adapters, sampling=Sampling(limit=limit))).strip()


def recalled(engine: LocalEngine, pairs: Sequence[QuestionPair], adapters: Adapters) -> int:
    """How many of these questions the model answers rightly."""
    return sum(is_right(pair, answer(engine, pair.question, adapters)) for pair in pairs)


def _example(engine: LocalEngine, question: str, told: str) -> Example:
    asked = engine.chat_tokens(_asked(question))
    answered: Message = {"role": "assistant", "content": told}
    whole = engine.chat_tokens([*_asked(question), answered], answers=False)
    return Example(tuple(whole), min(len(asked), len(whole) - 1))


def _asked(question: str) -> list[Message]:
    return [{"role": "system", "content": ROLE}, {"role": "user", "content": question}]
