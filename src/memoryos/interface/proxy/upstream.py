"""Upstream: the model server behind the proxy, and the connections to it, which requests share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Self

import httpx2
from starlette.requests import Request

from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.interface.proxy.passed_headers import to_upstream
from memoryos.interface.proxy.proxy_terms import OWN_PARAMETERS
from memoryos.interface.rest.admission import Asking
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.server_traces import TRACE_HEADERS
from memoryos.models.endpoint import upstream_key

RawHeaders = Sequence[tuple[bytes, bytes]]

_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 30.0  # that a connection waits for the next request
_IDLE_CONNECTIONS = 100
_VIA = "memoryos"


class Upstream:
    """The model server: its address, its key, and its connections."""

    def __init__(self, url: httpx2.URL, key: str | None, timeout: float) -> None:
        self._url = url
        self._key = key
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS), pool=None),
            limits=httpx2.Limits(
                max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS, keepalive_expiry=_IDLE_SECONDS
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # those of one caller are not another's
            follow_redirects=False,
        )

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The server of the settings; None without one. Raises InvalidInput."""
        if settings.upstream is None:
            return None
        url = _checked(settings.upstream)
        return cls(url, upstream_key(settings), settings.upstream_timeout_seconds)

    @property
    def host(self) -> str:
        """Its host."""
        return self._url.host

    @property
    def port(self) -> int | None:
        """Its port; None: that of the scheme."""
        return self._url.port

    async def send(
        self, request: Request, path: bytes, body: bytes, *, packed: bool, trace: RawHeaders = ()
    ) -> httpx2.Response:
        """Pass a request on, and return the answer when its headers are there.

        The answer is `packed` if the client may get it so. The headers of a `trace` replace those of the client.
        Raises Refusing if there is no answer.
        """
        sent = self._http.build_request(
            request.method,
            self._target(request, path),
            headers=self._headers(request, trace, packed=packed),
            content=body,
        )
        with _refusals():
            answer = await self._http.send(sent, stream=True)
        if answer.is_redirect:
            await answer.aclose()
            fix = "Set the setting upstream to its own address"
            raise Refusing(502, "UpstreamMoved", "The model server sends its callers to another address", fix)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _target(self, request: Request, path: bytes) -> httpx2.URL:
        """The address, as the client has encoded it; what it says of the owner is not passed on."""
        own = [(name, value) for name, value in request.query_params.multi_items() if name not in OWN_PARAMETERS]
        query = str(httpx2.QueryParams([*self._url.params.multi_items(), *own])).encode()
        whole = self._url.raw_path.partition(b"?")[0].rstrip(b"/") + path
        return self._url.copy_with(raw_path=whole + b"?" + query if query else whole)

    def _headers(self, request: Request, trace: RawHeaders, *, packed: bool) -> RawHeaders:
        _refuse_loop(request)
        replaced = TRACE_HEADERS if trace else ()
        known = [one for one in request.headers.raw if one[0] not in replaced]
        headers = to_upstream(known, with_account=self._key is None, secret=_memoryos_key(request))
        packing = request.headers.get("accept-encoding", "identity") if packed else "identity"
        headers += [(b"accept-encoding", packing.encode("latin-1")), (b"via", f"1.1 {_VIA}".encode()), *trace]
        secret = f"Bearer {self._key}" if self._key else _own_key(request)
        return [*headers, (b"authorization", secret.encode("latin-1"))] if secret else headers


def _memoryos_key(request: Request) -> bytes:
    """The key of MemoryOS with which the client asks; empty if it has none."""
    asking: Asking = request.state.asking
    key = request.headers.get("authorization", "").partition(" ")[2].strip()
    return key.encode("latin-1") if asking.has_key else b""


def _own_key(request: Request) -> str | None:
    """The key of the client, for the model server; None if it is one of MemoryOS, which is not passed on."""
    asking: Asking = request.state.asking
    return None if asking.has_key else request.headers.get("authorization")


def _refuse_loop(request: Request) -> None:
    if any(_VIA in one.split() for one in ",".join(request.headers.getlist("via")).split(",")):
        fix = "Set the setting upstream to the model server, not to this server"
        raise Refusing(508, "ProxyLoop", "The request was passed on by MemoryOS before", fix)


def _checked(url: str) -> httpx2.URL:
    try:
        found = httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        found = httpx2.URL("")
    if found.scheme not in ("http", "https") or not found.host or found.userinfo:
        fix = "Pass e.g. https://api.openai.com/v1, and the key in MEMORYOS_UPSTREAM_API_KEY"
        raise InvalidInput("upstream", "is no address of a model server", fix)
    return found


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except httpx2.TimeoutException:
        fix = "Try again later, or raise MEMORYOS_UPSTREAM_TIMEOUT_SECONDS"
        raise Refusing(504, "UpstreamTooSlow", "The model server does not answer in time", fix) from None
    except httpx2.HTTPError:
        fix = "Look whether it runs, and at the setting upstream"
        raise Refusing(502, "UpstreamUnreachable", "The model server cannot be reached", fix) from None
