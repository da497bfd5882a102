"""RolePart: the roles that identities were granted, and all rights of an identity, read in each check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Row,
    bindparam,
    delete,
    insert,
    literal,
    literal_column,
    or_,
    select,
)

from memoryos.clock import Clock, from_micros, micros
from memoryos.delegation import Delegation
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.delegation_part import DelegationRow, delegation_of
from memoryos.infrastructure.vault.key_part import Changing, Reading
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.statements import ask
from memoryos.role_grant import RoleGrant

_grants, _passed = tables.role_grants, tables.delegations
_TENANT: BindParameter[str] = bindparam("tenant")
_IDENTITY: BindParameter[str] = bindparam("identity")
_NOW: BindParameter[int] = bindparam("now")


def _lasts(now: ColumnElement[int]) -> ColumnElement[bool]:
    return or_(_grants.c.expires_at.is_(None), _grants.c.expires_at > now)


_RIGHTS = (  # in the order of DelegationRow: it is asked in each check, so it is compiled once
    select(*(_passed.c[name] for name in DelegationRow._fields))
    .where(_passed.c.tenant == _TENANT, _passed.c.delegate == _IDENTITY, _passed.c.expires_at > _NOW)
    .union_all(
        select(
            _grants.c.tenant, _grants.c.id, _grants.c.name, _grants.c.granted_by, _grants.c.roles, _grants.c.identity,
            literal_column("''"), _grants.c.created_at, _grants.c.expires_at,
        ).where(_grants.c.tenant == _TENANT, _grants.c.identity == _IDENTITY, _lasts(_NOW))
    )
)  # fmt: skip


class Rights(NamedTuple):
    """What an identity has in a tenant beside what policies say of it."""

    delegations: Sequence[Delegation] = ()
    grants: Sequence[RoleGrant] = ()

    @property
    def roles(self) -> frozenset[str]:
        """The roles that were granted."""
        return frozenset[str]().union(*(one.roles for one in self.grants))


@dataclass(frozen=True, slots=True)
class RolePart:
    """The grants of roles of one store."""

    reading: Reading
    changing: Changing
    clock: Clock

    def put(self, one: RoleGrant) -> None:
        """Store a grant, and remove those of the tenant that have ended."""
        row = {
            "tenant": one.tenant,
            "id": one.id,
            "identity": one.identity,
            "name": one.name,
            "roles": json.dumps(sorted(one.roles), ensure_ascii=False),
            "granted_by": one.granted_by,
            "created_at": micros(one.created_at),
            "expires_at": micros(one.expires_at) if one.expires_at else None,
        }
        with self.changing() as connection:
            connection.execute(
                delete(_grants).where(_grants.c.tenant == one.tenant, _grants.c.expires_at <= micros(one.created_at))
            )
            connection.execute(insert(_grants), row)

    def listed(self, tenant: str, identity: str | None = None) -> list[RoleGrant]:
        """The grants of a tenant that have not ended, oldest first."""
        query = select(_grants).where(_grants.c.tenant == tenant, _lasts(literal(micros(self.clock()))))
        if identity is not None:
            query = query.where(_grants.c.identity == identity)
        with self.reading(tenant) as connection:
            return [_grant(row) for row in connection.execute(query.order_by(_grants.c.created_at, _grants.c.id))]

    def remove(self, tenant: str, grant_id: str) -> bool:
        """End a grant; False if there is none with that id."""
        with self.changing() as connection:
            wanted = (_grants.c.tenant == tenant, _grants.c.id == grant_id)
            return bool(connection.execute(delete(_grants).where(*wanted)).rowcount)

    def rights(self, identity: str, tenant: str) -> Rights:
        """What was passed on and granted to an identity in a tenant: one query, whether it has any or not."""
        asked = {"identity": identity, "tenant": tenant, "now": micros(self.clock())}
        with self.reading(tenant) as connection:
            rows = sorted((DelegationRow(*row) for row in ask(connection, _RIGHTS, asked)), key=lambda row: row.id)
        passed = tuple(delegation_of(row) for row in rows if row.actions)
        return Rights(passed, tuple(_granted(row) for row in rows if not row.actions))


def _grant(row: Row[Any]) -> RoleGrant:
    return _read(row, row.identity, row.name, row.granted_by)


def _granted(row: DelegationRow) -> RoleGrant:
    """A grant in the columns of a delegation."""
    return _read(row, row.delegate, row.user_id, row.delegator)


def _read(row: Row[Any] | DelegationRow, identity: str, name: str, by: str) -> RoleGrant:
    with legible("role_grants"):
        return RoleGrant(
            id=row.id,
            tenant=row.tenant,
            identity=identity,
            roles=frozenset(json.loads(row.roles)),
            name=name,
            granted_by=by,
            created_at=from_micros(row.created_at),
            expires_at=None if row.expires_at is None else from_micros(row.expires_at),
        )
