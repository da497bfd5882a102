"""ApiKey: what is known of a caller's key, and how a key is made, hashed and read.

A key is `mos_ID_SECRET`. The secret has 256 random bits, so one HMAC with SHA-256 is enough to keep it: a slow hash
protects only what can be guessed. The store has the hash alone; the key is shown once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from memoryos.caller import Action, Caller
from memoryos.errors import PermissionDenied
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.scope import Scope

_FORM = regex(r"mos_([0-9a-f]{16})_([0-9a-zA-Z_-]{43})")
_PURPOSE = b"memoryos api key "

STORE_TENANT = (
    "default"  # whose keys may administer the store as a whole; those of other tenants open that tenant alone
)


@dataclass(frozen=True, slots=True)
class ApiKey(Plain):
    """A key without its secret: whose it is, what it opens, and until when."""

    id: str  #: id, for `keys.rotate` and `keys.revoke`
    tenant: str  #: the tenant whose memories it opens
    identity: str  #: identity of the caller
    roles: frozenset[str]  #: roles of the caller
    actions: frozenset[Action]  #: what the caller may do at most; policies may permit less
    users: frozenset[str] | None  #: the owners whose memories it opens; None: all of the tenant
    created_by: str  #: who created it
    created_at: datetime  #: when it was created
    expires_at: datetime | None = None  #: until when it is valid; None: no end
    revoked_at: datetime | None = None  #: since when it is not valid any more
    purposes: frozenset[str] = frozenset()  #: what its caller may call for; empty: it may state no purpose
    application: str | None = None  #: program of the caller
    session: str | None = None  #: the one session in which its caller acts; None: the one that the caller states

    @property
    def caller(self) -> Caller:
        """The caller who has the key, and states nothing."""
        return self.calling()

    def calling(
        self,
        purpose: str | None = None,
        application: str | None = None,
        *,
        session: str | None = None,
        network: str | None = None,
    ) -> Caller:
        """The caller who has the key and states this; a key with one purpose has it without being told.

        Raises PermissionDenied for a purpose or an application that the key does not have, or another session than its
        own.
        """
        purpose = next(iter(self.purposes)) if purpose is None and len(self.purposes) == 1 else purpose
        application = self.application if application is None else application
        session = self.session if session is None else session
        caller = Caller(self.identity, self.roles, purpose, session, application, network, key=self.id)
        if not self._has_purpose(purpose):
            raise _not_of_key("purpose", purpose, self.purposes)
        if application != self.application:
            raise _not_of_key("application", application, {self.application} - {None})
        if not self._has_session(session):
            raise _not_of_key("session", session, {self.session})
        return caller

    def is_valid(self, now: datetime) -> bool:
        """Whether it opens anything at that time."""
        ends = [end for end in (self.expires_at, self.revoked_at) if end]
        return all(now < end for end in ends)

    def opens(self, caller: Caller, action: Action, scope: Scope | None) -> bool:
        """Whether it lets this caller do this; a scope of None means the whole store."""
        if caller.identity != self.identity or not caller.roles <= self.roles or action not in self.actions:
            return False
        if caller.application != self.application or not self._has_purpose(caller.purpose):
            return False
        if not self._has_session(caller.session):
            return False
        if scope is None:
            return self.users is None and self.tenant == STORE_TENANT
        return scope.tenant == self.tenant and (self.users is None or scope.user in self.users)

    def _has_purpose(self, purpose: str | None) -> bool:
        return purpose in self.purposes if len(self.purposes) == 1 else purpose is None or purpose in self.purposes

    def _has_session(self, session: str | None) -> bool:
        return self.session is None or session == self.session


@dataclass(frozen=True, slots=True)
class NewApiKey(Plain):
    """A new key with its secret, which is stored nowhere else."""

    key: str = field(repr=False)  #: what the caller passes to `keys.caller`
    info: ApiKey  #: what the store knows of it


def new_id() -> str:
    """The id of a new key."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """The secret part of a new key."""
    return secrets.token_urlsafe(32)


def written(key_id: str, secret: str) -> str:
    """The key that a caller gets."""
    return f"mos_{key_id}_{secret}"


def read(key: str) -> tuple[str, str] | None:
    """Id and secret of a key; None if it does not have the form of one."""
    found = _FORM.fullmatch(key)
    return (found[1], found[2]) if found else None


def hashed(key_id: str, secret: str) -> str:
    """What the store keeps of a secret: of no use with another id."""
    return hmac.new(_PURPOSE + key_id.encode(), secret.encode(), hashlib.sha256).hexdigest()


def is_same(stored: str, key_id: str, secret: str) -> bool:
    """Whether this is the secret of the hash; takes as long for every wrong one."""
    return hmac.compare_digest(stored, hashed(key_id, secret))


def _not_of_key(field: str, stated: str | None, known: Collection[str | None]) -> PermissionDenied:
    named = ", ".join(sorted(filter(None, known)))
    fix = f"State {named}" if named else "State none"
    return PermissionDenied(f"{field}: the key does not have {stated!r}. {fix}, or create a key that has it")
