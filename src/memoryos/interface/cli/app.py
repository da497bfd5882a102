"""The memoryos command: its parts, and how an error becomes a message."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Any, ClassVar

import typer
import typer.main

from memoryos.distribution import VERSION
from memoryos.errors import InvalidInput, MemoryOSError
from memoryos.infrastructure.vault.patience import in_one_call
from memoryos.interface.cli.json_wanted import JsonFlag, is_json_wanted
from memoryos.interface.cli.lazy import LazyGroup, Places
from memoryos.interface.cli.stated_context import state, state_branch
from memoryos.interface.faults import exit_code

_NAME = "memoryos"  # however it was started: shells complete the command of this name


class _Commands(LazyGroup):
    places: ClassVar[Places] = {
        "demo": ("demo", "demo"),
        "doctor": ("doctor_command", "doctor"),
        "add": ("memory_command", "add"),
        "search": ("memory_command", "search"),
        "tagged": ("mounts_command", "tagged"),
        "context": ("context_command", "context"),
        "digest": ("digest_command", "digest"),
        "transform": ("forms_command", "transform"),
        "chat": ("chat_command", "chat"),
        "respond": ("memory_command", "respond"),
        "show": ("memory_command", "show"),
        "stats": ("memory_command", "stats"),
        "get": ("lookup_command", "get"),
        "history": ("lookup_command", "history"),
        "update": ("correct_command", "update"),
        "delete": ("correct_command", "delete"),
        "worker": ("worker_command", "worker"),
        "serve": ("serve_command", "serve"),
        "mcp": ("mcp_command", "mcp"),
        "cold": ("cold", "cold"),
        "consolidate": ("upkeep_command", "consolidate"),
        "reembed": ("upkeep_command", "reembed"),
        "backup": ("stores_command", "backup"),
        "restore": ("stores_command", "restore"),
        "copy": ("stores_command", "copy"),
        "verify": ("stores_command", "verify"),
        "scrub": ("stores_command", "scrub"),
        "pages": ("groups", "pages"),
        "documents": ("groups", "documents"),
        "segments": ("groups", "segments"),
        "facts": ("groups", "facts"),
        "profile": ("groups", "profile"),
        "requests": ("groups", "requests"),
        "log": ("groups", "log"),
        "jobs": ("groups", "jobs"),
        "upkeep": ("groups", "upkeep"),
        "proposals": ("groups", "proposals"),
        "governance": ("groups", "governance"),
        "snapshots": ("groups", "snapshots"),
        "forms": ("groups", "forms"),
        "activations": ("groups", "activations"),
        "branches": ("groups", "branches"),
        "adapters": ("groups", "adapters"),
        "duplicates": ("groups", "duplicates"),
        "archiving": ("groups", "archiving"),
        "schedule": ("groups", "schedule"),
        "pipelines": ("groups", "pipelines"),
        "mounts": ("groups", "mounts"),
        "audit": ("groups", "audit"),
        "policy": ("groups", "policy"),
        "keys": ("groups", "keys"),
        "agents": ("groups", "agents"),
        "users": ("groups", "users"),
        "tenants": ("groups", "tenants"),
        "roles": ("groups", "roles"),
        "retention": ("groups", "retention"),
        "privacy": ("groups", "privacy"),
        "encryption": ("groups", "encryption"),
        "export": ("people", "export"),
        "forget": ("people", "forget"),
        "verify-receipt": ("people", "verify_receipt"),
        "verify-mark": ("mark_command", "verify_mark"),
        "import": ("groups", "imports"),
        "bench": ("groups", "benches"),
    }


app = typer.Typer(
    cls=_Commands, pretty_exceptions_enable=False, context_settings={"help_option_names": ["--help", "-h"]}
)

# Commands that work on a branch: what they read and change is in it alone.
_OF_A_BRANCH = frozenset(
    "add search context digest chat respond show stats get history update delete pages segments facts profile mcp "
    "documents duplicates log proposals".split()
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(json.dumps({"name": _NAME, "version": VERSION}) if is_json_wanted() else f"{_NAME} {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    _json: JsonFlag = False,
    purpose: Annotated[
        str | None, typer.Option(help="Why you call, for policies (default: MEMORYOS_PURPOSE).", show_default=False)
    ] = None,
    application: Annotated[
        str | None, typer.Option(help="Your program (default: MEMORYOS_APPLICATION).", show_default=False)
    ] = None,
    caller_session: Annotated[
        str | None,
        typer.Option(help="The session in which you call (default: MEMORYOS_CALLER_SESSION).", show_default=False),
    ] = None,
    branch: Annotated[
        str | None, typer.Option(help="Work on this branch of the memory (`branches create`).", show_default=False)
    ] = None,
) -> None:
    """Memory for AI agents: layered, durable, searchable, in one file."""
    state(purpose=purpose, application=application, caller_session=caller_session)
    if branch is not None and context.invoked_subcommand not in _OF_A_BRANCH:
        fix = f"Leave it out, or use one of: {', '.join(sorted(_OF_A_BRANCH))}"
        raise InvalidInput("--branch", f"has no meaning for `{context.invoked_subcommand}`", fix)
    state_branch(branch)


@cache
def command() -> Callable[..., Any]:
    """The command. It is built only once, because that takes longer than many commands."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command; print errors of the memory in one line, and with `--json` every error as JSON."""
    try:
        if is_json_wanted():
            sys.exit(in_one_call(partial(command(), prog_name=_NAME, standalone_mode=False)))
        in_one_call(partial(command(), prog_name=_NAME))
    except MemoryOSError as error:
        sys.exit(_tell(error))
    except typer.TyperException as error:  # wrong usage, which Typer tells by itself where people read it
        _tell_as_json("UsageError", error.format_message())
        sys.exit(error.exit_code)


def _tell(error: MemoryOSError) -> int:
    from memoryos.interface.cli import render

    if is_json_wanted():
        _tell_as_json(type(error).__name__, str(error))
    else:
        render.error_console().print(f"Error: {error}", markup=False, soft_wrap=True)
    return exit_code(error)


def _tell_as_json(kind: str, message: str) -> None:
    from memoryos.interface.cli import render

    render.print_json({"error": {"type": kind, "message": message}})
