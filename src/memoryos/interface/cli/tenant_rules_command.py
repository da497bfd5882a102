"""`memoryos retention`: rules about how long the memories of a whole tenant are kept."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Db, Json, Tags, Tenant, Yes, open_store, seconds_of
from memoryos.interface.cli.retention_command import Kinds, Name, print_rules
from memoryos.scope import namespace_from_path


def add(
    name: Name,
    ttl: Annotated[str | None, typer.Option(help="Time from storing to expiry, e.g. 90 (seconds), 12h or 30d.")] = None,
    until: Annotated[str | None, typer.Option(help="When they expire, e.g. 2027-01-01.")] = None,
    half_life: Annotated[
        str | None, typer.Option(help="Decay: time after the last use, e.g. 30d; longer if it was used often.")
    ] = None,
    kind: Kinds = None,
    tag: Tags = None,
    namespace: Annotated[
        str | None, typer.Option(help="Only in this namespace and below it, e.g. team/support (default: all).")
    ] = None,
    yes: Yes = False,
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Keep the memories of all users only so long: those stored already and those to come."""
    if not yes:
        _confirm(tenant, json=json)
    with open_store(db) as store:
        rule = store.retention.add(
            name,
            ttl=seconds_of(ttl) if ttl else None,
            until=until,
            half_life=seconds_of(half_life, "--half-life") if half_life else None,
            kinds=kind or (),
            tags=tag or (),
            namespace=None if namespace is None else namespace_from_path(namespace),
            tenant=tenant,
        )
    if json:
        render.print_json(rule.to_dict())
    else:
        render.say(f"The rule {name} is in force for the tenant {tenant}.")


def _confirm(tenant: str, *, json: bool) -> None:
    what = f"all users of the tenant {tenant} would lose for good what has ended by this rule, also what is stored now"
    if json or not sys.stdin.isatty():
        raise InvalidInput("--yes", f"is missing: {what}", "Add --yes")
    typer.confirm(f"{what[0].upper()}{what[1:]}. Add it?", abort=True)


def list_rules(tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """List the rules of a tenant, by name."""
    with open_store(db, must_exist=True) as store:
        found = store.retention.list(tenant=tenant)
    if json:
        render.print_json({"rules": [rule.to_dict() for rule in found]})
    else:
        print_rules(found)


def remove(name: Name, tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """Remove a rule of a tenant: what it has not ended yet keeps its own end."""
    with open_store(db, must_exist=True) as store:
        store.retention.remove(name, tenant=tenant)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The rule {name} is removed.")
