"""`memoryos requests`: what a person asks of the memory in plain words, with a preview before anything is lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Session, Tenant, User, Yes, open_memory
from memoryos.interface.faults import UNCONFIRMED

if TYPE_CHECKING:
    from memoryos.nouns.requests import RequestOutcome
    from memoryos.operation.requests.memory_call import MemoryCall
    from memoryos.operation.requests.request_preview import RequestPreview


Text = Annotated[
    str, typer.Argument(help='The request, e.g. "forget what I told you about my old job".', show_default=False)
]


def read(
    text: Text,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show how a request is understood; nothing is changed."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=True) as memory:
        call = memory.requests.read(text)
    _show_call(call, json=json)


def preview(
    text: Text,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Show what a request would do, with the token that confirms it. What it finds does not count as found."""
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=True) as memory:
        found = memory.requests.preview(text)
    if json:
        render.print_json(found.to_dict())
        return
    show_preview(found)
    if found.confirm:
        render.say(f"To do it: `memoryos requests do` with --confirm {found.confirm}")


def do(
    text: Text,
    confirm: Annotated[str | None, typer.Option(help="The token of the preview: do what it showed.")] = None,
    yes: Yes = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Do what a person asks of the memory in plain words.

    What removes, freezes or shares anything is shown first; without --confirm, --yes or a yes nothing is changed, and
    the exit code is 6.
    """
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session) as memory:
        done = memory.requests.do(text, confirm=confirm)
        if done.preview and (yes or _agrees(done.preview, json=json)):
            done = memory.requests.do(done.call, confirm=done.preview.confirm)
    _show(done, json=json)
    if not done.is_done:
        raise typer.Exit(UNCONFIRMED)


def _agrees(preview: RequestPreview, *, json: bool) -> bool:
    """Ask a person who sits there; nobody else can agree without the token."""
    if json or not sys.stdin.isatty():
        return False
    show_preview(preview)
    return typer.confirm("Do it?")


def _show_call(call: MemoryCall, *, json: bool) -> None:
    if json:
        render.print_json(call.to_dict())
        return
    for name, value in call.to_dict().items():
        if value not in (None, "", [], False) and name not in ("text", "scope"):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            render.say(f"{name.replace('_', ' ')}: {shown}")


def _show(done: RequestOutcome, *, json: bool) -> None:
    if json:
        render.print_json(done.to_dict())
    elif done.preview:
        show_preview(done.preview)
        render.say(f"Nothing was changed. To do it: --confirm {done.preview.confirm}")
    else:
        show_outcome(done)


def show_preview(preview: RequestPreview) -> None:
    """Print what a request would do."""
    render.say(f"{preview.text}.")
    for one in preview.memories:
        render.say(f"  {one.id}  {one.at:%Y-%m-%d}  {one.kind.value}: {one.text}")
    if preview.total > len(preview.memories):
        render.say(f"  … and {preview.total - len(preview.memories):,} more")
    if preview.near:
        render.say("These stay:")
        for one in preview.near:
            render.say(f"  {one.id}  {one.at:%Y-%m-%d}  {one.kind.value}: {one.text}")


def show_outcome(done: RequestOutcome) -> None:
    """Print what came of a request."""
    if done.profile:
        render.console().print(render.profile_table(done.profile))
    elif done.context:
        render.say(done.text or "Nothing was found.")
    else:
        render.say(f"{done.text}.")
