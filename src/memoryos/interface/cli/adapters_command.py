"""`memoryos adapters`: what a local model learned from a memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.built_memory import QuestionOrigin
from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.operation.training.adapter_status import AdapterStatus

Name = Annotated[str, typer.Argument(help="Name of the adapter.", autocompletion=names("adapter"))]
Folder = Annotated[Path, typer.Argument(help="A folder in the form of peft.")]


def train(
    name: Name,
    kind: Annotated[list[str] | None, typer.Option(help="fact, profile, page or segment; repeat it for more.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only memories with one of these tags.")] = None,
    questions: Annotated[
        QuestionOrigin, typer.Option(help="Who words the questions: our templates, or also the chat model.")
    ] = QuestionOrigin.TEMPLATES,
    wait: Annotated[bool, typer.Option(help="Wait until the version is ready or refused.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Train a version of an adapter in the background, from facts or other memories."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        made = memory.adapters.train(name, kinds=kind or ["fact"], tags=tag or [], questions=questions)
        if wait:
            memory.wait()
            made = memory.adapters.get(name)
    _show(made, json=json)


def list_adapters(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the adapters, by name."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.adapters.list()
    if json:
        render.print_json({"adapters": [one.to_dict() for one in found]})
        return
    for one in found:
        _say(one)
    if not found:
        render.say("There are no adapters.")


def get(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show an adapter with its versions, and why one was refused."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _show(memory.adapters.get(name), json=json)


def load(
    name: Name,
    weight: Annotated[float, typer.Option(help="How much it counts.")] = 1.0,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Use an adapter in answers, in every process from now on."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _show(memory.adapters.load(name, weight=weight), json=json)


def unload(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Use an adapter no longer; its versions stay."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _show(memory.adapters.unload(name), json=json)


def rollback(
    name: Name,
    number: Annotated[int, typer.Argument(help="Number of the version.")],
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Use an earlier version of an adapter."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _show(memory.adapters.rollback(name, number), json=json)


def withdraw(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Use an adapter no longer, and do not train it again by itself."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _show(memory.adapters.withdraw(name), json=json)


def delete(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove an adapter with all its versions and their bytes."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.adapters.delete(name)
    _removed(name, json=json)


def retire(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Remove an adapter, and show the memories that it was trained on: they stay."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        sources = memory.adapters.retire(name)
    if json:
        render.print_json({"name": name, "sources": [one.to_dict() for one in sources]})
        return
    for one in sources:
        render.say(f"{one.kind} {one.id}: {one.text}")
    _removed(name, json=False)


def export(
    name: Name,
    folder: Folder,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Write the version in use into a new folder, in the form of peft. Erasing a memory does not reach it."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        written = memory.adapters.export(name, folder)
    if json:
        render.print_json({"name": name, "folder": str(written)})
    else:
        render.say(f"The adapter {name} is in {written}.")


def add(
    folder: Folder,
    name: Annotated[str | None, typer.Option(help="Its name here (default: the one in the folder).")] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Store an adapter that `export` wrote, if it fits the model."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        _show(memory.adapters.add(folder, name=name), json=json)


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    name: Annotated[
        list[str] | None,
        typer.Option(help="Only this adapter (default: the loaded ones).", autocompletion=names("adapter")),
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Ask the local model with the adapters and with no text."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        told = memory.adapters.ask(question, names=name)
    if json:
        render.print_json(told.to_dict())
        return
    render.say(told.text)
    for one in told.left_out:
        render.say(f"(not used: {one})")


def recollect(
    name: Name,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Ask an adapter for what it knows, and store what is new as facts of low confidence."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.adapters.recollect(name)
    if json:
        render.print_json(found.to_dict())
    else:
        render.say(f"{found.asked} asked: {len(found.stored)} stored, {found.known} known, {found.doubted} doubted.")


def _show(status: AdapterStatus, *, json: bool) -> None:
    if json:
        render.print_json(status.to_dict())
    else:
        _say(status)


def _say(status: AdapterStatus) -> None:
    loaded = "not loaded" if status.weight is None else f"loaded with weight {status.weight:g}"
    used = "no version can be used" if status.used is None else f"version {status.used} is used"
    is_waiting = "; waits to be trained" if status.is_due else ""
    render.say(f"{status.name}: {loaded}; {used}{'; withdrawn' if status.is_withdrawn else is_waiting}")
    for one in status.versions:
        told = f": {one.refused}" if one.refused else ""
        render.say(f"  {one.number} {one.stage}, {len(one.sources)} memories, {one.size / 1e6:.1f} MB{told}")


def _removed(name: str, *, json: bool) -> None:
    if json:
        render.print_json({"name": name, "removed": True})
    else:
        render.say(f"The adapter {name} is removed.")
