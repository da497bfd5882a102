"""`memoryos serve`: the memory over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoryos.errors import InvalidInput, MissingExtra, StillRunning
from memoryos.interface.cli import render
from memoryos.interface.cli.demo import demo_store
from memoryos.interface.cli.options import Db, Json, open_store
from memoryos.interface.rest.rest_limits import RestLimits

if TYPE_CHECKING:
    from memoryos.config import Settings
    from memoryos.memory_os import MemoryOS

UnnamedUser = Annotated[
    str | None,
    typer.Option(
        "--user",
        help="Of a proxy without API keys: the user of requests that name none (default: MEMORYOS_USER, or none).",
        show_default=False,
    ),
]
NEEDED = ("fastapi", "uvicorn", "prometheus_client", "httpx2")
_DEFAULT = RestLimits()


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine need API keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 finds a free one.")] = 8765,
    max_body: Annotated[int, typer.Option(min=1, help="Most bytes of a request.")] = _DEFAULT.body_bytes,
    rate: Annotated[int, typer.Option(min=1, help="Most requests per minute with one key.")] = _DEFAULT.per_minute,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Most seconds until an answer begins.")
    ] = _DEFAULT.answer_seconds,
    closing: Annotated[
        float, typer.Option(min=0, help="Seconds for running requests and background work when it stops.")
    ] = _DEFAULT.closing_seconds,
    upstream: Annotated[
        str | None,
        typer.Option(
            help="Base URL of an OpenAI API to be a proxy for (default: MEMORYOS_UPSTREAM, or no proxy).",
            show_default=False,
        ),
    ] = None,
    user: UnnamedUser = None,
    traces: Annotated[
        bool,
        typer.Option(
            "--traces",
            help="Send traces of requests, without contents, to OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318).",
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve the conversation of `memoryos demo`, from a temporary store.")
    ] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Answer HTTP requests until SIGTERM or Ctrl-C; /openapi.json describes them, and /ui/ is a page for people."""
    if not all(map(find_spec, NEEDED)):
        raise MissingExtra("memoryos serve", "server")
    from memoryos.interface.added_doors import added_doors
    from memoryos.interface.rest.rest_app import rest_app
    from memoryos.interface.rest.rest_server import RestServer

    limits = RestLimits(body_bytes=max_body, per_minute=rate, answer_seconds=timeout, closing_seconds=closing)
    changed: dict[str, Any] = {name: value for name, value in (("upstream", upstream), ("user", user)) if value}
    changed |= {"traces": True} if traces else {}
    left, store = closing, _opened(db, changed, demo=demo, quiet=json)
    try:
        server = RestServer.bound(store, host, port, limits, partial(rest_app, added=added_doors(store.settings)))
        _tell(server.url, store.settings, has_keys=store.keys.exist(), json=json)
        left = server.run()
    finally:
        try:
            store.close(left)
        except StillRunning:
            render.error_console().print("Background work is left to the next process.")


def _opened(db: str | None, changed: Mapping[str, Any], *, demo: bool, quiet: bool) -> MemoryOS:
    if not demo:
        return open_store(db, changed=changed)
    if db:
        raise InvalidInput("--demo", "has a store of its own, which is removed at the end", "Leave --db out")
    return demo_store(changed, quiet=quiet)


def _tell(url: str, settings: Settings, *, has_keys: bool, json: bool) -> None:
    from memoryos.interface.proxy.proxy_terms import unnamed_user

    page, user = f"{url}/ui/", None if has_keys or not settings.upstream else unnamed_user(settings)
    if json:  # one line, before the server runs
        typer.echo(dumps({"url": url, "keys": has_keys, "page": page, "proxied_user": user}))
        return
    whom = "with an API key" if has_keys else "without a key, from this machine alone"
    proxied = f" {_whose(user, has_keys=has_keys)}" if settings.upstream else ""
    told = f"Answering at {url} ({whom}). The page for people is {page}.{proxied} Ctrl-C stops."
    render.console().print(told, markup=False, soft_wrap=True)


def _whose(user: str | None, *, has_keys: bool) -> str:
    """Whose memory a client of the proxy uses that says nothing of it."""
    if has_keys:
        return "Proxied requests use the memory of the user of their key, or of the one they name."
    if user is None:
        return "Proxied requests must name their user: neither --user nor MEMORYOS_USER is set."
    return f"Proxied requests that name no user use the memory of {user!r}."
