"""Pictures: recall and coverage against tokens, in lines; the worth of answers by group of questions, in bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memoryos.bench.abstention import Roc
from memoryos.bench.answers.report import QuestionGroup
from memoryos.bench.compression import CompressionPoint, Method
from memoryos.bench.kv_speed import KvReport
from memoryos.bench.means import Summary
from memoryos.bench.metrics import TOKEN_BUDGETS, Measure
from memoryos.bench.placement_replay import PlacementReport
from memoryos.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".pdf", ".png", ".svg")

_INCHES = (7.0, 4.5)
_DOTS = 150  # per inch
_SHADE = 0.12  # opacity of an interval


def check_plot(path: Path) -> None:
    """Check before a long run that the plot can be drawn. Raises InvalidInput or MissingExtra."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput("--plot", f"{path} is not a picture", f"Name a file that ends in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInput("--plot", f"the folder {path.parent} does not exist", "Create it first")
    try:
        import matplotlib.figure  # noqa: F401 - is it there?
    except ImportError:
        raise MissingExtra("--plot", "bench") from None


def plot_recall(path: Path, datasets: Mapping[str, Mapping[str, Summary]]) -> None:
    """Draw the recall of all questions by strategy, with intervals, a panel for each data set.

    Raises InvalidInput when it cannot be written.
    """
    from matplotlib.figure import Figure  # not pyplot: no window system, no state between two pictures

    width, height = _INCHES
    figure = Figure(figsize=(width, height * len(datasets)), layout="constrained")
    panels = figure.subplots(len(datasets), squeeze=False)[:, 0]
    for axes, (name, results) in zip(panels, datasets.items(), strict=True):
        for strategy, summary in results.items():
            _line(axes, strategy, summary)
        axes.set_title(name)
        _dress(axes, TOKEN_BUDGETS, "evidence recalled")
    _save(figure, path)


def plot_abstention(path: Path, datasets: Mapping[str, Mapping[str, Roc]]) -> None:
    """Draw the ROC curves of each data set, a panel for each class. Raises InvalidInput when it cannot be written."""
    from matplotlib.figure import Figure

    classes = list(dict.fromkeys(name for curves in datasets.values() for name in curves))
    figure = Figure(figsize=(_INCHES[1] * len(classes), _INCHES[1]), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(classes), squeeze=False)[0], classes, strict=True):
        for dataset, curves in datasets.items():
            if name in curves:
                label = f"{dataset} ({curves[name].auc:.2f})"
                axes.plot(curves[name].refused, curves[name].caught, label=label)
        axes.set_title(name.replace("_", " "))
        axes.set(xlabel="answerable questions refused", ylabel="caught", xlim=(0, 1), ylim=(0, 1))
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right", fontsize="small")
    _save(figure, path)


