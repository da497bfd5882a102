"""`memoryos digest`: a stretch of time in words, under a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.hint import hint
from memoryos.interface.cli.options import Agent, AsOf, Db, Json, Tenant, Tokens, User, memory_of, open_store

if TYPE_CHECKING:
    from memoryos.operation.recall.digest import Digest, DigestLine


def digest(
    since: Annotated[
        str | None, typer.Option(help="Start of the period, e.g. 2026-05-01T00:00Z (default: the first turn).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="End of the period (default: now).")] = None,
    tokens: Tokens = None,
    query: Annotated[
        str | None, typer.Option(help="Give more detail to what bears on this question.", show_default=False)
    ] = None,
    as_of: AsOf = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Summarise everything that was said in a period, as detailed as the budget allows."""
    with open_store(db, must_exist=True) as store:
        memory = memory_of(store, user, agent, tenant)
        told = memory.digest(since, until, tokens=tokens, query=query, as_of=as_of)
        nobody = None if told.turns else hint(store, user, agent, tenant)
    if json:
        render.print_json({**_as_json(told), "hint": nobody})
    elif told.text:
        render.say(told.text)
    elif told.turns:
        render.console().print(f"{told.turns} turns, but no line fits: raise --tokens.")
    else:
        render.console().print(nobody or "Nothing was said in this period.", markup=False)


def _as_json(told: Digest) -> dict[str, Any]:
    return {
        "text": told.text,
        "tokens": told.tokens,
        "turns": told.turns,
        "days": told.days,
        "covered": told.covered,
        "resolved": told.resolved,
        "lines": [_line_json(line) for line in told.lines],
    }


def _line_json(line: DigestLine) -> dict[str, Any]:
    return {
        "text": line.text,
        "start": line.start.isoformat(),
        "end": line.end.isoformat(),
        "turns": line.turns,
        "ids": list(line.ids),
    }
