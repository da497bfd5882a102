"""The scores and costs of each system's answers, by group of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memoryos.bench.answers.item import Answered, Item
from memoryos.bench.answers.question import Gold, ScoringRule
from memoryos.bench.means import OVERALL, Estimate, estimate
from memoryos.bench.timing import percentiles


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer with its metrics, each from 0 to 1."""

    answered: Answered
    gold: Gold
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Some questions of a data set."""

    questions: int
    metrics: Mapping[str, Estimate]  #: over the answers that have the metric


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over the answers; None if the answers were imported."""

    context_tokens: float | None
    prompt_tokens: float | None  #: with instructions and question
    answer_tokens: float
    calls: float | None  #: of the reader; a search asks no model
    context_ms: Mapping[str, float]  #: p50 and p95 of finding the context
    answer_ms: Mapping[str, float]  #: p50 and p95 of that and of the reader together


@dataclass(frozen=True, slots=True)
class Handed:
    """The contexts of one system without a reader: means and times."""

    prompts: int
    context_tokens: float
    prompt_tokens: float
    context_ms: Mapping[str, float]  #: p50 and p95


@dataclass(frozen=True, slots=True)
class SystemReport:
    """The results of one system."""

    groups: Mapping[
        str, QuestionGroup
    ]  #: "overall" without the questions that have to be abstained from, then each group
    cost: Cost
    unanswered: int  #: questions without an answer; they are left out
    unjudged: int  #: answers whose verdict could not be read; the judge's metrics leave them out


def system_report(scored: Sequence[Scored], *, unanswered: int, unjudged: int) -> SystemReport:
    """The report of one system's answers, at least one."""
    groups = {OVERALL: [one for one in scored if one.gold.rule is not ScoringRule.ABSTAIN]}
    for one in sorted(scored, key=lambda one: one.gold.group):
        groups.setdefault(one.gold.group, []).append(one)
    return SystemReport(
        {name: _group(found) for name, found in groups.items() if found},
        _cost([one.answered for one in scored]),
        unanswered,
        unjudged,
    )


def handed(items: Sequence[Item]) -> Handed:
    """The means of one system's contexts, at least one."""
    tokens, prompts = _mean([item.context_tokens for item in items]), _mean([item.prompt_tokens for item in items])
    return Handed(len(items), tokens or 0.0, prompts or 0.0, _percentiles([item.context_ms for item in items]))


def _group(scored: Sequence[Scored]) -> QuestionGroup:
    names = dict.fromkeys(name for one in scored for name in one.metrics)
    values = {name: [one.metrics[name] for one in scored if name in one.metrics] for name in names}
    return QuestionGroup(len(scored), {name: estimate(found) for name, found in values.items()})


def _cost(answered: Sequence[Answered]) -> Cost:
    items = [one.item for one in answered]
    return Cost(
        context_tokens=_mean([item.context_tokens for item in items]),
        prompt_tokens=_mean([item.prompt_tokens for item in items]),
        answer_tokens=sum(one.answer_tokens for one in answered) / len(answered),
        calls=None if any(one.answer_ms is None for one in answered) else 1.0,
        context_ms=_percentiles([item.context_ms for item in items]),
        answer_ms=_percentiles([_whole(one) for one in answered]),
    )


def _whole(one: Answered) -> float | None:
    if one.item.context_ms is None or one.answer_ms is None:
        return None
    return one.item.context_ms + one.answer_ms


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _percentiles(values: Sequence[float | None]) -> dict[str, float]:
    known = [value for value in values if value is not None]
    return percentiles(known, 50, 95) if known else {}
