"""`memoryos proposals`: changes to what is known that wait for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory
from memoryos.kinds import Subject

if TYPE_CHECKING:
    from memoryos.operation.consolidation.propose import Proposal

Id = Annotated[str, typer.Argument(help="Id of the proposal.")]


def list_proposals(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the proposals, oldest first, with the facts that they would replace."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.proposals.list()
    if json:
        render.print_json({"proposals": [_as_json(proposal) for proposal in found]})
    elif found:
        render.console().print(_table(found))
    else:
        render.console().print("No proposal waits for a decision.")


def publish(
    facts: Annotated[list[str], typer.Argument(help="Facts of a trusted source.")],
    source: Annotated[str, typer.Option(help="The source.")],
    subject: Annotated[Subject, typer.Option(help="Whom they are about.")] = Subject.USER,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Store facts of a trusted source; those that contradict what is known become proposals."""
    with open_memory(db, user=user, agent=agent, tenant=tenant) as memory:
        found = memory.proposals.publish(facts, source=source, subject=subject)
    if json:
        render.print_json({"proposals": [_as_json(proposal) for proposal in found]})
    else:
        render.say(f"Published {len(facts)}; {len(found)} proposals wait for a decision.")


def accept(
    proposal: Id,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Accept a proposal; the replaced fact stays in the history."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.proposals.accept(proposal)
    _tell("accepted", cube.id, cube.text, json=json)


def reject(
    proposal: Id,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Reject a proposal; it is not made again."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.proposals.reject(proposal)
    _tell("rejected", cube.id, cube.text, json=json)


def _tell(done: str, cube_id: str, text: str, *, json: bool) -> None:
    if json:
        render.print_json({"id": cube_id, "text": text, "answer": done})
    else:
        render.console().print(Text(f"{done.capitalize()}: {text}"))


def _table(found: Sequence[Proposal]) -> Table:
    table = Table(title="Proposals", title_justify="left")
    table.add_column("id", no_wrap=True, min_width=render.ID_CHARS)
    for column in ("would hold", "in place of", "from"):
        table.add_column(column, overflow="fold")
    for proposal in found:
        replaced = "\n".join(cube.text for cube in proposal.replaces)
        table.add_row(proposal.id, Text(proposal.cube.text), Text(replaced), Text(proposal.source or ""))
    return table


def _as_json(proposal: Proposal) -> dict[str, Any]:
    return {
        "id": proposal.id,
        "text": proposal.cube.text,
        "replaces": [{"id": cube.id, "text": cube.text} for cube in proposal.replaces],
        "source": proposal.source,
        "pages": list(proposal.cube.descriptive.provenance),
        "at": proposal.cube.descriptive.recorded_at.isoformat(),
    }
