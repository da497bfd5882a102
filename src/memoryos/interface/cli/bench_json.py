"""What the benches found, as data; programs rely on the names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memoryos.bench.languages import LanguagesReport
from memoryos.bench.locomo_recall import BenchCorpus, RecallReport, VariantResult
from memoryos.bench.machine import describe
from memoryos.bench.means import Estimate, Summary
from memoryos.bench.metrics import LEVELS, Measure
from memoryos.bench.scale import Populated
from memoryos.bench.speed import Size
from memoryos.bench.sweep import PAPER, Result, Swept, measures
from memoryos.distribution import VERSION

FIGURES = 4  # decimals of a recall


def recall(corpus: BenchCorpus, report: RecallReport) -> dict[str, Any]:
    """Recall by strategy and group, hybrid without each part, then what it cost and on what it was measured.

    Of the pages, some are archived: two_stage leaves them out, the other strategies search them.
    """
    first = next(iter(report.results.values()))
    return {
        "results": {strategy: _result(result) for strategy, result in report.results.items()},
        "ablation": {part: _result(result) for part, result in report.ablation.items()},
        "search_ms": rounded(first.search_ms),
        "ingest_s": round(report.ingest_s, 2),
        "rss_mb": _round(report.rss_mb),
        "pages": report.pages,
        "archived_pages": report.archived_pages,
        "turns": sum(map(len, corpus.turns.values())),
        "questions": len(corpus.questions.asked),
        "questions_without_evidence": corpus.questions.without_evidence,
        "malformed_evidence": [asdict(part) for part in corpus.questions.malformed],
        "embedder": report.embedder,
        "dataset": {"sha256": corpus.sha256, "conversations": list(corpus.turns)},
        **made_on(),
    }


def _result(result: VariantResult) -> dict[str, Any]:
    groups = {name: _summary(summary) for name, summary in result.groups.items()}
    return {**groups, "search_ms": rounded(result.search_ms)}


def _summary(summary: Summary) -> dict[str, Any]:
    means: dict[str, Any] = {name: {} for name in LEVELS}
    intervals: dict[str, Any] = {name: {} for name in LEVELS}
    for name, levels in LEVELS.items():
        for level in levels:
            found = summary.estimates[Measure(name, level)]
            means[name][str(level)] = round(found.mean, FIGURES)
            intervals[name][str(level)] = [round(found.low, FIGURES), round(found.high, FIGURES)]
    return {**means, "interval": intervals, "questions": summary.questions}


def sweep(swept: Swept) -> dict[str, Any]:
    """Every point and self-tuning by mean, then how far self-tuning is ahead of the best points and of the paper's.

    `elsewhere` is ahead of what is best on the other conversations, and `by_cosine` of what ranks pages as the paper.
    """
    return {
        "points": [asdict(point) | _means(result) for point, result in swept.points.items()],
        "self_tuned": _means(swept.tuned),
        "best": asdict(swept.best),
        "best_by_cosine": asdict(swept.best_by_cosine),
        "ahead_of_best": _ahead(swept.ahead(swept.best)),
        "ahead_of_best_by_cosine": _ahead(swept.ahead(swept.best_by_cosine)),
        "ahead_elsewhere": _ahead(swept.ahead_elsewhere()),
        "ahead_elsewhere_by_cosine": _ahead(swept.ahead_elsewhere(by_cosine=True)),
        "ahead_of_paper": _ahead(swept.ahead(PAPER)),
        "embedder": swept.embedder,
        **made_on(),
    }


def _means(result: Result) -> dict[str, float]:
    return {name: round(sum(values) / len(values), FIGURES) for name, values in measures(result).items()}


def _ahead(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {"mean": round(one.mean, FIGURES), "interval": [round(one.low, FIGURES), round(one.high, FIGURES)]}
        for name, one in found.items()
    }


def speed(sizes: Sequence[Size], embedder: str) -> dict[str, Any]:
    """Speed by size; a search looks in the archive, too."""
    return {"sizes": {str(size.pages): _size(size) for size in sizes}, "embedder": embedder, **made_on()}


def _size(size: Size) -> dict[str, Any]:
    return {
        "add_ms": rounded(size.adds.ms),
        "add_floor_ms": round(size.adds.floor_ms, 3),
        "busy_add_ms": rounded(size.busy.ms),
        "busy_floor_ms": round(size.busy.floor_ms, 3),
        "search_ms": rounded(size.probed.search_ms),
        "bulk_pages_per_s": _round(size.bulk_pages_per_s),
        "settled_pages_per_s": _round(size.settled_pages_per_s),
        "rss_mb": _round(size.probed.rss_mb),
        "disk_bytes_per_page": round(size.disk_bytes_per_page),
        "cold_start_ms": _round(size.probed.cold_start_ms),
        "archived_pages": size.archived_pages,
        "floor": rounded(asdict(size.floor)),
    }


def languages(report: LanguagesReport) -> dict[str, Any]:
    """Questions whose page was first and among the first three, by language, set of questions and strategy."""
    found = {
        language: {
            name: {strategy: asdict(one) for strategy, one in by_strategy.items()} for name, by_strategy in sets.items()
        }
        for language, sets in report.languages.items()
    }
    return {"languages": found, "embedder": report.embedder, **made_on()}


def scale(steps: Sequence[Populated]) -> dict[str, Any]:
    """Speed by the number of tenants, and in a large one."""
    return {"steps": [_step(step) for step in steps], **made_on()}


def _step(step: Populated) -> dict[str, Any]:
    return {
        "tenants": step.tenants,
        "pages": step.pages,
        "stored_pages_per_s": _round(step.stored_pages_per_s),
        "bytes_per_page": round(step.bytes_per_page),
        "first_ms": _round(step.visited.first_ms),
        "moved_out_s": _round(step.visited.moved_out_s),
        "within_ms": rounded(step.visited.within_ms),
        "roaming_ms": rounded(step.visited.roaming_ms),
        "rss_mb": _round(step.visited.rss_mb),
    }


def made_on() -> dict[str, Any]:
    """The machine and the version that figures come from."""
    return {"machine": describe(), "version": VERSION}


def rounded(values: Mapping[str, float], decimals: int = 3) -> dict[str, float]:
    """The values, each rounded."""
    return {name: round(value, decimals) for name, value in values.items()}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
