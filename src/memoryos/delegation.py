"""Delegation: a right that a caller passes on to another one, for a while."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.caller import Action, Caller
from memoryos.plain import Plain
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Delegation(Plain):
    """What one caller lets another one do with the memories of a user, until it ends."""

    id: str  #: id, for `governance.revoke`
    tenant: str  #: the tenant of the user
    user: str  #: whose memories
    by: str  #: identity of the caller who passes the right on
    roles: frozenset[str]  #: roles that this caller had
    to: str  #: identity of the caller who gets it
    actions: frozenset[Action]  #: what it may do, as far as the one who passes it on may
    created_at: datetime  #: when the right was passed on
    expires_at: datetime  #: when it ends

    def covers(self, scope: Scope) -> bool:
        """Whether it is about the memories of this owner."""
        return (scope.tenant, scope.user) == (self.tenant, self.user)

    def behalf(self, caller: Caller) -> Caller:
        """Who is asked for: the one who passed the right on, in the context of the one who uses it."""
        return replace(caller, identity=self.by, roles=self.roles, key=None)
