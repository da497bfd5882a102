"""`memoryos activations`: memories as KV states of a model in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.kinds import Kind

if TYPE_CHECKING:
    from memoryos.operation.activation.activated import ActivationView

Name = Annotated[str, typer.Argument(help="Name of the prefix.", autocompletion=names("activation"))]


def build(
    name: Name,
    memory_id: Annotated[list[str] | None, typer.Option("--id", help="A further memory, by its id.")] = None,
    kind: Annotated[list[Kind] | None, typer.Option(help="profile, trait or fact; default: all three.")] = None,
    bits: Annotated[int | None, typer.Option(help="8 for a smaller state that is not exact.")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Compute the KV state of a prefix with these memories, and wait for it."""
    chosen = {"kinds": kind} if kind else {}
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        memory.activations.build(name, ids=memory_id or (), bits=bits, **chosen)  # type: ignore[arg-type]
        memory.jobs.run()
        made = memory.activations.get(name)
    _say(made, json=json)


def list_activations(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the prefixes, and whether their states can be used."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.activations.list()
    if json:
        render.print_json({"activations": [one.to_dict() for one in found]})
        return
    for one in found:
        _say(one, json=False)
    if not found:
        render.say("There are no activations.")


def get(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show one prefix."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.activations.get(name)
    _say(found, json=json)


def delete(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove a prefix with its state; the memories stay."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.activations.delete(name)
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The activation {name} is removed.")


def answer(
    name: Name,
    query: Annotated[str, typer.Argument(help="The question.")],
    beside: Annotated[
        list[str] | None,
        typer.Option(help="A further prefix behind it; repeat it for more.", autocompletion=names("activation")),
    ] = None,
    composed: Annotated[
        bool | None, typer.Option(help="Put their states together (default: MEMORYOS_COMPOSE_STATES).")
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Answer a question with the memories of a prefix; nothing is searched or stored."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        told = memory.activations.answer(name, query, beside=beside or (), composed=composed)
    if json:
        render.print_json(told.to_dict())
        return
    render.say(told.answer.text)
    usage = told.answer.usage
    how = f"{usage.cached_tokens} of {usage.prompt_tokens} tokens from the state" if told.is_from_state else told.reason
    render.say(f"({how})")


def _say(one: ActivationView, *, json: bool) -> None:
    if json:
        render.print_json(one.to_dict())
    elif one.id is None:
        render.say(f"{one.name}: {one.reason}")
    else:
        whether = "usable" if one.is_usable else one.reason
        render.say(f"{one.name}: {one.tokens:,} tokens, {one.size:,} bytes, for {one.model}; {whether}")
