"""`memoryos governance`: the states, versions and origin of memories: freeze, thaw, expire, compare, go back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from memoryos.caller import CallContext
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Tenant, User, open_memory, seconds_of
from memoryos.kinds import AccessMode

if TYPE_CHECKING:
    from memoryos.cube import MemCube
    from memoryos.label_change import LabelChange

if TYPE_CHECKING:
    from memoryos.operation.recall.provenance import Provenance

Id = Annotated[str, typer.Argument(help="Id of the memory, as `search` and the lists show it.")]
Reason = Annotated[str, typer.Option(help="Why; kept with the transition.")]


def freeze(
    memory_id: Id,
    reason: Reason = "freeze",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Freeze a memory: nothing changes, deletes or expires it until it is thawed."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _tell(memory.governance.freeze(memory_id, reason=reason), json=json)


def thaw(
    memory_id: Id,
    reason: Reason = "thaw",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Give a frozen memory the state that it had before."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _tell(memory.governance.thaw(memory_id, reason=reason), json=json)


def expire(
    memory_id: Id,
    reason: Reason = "expire",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Let a memory expire now: nothing shows it again, and a job removes it from the store."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        _tell(memory.governance.expire(memory_id, reason=reason), json=json)


def relabel(
    memory_id: Id,
    sensitivity: Annotated[
        list[str] | None, typer.Option(help="What else makes it sensitive, e.g. diagnosis; may be repeated.")
    ] = None,
    access: Annotated[AccessMode | None, typer.Option(help="What policies may let others do.")] = None,
    ttl: Annotated[str | None, typer.Option(help="Time until it expires, e.g. 90 (seconds), 12h, 7d.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When it expires, e.g. 2027-01-01.")] = None,
    endless: Annotated[bool, typer.Option("--endless", help="It has no end any more.")] = False,
    expected_version: Annotated[
        int | None, typer.Option(help="Change nothing if it has another version.", show_default=False)
    ] = None,
    reason: Annotated[str, typer.Option(help="Why: kept with the version.", show_default=False)] = "",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Change who may use a memory, and when it ends; its words stay."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.governance.relabel(
            memory_id,
            sensitivity=sensitivity or (),
            access=access,
            ttl=seconds_of(ttl) if ttl else None,
            expires_at=expires_at,
            endless=endless,
            expected_version=expected_version,
            reason=reason,
        )
    known, mode = cube.governance, cube.governance.access.mode.value
    if json:
        render.print_json(cube.to_dict())
        return
    told, end = ", ".join((mode, *known.sensitivity)), known.lifespan.expires_at
    render.say(f"Version {cube.number}: {told}; " + (f"ends at {end.isoformat()}." if end else "has no end."))


def transitions(
    memory_id: Id,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """List how the state of a memory changed: when, by whom and why."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.governance.transitions(memory_id)
    if json:
        render.print_json({"id": memory_id, "transitions": [one.to_dict() for one in found]})
        return
    table = Table(title=f"Transitions of {memory_id}", title_justify="left")
    for column in ("at", "before", "after", "by", "cause"):
        table.add_column(column, overflow="fold")
    for one in found:
        told = (one.at.isoformat(timespec="seconds"), one.before, one.after, one.by, one.cause)
        table.add_row(*(Text(cell) for cell in told))
    render.console().print(table if found else "Its state never changed.")


def diff(
    memory_id: Id,
    older: Annotated[int | None, typer.Option(help="Default: the version before.", show_default=False)] = None,
    newer: Annotated[int | None, typer.Option(help="Default: the latest version.", show_default=False)] = None,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what one version of a memory says that another one does not."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.governance.diff(memory_id, older, newer)
    if json:
        render.print_json(found.to_dict())
        return
    render.say(f"Versions {found.older} and {found.newer} of {memory_id}:")
    for one in found.changes:
        for line in (one.field, *one.unified):
            render.say(line)
    if not found.changes:
        render.say("Both say the same.")


def rollback(
    memory_id: Id,
    version: Annotated[int, typer.Argument(help="Its number, from `history`.")],
    reason: Annotated[str, typer.Option(help="Why; kept with the event.")] = "",
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Make a new version of a memory that says what an earlier one said."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        cube = memory.governance.rollback(memory_id, version, reason=reason)
    if json:
        render.print_json(cube.to_dict())
    else:
        render.console().print(f"Version {cube.number}: {cube.text}", markup=False)


def provenance(
    memory_id: Id,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show where a memory comes from, how far it is trusted, what changed it, and what was derived from it."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.governance.provenance(memory_id)
    if json:
        render.print_json(found.to_dict())
    else:
        render.console().print(_tree(found))


def _tree(found: Provenance) -> Tree:
    tree = Tree(Text(f"{found.kind} {found.id}"))
    for line in _lines(found):
        tree.add(Text(line))
    if found.derived_from:
        sources = tree.add("derived from")
        for one in found.derived_from:
            sources.add(_tree(one))
    return tree


def _author(by: str | None, call: str | None, context: CallContext) -> str:
    told = [call, *(f"{name} {value}" for name, value in context.to_dict().items() if value)]
    return f" by {by}, {', '.join(filter(None, told))}" if by else ""


def _lines(found: Provenance) -> Iterator[str]:
    author = _author(found.created_by, found.created_call, found.created_context)
    yield f"trust: {found.trust}, origin: {found.origin}"
    yield f"created: {found.created_at.isoformat(timespec='seconds')}{author}"
    if found.has_orders:
        yield "gives orders to a model"
    for name, values in (
        ("rules or model", (found.derived_by,)),
        ("document", (found.title, found.source)),
        ("source ids", found.source_ids),
        ("continues", (found.continues,)),
        ("replaces", found.replaces),
        ("replaced by", (found.replaced_by,)),
        ("derived", found.derived),
    ):
        if told := ", ".join(filter(None, values)):
            yield f"{name}: {told}"
    for version in found.versions[1:]:
        author = _author(version.by, version.call, version.context)
        why = f", {version.reason}" if version.reason else ""
        yield f"version {version.number}: {version.change}, {version.at.isoformat(timespec='seconds')}{author}{why}"
    for one in found.transitions:
        yield f"{one.before} -> {one.after}: {one.at.isoformat(timespec='seconds')} by {one.by}, {one.cause}"
    for label in found.labels:
        author = _author(label.by, label.call, label.context)
        yield f"labels: {_difference(label)}, {label.at.isoformat(timespec='seconds')}{author}"
    if found.hidden or found.more:
        yield f"not shown: {found.hidden} that may not be read, {found.more} more sources"


def _difference(label: LabelChange) -> str:
    told = [f"+{one}" for one in label.added] + [f"-{one}" for one in label.removed]
    if label.ends_before != label.ends_after:
        told.append(f"end {label.ends_before or 'never'} -> {label.ends_after or 'never'}")
    return " ".join(told)


def _tell(cube: MemCube, *, json: bool) -> None:
    if json:
        render.print_json({"id": cube.id, "state": cube.state.value})
    else:
        render.console().print(f"{cube.id} is {cube.state.value}.", markup=False)
