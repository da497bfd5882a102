"""Asking a memory: load conversations, ask questions about them, score what comes back, time it.

A search is given the words of the question, and when it was asked. Ranking and timing are two passes: to fill 4,096
tokens takes far more pages than a search returns by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from memoryos.bench.means import Rows
from memoryos.bench.metrics import TOKEN_BUDGETS, Evidence, scores, text_scores
from memoryos.bench.progress_callback import Progress, each
from memoryos.bench.ranked_entries import entries
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.bench.variants import Variant
from memoryos.importers.dialogue import Conversation
from memoryos.importers.load import load_conversation
from memoryos.memory_os import MemoryOS
from memoryos.operation.recall.context import Context
from memoryos.scope import Scope

RANKED_PAGES = 300  # more than 4,096 tokens hold
TIMED = 200  # questions that each way is timed with, spread over all
WARM_UP = 10  # calls before the clock runs

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """A question about a user's conversation, the groups of turns that answer it, and when it was asked."""

    user: str
    text: str
    type: str | None
    evidence: Evidence
    at: datetime | None = None  #: None is now


Ask = Callable[[EvidenceQuestion], object]


def spread(items: Sequence[T], count: int) -> Sequence[T]:
    """At most `count` of the items, evenly from the first on."""
    if len(items) <= count:
        return items
    return [items[number * len(items) // count] for number in range(count)]


def load(memory: MemoryOS, conversations: Sequence[Conversation], what: str, progress: Progress) -> int:
    """Load the conversations, and wait for the work behind the writes; returns the number of pages."""
    total = sum(conversation.turn_count for conversation in conversations)
    pages = done = 0

    def advance(turns: int) -> None:
        nonlocal done
        done += turns
        progress(what, done, total)

    for conversation in conversations:
        pages += load_conversation(memory, conversation, advance).pages
    memory.wait()
    return pages


def ranked(memory: MemoryOS, asked: Sequence[EvidenceQuestion], variant: Variant, progress: Progress) -> Rows:
    """One row of MEASURES for each question, of the ranking that a search gives."""
    rows = []
    for question in each(asked, f"{variant.name}: asking", progress):
        found = variant.search(memory, question.user, question.text, pages=RANKED_PAGES, at=question.at)
        rows.append(scores(entries(found), question.evidence))
    return rows


def handed_over(memory: MemoryOS, asked: Sequence[EvidenceQuestion], progress: Progress) -> Rows:
    """One row of TEXT_MEASURES for each question, of the texts that `context` gives for each budget."""
    rows = []
    for question in each(asked, "context: asking", progress):
        texts = {budget: context_of(memory, question, budget) for budget in TOKEN_BUDGETS}
        found = {budget: text.source_ids for budget, text in texts.items()}
        rows.append(text_scores(found, question.evidence))
    return rows


def context_of(memory: MemoryOS, question: EvidenceQuestion, tokens: int) -> Context:
    """The context for the question, from what had been said when it was asked."""
    return memory.of(Scope(user=question.user)).context(question.text, tokens=tokens, as_of=question.at)


def search_ms(
    memory: MemoryOS, asked: Sequence[EvidenceQuestion], variant: Variant, progress: Progress
) -> dict[str, float]:
    """p50 and p95 of a search with the default number of pages, ms."""
    return timed(
        memory, asked, lambda one: variant.search(memory, one.user, one.text, at=one.at), variant.name, progress
    )


def timed(
    memory: MemoryOS, asked: Sequence[EvidenceQuestion], ask: Ask, name: str, progress: Progress
) -> dict[str, float]:
    """p50 and p95 of a call, ms."""
    chosen = spread(asked, TIMED)
    for question in chosen[:WARM_UP]:
        ask(question)
    memory.wait()
    times = [milliseconds(partial(ask, question)) for question in each(chosen, f"{name}: timing", progress)]
    return percentiles(times, 50, 95)
