"""`memoryos pipelines`: chains of operations: run one, check a file, list and show those that have a name."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from memoryos.errors import InvalidInput, MissingExtra
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Session, Tenant, User, open_memory

if TYPE_CHECKING:
    from memoryos.operation.pipelines.pipeline import Pipeline
    from memoryos.operation.pipelines.pipeline_run import PipelineRun

Which = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A name, from `pipelines list`, or a .yaml or .json file.")
]


def run(
    pipeline: Which,
    query: Annotated[str | None, typer.Option(help="The parameter `query`.", show_default=False)] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", help="Another parameter; may be repeated. Lists are JSON.", metavar="NAME=VALUE"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would change, and change nothing.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Run a pipeline: all that it changes, or nothing."""
    opened = open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=dry_run)
    with opened as memory:
        checked = memory.pipelines.check(_wanted(pipeline))
        done = memory.pipelines.run(checked, _given(checked, param or ()), query=query, dry_run=dry_run)
    if json:
        render.print_json(done.to_dict())
    else:
        _tell(done)


def check(
    pipeline: Which,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Check a pipeline without running it: exit code 2, with the step, the field and the fix, if it is wrong.

    A file needs no store.
    """
    from memoryos.operation.pipelines.pipeline_file import read_pipeline

    wanted = _wanted(pipeline)
    if isinstance(wanted, Path):
        found = read_pipeline(wanted)
    else:
        with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
            found = memory.pipelines.check(wanted)
    if json:
        render.print_json({"name": found.name, "version": found.version, "steps": len(found.steps)})
    else:
        render.say(f"{found.name}, version {found.version}, is sound: {' -> '.join(one.verb for one in found.steps)}.")


def list_pipelines(
    user: User = "default", agent: Agent = "default", tenant: Tenant = "default", db: Db = None, json: Json = False
) -> None:
    """List the pipelines that have a name: ours, and those in the folder MEMORYOS_PIPELINES."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.pipelines.list()
    if json:
        render.print_json({"pipelines": [one.to_dict() for one in found], "broken": found.broken})
        return
    for one in found:
        render.say(f"{one.name} {one.version}: {' -> '.join(step.verb for step in one.steps)}")
        render.say(f"  {one.description}")
    for problem in found.broken.values():
        render.error_console().print(f"Left out: {problem}", markup=False, soft_wrap=True)


def show(
    pipeline: Which,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Show a pipeline as a file has it."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, must_exist=True) as memory:
        found = memory.pipelines.check(_wanted(pipeline))
    if json:
        render.print_json(found.to_dict())
        return
    try:
        import yaml
    except ImportError:
        raise MissingExtra("A pipeline shown as YAML", "yaml", without="--json") from None
    told = yaml.safe_dump(found.to_dict(), allow_unicode=True, sort_keys=False, width=render.console().width)
    render.say(told.rstrip())


def _wanted(pipeline: str) -> Path | str:
    from memoryos.operation.pipelines.pipeline_file import SUFFIXES

    return Path(pipeline) if pipeline.endswith(SUFFIXES) else pipeline


def _given(pipeline: Pipeline, pairs: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """The parameters; what is no text by its type is JSON. Raises InvalidInput."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            raise InvalidInput("--param", f"{pair[:40]!r} is not NAME=VALUE", "Write e.g. --param until=2026-05-01")
        if name in found:
            raise InvalidInput("--param", f"{name} is given twice", "Give it once")
        found[name] = value
        if name in pipeline.declared and pipeline.declared[name].type not in ("text", "moment"):
            try:
                found[name] = loads(value)
            except ValueError:
                raise InvalidInput("--param", f"{name} is not JSON", 'Write e.g. 5 or ["a", "b"]') from None
    return found


def _tell(done: PipelineRun) -> None:
    table = Table(title=f"{done.pipeline} {done.version}: {done.outcome}", title_justify="left")
    for name in ("step", "found", "changes", "ms"):
        table.add_column(name)
    for step in done.steps:
        told = step.verb if step.decision == "allowed" else f"{step.verb} ({step.decision})"
        table.add_row(escape(f"{step.number} {told}"), str(len(step.made)), str(len(step.changes)), f"{step.ms:.0f}")
    render.console().print(table)
    for text in (done.context, done.answer.text if done.answer else None):
        if text:
            render.say(text)
