"""Admission: who asks, by the API key of the request, and whose memory is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from starlette.requests import Request
from starlette.types import Scope as HttpScope

from memoryos import api_key
from memoryos.api_key import STORE_TENANT, ApiKey
from memoryos.caller import NAME_LIMIT, Caller
from memoryos.errors import InvalidInput, PermissionDenied, StorageError
from memoryos.interface.rest.keys_seen import KeysSeen
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.rate import Rate
from memoryos.memory_os import MemoryOS
from memoryos.regex import regex
from memoryos.text import checked_text

PURPOSE = "X-MemoryOS-Purpose"  #: the header that states what a request is for
SESSION = "X-MemoryOS-Caller-Session"  #: states in which session the caller acts; that of the memory is another
MEM0 = "/mem0"  #: begins the addresses of mem0's clients, who send their key in headers of their own

_LOOPBACK = regex(r"(?i)(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?")
_SAME_SITE = {"", "same-origin", "none"}  # of Sec-Fetch-Site; programs that are no browsers send none
_ORIGIN = regex(r"(?i)https?://([^/?#@]+)")
_USUAL_PORT = regex(r":(80|443)$")


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks: the caller, and the tenant whose memories its key opens."""

    caller: Caller  #: without a key, on a store without keys: the caller of the store
    tenant: str
    name: str  #: for the rate limit and the log: the id of the key or the address
    users: frozenset[str] | None = None  #: the users whose memories its key opens; None: all of the tenant
    failed: str = ""  #: the class of the error of a store that could not be asked: no memory is opened for the request

    @property
    def has_key(self) -> bool:
        """Whether the request has a key."""
        return self.caller.key is not None

    @property
    def user(self) -> str | None:
        """The one user whose memories its key opens; None: there are others, or no key."""
        return next(iter(self.users)) if self.users and len(self.users) == 1 else None


