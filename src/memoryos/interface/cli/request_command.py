"""`memoryos request`: what a person asks of the memory in plain words, with a preview before anything is lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memoryos.errors import InvalidInput
from memoryos.interface.cli import render
from memoryos.interface.cli.options import Agent, Db, Json, Session, Tenant, User, Yes, open_memory

if TYPE_CHECKING:
    from memoryos.nouns.requests import RequestOutcome
    from memoryos.operation.requests.memory_call import MemoryCall
    from memoryos.operation.requests.request_preview import RequestPreview


def request(
    text: Annotated[str, typer.Argument(help='The request, e.g. "forget what I told you about my old job".')],
    confirm: Annotated[str | None, typer.Option(help="The token of the preview: do what it showed.")] = None,
    yes: Yes = False,
    read: Annotated[bool, typer.Option("--read", help="Only show how the request is understood.")] = False,
    user: User = "default",
    agent: Agent = "default",
    tenant: Tenant = "default",
    session: Session = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Do what a person asks of the memory in plain words; what removes or shares anything is shown first."""
    if read and (confirm or yes):
        raise InvalidInput("--read", "changes nothing, so there is nothing to confirm", "Leave out --confirm and --yes")
    with open_memory(db, user=user, agent=agent, tenant=tenant, session=session, must_exist=True) as memory:
        if read:
            _show_call(memory.requests.read(text), json=json)
            return
        done = memory.requests.do(text, confirm=confirm)
        if done.preview and (yes or _agrees(done.preview, json=json)):
            done = memory.requests.do(done.call, confirm=done.preview.confirm)
        _show(done, json=json)


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
