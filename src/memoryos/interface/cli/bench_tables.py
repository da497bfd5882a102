"""What the benches found, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from rich.markup import escape
from rich.table import Table

from memoryos.bench.evidence import CATEGORIES, QuestionSet
from memoryos.bench.languages import SETS, TOP, LanguageHits, LanguagesReport
from memoryos.bench.locomo_recall import BenchCorpus, RecallReport, VariantResult
from memoryos.bench.means import OVERALL, Estimate
from memoryos.bench.metrics import SESSION_COUNTS, TOKEN_BUDGETS, TURN_COUNTS, Measure
from memoryos.bench.scale import Populated
from memoryos.bench.speed import TURNS_PER_PAGE, Size
from memoryos.bench.sweep import PAPER, Result, Swept, measures
from memoryos.interface.cli import render

CATEGORY_TOKENS = 1024  # the budget of the table by category

_GROUPS = {OVERALL: OVERALL} | {str(number): name for number, name in CATEGORIES.items()}

_Cell = Callable[[VariantResult], str]


def print_recall(corpus: BenchCorpus, report: RecallReport) -> None:
    """Recall with its 95 % intervals, then time, and what could not be asked."""
    console = render.wide_console()
    by_tokens = _columns("tokens", TOKEN_BUDGETS, "{:,}")
    by_count = _columns("turns", TURN_COUNTS, "{} turns") | _columns("sessions", SESSION_COUNTS, "{} sessions")
    console.print("Evidence recalled, %: the mean over questions, its 95 % interval, questions that got all of theirs.")
    console.print(_table("By tokens of context", report, by_tokens))
    console.print(_table("By turns, and sessions by the first turns", report, by_count))
    console.print(_table(f"By category, {CATEGORY_TOKENS:,} tokens", report, _categories(report)))
    console.print(_table("A search, ms", report, {name: _time(name) for name in ("p50", "p95")}))
    console.print(_cost(corpus, report), markup=False)
    for line in _not_asked(corpus.questions):
        console.print(line, markup=False)


def print_languages(report: LanguagesReport) -> None:
    """Questions whose page was first, and among the first three; of those the embedder was chosen by, and held out."""
    strategies = list(next(iter(report.languages.values()))[SETS[0]])
    table = Table(
        "language", title=f"Right page first / in the top {TOP}; then of questions held out ({escape(report.embedder)})"
    )
    for strategy in strategies:
        table.add_column(strategy, justify="right")
    for language, sets in report.languages.items():
        table.add_row(language, *["; ".join(_shown(sets[name][strategy]) for name in SETS) for strategy in strategies])
    render.wide_console().print(table)


def _shown(found: LanguageHits) -> str:
    return f"{found.first} / {found.top}"


def _columns(name: str, levels: Sequence[int], title: str) -> dict[str, _Cell]:
    return {title.format(level): _recalled(OVERALL, Measure(name, level)) for level in levels}


def _categories(report: RecallReport) -> dict[str, _Cell]:
    groups = next(iter(report.results.values())).groups
    measure = Measure("tokens", CATEGORY_TOKENS)
    return {f"{_GROUPS[name]} ({group.questions:,})": _recalled(name, measure) for name, group in groups.items()}


def _recalled(group: str, measure: Measure) -> _Cell:
    def cell(result: VariantResult) -> str:
        estimates = result.groups[group].estimates
        found, whole = estimates[measure], estimates.get(Measure(f"all_{measure.name}", measure.level))
        lines = [f"{found.mean:.1%}", f"[dim]{100 * found.low:.0f}–{100 * found.high:.0f}[/]"]
        return "\n".join([*lines, f"[dim]all {whole.mean:.1%}[/]"] if whole else lines).replace("%", "")

    return cell


def _time(name: str) -> _Cell:
    return lambda result: f"{result.search_ms[name]:.1f}"


def _table(title: str, report: RecallReport, columns: Mapping[str, _Cell]) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    table.add_column("strategy", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    for result in (*report.results.values(), *report.ablation.values()):
        table.add_row(result.variant.name, *(cell(result) for cell in columns.values()))
    return table


def _cost(corpus: BenchCorpus, report: RecallReport) -> str:
    turns, asked = sum(map(len, corpus.turns.values())), len(corpus.questions.asked)
    loaded = f"{turns:,} turns in {report.pages:,} pages loaded in {report.ingest_s:.1f} s"
    memory = f", {report.rss_mb:,.0f} MB of memory" if report.rss_mb else ""
    return f"{asked:,} questions. {loaded}{memory}, embedder {report.embedder}.{_archived(report.archived_pages)}"


def _archived(pages: int) -> str:
    return f" {pages:,} pages are in the archive: two_stage leaves them out, the others search them." if pages else ""


def _not_asked(questions: QuestionSet) -> list[str]:
    lines: list[str] = []
    if questions.malformed:
        parts = ", ".join(f"{part.conversation} {part.evidence!r}" for part in questions.malformed)
        lines.append(
            f"Evidence that names no turn: {len(questions.malformed)} ({parts}); questions not asked: {questions.lost}."
        )
    if questions.without_evidence:
        lines.append(f"Questions without evidence, not asked: {questions.without_evidence}.")
    return lines


def print_sweep(data: str, swept: Swept) -> None:
    """The points by their means, self-tuning below them, and how far it is ahead."""
    table = Table(title=escape(f"{data}, embedder {swept.embedder}"), title_justify="left")
    table.add_column("values", no_wrap=True)
    for name in measures(swept.tuned):
        table.add_column(_SWEPT[name], justify="right")
    for point, result in swept.points.items():
        mark = " (best)" if point == swept.best else " (paper)" if point == PAPER else ""
        table.add_row(point.name + mark, *_means(result))
    table.add_row("self-tuned", *_means(swept.tuned))
    console = render.wide_console()
    console.print(table)
    for what, ahead in _compared(swept).items():
        parts = ", ".join(
            f"{_SWEPT[name]} {100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
            for name, found in ahead.items()
        )
        console.print(f"Self-tuned less {what}, points with 95 % intervals: {parts}.", markup=False)


def _compared(swept: Swept) -> dict[str, Mapping[str, Estimate]]:
    """The points that self-tuning is compared with, and its lead over each."""
    found = {"the best by hand": swept.ahead(swept.best)}
    if swept.best_by_cosine != swept.best:
        found[f"the best with w 0 ({swept.best_by_cosine.name})"] = swept.ahead(swept.best_by_cosine)
    if elsewhere := swept.ahead_elsewhere():
        found["what is best by hand on the other conversations"] = elsewhere
        found["the same with w 0"] = swept.ahead_elsewhere(by_cosine=True)
    return {**found, "the paper's": swept.ahead(PAPER)}


_SWEPT = {
    "f1": "F1 of pairs",
    "purity": "purity",
    "segments": "segments",
    "extracted": "extracted",
    "small": "two_stage @1,024",
    "large": "two_stage @2,048",
    "returned": "two_stage, top k",
    "tokens": "tokens of these",
    "hybrid": "hybrid @2,048",
}
_COUNTS = {"segments", "tokens"}  # the others are shares


def _means(result: Result) -> list[str]:
    means = {name: sum(values) / len(values) for name, values in measures(result).items()}
    return [f"{mean:,.0f}" if name in _COUNTS else f"{100 * mean:.1f}" for name, mean in means.items()]


def print_speed(sizes: Sequence[Size], embedder: str) -> None:
    """Speed by size, each figure with how it grew from the size before, and with the floor below it."""
    title = f"One user's store, embedder {embedder}; × is the growth from the size before"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("pages", no_wrap=True)
    for size in sizes:
        table.add_column(f"{size.pages:,}", justify="right")
    for name, figure in _FIGURES:
        table.add_row(name, *_grown([figure(size) for size in sizes]))
    render.wide_console().print(table)


def print_scale(steps: Sequence[Populated]) -> None:
    """Speed by the number of tenants, and in a large one."""
    table = Table(title="One store; each tenant has as many pages", title_justify="left")
    table.add_column("tenants × pages", no_wrap=True)
    for step in steps:
        table.add_column(f"{step.tenants:,} × {step.pages:,}", justify="right")
    for name, figure in _SCALES:
        table.add_row(name, *(_figure(figure(step)) for step in steps))
    render.wide_console().print(table)


_SCALES: tuple[tuple[str, Callable[[Populated], float | None]], ...] = (
    ("search within one tenant p50, ms", lambda step: step.visited.within_ms["p50"]),
    ("search within one tenant p95, ms", lambda step: step.visited.within_ms["p95"]),
    ("search of any tenant p50, ms", lambda step: step.visited.roaming_ms["p50"]),
    ("search of any tenant p95, ms", lambda step: step.visited.roaming_ms["p95"]),
    ("first search of a tenant, ms", lambda step: step.visited.first_ms),
    ("building the candidate index, s", lambda step: step.visited.moved_out_s),
    ("stored, pages/s", lambda step: step.stored_pages_per_s),
    ("bytes a page on disk", lambda step: step.bytes_per_page),
    ("memory of the searching process, MB", lambda step: step.visited.rss_mb),
)


def _grown(values: Sequence[float | None]) -> list[str]:
    cells = [_figure(value) for value in values]
    for index, (before, now) in enumerate(pairwise(values), 1):
        if before and now:
            cells[index] += f" [dim]×{now / before:.2f}[/]"
    return cells


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _page_ms(size: Size) -> float:
    """Embedding the turns of a page, ms."""
    return TURNS_PER_PAGE / size.floor.embed_texts_per_s * 1000


_FIGURES: tuple[tuple[str, Callable[[Size], float | None]], ...] = (
    ("search p50, ms", lambda size: size.probed.search_ms["p50"]),
    ("search p95, ms", lambda size: size.probed.search_ms["p95"]),
    ("search p99, ms", lambda size: size.probed.search_ms["p99"]),
    ("  floor: embed a question, ms", lambda size: size.floor.embed_ms),
    ("  floor: all turns by one vector, ms", lambda size: size.floor.matvec_ms),
    ("  p50 / floors", lambda size: size.probed.search_ms["p50"] / (size.floor.embed_ms + size.floor.matvec_ms)),
    ("durable add p50, ms", lambda size: size.adds.ms["p50"]),
    ("durable add p95, ms", lambda size: size.adds.ms["p95"]),
    ("  floor, in turn: embed it, commit a row, ms", lambda size: size.adds.floor_ms),
    ("  p50 / floor", lambda size: size.adds.ratio),
    ("  floor alone: embed two new turns, ms", lambda size: size.floor.embed_exchange_ms),
    ("  floor alone: durable transaction, ms", lambda size: size.floor.txn_ms),
    ("the same beside a busy worker p50, ms", lambda size: size.busy.ms["p50"]),
    ("the same beside a busy worker p95, ms", lambda size: size.busy.ms["p95"]),
    ("  floor beside it, in turn, ms", lambda size: size.busy.floor_ms),
    ("  p50 / floor", lambda size: size.busy.ratio),
    ("bulk load, pages/s", lambda size: size.bulk_pages_per_s),
    ("  moved and extracted too, pages/s", lambda size: size.settled_pages_per_s),
    ("  floor: embed the turns, pages/s", lambda size: 1000 / _page_ms(size)),
    ("  floor / load", lambda size: 1000 / _page_ms(size) / size.bulk_pages_per_s),
    ("cold start to first answer, ms", lambda size: size.probed.cold_start_ms),
    ("memory of a searching process, MB", lambda size: size.probed.rss_mb),
    ("disk, bytes/page", lambda size: size.disk_bytes_per_page),
    ("archived pages, searched too", lambda size: size.archived_pages),
)
