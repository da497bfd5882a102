"""`memoryos transform` and `memoryos forms`: memories as text, as KV states and as adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.operation.activation.transformation import FormState
from memoryos.operation.placement.memory_block import MemoryForm

if TYPE_CHECKING:
    from memoryos.operation.activation.transformation import FormOutcome, Transformation

Name = Annotated[
    str | None,
    typer.Argument(help="Name of the activation or adapter.", autocompletion=names("activation", "adapter")),
]


def transform(
    name: Name = None,
    source: Annotated[MemoryForm, typer.Option("--from", help="The form that the memories have.")] = MemoryForm.TEXT,
    target: Annotated[MemoryForm, typer.Option("--to", help="The form that they get.")] = MemoryForm.KV,
    memory_id: Annotated[list[str] | None, typer.Option("--id", help="A memory, by its id; from text.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="All memories of this kind; from text.")] = None,
    remove: Annotated[bool, typer.Option(help="To text: remove the KV state or adapter. Its sources stay.")] = False,
    cold: Annotated[bool, typer.Option(help="Turn all that is cold back to text.")] = False,
    look: Annotated[bool, typer.Option(help="Change nothing: tell what came of the latest such change.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Turn memories into a KV state or an adapter, or one of these back to text, and wait for it.

    The exit code is 1 if it is not done: its job failed or waits, or the gate refused the adapter.
    """
    if (name is None) is not cold:
        problem = "is passed together with --cold" if cold else "is missing"
        raise InvalidInput("name", problem, "Name an activation or adapter, or pass --cold")
    if look and (cold or remove or memory_id or kind):
        raise InvalidInput("look", "changes nothing", "Pass it with NAME, --from and --to alone")
    done: list[Transformation] = []
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        if name is None:
            done = list(memory.forms.cool())
        elif not look:
            chosen = {"kinds": kind or (), "ids": memory_id or (), "keeps": not remove}
            done = [memory.forms.transform(name, source, target, **chosen)]  # type: ignore[arg-type]
        memory.wait()
        ways = [(one.name, one.source, one.target) for one in done]
        told = [memory.forms.outcome(*way) for way in ways or ([(name, source, target)] if name else [])]
    _say(told, {(one.name, one.source): one for one in done}, json=json)
    if any(one.state is not FormState.DONE for one in told):
        raise typer.Exit(1)


def forms(
    memory_id: Annotated[
        str | None, typer.Option("--id", help="Only what was made of this memory, or told it.")
    ] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List the KV states and adapters with the texts that they were made of, and the facts that they told."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.forms.list(memory_id=memory_id)
    if json:
        render.print_json({"forms": [one.to_dict() for one in found]})
        return
    for one in found:
        render.say(
            f"{one.form.value} {one.name} ({one.id}): of {len(one.sources)} memories, told {len(one.told)} facts"
        )
    if not found:
        render.say("There are no KV states and no adapters.")


def _say(told: list[FormOutcome], done: dict[tuple[str, MemoryForm], Transformation], *, json: bool) -> None:
    known = [(one, done.get((one.name, one.source))) for one in told]
    if json:
        render.print_json(
            {"transformations": [{**(way.to_dict() if way else {}), **one.to_dict()} for one, way in known]}
        )
        return
    for one, way in known:
        ids = way.ids if way else ()
        count = f", {len(ids)} memories" if way else ""
        reason = f": {one.reason}" if one.reason else ""
        render.say(f"{one.name}: {one.source.value} to {one.target.value}{count}, {one.state.value}{reason}")
        for memory_id in ids:
            render.say(f"  {memory_id}")
    if not told:
        render.say("Nothing is cold.")
