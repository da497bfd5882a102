"""Spending: the usage of models, recorded by scope and purpose, and kept within the daily budget.

Before a call, its largest possible usage is recorded; afterwards, it is corrected to the real usage. So a budget is
never exceeded: a process that dies leaves too much recorded, not too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from memoryos.caller import SYSTEM, acting
from memoryos.clock import Clock
from memoryos.config import Settings
from memoryos.errors import BudgetSpent, ModelError, ModelUnavailable
from memoryos.infrastructure.vault.contract import Vault, Writer
from memoryos.infrastructure.vault.records import Spending
from memoryos.models.asker import asking
from memoryos.models.chat import (
    ANSWER_TOKENS,
    EMPTY,
    MOST_TOKENS,
    Answer,
    ChatModel,
    Counting,
    Message,
    Stoppable,
    Usage,
    answer_tokens,
    too_long,
)
from memoryos.models.flow import Flow
from memoryos.models.limits import Limits
from memoryos.models.shapes import storable
from memoryos.models.tokenizer import count_tokens
from memoryos.scope import Scope

_MARGIN = 1.3  # a model's own tokenizer may cut finer than ours
_TOKENIZERS = 2  # no tokenizer makes more than so many times the tokens of another, of a text as it is usual
_MESSAGE_TOKENS = 8  # around each message
_MICROS = 1_000_000


class Purpose(StrEnum):
    """The purpose of a model call."""

    RESPOND = "respond"
    FACTS = "facts"
    PERSONA = "persona"
    SUMMARY = "summary"
    JUDGE = "judge"
    REQUESTS = "requests"
    QUESTIONS = "questions"


@dataclass(frozen=True)
class ModelAccount:
    """The account of model calls of one store."""

    vault: Vault
    settings: Settings
    clock: Clock
    limits: Limits

    def answer(self, chat: ChatModel, messages: Sequence[Message], scope: Scope, purpose: Purpose) -> Answer:
        """Call the model and record the usage. Raises BudgetSpent before a call that could exceed the budget."""
        with self.limits.call(), asking(scope):
            reserved = self._reserve(messages, scope, purpose)
            try:
                answer = chat.answer(messages)
            except ModelUnavailable as error:
                prompt = reserved.prompt_tokens if error.was_asked else 0
                taken = replace(reserved, prompt_tokens=prompt, completion_tokens=0, cost=self._cost(prompt, 0))
                self._settle(scope, reserved, taken)
                raise
        self._settle(scope, reserved, self._taken(reserved, messages, answer))
        return self._usable(answer)

    @property
    def model_name(self) -> str:
        """The name of the model, as the settings have it."""
        return self.settings.llm_model or "custom"

    def pour(
        self, flow: Flow[str], chat: ChatModel, messages: Sequence[Message], scope: Scope, purpose: Purpose
    ) -> Usage:
        """Put the answer into the flow, in pieces; return its usage.

        Tokens are counted here: few servers tell them of a stream. Those that were cached are as the model tells them.
        """
        said: list[str] = []
        chars, taken = 0, Usage()
        with self.limits.call(), asking(scope):
            if flow.is_over:  # nobody waited for so long
                return taken
            reserved = self._reserve(messages, scope, purpose)
            pieces = None
            try:
                pieces = chat.stream(messages)
                for piece in _heard(flow, pieces):
                    said.append(storable(piece))
                    chars += len(said[-1])
                    self._check_length(chars)
                    flow.put(said[-1])
            finally:  # also when the reader stops listening: what was said was paid for
                cached = pieces.cached_tokens if isinstance(pieces, Counting) else 0
                taken = Usage(
                    reserved.prompt_tokens, count_tokens("".join(said)), _spared(cached, reserved.prompt_tokens)
                )
                self._settle(scope, reserved, self._spent_on(reserved, taken))
        return taken

    def _usable(self, answer: Answer) -> Answer:
        """An answer that can be stored. Raises ModelError for an empty or too long one: any object may be the model."""
        text = storable(answer.text).strip()
        if not text:
            raise ModelError(EMPTY, is_of_prompt=True)
        self._check_length(len(text))
        return answer if text == answer.text else replace(answer, text=text)

    def _check_length(self, chars: int) -> None:
        if chars > self.settings.max_text_chars:
            raise ModelError(too_long(self.settings.max_text_chars), is_of_prompt=True)

    def _reserve(self, messages: Sequence[Message], scope: Scope, purpose: Purpose) -> Spending:
        """Record the largest possible usage of a call. Raises BudgetSpent if it exceeds the rest of the budget."""
        prompt = prompt_tokens(messages)
        most = answer_tokens(self.settings) or ANSWER_TOKENS
        day = self.clock().date()
        reserved = Spending(day, purpose.value, self.model_name, 1, prompt, most, self._cost(prompt, most))
        self._book(scope, reserved, self._check)
        return reserved

    def _book(self, scope: Scope, spent: Spending, check: Callable[[Writer, Spending], None] | None = None) -> None:
        """Book usage. The account is the store's own: who may only read memories may ask about them, too."""

        def write() -> None:
            with self.vault.write(scope) as writer:
                if check is not None:
                    check(writer, spent)
                writer.spend(spent)

        acting(SYSTEM, write)

    def _settle(self, scope: Scope, reserved: Spending, taken: Spending) -> None:
        correction = replace(
            taken,
            calls=taken.calls - reserved.calls,
            prompt_tokens=taken.prompt_tokens - reserved.prompt_tokens,
            completion_tokens=taken.completion_tokens - reserved.completion_tokens,
            cost=taken.cost - reserved.cost,  # no cached token is reserved
        )
        self._book(scope, correction)

    def _taken(self, reserved: Spending, messages: Sequence[Message], answer: Answer) -> Spending:
        """The server's count, if it is plausible; otherwise our own."""
        asked = sum(count_tokens(message["content"]) for message in messages)
        said = count_tokens(answer.text)
        usage, most = answer.usage, answer_tokens(self.settings) or MOST_TOKENS
        prompt = _believed(usage.prompt_tokens, reserved.prompt_tokens, asked, reserved.prompt_tokens)
        completion = _believed(usage.completion_tokens, said, said, max(most, said))
        return self._spent_on(reserved, Usage(prompt, completion, _spared(usage.cached_tokens, prompt)))

    def _spent_on(self, reserved: Spending, taken: Usage) -> Spending:
        return replace(reserved, cost=self._cost(taken.prompt_tokens, taken.completion_tokens), **asdict(taken))

    def _check(self, writer: Writer, wanted: Spending) -> None:
        settings = self.settings
        if settings.llm_tokens_per_day is None and settings.llm_cost_per_day is None:
            return
        tokens, cost = writer.spent_by_all(wanted.day)
        tokens += wanted.prompt_tokens + wanted.completion_tokens
        if settings.llm_tokens_per_day is not None and tokens > settings.llm_tokens_per_day:
            raise self._spent(f"llm_tokens_per_day ({settings.llm_tokens_per_day:,} tokens)")
        if settings.llm_cost_per_day is not None and cost + wanted.cost > settings.llm_cost_per_day * _MICROS:
            raise self._spent(f"llm_cost_per_day ({settings.llm_cost_per_day:g})")

    def _spent(self, budget: str) -> BudgetSpent:
        tomorrow = datetime.combine(self.clock().date() + timedelta(days=1), time(), UTC)
        return BudgetSpent(
            f"the call could exceed the budget {budget}; nothing was sent. The next budget begins tomorrow", tomorrow
        )

    def _cost(self, prompt: int, completion: int) -> int:
        """The cost in millionths: with a price per million tokens, one token costs that many millionths."""
        return round(prompt * self.settings.llm_price_prompt + completion * self.settings.llm_price_completion)


def _heard(flow: Flow[str], pieces: Iterator[str]) -> Iterator[str]:
    """The pieces, until the flow's reader stops."""
    if isinstance(pieces, Stoppable):
        flow.tells(pieces.stop)
    for piece in pieces:
        if flow.is_over:
            return
        yield piece


def _believed(counted: int, ours: int, least: int, most: int) -> int:
    """A server's count of tokens, within half and twice of ours. 0 means that it did not count."""
    return min(max(counted, least // _TOKENIZERS), most * _TOKENIZERS) if counted else ours


def _spared(counted: int, prompt: int) -> int:
    """What the model had already of a prompt of so many tokens."""
    return min(max(counted, 0), prompt)


def prompt_tokens(messages: Sequence[Message]) -> int:
    """An upper estimate of the tokens of these messages."""
    return sum(round(count_tokens(message["content"]) * _MARGIN) + _MESSAGE_TOKENS for message in messages)
