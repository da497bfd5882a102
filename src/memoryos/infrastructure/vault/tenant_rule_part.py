"""TenantRulePart: the retention rules of whole tenants.

A rule and a job for each owner whose memories it is about are stored in one transaction, which excludes all writers. So
each memory either is there before and found by its owner's job, or is written later and gets its end at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from memoryos.clock import Clock
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.job_channel import signal
from memoryos.infrastructure.vault.key_part import Changing, Reading
from memoryos.infrastructure.vault.owners import told_owners
from memoryos.infrastructure.vault.queue import WantedJob, new_job
from memoryos.infrastructure.vault.records import JobKind
from memoryos.infrastructure.vault.retention_part import tenant_rules
from memoryos.infrastructure.vault.statements import insert_rows
from memoryos.infrastructure.vault.tables import OWNER, owner_row, rules_of
from memoryos.retention import RetentionRule, check_room
from memoryos.scope import Scope

_cubes, _meta = tables.cubes, tables.meta


@dataclass(frozen=True, slots=True)
class TenantRulePart:
    """The rules of the tenants of one store."""

    reading: Reading
    changing: Changing
    clock: Clock

    def listed(self, tenant: str) -> list[RetentionRule]:
        """The rules of a tenant, by name."""
        with self.reading(tenant) as connection:
            return tenant_rules(connection, tenant)

    def put(self, tenant: str, rule: RetentionRule) -> list[Scope]:
        """Store a rule, in the place of one with its name; return the owners who have a job to apply it."""
        with self.changing() as connection:
            check_room(rule.name, tenant_rules(connection, tenant))
            earlier = _drop(connection, tenant, rule.name)
            connection.execute(insert(_meta), {"key": _key(tenant, rule.name), "value": rule.written()})
            return self._ask_owners(connection, tenant, [*earlier, rule])

    def remove(self, tenant: str, name: str) -> list[Scope] | None:
        """Remove a rule; return the owners who have a job for it, or None if there is no such rule."""
        with self.changing() as connection:
            earlier = _drop(connection, tenant, name)
            return self._ask_owners(connection, tenant, earlier) if earlier else None

    def _ask_owners(self, connection: Connection, tenant: str, changed: Iterable[RetentionRule]) -> list[Scope]:
        rules = list(changed)
        owners = [one for one in _owners(connection, tenant) if any(rule.covers(one.namespace) for rule in rules)]
        wanted, now = WantedJob(JobKind.RETAIN), self.clock()
        insert_rows(connection, tables.jobs, [new_job(owner_row(one), wanted, None, now) for one in owners])
        signal(connection)
        return owners


def _drop(connection: Connection, tenant: str, name: str) -> list[RetentionRule]:
    """Remove a rule, and return it, if there is one."""
    found = [rule for rule in tenant_rules(connection, tenant) if rule.name == name]
    connection.execute(delete(_meta).where(_meta.c.key == _key(tenant, name)))
    return found


def _owners(connection: Connection, tenant: str) -> Iterator[Scope]:
    """The owners in the tenant who have a memory."""
    query = select(*(_cubes.c[name] for name in OWNER)).where(_cubes.c.tenant == tenant).distinct()
    return told_owners(connection.execute(query))


def _key(tenant: str, name: str) -> str:
    return rules_of(tenant)[0] + name
