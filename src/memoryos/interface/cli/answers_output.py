"""What `memoryos bench answers` found: the papers' table for people, every figure as JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from memoryos.bench.answers.cache import CachedChat
from memoryos.bench.answers.judge import DIALOGUE_METRICS, JUDGED
from memoryos.bench.answers.locomo_questions import CATEGORY_NAMES
from memoryos.bench.answers.question import AnswerSet
from memoryos.bench.answers.report import Cost, Handed, QuestionGroup, SystemReport
from memoryos.bench.answers.run import Ingested
from memoryos.bench.answers.system import Budgets
from memoryos.bench.machine import describe
from memoryos.bench.means import OVERALL, Estimate
from memoryos.bench.plot import plot_answers
from memoryos.distribution import VERSION
from memoryos.interface.cli import render
from memoryos.interface.cli.bench_json import FIGURES

_SHORT_NAMES = {"f1": "F1", "bleu1": "B1", "judge_strict": "strict", "judge_lenient": "lenient"}
_FIRST = ("f1", "bleu1")
_OTHER = ("f1_set", "rouge_l", "bleu4", "meteor")


@dataclass(frozen=True)
class SavedRun:
    """A run's report, and what it was made with."""

    dataset: AnswerSet
    systems: Mapping[str, SystemReport]
    reader: CachedChat | None  #: None: the answers came from elsewhere
    judge: CachedChat | None
    budgets: Budgets | None
    ingested: Mapping[str, Ingested]  #: by store; empty when no context was made


def draw(path: Path, found: SavedRun) -> None:
    """Draw the metrics of the tables. Raises InvalidInput when the picture cannot be written."""
    groups = {
        system: {_group_name(found.dataset, name): group for name, group in report.groups.items()}
        for system, report in found.systems.items()
    }
    plot_answers(path, groups, [name for metrics in _tables(found) for name in metrics])


def show(found: SavedRun, *, json: bool) -> None:
    """Print the report."""
    if json:
        render.print_json(_document(found))
    else:
        _print(found)


def show_export(path: Path, systems: Mapping[str, Handed], *, json: bool) -> None:
    """Print what was exported, and what each system hands over."""
    if json:
        render.print_json(
            {"file": str(path), "systems": {name: _rounded(asdict(one)) for name, one in systems.items()}}
        )
        return
    table = Table(title=escape(f"Prompts written to {path}"), title_justify="left")
    table.add_column("system")
    for name in ("prompts", "context tokens", "prompt tokens", "context ms p50 / p95"):
        table.add_column(name, justify="right")
    for name, one in systems.items():
        tokens = (_count(one.context_tokens), _count(one.prompt_tokens))
        table.add_row(escape(name), f"{one.prompts:,}", *tokens, _times(one.context_ms))
    render.wide_console().print(table)


def _document(found: SavedRun) -> dict[str, Any]:
    return {
        "dataset": {
            "name": found.dataset.name,
            "sha256": found.dataset.sha256,
            "conversations": [talk.user for talk in found.dataset.conversations],
            "questions": len(found.dataset.asked),
        },
        "budgets": asdict(found.budgets) if found.budgets else None,
        "reader": _model(found.reader),
        "judge": _model(found.judge),
        "ingest": {name: _rounded(asdict(one)) for name, one in found.ingested.items()},
        "systems": {name: _system(report) for name, report in found.systems.items()},
        "machine": describe(),
        "version": VERSION,
    }


def _model(chat: CachedChat | None) -> dict[str, Any] | None:
    return {"model": chat.settings.llm_model, "calls": chat.calls} if chat else None


def _system(report: SystemReport) -> dict[str, Any]:
    groups = {name: _group(group) for name, group in report.groups.items()}
    left_out = {"unanswered": report.unanswered, "unjudged": report.unjudged}
    return {**groups, **left_out, "cost": _rounded(asdict(report.cost))}


def _group(group: QuestionGroup) -> dict[str, Any]:
    return {
        "questions": group.questions,
        **{name: round(one.mean, FIGURES) for name, one in group.metrics.items()},
        "interval": {name: [round(one.low, FIGURES), round(one.high, FIGURES)] for name, one in group.metrics.items()},
    }


