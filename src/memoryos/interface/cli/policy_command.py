"""`memoryos policy` and `governance explain`: check files of policies, show what they can ask, and what they decide."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memoryos.caller import Action, Caller
from memoryos.clock import parse_time
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, called_with, existing_place, open_store
from memoryos.interface.cli.stated_context import stated_settings
from memoryos.memory_os import open as open_memory
from memoryos.policy.policy_files import PolicyFiles
from memoryos.policy.policy_schema import SCHEMA
from memoryos.regex import regex

_ROLE = regex(r'Role::"((?:[^"\\]|\\.)*)"')


def check(
    paths: Annotated[list[Path], typer.Argument(help=".cedar files, or folders of them.")],
    db: Annotated[
        str | None,
        typer.Option("--db", help="A store: name the roles granted in it that no policy names.", show_default=False),
    ] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Check policies; what is wrong is named with file and line."""
    texts = {str(path): PolicyFiles(path).policies().texts for path in paths}
    found = {path: [one.name for one in some] for path, some in texts.items()}
    unnamed = _unnamed([one.text for some in texts.values() for one in some], db, tenant) if db else []
    if json:
        render.print_json({"policies": found, **({"roles_in_no_policy": unnamed} if db else {})})
        return
    for role in unnamed:
        render.console().print(f"The role {role} was granted, and no policy names it.", markup=False)
    for path, names in found.items():
        render.console().print(f"{path}: {len(names)} policies, nothing wrong.", markup=False)


def _unnamed(texts: Iterable[str], db: str, tenant: str) -> list[str]:
    """The granted roles that no policy names."""
    named = {name for text in texts for name in _ROLE.findall(text)}
    with open_store(db, must_exist=True) as store:
        granted = {role for one in store.roles.list(tenant=tenant) for role in one.roles}
    return sorted(granted - named)


def explain(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory, as `search` and the lists show it.")],
    caller: Annotated[str, typer.Option(help="Who calls.")],
    action: Annotated[Action, typer.Option(help="What is to be done.")] = Action.READ,
    policies: Annotated[
        Path | None, typer.Option(help="A .cedar file or a folder (default: MEMORYOS_POLICIES).", show_default=False)
    ] = None,
    role: Annotated[list[str] | None, typer.Option("--role", help="A role of the caller; may be repeated.")] = None,
    purpose: Annotated[str | None, typer.Option(help="Why it calls.")] = None,
    application: Annotated[str | None, typer.Option(help="Its program.")] = None,
    session: Annotated[str | None, typer.Option(help="Its session.")] = None,
    network: Annotated[str | None, typer.Option(help="Its address or zone.")] = None,
    at: Annotated[str | None, typer.Option(help="When (default: now).")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Say whether a caller may do something with a memory, and which policies decide so."""
    asked = Caller(caller, frozenset(role or ()), purpose, session, application, network, _moment(at))
    settings = stated_settings()
    path = db or settings.db
    existing_place(path, "Add or import something first, or name another file")
    ungoverned = settings.model_copy(update={"policies": None})  # who asks is not the caller
    called = called_with(settings)
    with open_memory(path, user=user, agent=agent, tenant=tenant, settings=ungoverned, **called) as memory:
        decision = memory.governance.explain(memory_id, asked, action, policies=policies or settings.policies)
    if json:
        render.print_json({"id": memory_id, **decision.to_dict(), "reason": decision.reason})
        return
    may = "may" if decision.allowed else "may not"
    render.console().print(f"{caller} {may} {action.value} {memory_id}: {decision.reason}.", markup=False)
    for error in decision.errors:
        render.console().print(f"Left out: {error}", markup=False)


def schema(json: Json = False) -> None:
    """Show what policies can ask about callers, memories and calls."""
    if json:
        render.print_json({"schema": SCHEMA})
    else:
        render.say(SCHEMA.strip())  # to be saved as a file: no line is broken


def _moment(at: str | None) -> datetime | None:
    return None if at is None else parse_time("at", at)
