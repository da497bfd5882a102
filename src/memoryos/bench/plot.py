"""Recall against tokens as a picture, one line for each strategy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memoryos.bench.metrics import TOKEN_BUDGETS, Measure
from memoryos.bench.summary import OVERALL, Summary
from memoryos.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".pdf", ".png", ".svg")

_INCHES = (7.0, 4.5)
_DOTS = 150  # per inch
_SHADE = 0.12  # opacity of an interval


def check_plot(path: Path) -> None:
    """Refuse, before a long run, a picture that could not be drawn. Raises InvalidInput or MissingExtra."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInput("--plot", f"{path} is no picture", f"Name a file that ends in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInput("--plot", f"the folder {path.parent} does not exist", "Create it first")
    try:
        import matplotlib.figure  # noqa: F401 - is it there?
    except ImportError:
        raise MissingExtra("--plot", "bench") from None


def plot_recall(path: Path, results: Mapping[str, Mapping[str, Summary]]) -> None:
    """Draw the recall of all questions by strategy, with intervals. Raises InvalidInput when it cannot be written."""
    from matplotlib.figure import Figure  # not pyplot: no window system, no state between two pictures

    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.subplots()
    for strategy, groups in results.items():
        _line(axes, strategy, groups[OVERALL])
    axes.set_xscale("log", base=2)
    axes.set_xticks(TOKEN_BUDGETS, [f"{budget:,}" for budget in TOKEN_BUDGETS])
    axes.set(xlabel="tokens of context", ylabel="evidence turns recalled", ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=_DOTS)
    except OSError as error:
        raise InvalidInput("--plot", f"{path} cannot be written ({error.strerror})", "Name another file") from None


def _line(axes: Axes, strategy: str, summary: Summary) -> None:
    points = [summary.estimates[Measure("tokens", budget)] for budget in TOKEN_BUDGETS]
    axes.plot(TOKEN_BUDGETS, [point.mean for point in points], marker="o", label=strategy)
    lows, highs = [point.low for point in points], [point.high for point in points]
    axes.fill_between(TOKEN_BUDGETS, lows, highs, alpha=_SHADE)
