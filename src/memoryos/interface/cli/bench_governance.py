"""`memoryos bench governance`: what the audit log, encryption and policies cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from memoryos.bench.audit_cost import PLAIN, AuditCost, measure_audit
from memoryos.bench.policy_cost import PolicyCost, measure_policies
from memoryos.config import load_settings
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Json
from memoryos.interface.cli.watched import watched

_WANTED = ("p50", "p95")


class GovernancePart(StrEnum):
    """What is measured."""

    AUDIT = "audit"  # and encryption
    POLICIES = "policies"


def governance(
    pages: Annotated[
        list[int] | None,
        typer.Option("--pages", help="Pages of the memory; may be repeated (default: 10000).", min=100),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="The embedder (default: MEMORYOS_EMBEDDER).", show_default=False)
    ] = None,
    part: Annotated[
        list[GovernancePart] | None,
        typer.Option(help="The audit log with encryption, or policies (default: both).", show_default=False),
    ] = None,
    searches: Annotated[
        int | None,
        typer.Option(help="Searches of each caller with policies (default: 100).", min=1, show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Time adds and searches without, with the audit log, and encrypted; and searches with and without policies."""
    settings = load_settings(mounts=(), policies=None, **({"embedder": embedder} if embedder else {}))
    sizes, parts = pages or [10_000], part or [*GovernancePart]
    audits, policies = dict[int, Mapping[str, AuditCost]](), dict[int, PolicyCost]()
    with watched() as progress:
        if GovernancePart.AUDIT in parts:
            audits = {size: measure_audit(size, settings, progress) for size in sizes}
        if GovernancePart.POLICIES in parts:
            policies = {one.pages: one for one in measure_policies(sizes, settings, progress, searches=searches)}
    if json:
        render.print_json({"sizes": [_as_json(size, audits.get(size), policies.get(size)) for size in sizes]})
        return
    for size, variants in audits.items():
        _print_audit(size, variants)
    if policies:
        _print_policies(list(policies.values()))


def _as_json(pages: int, audited: Mapping[str, AuditCost] | None, cost: PolicyCost | None) -> dict[str, Any]:
    told: dict[str, Any] = {"pages": pages}
    if audited is not None:
        told["audit"] = {name: _compared(variant, audited) for name, variant in audited.items()}
    if cost is not None:
        ratios = {name: getattr(cost, name) for name in ("ungoverned_ratio", "owner_ratio", "guest_ratio")}
        told["policies"] = {**asdict(cost), **ratios}
    return _rounded(told)


def _compared(one: AuditCost, variants: Mapping[str, AuditCost]) -> dict[str, Any]:
    plain = variants[PLAIN]
    return {
        **asdict(one),
        "add_ratio": one.add_ms["p50"] / plain.add_ms["p50"],
        "search_ratio": one.search_ms["p50"] / plain.search_ms["p50"],
    }


def _rounded(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _rounded(one) if isinstance(one, dict) else _shown(one) for name, one in told.items()}


def _shown(number: float) -> float:
    return round(number, 3) if isinstance(number, float) else number


def _print_audit(pages: int, variants: Mapping[str, AuditCost]) -> None:
    table = Table(title=f"Audit log and encryption, stores of {pages:,} pages, ms", title_justify="left")
    table.add_column("")
    for operation in ("add", "search"):
        for column in (*(f"{operation} {wanted}" for wanted in _WANTED), f"times {PLAIN}"):
            table.add_column(column, justify="right")
    for name, one in variants.items():
        told = _compared(one, variants)
        numbers = (
            *(told["add_ms"][wanted] for wanted in _WANTED),
            told["add_ratio"],
            *(told["search_ms"][wanted] for wanted in _WANTED),
            told["search_ratio"],
        )
        table.add_row(name, *(f"{number:.2f}" for number in numbers))
    render.wide_console().print(table)


def _print_policies(found: Sequence[PolicyCost]) -> None:
    table = Table(title="Searches with policies, ms (median)", title_justify="left")
    columns = ("pages", "classes", "no gate", "no policy", "ratio", "owner", "ratio", "guest", "ratio", "guest's first")
    for column in columns:
        table.add_column(column, justify="right")
    for one in found:
        owner = f"{one.owner_ms['p50']:.2f}", f"{one.owner_ratio:.2f}"
        guest = f"{one.guest_ms['p50']:.2f}", f"{one.guest_ratio:.2f}"
        sizes = f"{one.pages:,}", f"{one.classes:,}"
        without = (f"{one.bare_ms['p50']:.2f}", f"{one.ungoverned_ms['p50']:.2f}", f"{one.ungoverned_ratio:.2f}")
        table.add_row(*sizes, *without, *owner, *guest, f"{one.first_ms:.1f}")
    render.wide_console().print(table)
