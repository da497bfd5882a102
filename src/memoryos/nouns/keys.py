"""Keys: the API keys by which callers of other programs are known."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from memoryos import api_key, arguments
from memoryos.about import about
from memoryos.api_key import ApiKey, NewApiKey
from memoryos.caller import NAME_LIMIT, Action, Caller
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound, PermissionDenied, StorageError
from memoryos.listing import Listing
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.calls.keyed_gate import valid_key
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text

LONGEST_OVERLAP = 30 * 86_400.0  # seconds that a rotated key may go on


@door
class Keys:
    """The API keys of a store. `create`, `list`, `rotate` and `revoke` need the right to administer it."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def create(
        self,
        identity: str,
        *,
        tenant: str = "default",
        roles: Iterable[str] = (),
        actions: Iterable[Action | str] = (Action.READ, Action.WRITE),
        users: Iterable[str] | None = None,
        ttl: timedelta | float | None = None,
        expires_at: datetime | str | None = None,
        purposes: Iterable[str] = (),
        application: str | None = None,
        session: str | None = None,
    ) -> NewApiKey:
        """Create a key for a caller, and return it: it is shown only now, and the store keeps a hash.

        The key opens memories of the `tenant`, or only those of these `users`, for these `actions` at most; policies,
        if there are any, decide about the rest. It ends after `ttl` (a timedelta or seconds) or at `expires_at`; by
        default it does not end. Its caller may state one of the `purposes`, and none without any; with a single one,
        that is the purpose of every call. Its calls are those of the `application`. With a `session`, its caller acts
        in that one alone; without, in the one that the caller states. Raises InvalidInput.
        """
        self._engine.admit(Action.ADMINISTER)
        now = self._engine.clock()
        named = frozenset(arguments.sequence("roles", roles, str))
        known = Caller(identity, named, session=session, application=application)
        info = ApiKey(
            id=api_key.new_id(),
            tenant=checked_text("tenant", tenant, limit=ID_LIMIT),
            identity=known.identity,
            roles=known.roles,
            actions=arguments.actions(actions),
            users=None if users is None else _users(users),
            created_by=self._caller.identity,
            created_at=now,
            expires_at=about(now, ttl=ttl, expires_at=expires_at).expires_at,
            purposes=self._purposes(purposes),
            application=known.application,
            session=known.session,
        )
        return self._stored(info)

    def list(self, *, tenant: str = "default") -> Listing[ApiKey]:
        """List the keys of a tenant, oldest first, also those that have ended. No secret is in the list."""
        self._engine.admit(Action.ADMINISTER)
        return Listing(self._engine.vault.keys.listed(checked_text("tenant", tenant, limit=ID_LIMIT)))

    def rotate(self, key_id: str, *, overlap: timedelta | float = 0.0) -> NewApiKey:
        """Replace a key by a new one with the same rights and the same end, and return it.

        The old one opens nothing after `overlap` (a timedelta or seconds; at once by default). Raises NotFound, also
        for a key that has ended.
        """
        self._engine.admit(Action.ADMINISTER)
        seconds = overlap.total_seconds() if isinstance(overlap, timedelta) else overlap
        waits = timedelta(seconds=arguments.duration("overlap", seconds, most=LONGEST_OVERLAP))
        now, found = self._engine.clock(), self._engine.vault.keys.find(arguments.cube_id(key_id, field="key_id"))
        if found is None or not found[0].is_valid(now):
            raise NotFound(f"there is no key {key_id!r} that is valid")
        old = found[0]
        made = self._stored(
            replace(old, id=api_key.new_id(), created_by=self._caller.identity, created_at=now, revoked_at=None)
        )
        self._engine.vault.keys.end(old.id, now + waits)
        return made

    def revoke(self, key_id: str) -> None:
        """End a key now: every later call with it is refused, in every process. Raises NotFound."""
        self._engine.admit(Action.ADMINISTER)
        if not self._engine.vault.keys.end(arguments.cube_id(key_id, field="key_id"), self._engine.clock()):
            raise NotFound(f"there is no key {key_id!r}")

    def caller(
        self,
        key: str,
        *,
        purpose: str | None = None,
        session: str | None = None,
        application: str | None = None,
        network: str | None = None,
    ) -> Caller:
        """Return the caller who has this key, to be passed to `MemoryOS.memory`; each of its calls checks the key.

        The `purpose` must be one of the key's, and the `application` its own, which is that of the caller in any case.
        So is the `session` of a key that has one; of other keys the caller may state any.
        Raises PermissionDenied, with the same words whether the key is unknown, altered, revoked or has expired.
        """
        known = self.info(key, network=network)
        try:
            return known.calling(purpose, application, session=session, network=network)
        except PermissionDenied as error:
            stated = Caller(known.identity, known.roles, purpose, session, application, network, key=known.id)
            if self._engine.trail:
                self._engine.trail.refused(stated, Action.READ, None, error)
            raise

    def info(self, key: str, *, network: str | None = None) -> ApiKey:
        """Return what the store knows of a key, such as its tenant; whoever has the key may ask.

        Raises PermissionDenied, as `caller` does, which the audit log notes with the `network`, the address of whoever
        asks.
        """
        try:
            return valid_key(self._engine.vault.keys, key, self._engine.clock())
        except PermissionDenied:
            if self._engine.trail:
                with suppress(InvalidInput, StorageError):  # whatever else is wrong, the key is refused
                    self._engine.trail.key_refused(network)
            raise

    def exist(self) -> bool:
        """Whether a key was ever created in this store, for any tenant. Everybody may ask."""
        return self._engine.vault.keys.exist()

    def is_valid(self, key_id: str) -> bool:
        """Whether the key with this id opens anything now. Everybody may ask."""
        found = self._engine.vault.keys.find(arguments.cube_id(key_id, field="key_id"))
        return found is not None and found[0].is_valid(self._engine.clock())

    def _purposes(self, purposes: Iterable[str]) -> frozenset[str]:
        """Check what the caller may state: it is noted as it is with what the caller stores."""
        checked = _names("purposes", purposes)
        self._engine.protection.check_names("purposes", checked)
        return checked

    def _stored(self, info: ApiKey) -> NewApiKey:
        secret = api_key.new_secret()
        self._engine.vault.keys.put(info, api_key.hashed(info.id, secret))
        return NewApiKey(api_key.written(info.id, secret), info)

    @property
    def _hand(self) -> Hand:
        return self._engine.hand


def _users(values: Iterable[str]) -> frozenset[str]:
    names = _names("users", values)
    if not names:
        raise InvalidInput("users", "is empty", "Name at least one, or leave it out for all of the tenant")
    return names


def _names(field: str, values: Iterable[str]) -> frozenset[str]:
    return frozenset(checked_text(field, name, limit=NAME_LIMIT) for name in arguments.sequence(field, values, str))
