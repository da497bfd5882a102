"""KeyPart: the API keys of a store. A key is read in each check, so that a revoked one opens nothing anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from memoryos.api_key import ApiKey
from memoryos.caller import Action
from memoryos.clock import from_micros, micros
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.statements import ask

Reading = Callable[[str | None], AbstractContextManager[Connection]]
Changing = Callable[[], AbstractContextManager[Connection]]

_keys = tables.keys
_FOUND = select(_keys).where(_keys.c.id == bindparam("id"))
_ANY = select(_keys.c.id).limit(1)
_REMEMBERED = 1_024  # rows that are not read anew; a changed row is another one


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The keys of one store."""

    reading: Reading
    changing: Changing

    def put(self, key: ApiKey, hashed: str) -> None:
        """Store a new key."""
        row = {
            "tenant": key.tenant,
            "id": key.id,
            "hash": hashed,
            "identity": key.identity,
            "roles": json.dumps(sorted(key.roles), ensure_ascii=False),
            "actions": json.dumps(sorted(action.value for action in key.actions)),
            "users": None if key.users is None else json.dumps(sorted(key.users), ensure_ascii=False),
            "created_by": key.created_by,
            "created_at": micros(key.created_at),
            "expires_at": micros(key.expires_at) if key.expires_at else None,
            "revoked_at": None,
            "purposes": json.dumps(sorted(key.purposes), ensure_ascii=False) if key.purposes else None,
            "application": key.application,
            "session": key.session,
        }
        with self.changing() as connection:
            connection.execute(insert(_keys), row)

    def find(self, key_id: str) -> tuple[ApiKey, str] | None:
        """A key of any tenant, with its hash; None if there is none."""
        with self.reading(None) as connection:
            row = next(ask(connection, _FOUND, {"id": key_id}), None)
        return None if row is None else _key_and_hash(tuple(row))

    def listed(self, tenant: str) -> list[ApiKey]:
        """The keys of a tenant, oldest first."""
        query = select(_keys).where(_keys.c.tenant == tenant).order_by(_keys.c.created_at, _keys.c.id)
        with self.reading(tenant) as connection:
            return [_key({**row}) for row in connection.execute(query).mappings()]

    def exist(self) -> bool:
        """Whether there is a key of any tenant, valid or not."""
        with self.reading(None) as connection:
            return next(ask(connection, _ANY, {}), None) is not None

    def end(self, key_id: str, at: datetime) -> bool:
        """Let a key open nothing from that time on; False if there is no such key. An earlier end stays."""
        later = or_(_keys.c.revoked_at.is_(None), _keys.c.revoked_at > micros(at))
        with self.changing() as connection:
            if connection.execute(select(_keys.c.id).where(_keys.c.id == key_id)).first() is None:
                return False
            connection.execute(update(_keys).where(_keys.c.id == key_id, later).values(revoked_at=micros(at)))
        return True


@lru_cache(_REMEMBERED)
def _key_and_hash(row: tuple[Any, ...]) -> tuple[ApiKey, str]:
    told = dict(zip(_keys.c.keys(), row, strict=True))
    return _key(told), told["hash"]


def _key(row: Mapping[str, Any]) -> ApiKey:
    with legible("keys"):
        return ApiKey(
            id=row["id"],
            tenant=row["tenant"],
            identity=row["identity"],
            roles=frozenset(json.loads(row["roles"])),
            actions=frozenset(map(Action, json.loads(row["actions"]))),
            users=None if row["users"] is None else frozenset(json.loads(row["users"])),
            created_by=row["created_by"],
            created_at=from_micros(row["created_at"]),
            expires_at=None if row["expires_at"] is None else from_micros(row["expires_at"]),
            revoked_at=None if row["revoked_at"] is None else from_micros(row["revoked_at"]),
            purposes=frozenset(json.loads(row["purposes"] or "[]")),
            application=row["application"],
            session=row["session"],
        )