def plot_compression(path: Path, points: Mapping[Method, Sequence[CompressionPoint]]) -> None:
    """Draw what the texts of each method recall and tell. Raises InvalidInput when it cannot be written."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 * _INCHES[0], _INCHES[1]), layout="constrained")
    recall, told = figure.subplots(1, 2)
    budgets: Sequence[int] = ()
    for method, found in points.items():
        budgets = [point.budget for point in found]
        recall.plot(budgets, [point.recall for point in found], marker="o", label=method.value)
        told.plot(budgets, [point.told for point in found], marker="o", label=method.value)
    _dress(recall, budgets, "words of the evidence in the text")
    _dress(told, budgets, "days with a line of their own")
    _save(figure, path)


def plot_answers(path: Path, systems: Mapping[str, Mapping[str, QuestionGroup]], metrics: Sequence[str]) -> None:
    """Draw the metrics by group, a bar with its interval for each system. Raises InvalidInput as `plot_recall`."""
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys(name for found in systems.values() for name in found))
    figure = Figure(figsize=(2 * _INCHES[0], _INCHES[1] * len(metrics) / 2), layout="constrained")
    for axes, metric in zip(figure.subplots(len(metrics), 1, squeeze=False)[:, 0], metrics, strict=True):
        for number, (system, found) in enumerate(systems.items()):
            _bars(axes, system, (number + 0.5) / len(systems) - 0.5, 1 / len(systems), groups, found, metric)
        axes.set_xticks(range(len(groups)), groups)
        axes.set(ylabel=metric, ylim=(0, 1), xlim=(-0.5, len(groups) - 0.5))
        axes.grid(axis="y", alpha=0.3)
    figure.axes[0].legend(ncols=len(systems), fontsize="small", loc="lower left", bbox_to_anchor=(0, 1))
    _save(figure, path)


def plot_placement(path: Path, report: PlacementReport) -> None:
    """Draw the time to the first token by the bytes for KV, mean and p95. Raises InvalidInput as `plot_recall`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 * _INCHES[0], _INCHES[1]), layout="constrained")
    sizes = list(report.bounded)
    ways = list(report.bounded[sizes[0]])
    for axes, name in zip(figure.subplots(1, 2), ("mean_ms", "p95_ms"), strict=True):
        for way in ways:
            times = [getattr(report.bounded[size][way], name) / 1000 for size in sizes]
            axes.plot([size / 1e6 for size in sizes], times, marker="o", label=way)
        axes.set_xscale("log", base=2)
        axes.set_xticks([size / 1e6 for size in sizes], [f"{size / 1e6:,.0f}" for size in sizes])
        axes.set(xlabel="MB of KV", ylabel=f"seconds to the first token ({name.removesuffix('_ms')})", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend()
    _save(figure, path)


def plot_kv(path: Path, reports: Sequence[KvReport]) -> None:
    """Draw what KV states spare, a panel for each runtime, beside the paper's. Raises InvalidInput as `plot_recall`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_INCHES[0] * len(reports), _INCHES[1]), layout="constrained")
    for axes, report in zip(figure.subplots(1, len(reports), squeeze=False)[0], reports, strict=True):
        contexts = [context.tokens for context in report.contexts]
        for number, query in enumerate(dict.fromkeys(cell.query for cell in report.cells)):
            cells = [cell for cell in report.cells if cell.query == query]
            axes.plot(contexts, [cell.speedup for cell in cells], f"C{number}o-", label=f"query of {query}")
            if all(cell.paper is not None for cell in cells):
                axes.plot(contexts, [cell.paper for cell in cells], f"C{number}--", label="  in the paper")
        axes.set_title(f"{report.model}, {report.runtime}")
        axes.set(xlabel="tokens of context", ylabel="time to the first token spared, %", ylim=(0, 100))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    _save(figure, path)


def _bars(
    axes: Axes,
    system: str,
    shift: float,
    width: float,
    groups: Sequence[str],
    found: Mapping[str, QuestionGroup],
    metric: str,
) -> None:
    """One system's bars of one metric."""
    room = 0.8  # of the distance between two groups
    known = [(place, found[name].metrics[metric]) for place, name in enumerate(groups) if _has(found, name, metric)]
    means = [one.mean for _, one in known]
    errors = [[max(0.0, one.mean - one.low) for _, one in known], [max(0.0, one.high - one.mean) for _, one in known]]
    places = [place + room * shift for place, _ in known]
    axes.bar(places, means, room * width, yerr=errors, label=system, error_kw={"elinewidth": 0.7})


def _has(found: Mapping[str, QuestionGroup], name: str, metric: str) -> bool:
    return name in found and metric in found[name].metrics


def _dress(axes: Axes, budgets: Sequence[int], label: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.set(xlabel="tokens of context", ylabel=label, ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend()


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, dpi=_DOTS)
    except OSError as error:
        raise InvalidInput("--plot", f"{path} cannot be written ({error.strerror})", "Name another file") from None


def _line(axes: Axes, strategy: str, summary: Summary) -> None:
    points = [summary.estimates[Measure("tokens", budget)] for budget in TOKEN_BUDGETS]
    axes.plot(TOKEN_BUDGETS, [point.mean for point in points], marker="o", label=strategy)
    lows, highs = [point.low for point in points], [point.high for point in points]
    axes.fill_between(TOKEN_BUDGETS, lows, highs, alpha=_SHADE)
