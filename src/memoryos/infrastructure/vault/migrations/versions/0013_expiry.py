"""Expiry: indexes of the memories that end, and for each owner who has some a job that removes them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from uuid_utils.compat import uuid7

revision = "0013"
down_revision = "0012"

OWNER = ["tenant", "user_id", "agent_id", "namespace"]

_cubes = sa.table("cubes", *(sa.column(name) for name in (*OWNER, "expires_at", "state")))
_jobs = sa.table(
    "jobs", *(sa.column(name) for name in (*OWNER, "id", "kind", "state", "attempts", "created_at", "not_before"))
)


def upgrade() -> None:
    for name, columns, condition in (
        ("cubes_by_end", [*OWNER, "expires_at"], sa.text("expires_at IS NOT NULL")),
        ("cubes_expired", OWNER, sa.text("state = 'expired'")),
    ):
        op.create_index(name, "cubes", columns, sqlite_where=condition, postgresql_where=condition)
    owner = [_cubes.c[name] for name in OWNER]
    end = sa.case((_cubes.c.state == "expired", 0), else_=_cubes.c.expires_at)
    ending = sa.select(*owner, sa.func.min(end).label("end")).group_by(*owner)
    some = ending.where(sa.or_(_cubes.c.expires_at.is_not(None), _cubes.c.state == "expired"))
    jobs = [_job(dict(row._mapping)) for row in op.get_bind().execute(some)]
    if jobs:
        op.bulk_insert(_jobs, jobs)


def _job(found: dict[str, object]) -> dict[str, object]:
    """A job for an owner, due when the first memory ends."""
    fixed = {"id": str(uuid7()), "kind": "expire", "state": "queued", "attempts": 0, "created_at": 0}
    return {**{name: found[name] for name in OWNER}, **fixed, "not_before": found["end"]}
