"""`memoryos bench consolidation`: what reading pages takes and gives, by rules and by a scripted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench.consolidation import Consolidated, ReaderKind, measure
from memoryos.bench.extraction import MeasuredExtraction
from memoryos.bench.extraction import measure as measure_rules
from memoryos.bench.labels import Language
from memoryos.bench.locomo_recall import chosen
from memoryos.bench.purity import PurityReport, measure_locomo
from memoryos.config import Settings, load_settings
from memoryos.importers.locomo import read_locomo
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched
from memoryos.operation.consolidation.extractor import RuleExtractor

_AMOUNTS = ("pages", "read", "calls", "known", "dead_jobs", "completion_tokens")


def consolidation(
    data: Annotated[Path, typer.Option(help="The LoCoMo file.", show_default=False)],
    conversations: Annotated[
        str | None, typer.Option(help="Conversations to use, e.g. conv-26,conv-30 (default: all).", show_default=False)
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Add LoCoMo and report model calls and tokens per page, outcomes of facts, purity of topics, and seconds.

    The model is scripted and makes mistakes on purpose. It shows what they cost, not how well a model reads.
    """
    settings = load_settings(mounts=(), **({"embedder": embedder} if embedder else {}))
    document = _measured(data, conversations, settings)
    if json:
        render.print_json(document)
    else:
        _print(document)


def _measured(data: Path, names: str | None, settings: Settings) -> dict[str, Any]:
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    talks = chosen(read_locomo(data), wanted)
    with watched() as progress:
        read = {reader.value: _as_json(measure(talks, reader, settings, progress)) for reader in ReaderKind}
        purity = _purity_json(measure_locomo(data, settings, progress))
    rules = {language.value: _rules_json(measure_rules(RuleExtractor(), language)) for language in Language}
    return {"embedder": settings.embedder, **read, "purity": purity, "rules_on_labelled_pages": rules}


def _as_json(found: Consolidated) -> dict[str, Any]:
    return {
        **{name: getattr(found, name) for name in _AMOUNTS},
        "calls_per_page": round(found.calls_per_page, 3),
        "prompt_tokens_per_page": round(found.prompt_tokens_per_page, 1),
        "facts": asdict(found.facts),
        "rejected_by_flaw": dict(found.rejected or {}),
        "seconds": round(found.seconds, 1),
    }


def _purity_json(report: PurityReport) -> dict[str, Any]:
    found = asdict(report)
    return {when: found[when] for when in ("before", "after")}


def _rules_json(found: MeasuredExtraction) -> dict[str, Any]:
    return {
        split.value: {
            "precision": round(judgement.together.precision, 3),
            "recall": round(judgement.together.recall, 3),
        }
        for split, judgement in found.halves
    }


def _print(document: Mapping[str, Any]) -> None:
    table = Table(title=f"Consolidation of LoCoMo, {escape(document['embedder'])}", title_justify="left")
    table.add_column("")
    for reader in ReaderKind:
        table.add_column(reader.value, justify="right")
    for name, *values in _rows([document[reader.value] for reader in ReaderKind]):
        table.add_row(name, *(str(value) for value in values))
    render.wide_console().print(table)
    purity = Table(title="Segments against sessions", title_justify="left")
    for column in ("", "purity", "pairwise F1", "NMI"):
        purity.add_column(column)
    for when, found in document["purity"].items():
        shown = found["sessions"] or {}
        purity.add_row(f"{when} repair", *(f"{shown.get(name, 0):.3f}" for name in ("purity", "pairwise_f1", "nmi")))
    render.wide_console().print(purity)


def _rows(found: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The figures of each reader side by side."""
    flat = [_flat(one) for one in found]
    return [(name.replace("_", " "), *(one[name] for one in flat)) for name in flat[0]]


def _flat(found: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in found.items() if not isinstance(value, dict)}
    return {**plain, **{f"facts {name}": value for name, value in found["facts"].items()}}
