"""The fence between tenants: a PostgreSQL transaction sees the rows of the tenant that it names, and no others.

It is the second one: every statement names its owner, too. SQLite has no such fence, and one writer at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

from sqlalchemy import Connection, func, select

TENANT = "memoryos.tenant"  # the settings of a transaction that the policies of the tables ask for
EVERY_TENANT = "memoryos.every_tenant"
_LIFTED, _UP = "on", ""

Call = tuple[str, tuple[str | int, ...]]  # of a function of the server, and what its %s stand for
Calls = list[Call]


def enclosing(tenant: str | None, **settings: str) -> Calls:
    """What puts the fence around that tenant (None: lifts it), until the transaction ends; likewise other settings."""
    every = _UP if tenant is not None else _LIFTED
    wanted = {TENANT: tenant or "", EVERY_TENANT: every, **settings}
    return [("pg_catalog.set_config(%s, %s, true)", setting) for setting in wanted.items()]


@contextmanager
def whole_store(connection: Connection) -> Iterator[None]:
    """Lift the fence in the block, for a writer whose answer depends on all others; such blocks wait for each other."""
    if connection.dialect.name != "postgresql":
        yield
        return
    connection.execute(select(func.pg_advisory_xact_lock(lock_number("whole store"))))
    connection.execute(select(func.set_config(EVERY_TENANT, _LIFTED, True)))
    yield
    connection.execute(select(func.set_config(EVERY_TENANT, _UP, True)))


def lock_number(*names: str) -> int:
    """The 64-bit number of an advisory lock; collisions are practically impossible."""
    joined = "\0".join(("memoryos", *names))  # no id holds NUL
    return int.from_bytes(blake2b(joined.encode(), digest_size=8).digest(), "big", signed=True)
