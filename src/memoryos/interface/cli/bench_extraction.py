"""`memoryos bench extraction`: how right the rules are on pages that are labelled by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.bench.extraction import Count, MeasuredExtraction, measure
from memoryos.bench.labels import Collection, Language, Split
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.operation.consolidation.extractor import RuleExtractor


def extraction(
    mistakes: Annotated[
        bool, typer.Option("--mistakes", help="List the errors in the half that the rules are developed on.")
    ] = False,
    json: Json = False,
) -> None:
    """Run the rules on labelled pages and report precision and recall of facts and profile fields, by half."""
    found = {
        collection: [measure(RuleExtractor(), language, collection) for language in Language]
        for collection in Collection
    }
    if json:
        render.print_json({name.value: _json(measured, mistakes=mistakes) for name, measured in found.items()})
        return
    for name, measured in found.items():
        render.wide_console().print(_table(name, measured))
        if mistakes:
            render.wide_console().print(*map(escape, _mistakes(measured)), sep="\n")


def _json(found: Iterable[MeasuredExtraction], *, mistakes: bool) -> dict[str, Any]:
    return {
        one.language.value: {
            split.value: {
                "pages": dict(one.pages)[split],
                "facts": _count(judged.facts),
                "profile": _count(judged.profile),
                "together": _count(judged.together),
                **({"mistakes": _mistakes([one])} if mistakes and split is Split.DEV else {}),
            }
            for split, judged in one.halves
        }
        for one in found
    }


def _count(count: Count) -> dict[str, Any]:
    return {
        "precision": round(count.precision, 3),
        "recall": round(count.recall, 3),
        "found": count.found,
        "right": count.right,
        "labelled": count.labelled,
        "recalled": count.recalled,
    }


def _mistakes(found: Iterable[MeasuredExtraction]) -> list[str]:
    """What was wrong or missed in the half that may be looked at; the other one stays unseen."""
    halves = [one.half(Split.DEV) for one in found]
    return [
        *(f"wrong   {one}" for half in halves for one in half.wrong if " trait " not in one),
        *(f"missed  {one}" for half in halves for one in half.missed if " trait " not in one),
    ]


def _table(name: Collection, found: Iterable[MeasuredExtraction]) -> Table:
    table = Table(title=f"Rules on labelled pages: {name}", title_justify="left")
    for column in ("language", "half"):
        table.add_column(column)
    for column in ("pages", "facts", "profile", "together", "right of found", "found of labelled"):
        table.add_column(column, justify="right")
    for one in found:
        for split, judged in one.halves:
            table.add_row(one.language, split, str(dict(one.pages)[split]), *_row(judged.facts, judged.profile))
    table.caption = "precision / recall"
    return table


def _row(facts: Count, profile: Count) -> list[str]:
    both = facts + profile
    return [
        *(f"{count.precision:.2f} / {count.recall:.2f}" for count in (facts, profile, both)),
        f"{both.right} of {both.found}",
        f"{both.recalled} of {both.labelled}",
    ]
