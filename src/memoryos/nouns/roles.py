"""Roles: what identities are, beside what they say when they call."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from uuid_utils.compat import uuid7

from memoryos import arguments
from memoryos.about import about
from memoryos.caller import NAME_LIMIT, Action, Caller
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.listing import Listing
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.role_grant import RoleGrant
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@door
class Roles:
    """The roles that identities were granted. All of it needs the right to administer the store."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def grant(
        self,
        identity: str,
        roles: Iterable[str],
        *,
        name: str = "",
        tenant: str = "default",
        ttl: timedelta | float | None = None,
        expires_at: datetime | str | None = None,
    ) -> RoleGrant:
        """Give an identity roles for the memories of a tenant, from its next call on, and return the grant.

        Policies see the caller with these roles beside its own, also if it calls with a key, which still limits what it
        may do. `name` says what the roles are for. It ends after `ttl` (a timedelta or seconds) or at `expires_at`, or
        with `revoke`. Grants without policies change nothing. Raises InvalidInput.
        """
        self._engine.admit(Action.ADMINISTER)
        now = self._engine.clock()
        named = arguments.sequence("roles", (roles,) if isinstance(roles, str) else roles, str)
        known = Caller(identity, frozenset(named))  # checks both
        if not known.roles:
            raise InvalidInput("roles", "is empty", "Name at least one role")
        label = "" if isinstance(name, str) and not name else checked_text("name", name, limit=NAME_LIMIT)
        self._engine.protection.check_names("name", [label])
        made = RoleGrant(
            id=str(uuid7()),
            tenant=checked_text("tenant", tenant, limit=ID_LIMIT),
            identity=known.identity,
            roles=known.roles,
            name=label,
            granted_by=self._caller.identity,
            created_at=now,
            expires_at=about(now, ttl=ttl, expires_at=expires_at).expires_at,
        )
        self._engine.vault.roles.put(made)
        return made

    def list(self, *, identity: str | None = None, tenant: str = "default") -> Listing[RoleGrant]:
        """List the grants of a tenant that have not ended, oldest first: all, or those of one identity."""
        self._engine.admit(Action.ADMINISTER)
        wanted = None if identity is None else checked_text("identity", identity, limit=NAME_LIMIT)
        return Listing(self._engine.vault.roles.listed(checked_text("tenant", tenant, limit=ID_LIMIT), wanted))

    def revoke(self, grant_id: str, *, tenant: str = "default") -> None:
        """End a grant now, in every process. Raises NotFound."""
        self._engine.admit(Action.ADMINISTER)
        wanted = arguments.cube_id(grant_id, field="grant_id")
        if not self._engine.vault.roles.remove(checked_text("tenant", tenant, limit=ID_LIMIT), wanted):
            raise NotFound(f"there is no grant {grant_id!r} in this tenant")

    @property
    def _hand(self) -> Hand:
        return self._engine.hand
