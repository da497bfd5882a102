"""Passed headers: which headers of a request reach the model server, and which of its answer reach the client.

A key of MemoryOS never leaves: no header that may hold one is passed, wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoryos.interface.proxy.proxy_terms import PREFIX

Headers = Iterable[tuple[bytes, bytes]]

_HOP = {
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
_SECRETS = {b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key", b"cookie"}
_ABOUT_CLIENT = {b"forwarded", b"origin", b"referer", b"x-real-ip"}
_ACCOUNT = {b"openai-organization", b"openai-project"}  # of the key that pays
_REQUEST = {*_HOP, *_SECRETS, *_ABOUT_CLIENT, b"host", b"content-length", b"expect", b"accept-encoding"}
_ANSWER = {*_HOP, b"date", b"server", b"set-cookie", b"alt-svc"}
_OWN, _FORWARDED = PREFIX.encode(), (b"x-forwarded-", b"sec-")


def to_upstream(headers: Headers, *, with_account: bool, secret: bytes = b"") -> list[tuple[bytes, bytes]]:
    """The headers of a request that are passed on; `with_account` those that choose who pays, too.

    None has the secret, which a client may have written into any header.
    """
    known = list(headers)
    kept_back = _REQUEST | _named_by_connection(known) | (set() if with_account else _ACCOUNT)
    kept = [
        (name, value) for name, value in known if name not in kept_back and not name.startswith((_OWN, *_FORWARDED))
    ]
    return [(name, value) for name, value in kept if not secret or secret not in value]


def to_client(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that are passed on."""
    known = [(name.lower(), value) for name, value in headers]
    kept_back = _ANSWER | _named_by_connection(known)
    return [(name, value) for name, value in known if name not in kept_back and not name.startswith(_OWN)]


def _named_by_connection(headers: Headers) -> set[bytes]:
    """Headers that the other side has for its own connection alone."""
    values = (value for name, value in headers if name == b"connection")
    return {one.strip().lower() for value in values for one in value.split(b",")}
