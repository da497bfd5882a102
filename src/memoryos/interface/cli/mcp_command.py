"""`memoryos mcp`: the memory as an MCP server, for Claude, Cursor, VS Code and other clients."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoryos.errors import InvalidInput, MissingExtra, StillRunning
from memoryos.interface.cli.options import Db, Json, open_store
from memoryos.interface.cli.stated_context import stated_branch

if TYPE_CHECKING:
    from memoryos.memory import Memory
    from memoryos.memory_os import MemoryOS
    from memoryos.scope import Scope

_NEEDED = ("mcp", "mcp_types")
_NEEDED_FOR_HTTP = ("fastapi", "uvicorn", "prometheus_client")
_PORT = 8766


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Answer over HTTP, in place of standard input.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine need API keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 finds a free one.")] = _PORT,
    user: Annotated[
        str | None, typer.Option(help="The user (default: MEMORYOS_USER, or default).", show_default=False)
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="The agent (default: MEMORYOS_AGENT, or default).", show_default=False)
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="The session of what is stored (default: MEMORYOS_SESSION).", show_default=False)
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(help="The tenant (default: MEMORYOS_TENANT, or default).", show_default=False)
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Offer the memory to an MCP client: over standard input and output, or with --http to several at a time."""
    if not all(map(find_spec, (*_NEEDED, *(_NEEDED_FOR_HTTP if http else ())))):
        raise MissingExtra("memoryos mcp", "mcp")
    whose = {"user": user, "agent": agent, "session": session, "tenant": tenant}
    if http:
        if stated_branch() is not None:
            raise InvalidInput("--branch", "has no meaning over HTTP", "Clients name it in the address: ?branch=NAME")
        _serve_http(host, port, whose, db, json=json)
        return
    if json:
        raise InvalidInput("--json", "has no meaning over standard input and output", "Add --http, or leave it out")
    from memoryos.infrastructure.vault.patience import apart
    from memoryos.interface.mcp.lasting_objects import lasting_objects
    from memoryos.interface.mcp.late_models import late_models

    with lasting_objects():
        with late_models():  # the SDK has hundreds for both sides of all versions, and one client needs few
            import mcp.server  # noqa: F401  imported for its models
        from memoryos.interface.mcp.stdio_door import serve_stdio

    apart(partial(serve_stdio, partial(_opened, whose, db)))  # its calls are no part of the one that serves them


def _opened(whose: dict[str, str | None], db: str | None) -> Memory:
    """The memory of the user, in a store that is closed with it."""
    from memoryos.interface.cli.options import open_memory

    owner = _owner(whose)
    return open_memory(db, user=owner.user, agent=owner.agent or "default", session=owner.session, tenant=owner.tenant)


def _owner(whose: dict[str, str | None]) -> Scope:
    """The owner that the options name, and the settings where they name none."""
    from memoryos.config import load_settings
    from memoryos.scope import Scope

    settings = load_settings()
    told: dict[str, Any] = {name: one or getattr(settings, name) for name, one in whose.items()}
    return Scope(**told)


def _serve_http(host: str, port: int, whose: dict[str, str | None], db: str | None, *, json: bool) -> None:
    from memoryos.interface.cli import render
    from memoryos.interface.mcp.http_door import PATH, mcp_app
    from memoryos.interface.rest.rest_limits import RestLimits
    from memoryos.interface.rest.rest_server import RestServer

    owner, limits = _owner(whose), RestLimits()
    left, store = limits.closing_seconds, open_store(db)
    try:
        server = RestServer.bound(store, host, port, limits, partial(mcp_app, default=owner))
        _tell(f"{server.url}{PATH}", store, json=json)
        left = server.run()
    finally:
        try:
            store.close(left)
        except StillRunning:
            render.error_console().print("Background work is left to the next process.")


def _tell(url: str, store: MemoryOS, *, json: bool) -> None:
    has_keys = store.keys.exist()
    if json:
        typer.echo(dumps({"url": url, "keys": has_keys}))  # one line, before the server runs
        return
    from memoryos.interface.cli import render

    whom = "with an API key" if has_keys else "without a key, from this machine alone"
    render.console().print(f"Answering MCP at {url} ({whom}). Ctrl-C stops.", markup=False, soft_wrap=True)
