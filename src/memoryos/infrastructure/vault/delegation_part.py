"""DelegationPart: the delegations of a store. `RolePart.rights` reads them in each check."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, delete, insert, select

from memoryos.caller import Action
from memoryos.clock import Clock, from_micros, micros
from memoryos.delegation import Delegation
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.key_part import Changing, Reading
from memoryos.infrastructure.vault.legible import legible
from memoryos.scope import Scope

_delegations = tables.delegations


class DelegationRow(NamedTuple):
    """A row of the table; a granted role is read in the same columns, without actions."""

    tenant: str
    id: str
    user_id: str
    delegator: str
    roles: str
    delegate: str
    actions: str
    created_at: int
    expires_at: int | None  #: None: a granted role without an end


@dataclass(frozen=True, slots=True)
class DelegationPart:
    """The delegations of one store."""

    reading: Reading
    changing: Changing
    clock: Clock

    def put(self, one: Delegation) -> None:
        """Store a delegation, and remove those of the user that have ended."""
        row = {
            "tenant": one.tenant,
            "id": one.id,
            "user_id": one.user,
            "delegator": one.by,
            "roles": json.dumps(sorted(one.roles), ensure_ascii=False),
            "delegate": one.to,
            "actions": json.dumps(sorted(action.value for action in one.actions)),
            "created_at": micros(one.created_at),
            "expires_at": micros(one.expires_at),
        }
        over = _delegations.c.expires_at <= micros(one.created_at)
        with self.changing() as connection:
            connection.execute(delete(_delegations).where(*_of(one.tenant, one.user), over))
            connection.execute(insert(_delegations), row)

    def of(self, scope: Scope) -> list[Delegation]:
        """Those about the memories of a user that have not ended, oldest first."""
        known = _delegations.c
        lasting = known.expires_at > micros(self.clock())
        query = select(_delegations).where(*_of(scope.tenant, scope.user), lasting)
        with self.reading(scope.tenant) as connection:
            return [delegation_of(row) for row in connection.execute(query.order_by(known.created_at, known.id))]

    def remove(self, scope: Scope, delegation_id: str) -> bool:
        """End a delegation about the memories of a user; False if there is none with that id."""
        with self.changing() as connection:
            wanted = (*_of(scope.tenant, scope.user), _delegations.c.id == delegation_id)
            return bool(connection.execute(delete(_delegations).where(*wanted)).rowcount)


def _of(tenant: str, user: str) -> tuple[ColumnElement[bool], ...]:
    return _delegations.c.tenant == tenant, _delegations.c.user_id == user


def delegation_of(row: Row[Any] | DelegationRow) -> Delegation:
    """The delegation of a row."""
    with legible("delegations"):
        if row.expires_at is None:
            raise ValueError("a delegation has an end")
        return Delegation(
            id=row.id,
            tenant=row.tenant,
            user=row.user_id,
            by=row.delegator,
            roles=frozenset(json.loads(row.roles)),
            to=row.delegate,
            actions=frozenset(map(Action, json.loads(row.actions))),
            created_at=from_micros(row.created_at),
            expires_at=from_micros(row.expires_at),
        )
