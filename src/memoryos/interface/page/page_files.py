"""PageFiles: the files of the page, which every browser gets without a key: they are the program, and hold no data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

PAGE = "/ui"
FIRST = "index.html"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# No script but our files, none of which may turn text into HTML; nothing from or to another host; in no frame.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ASKED_AGAIN = "no-cache"  # the first file, which names the others: a new release shows at once
_FOR_GOOD = "public, max-age=31536000, immutable"  # all others: their addresses change with their contents


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file, as it is sent."""

    content: bytes
    media_type: str
    tag: str  #: of this content, in quotes
    caching: str  #: how long a browser may keep it


@cache
def page_files() -> Mapping[str, PageFile]:
    """All files by their names below the address of the page; all but the first are in a folder of this release."""
    found = dict(_found(files(__package__).joinpath("assets"), ""))
    release = sha256(b"".join(sha256(found[name]).digest() for name in sorted(found))).hexdigest()[:16]
    first = found.pop(FIRST).replace(b'"assets/', f'"{release}/'.encode())
    others = {f"{release}/{name}": _sent(name, content, _FOR_GOOD) for name, content in found.items()}
    return {"": _sent(FIRST, first, _ASKED_AGAIN), **others}


def page_routes() -> list[BaseRoute]:
    """The addresses of the page."""
    return [
        _KnownRoute(PAGE, _moved, methods=["GET"]),
        _KnownRoute(PAGE + "/{name:path}", _file, methods=["GET"]),
    ]


def _found(folder: Traversable, before: str) -> Iterator[tuple[str, bytes]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _found(one, f"{before}{one.name}/")
        else:
            yield before + one.name, one.read_bytes()


def _sent(name: str, content: bytes, caching: str) -> PageFile:
    kind = _TYPES[f".{name.rpartition('.')[2]}"]
    return PageFile(content, kind, f'"{sha256(content).hexdigest()[:32]}"', caching)


async def _moved(_: Request) -> Response:
    """Send the browser on to where the names of the files are relative to."""
    return RedirectResponse(f"{PAGE.removeprefix('/')}/", 308)


async def _file(request: Request) -> Response:
    found = page_files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "There is no such file")
    headers = {**_HEADERS, "ETag": found.tag, "Cache-Control": found.caching}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)


class _KnownRoute(Route):
    """A route whose address, without values, is in the log and the counts."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["route"] = self
        await super().handle(scope, receive, send)
