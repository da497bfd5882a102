"""`memoryos forms`: memories as text, as KV states and as adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.completion import names
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.operation.activation.transformation import FormOutcome, FormState
from memoryos.operation.placement.memory_block import MemoryForm

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.operation.activation.transformation import Transformation

Name = Annotated[
    str,
    typer.Argument(help="Name of the activation or adapter.", autocompletion=names("activation", "adapter")),
]
Source = Annotated[MemoryForm, typer.Option("--from", help="The form that the memories have.")]
Target = Annotated[MemoryForm, typer.Option("--to", help="The form that they get.")]


def transform(
    name: Name,
    source: Source = MemoryForm.TEXT,
    target: Target = MemoryForm.KV,
    memory_id: Annotated[list[str] | None, typer.Option("--id", help="A memory, by its id; from text.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="All memories of this kind; from text.")] = None,
    remove: Annotated[bool, typer.Option(help="To text: remove the KV state or adapter. Its sources stay.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Turn memories into a KV state or an adapter, or one of these back to text, and wait for it.

    The exit code is 1 if it is not done: its job failed or waits, or the gate refused the adapter.
    """
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        chosen = {"kinds": kind or (), "ids": memory_id or (), "keeps": not remove}
        done = [memory.forms.transform(name, source, target, **chosen)]  # type: ignore[arg-type]
        told = _waited(memory, done)
    _say(told, done, json=json)


def outcome(
    name: Name,
    source: Source = MemoryForm.TEXT,
    target: Target = MemoryForm.KV,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Tell what came of the latest change of a name from one form to another; the exit code is 1 if it is not done."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        memory.wait()
        told = [memory.forms.outcome(name, source, target)]
    _say(told, (), json=json)


def cool(
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Turn all that is cold back to text, and wait for it; the exit code is 1 if a part is not done."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        done = memory.forms.cool()
        told = _waited(memory, done)
    _say(told, done, json=json)


def list_forms(
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


def _waited(memory: Memory, done: Sequence[Transformation]) -> list[FormOutcome]:
    memory.wait()
    return [_outcome(memory, one) for one in done]


def _outcome(memory: Memory, one: Transformation) -> FormOutcome:
    """What came of a change; KV gives its sources without a job."""
    if one.source is MemoryForm.KV and one.job is None:
        return FormOutcome(one.name, one.source, one.target, FormState.DONE, "")
    return memory.forms.outcome(one.name, one.source, one.target)


def _say(told: Sequence[FormOutcome], done: Sequence[Transformation], *, json: bool) -> None:
    """Print what came of the changes, and exit with code 1 if one is not done."""
    ways = {(one.name, one.source): one for one in done}
    _print([(one, ways.get((one.name, one.source))) for one in told], json=json)
    if any(one.state is not FormState.DONE for one in told):
        raise typer.Exit(1)


def _print(known: Sequence[tuple[FormOutcome, Transformation | None]], *, json: bool) -> None:
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
    if not known:
        render.say("Nothing is cold.")
