"""What `memoryos bench recall` shows a person: how much was found, how sure that is, and how it differs by type."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from memoryos.bench.means import OVERALL, Estimate, Summary
from memoryos.bench.metrics import Measure
from memoryos.bench.recall import CONTEXT, Lead, MeasuredRecall, TypeResult
from memoryos.interface.cli import render
from memoryos.operation.recall.hit import Strategy

_SHOWN = {
    **{f"@{budget:,}": Measure("tokens", budget) for budget in (512, 1024, 2048, 4096)},
    "10 turns": Measure("turns", 10),
    "5 sessions": Measure("sessions", 5),
}
_COMPARED = (1024, 4096)  # the budgets whose intervals are shown
_BY_TYPE = 1024  # the budget of the table of types


def print_recalled(found: Sequence[MeasuredRecall], embedder: str) -> None:
    """Print the tables of every data set."""
    console = render.wide_console()
    console.print("Evidence recalled, % of its groups within tokens, turns or sessions; p50 of a call in ms.")
    console.print(
        "Intervals are of 95 %. Attained: % of what is attainable. Ahead: points, less the best baseline there."
    )
    for one in found:
        console.print(_overall(one, embedder), _certainty(one))
        if len(one.results[CONTEXT]) > 1:
            console.print(_types(one))
        for line in _notes(one):
            console.print(line, markup=False)


def _overall(found: MeasuredRecall, embedder: str) -> Table:
    dataset = found.dataset
    size = f"questions: {len(dataset.asked):,}, memories: {len(dataset.conversations):,}, turns: {dataset.turns:,}"
    table = _table(f"{dataset.name}, embedder {embedder}; {size}", ("", *_SHOWN, "ms"))
    for way, groups in found.results.items():
        shown = [_mean(groups[OVERALL].by_questions, measure) for measure in _SHOWN.values()]
        table.add_row(way, *shown, f"{found.search_ms[way]['p50']:.1f}")
    return table


def _certainty(found: MeasuredRecall) -> Table:
    columns = ("", "within", "recall", "other questions", "other memories", "attained", "ahead", "of")
    table = _table(f"{found.dataset.name}: what other questions or other memories might give", columns)
    for way, groups in found.results.items():
        for budget in _COMPARED:
            table.add_row(way, f"@{budget:,}", *_compared(groups[OVERALL], budget))
    return table


def _compared(group: TypeResult, budget: int) -> list[str]:
    """Recall, its intervals, the share of what is attainable, the lead and the baseline."""
    measure = Measure("tokens", budget)
    return [
        _mean(group.by_questions, measure),
        _interval(group.by_questions, measure),
        _interval(group.by_memories, measure),
        _mean(group.by_questions, Measure("tokens_attainable", budget)),
        *_ahead(group.leads.get(budget)),
    ]


def _types(found: MeasuredRecall) -> Table:
    ways = [way for way in found.results if way == CONTEXT or way in set(Strategy)]  # too wide with the ablations
    title = f"{found.dataset.name} @{_BY_TYPE:,} by type; interval and all that follows: of {CONTEXT}"
    table = _table(title, ("", "asked", *ways, "interval", "attained", "ahead", "of"))
    for name in found.results[CONTEXT]:
        if name != OVERALL:
            table.add_row(escape(name), *_of_type(found, name, ways))
    return table


def _of_type(found: MeasuredRecall, name: str, ways: Sequence[str]) -> list[str]:
    """The questions of a type, the recall of each way, and what is known of that of `context`."""
    measure, group = Measure("tokens", _BY_TYPE), found.results[CONTEXT][name]
    return [
        f"{group.by_questions.questions:,}",
        *(_mean(found.results[way][name].by_questions, measure) for way in ways),
        _interval(group.by_questions, measure),
        _mean(group.by_questions, Measure("tokens_attainable", _BY_TYPE)),
        *_ahead(group.leads.get(_BY_TYPE)),
    ]


def _table(title: str, columns: Sequence[str]) -> Table:
    """A table whose first column is a name."""
    table = Table(title=escape(title), title_justify="left", padding=0)
    first, *others = columns
    table.add_column(first, overflow="fold")
    for column in others:
        table.add_column(column, justify="right")
    return table


def _mean(summary: Summary, measure: Measure) -> str:
    one = summary.estimates.get(measure)
    return _percent(one.mean) if one else "-"


def _interval(summary: Summary | None, measure: Measure) -> str:
    one = summary.estimates.get(measure) if summary else None
    return f"{_percent(one.low)} to {_percent(one.high)}" if one else "-"


def _ahead(lead: Lead | None) -> tuple[str, str]:
    """How far ahead, and of which baseline."""
    return (_points(lead.ahead), lead.baseline) if lead else ("-", "-")


def _points(ahead: Estimate) -> str:
    return f"{100 * ahead.mean:+.1f} ({100 * ahead.low:+.1f} to {100 * ahead.high:+.1f})"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


def _notes(found: MeasuredRecall) -> list[str]:
    lines = []
    if found.dataset.malformed:
        lines.append(f"Groups of evidence that name no turn, left out: {found.dataset.malformed}.")
    if found.dataset.unanswered:
        lines.append(f"Questions without evidence, not asked: {found.dataset.unanswered}.")
    return lines