def _rounded(cost: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _round(value) for name, value in cost.items()}


def _round(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _round(one) for name, one in value.items()}
    return round(value, 1) if isinstance(value, float) else value


def _print(found: SavedRun) -> None:
    console = render.wide_console()
    for metrics in _tables(found):
        console.print(_by_group(found, metrics))
    if not found.dataset.is_dialogue:
        console.print(_overall(found.systems))
    console.print(_costs(found.systems))
    for name, one in found.ingested.items():
        console.print(
            f"Store {name!r}: filled in {one.seconds:,.1f} s, {one.model_calls:,} model calls, "
            f"{one.model_tokens:,} tokens.",
            markup=False,
        )
    for name, report in found.systems.items():
        if report.unanswered:
            console.print(f"{name}: {report.unanswered:,} questions have no answer; they are left out.", markup=False)
        if report.unjudged:
            console.print(f"{name}: {report.unjudged:,} answers have no verdict that could be read.", markup=False)


def _tables(found: SavedRun) -> list[tuple[str, ...]]:
    """The metrics that share a table."""
    if found.dataset.is_dialogue:
        return [DIALOGUE_METRICS]
    return [_FIRST, *([JUDGED] if found.judge else [])]


def _group_name(dataset: AnswerSet, group: str) -> str:
    """The name of a group of questions in tables and plots."""
    return CATEGORY_NAMES.get(group, group) if dataset.name == "locomo" else group


def _by_group(found: SavedRun, metrics: Sequence[str]) -> Table:
    """Rows are systems and columns groups, as in the papers."""
    named = [_short(name) for name in metrics]
    title = f"{found.dataset.name}, %: {' / '.join(named)}; below, the 95 % interval of {named[0]}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("system")
    names = list(dict.fromkeys(name for report in found.systems.values() for name in report.groups))
    for name in names:
        count = max(report.groups[name].questions for report in found.systems.values() if name in report.groups)
        heading = f"{escape(_group_name(found.dataset, name))}\n({count:,})"
        table.add_column(heading, justify="right", overflow="fold")
    for system, report in found.systems.items():
        table.add_row(escape(system), *(_cell(report.groups.get(name), metrics) for name in names))
    return table


def _cell(group: QuestionGroup | None, metrics: Sequence[str]) -> str:
    known = [group.metrics[name] for name in metrics if name in group.metrics] if group else []
    if not known:
        return "–"
    means = " / ".join(_percent(one) for one in known)
    return f"{means}\n[dim]{100 * known[0].low:.0f}–{100 * known[0].high:.0f}[/]"


def _overall(systems: Mapping[str, SystemReport]) -> Table:
    """The other metrics, of all questions with an answer."""
    table = Table(title="Overall, %", title_justify="left")
    table.add_column("system")
    for name in _OTHER:
        table.add_column(name, justify="right")
    for system, report in systems.items():
        metrics = report.groups[OVERALL].metrics if OVERALL in report.groups else {}
        table.add_row(escape(system), *(_percent(metrics[name]) if name in metrics else "–" for name in _OTHER))
    return table


_COSTS: dict[str, Callable[[Cost], str]] = {
    "context tokens": lambda cost: _count(cost.context_tokens),
    "prompt tokens": lambda cost: _count(cost.prompt_tokens),
    "answer tokens": lambda cost: _count(cost.answer_tokens),
    "calls": lambda cost: _count(cost.calls),
    "context ms p50 / p95": lambda cost: _times(cost.context_ms),
    "answer ms p50 / p95": lambda cost: _times(cost.answer_ms),
}


def _costs(systems: Mapping[str, SystemReport]) -> Table:
    table = Table(title="An answer takes", title_justify="left")
    table.add_column("system")
    for name in _COSTS:
        table.add_column(name, justify="right")
    for system, report in systems.items():
        table.add_row(escape(system), *(cell(report.cost) for cell in _COSTS.values()))
    return table


def _short(metric: str) -> str:
    return _SHORT_NAMES.get(metric, metric)


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _times(times: Mapping[str, float]) -> str:
    return f"{times['p50']:,.1f} / {times['p95']:,.1f}" if times else "–"
