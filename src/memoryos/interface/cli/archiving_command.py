"""`memoryos archiving`: rules that archive the pages and facts that nobody uses."""

from __future__ import annotations

from typing import Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tags, Tenant, User, open_memory, seconds_of
from memoryos.kinds import Kind

Name = Annotated[str, typer.Argument(help="Name of the rule.")]


def add(
    name: Name,
    unused: Annotated[str, typer.Option(help="Time without use after which a memory is archived, e.g. 90d.")],
    visits: Annotated[
        int | None, typer.Option(min=0, help="Only what searches found at most this many times (default: all).")
    ] = None,
    tag: Tags = None,
    kind: Annotated[
        list[Kind] | None, typer.Option(help="May be repeated: page, fact (default: page).", show_default=False)
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Archive pages or facts that were not used for a while. A rule of the same name is replaced."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        rule = memory.archiving.add(
            name, unused=seconds_of(unused), visits=visits, tags=tag or (), kinds=kind or (Kind.PAGE,)
        )
    if json:
        render.print_json(rule.to_dict())
    else:
        render.say(f"The rule {name} is in force.")


def list_rules(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the rules, by name."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.archiving.list()
    if json:
        render.print_json({"rules": [rule.to_dict() for rule in found]})
        return
    for rule in found:
        rare = "" if rule.visits is None else f", found at most {rule.visits:,} times"
        tagged = f", tagged {', '.join(rule.tags)}" if rule.tags else ""
        kinds = ", ".join(f"{kind}s" for kind in rule.kinds)
        render.say(f"{rule.name}: {kinds} not used for {rule.unused_seconds:,.0f} s{rare}{tagged}")
    if not found:
        render.say("There are no archiving rules.")


def remove(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a rule; what it has archived stays so until it is used."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.archiving.remove(name)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The rule {name} is removed.")
