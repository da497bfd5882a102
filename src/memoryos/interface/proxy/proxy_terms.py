"""ProxyTerms: on which terms a request uses memory: whose, how much of it, and whether the exchange is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from memoryos.choice import Choice
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.interface.rest.admission import Asking
from memoryos.interface.rest.replays import idempotency_key
from memoryos.scope import PRIVATE, Scope

PREFIX = "x-memoryos-"
OWN_PARAMETERS = ("user", "agent", "session", "namespace")  # of the address; the others are the model server's
_NAMING = "Name the user in the address (?user=ann), in X-MemoryOS-User, or as `user` of the body"
_NAMING_ALL = "or for all requests, on a store without API keys, with MEMORYOS_USER or `memoryos serve --user`"
_MOST_TOKENS = 1_000_000


def unnamed_user(settings: Settings) -> str | None:
    """The user of requests that name none, on a store without keys; None: they are refused."""
    return settings.user if "user" in settings.model_fields_set else None


class ProxyMode(Choice):
    """What a request does with memory."""

    ON = "on"  # it gets notes, and its exchange is stored
    READ = "read"  # it gets notes
    OFF = "off"  # neither


@dataclass(frozen=True, slots=True)
class ProxyTerms:
    """The terms of one request."""

    mode: ProxyMode
    owner: Scope | None  #: None without memory
    tokens: int | None  #: most tokens of the notes; None: the setting
    key: str | None  #: idempotency key

    @classmethod
    def of(cls, request: Request, user: str | None, otherwise: str | None) -> ProxyTerms:
        """Read them from the address, the headers and, last, the end user of the body. Raises InvalidInput.

        On a store without keys, `otherwise` is the user whom nothing of this names.
        """
        mode = _mode(request.headers.get(PREFIX + "memory", ProxyMode.ON.value))
        owner = None if mode is ProxyMode.OFF else _owner(request, user, otherwise)
        return cls(mode, owner, _tokens(request), idempotency_key(request))


def _mode(told: str) -> ProxyMode:
    if told not in tuple(ProxyMode):
        raise InvalidInput("X-MemoryOS-Memory", "is unknown", f"Use one of: {', '.join(ProxyMode)}")
    return ProxyMode(told)


def _owner(request: Request, user: str | None, otherwise: str | None) -> Scope:
    asking: Asking = request.state.asking
    named: dict[str, Any] = {name: _told(request, name) for name in OWN_PARAMETERS[:3]}
    if named["user"] is not None and user not in (None, named["user"]):
        raise InvalidInput("user", "of the body differs from that of the address or the header", "Pass it once")
    last = None if asking.has_key else otherwise  # with a key, only the request and the key say whose memory it is
    whose = next((one for one in (named.pop("user"), asking.user, user, last) if one is not None), None)
    if whose is None:
        raise InvalidInput("user", "is missing", _NAMING if asking.has_key else f"{_NAMING}; {_NAMING_ALL}")
    known = {name: value for name, value in named.items() if value is not None}
    namespace = tuple(request.query_params.getlist("namespace")) or PRIVATE
    return Scope(whose, tenant=asking.tenant, namespace=namespace, **known)


def _told(request: Request, name: str) -> str | None:
    """A part of the owner, from the address or the headers."""
    found = [*request.query_params.getlist(name), *map(_utf8, request.headers.getlist(PREFIX + name))]
    if len({*found}) > 1:
        raise InvalidInput(name, "is told twice, and not alike", "Pass it once, in the address or in a header")
    return found[0] if found else None


def _utf8(header: str) -> str:
    """A header as UTF-8, which it was read as Latin-1."""
    return header.encode("latin-1").decode("utf-8", "replace")


def _tokens(request: Request) -> int | None:
    told = request.headers.get(PREFIX + "tokens")
    if told is None:
        return None
    if not (told.isascii() and told.isdecimal() and 0 < int(told[:9]) <= _MOST_TOKENS):
        raise InvalidInput("X-MemoryOS-Tokens", "is no number of tokens", f"Pass 1 to {_MOST_TOKENS:,}")
    return int(told)
