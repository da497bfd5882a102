"""RoleGrant: roles that an identity has, beside those with which it calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class RoleGrant(Plain):
    """Roles that a caller has by its identity, for the memories of one tenant, until the grant ends."""

    id: str  #: id, for `roles.revoke`
    tenant: str  #: the tenant for whose memories it counts
    identity: str  #: identity of the caller
    roles: frozenset[str]  #: roles that it gets
    name: str  #: what the roles are for, such as "ward 3"; may be empty
    granted_by: str  #: who granted it
    created_at: datetime  #: when it was granted
    expires_at: datetime | None = None  #: when it ends; None: no end
