"""`memoryos verify-mark`: whether a file is as this store wrote it, and what its words tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, open_store

if TYPE_CHECKING:
    from memoryos.models.local.watermark_evidence import WatermarkEvidence
    from memoryos.operation.portability.content_marks import MarkReport


def verify_mark(
    path: Annotated[Path, typer.Argument(help="A file of `export`, or the JSON of `respond --json`.")],
    words: Annotated[bool, typer.Option("--words", help="Count words of any text file for the watermark.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Check the mark of an exported file or of an answer: whose it is, and which lines were altered."""
    with open_store(db, must_exist=True) as store:
        report = store.admin.verify_words(_read(path)) if words else store.admin.verify_mark(path)
    if json:
        render.print_json(report.to_dict())
    else:
        render.console().print(_told(report), markup=False)
    if not _is_confirmed(report):
        raise typer.Exit(1)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("path", f"cannot be read: {type(error).__name__}", "Name a text file in UTF-8") from None


def _is_confirmed(report: MarkReport | WatermarkEvidence) -> bool:
    from memoryos.models.local.watermark_evidence import WatermarkEvidence, WatermarkResult

    return report.result is WatermarkResult.FOUND if isinstance(report, WatermarkEvidence) else report.is_whole


def _told(report: MarkReport | WatermarkEvidence) -> str:
    from memoryos.models.local.watermark_evidence import WatermarkEvidence

    if isinstance(report, WatermarkEvidence):
        return _words(report)
    at = report.at.isoformat(timespec="seconds") if report.at else "an unknown time"
    whose = f"made by {report.by or 'an unknown caller'} at {at} of the memory of {report.user or 'an unknown user'}"
    signed = f"{_state(report)}: {whose}."
    return f"{signed}\n{_words(report.words)}" if report.words else signed


def _state(report: MarkReport) -> str:
    if report.is_whole:
        return "Whole"
    lines = ", ".join(map(str, report.altered[:20]))
    told = [f"line {lines}" if lines else "", "the end is missing" if report.is_cut else ""]
    return f"Altered ({', '.join(filter(None, told)) or 'the text'})"


def _words(found: WatermarkEvidence) -> str:
    """What the words tell, with the counts."""
    counts = f"{found.favoured} of {found.counted} pairs of tokens are favoured"
    chance = "" if found.z is None else f", z = {found.z:.1f}, p = {found.p:.1g}"
    return f"Watermark {found.result.value}: {counts}{chance} ({found.model})."