@dataclass(frozen=True, slots=True)
class Admission:
    """Admits requests to one store."""

    store: MemoryOS
    rate: Rate
    proxied: tuple[str, ...] = ()  #: begins of paths on which a request may have a key for another server
    is_served: Callable[[HttpScope], bool] = lambda _: True  #: whether the address of a request is answered
    without_memory: tuple[str, ...] = ()  #: begins of paths that are answered although the store cannot be asked
    keys_seen: KeysSeen = field(default_factory=KeysSeen)

    def admit(self, request: Request, *, is_counted: bool = False) -> Asking:
        """Who asks. The request counts for the rate, unless it was counted before.

        Raises Refusing: 401 without a valid key, 403 from a page of another site, 429 beyond the rate; and
        PermissionDenied for a purpose or a session that the key does not have.
        """
        _refuse_other_sites(request)
        address = _address(request)
        kind, key = _told_key(request)
        is_foreign = self._is_foreign(key, request)
        info = self._known(key, address) if kind.lower() == "bearer" and not is_foreign else None
        if not is_counted:
            self.rate.take(info.id if info else address)
        if info is None:
            return self._without_key("" if is_foreign else kind, address, request)
        caller = self._calling(info, key, _stated(request, PURPOSE), _stated(request, SESSION), address)
        return Asking(caller, info.tenant, info.id, info.users)

    def can_do_without(self, request: Request) -> bool:
        """Whether the request is answered although the store does not answer: it has no key of ours, and needs none.

        A store that had no key when it was last asked is taken to have none: whoever asks gets nothing of it.
        """
        if self.keys_seen.exist or not self.is_chat(request):
            return False
        kind, key = _told_key(request)
        return not kind or self._is_foreign(key, request)

    def is_chat(self, request: Request) -> bool:
        """Whether the model server answers the request, and memory is only beside it."""
        path: str = request.scope["path"]
        return path.startswith(self.without_memory)

    def count_first(self, request: Request) -> None:
        """Count a request that is answered without the store before that is asked, for which there may be no thread.

        Raises Refusing: 403 from a page of another site, 429 beyond the rate.
        """
        _refuse_other_sites(request)
        self.count(request)

    def do_without(self, request: Request) -> Asking:
        """Who asks, where the store did not answer in time. Raises Refusing: 403 where the host is another one."""
        return self._of_loopback(request, _address(request), "TooLong")

    def count(self, request: Request) -> None:
        """Count a request that needs no key, by its address. Raises Refusing: 429 beyond the rate."""
        self.rate.take(_address(request))

    def check(self, asking: Asking) -> None:
        """Raise PermissionDenied if the key of a running request was revoked or has expired."""
        if asking.has_key and not self.store.keys.is_valid(asking.name):
            raise PermissionDenied("the key is not valid any more")

    def _is_foreign(self, key: str, request: Request) -> bool:
        """Whether a key may be for another server, also at an address that is answered there alone."""
        if api_key.read(key) is not None:
            return False
        return request.scope["path"].startswith(self.proxied) or not self.is_served(request.scope)

    def _known(self, key: str, address: str) -> ApiKey | None:
        try:
            found = self.store.keys.info(key, network=address)
        except PermissionDenied:
            found = None
        self.keys_seen.answered()
        return found

    def _calling(self, info: ApiKey, key: str, purpose: str | None, session: str | None, address: str) -> Caller:
        """The caller with this key. Raises PermissionDenied, which the audit log notes."""
        try:
            return info.calling(purpose, session=session, network=address)
        except PermissionDenied:
            return self.store.keys.caller(key, purpose=purpose, session=session, network=address)

    def _without_key(self, kind: str, address: str, request: Request) -> Asking:
        failed = "" if kind else self._failure(request)
        if kind or self.keys_seen.exist:
            fix = "Send the header `Authorization: Bearer KEY`; `memoryos keys create` makes a key"
            bearer = {"WWW-Authenticate": "Bearer"}
            raise Refusing(401, "KeyNeeded", "The request has no valid API key", fix, bearer)
        return self._of_loopback(request, address, failed)

    def _of_loopback(self, request: Request, address: str, failed: str) -> Asking:
        host = request.headers.get("host", "")
        if not _LOOPBACK.fullmatch(host):  # a page of another site, whose name now means this machine
            raise Refusing(403, "PermissionDenied", "The host of the request is another one", "Ask 127.0.0.1")
        caller = self.store._caller
        purpose, session = _stated(request, PURPOSE) or caller.purpose, _stated(request, SESSION) or caller.session
        return Asking(replace(caller, purpose=purpose, session=session), STORE_TENANT, address, failed=failed)

    def _failure(self, request: Request) -> str:
        """Look whether the store has keys; the class of the error if that fails, where memory can be done without."""
        try:
            self.keys_seen.look(self.store)
        except StorageError as error:
            if not self.can_do_without(request):
                raise
            return type(error).__name__
        return ""


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _stated(request: Request, header: str) -> str | None:
    """What a request states in a header; None: nothing. Raises InvalidInput."""
    told = request.headers.getlist(header)
    if len(told) > 1:
        raise InvalidInput(header, "is stated twice", "State it once")
    # A header is UTF-8, which was read as Latin-1.
    return checked_text(header, told[0].encode("latin-1").decode(), limit=NAME_LIMIT) if told else None


def _told_key(request: Request) -> tuple[str, str]:
    """The kind of authorization and the key."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if not request.scope["path"].startswith(f"{MEM0}/"):
        return kind, key.strip()
    if not kind:
        key = request.headers.get("x-api-key", "")
        return ("bearer" if key else ""), key.strip()
    return ("bearer" if kind.lower() == "token" else kind), key.strip()


def _refuse_other_sites(request: Request) -> None:
    """Refuse what a browser sends for a page of another site. Raises Refusing."""
    sites = request.headers.getlist("sec-fetch-site")
    own = _USUAL_PORT.sub("", request.headers.get("host", "").lower())
    if all(site.lower() in _SAME_SITE for site in sites) and all(
        _host_of(origin) == own for origin in request.headers.getlist("origin")
    ):
        return
    fix = "Ask from a program, or from a page of this host; a proxy passes the header Host on"
    raise Refusing(403, "OtherSite", "A page of another site may not ask this server", fix)


def _host_of(origin: str) -> str | None:
    """The host and port of an origin; None if it has none."""
    found = _ORIGIN.fullmatch(origin.strip())
    return _USUAL_PORT.sub("", found[1].lower()) if found else None
