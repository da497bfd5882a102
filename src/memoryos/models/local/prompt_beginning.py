"""Prompt beginning: the tokens with which the prompts of all questions behind the same messages begin.

Chat templates differ: some write the system message into the turn of the user, some put a token before the first
message, some refuse messages without a question. So the prompts of several questions are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from memoryos.errors import ModelError
from memoryos.models.chat import Message
from memoryos.models.local.local_engine import LocalEngine

_QUESTIONS = ("Where", "0", "谁")  # no tokenizer begins all of them with the same token


def beginning(engine: LocalEngine, messages: Sequence[Message]) -> list[int]:
    """Return these tokens: of the messages alone, or, where the template has none, all that the prompts share.

    Raises ModelError if the messages are not whole in it.
    """
    prompts = [engine.chat_tokens([*messages, {"role": "user", "content": one}]) for one in _QUESTIONS]
    common = [one[0] for one in takewhile(lambda one: len(set(one)) == 1, zip(*prompts, strict=False))]
    alone = _alone(engine, messages)
    if alone and common[: len(alone)] == alone and _has_all(engine, alone, messages):
        return alone
    if not _has_all(engine, common, messages):
        raise ModelError(
            f"the chat template of {engine.name} writes the question before the prefix: it has no KV state"
        )
    return common


def _alone(engine: LocalEngine, messages: Sequence[Message]) -> list[int]:
    """The messages without a question; none if the template refuses that."""
    try:
        return engine.chat_tokens(messages, answers=False)
    except ModelError:
        return []


def _has_all(engine: LocalEngine, tokens: Sequence[int], messages: Sequence[Message]) -> bool:
    """Whether the content of each message stands in the tokens."""
    contents = [engine.tokenise(one["content"]) for one in messages]
    return all(any(tokens[at : at + len(one)] == one for at in range(len(tokens))) for one in contents)
