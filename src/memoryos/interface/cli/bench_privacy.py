"""`memoryos bench privacy`: how right the detection of personal data is, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.extraction import Count
from memoryos.bench.labels import Language, Split
from memoryos.bench.privacy_cost import Detection, measure_adds, measure_detection
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.privacy.sensitive import STRUCTURED


def privacy(
    adds: Annotated[int, typer.Option(help="Adds to time under each policy; 0: none.", min=0)] = 300,
    json: Json = False,
) -> None:
    """Detect personal data in labelled texts in English and Chinese, and time adds with and without a policy."""
    found = {split: measure_detection(split) for split in Split}
    with watched() as progress:
        times = measure_adds(adds, progress) if adds else {}
    if json:
        render.print_json({split.value: _json(one) for split, one in found.items()} | {"adds_ms": times})
        return
    for split, one in found.items():
        render.wide_console().print(_table(split, one))
    if times:
        render.wide_console().print(_times(times))


def _json(found: Detection) -> dict[str, Any]:
    return {
        "texts": found.texts,
        "labelled": found.labelled,
        "decoys": found.decoys,
        "overall": _count(found.overall),
        "languages": {language.value: _count(found.of_language(language)) for language in Language},
        "kinds": {kind.value: _count(found.of_kind(kind)) for kind in STRUCTURED},
        "languages_and_kinds": {
            language.value: {kind.value: _count(found.counts.get((language, kind), Count())) for kind in STRUCTURED}
            for language in Language
        },
    }


def _count(count: Count) -> dict[str, Any]:
    return {
        "precision": round(count.precision, 3),
        "recall": round(count.recall, 3),
        "found": count.found,
        "right": count.right,
        "labelled": count.labelled,
    }


def _table(split: Split, found: Detection) -> Table:
    title = f"{split.value}: {found.texts} texts, {found.labelled} labelled, {found.decoys} that only look alike"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in ("precision", "recall", "right of found", "right of labelled"):
        table.add_column(column, justify="right")
    rows = {"all": found.overall}
    rows |= {language.value: found.of_language(language) for language in Language}
    rows |= {kind.value: found.of_kind(kind) for kind in STRUCTURED}
    for name, count in rows.items():
        shares = [f"{share:.3f}" for share in (count.precision, count.recall)]
        table.add_row(name, *shares, f"{count.right} of {count.found}", f"{count.right} of {count.labelled}")
    return table


def _times(times: Mapping[Any, Mapping[str, float]]) -> Table:
    table = Table(title="One add, ms", title_justify="left")
    table.add_column("privacy_on_write")
    for column in ("p50", "p95"):
        table.add_column(column, justify="right")
    for action, taken in times.items():
        table.add_row(action.value, f"{taken['p50']:.2f}", f"{taken['p95']:.2f}")
    return table
